"""Tasks that a user exported as Markdown: a heading and the text for every message of the API history.

Where the files are
    Where the user saved them, under a name such as `roo_task_may-4-2026_9-05-00-pm.md`, `cline_task_…` or
    `kilo_code_task_…`. Kilo Code also exports a task with its subtasks: a folder of files such as
    `task_001_code_may-4-2026_9-05-00-pm.md`, which state the task's id above the conversation.

What comes out
    A conversation whose id is the task's where the file states it, else made of the time in its name and of what was
    said first. The time in the name is that of the task's last message, in the zone of whoever exported it; it stands
    for messages that no words about their surroundings give a time to. Calls have no ids in an export and get some;
    results belong to them by order. Images are left out by the products themselves.
"""

import re
from collections.abc import Iterator

from palaver.importers._cline_family.history import History
from palaver.importers._cline_family.markdown_blocks import answer_blocks, user_blocks
from palaver.importers._cline_family.task import Task
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.sources.damage import BOM
from palaver.sources.run import Run
from palaver.sources.sections import NO_SECTIONS, Sections
from palaver.sources.source import Source

_PRODUCTS = {"roo": "roo_code", "cline": "cline", "kilo_code": "kilo_code"}
_DATE = r"([a-z]{3})-([0-9]{1,2})-([0-9]{4})_([0-9]{1,2})-([0-9]{2})-([0-9]{2})-([ap]m)"
_NAME = re.compile(rf"(?:({'|'.join(_PRODUCTS)})_task|task_[0-9]{{3,}}_.*)_{_DATE}")
_OPENINGS = ("**User:**\n\n", "**Assistant:**\n\n")
_STATED = re.compile(r"^\*\*([A-Z][\w ]*):\*\* (.*)$", re.MULTILINE)
_TITLE = re.compile(r"# Task [0-9]+: (.*?)\n\n(?=\*\*Mode:\*\*)", re.DOTALL)
_CONVERSATION = "## Conversation"
_HEADING = re.compile(rb"(?:\A|(?<=\n\n)---\n\n|(?<=\n\n## Conversation\n\n))\*\*(User|Assistant):\*\*$", re.MULTILINE)


def export_product(name: str, head: bytes) -> str | None:
    """The platform whose export a file is, by its name and its first bytes; None where it is none."""
    text = head.removeprefix(BOM).replace(b"\r\n", b"\n").decode(errors="replace")
    named = _NAME.search(name.lower())
    if text.startswith(_OPENINGS):
        if named and named[1]:
            return _PRODUCTS[named[1]]
        return _product_in(text)
    is_of_family = text.startswith("# Task ") and "\n**Task ID:** " in text and f"\n\n{_CONVERSATION}\n\n" in text
    return "kilo_code" if is_of_family else None


def _product_in(text: str) -> str | None:
    """The product by what it tells the model of its surroundings, for a file that got another name."""
    if "<environment_details>" not in text:
        return None
    if "ACT MODE" in text or "PLAN MODE" in text or "# Visual Studio Code Visible Files" in text:
        return "cline"
    return "roo_code" if "<slug>" in text or "# VSCode Visible Files" in text else None


def read_export(source: Source, run: Run, platform: str) -> Iterator[JsonObject]:
    with source.open() as stream:
        sections = Sections(stream, run, _HEADING)
    said = [(speaker, _body(section)) for speaker, section in sections]
    title = _TITLE.match(sections.preface)
    above = sections.preface[title.end() if title else 0 :]
    stated = {name: value.strip() for name, value in _STATED.findall(above)}
    if not said:
        if sections.preface.strip():
            sections.set_aside()
        else:
            run.note(NO_SECTIONS, "the text")
        return
    named = _time_in(source.file_name)
    task_id = stated.get("Task ID") or conversation_uuid(platform, named, said[0][1])
    task = Task(task_id, platform, run, source.written_at, last_time=named or source.written_at())
    history = History(task)
    for index, (speaker, text) in enumerate(said):
        is_user = speaker == "User"
        blocks = user_blocks(text) if is_user else answer_blocks(text, platform)
        messages, time = history.messages(index, {"role": speaker.lower(), "content": blocks})
        for message in messages:
            task.add(message, time)
        run.mapped()
    rest = _STATED.sub("", above).strip().removesuffix(_CONVERSATION).strip()
    yield _document(task, title[1] if title else task.first_words, stated, rest)


def _document(task: Task, title: str, stated: dict[str, str], preface: str) -> JsonObject:
    platform: JsonObject = {"name": task.platform}
    if task.models:
        platform["model"] = task.models.most_common(1)[0][0]
    context: JsonObject = {"workspace": {"path": task.workspace}} if task.workspace else {}
    custom: JsonObject = {"mode": task.mode, "modes": list(task.modes), "time_zone": task.time_zone}
    custom |= {"export": stated, "preface": preface}
    if told := {name: value for name, value in custom.items() if value}:
        context["custom"] = told
    parent = stated.get("Parent Task ID")
    return build.conversation(
        conversation_id=task.task_id,
        title=title.strip().partition("\n")[0] or None,
        platform=platform,
        session={"parent_conversation_id": parent} if parent else None,
        context=context or None,
        created_at=task.created_at or task.messages[0]["timestamp"],
        updated_at=task.updated_at or None,
        messages=task.messages,
    )


def _body(section: str) -> str:
    return section.removeprefix("\n\n").removesuffix("\n\n")


def _time_in(name: str) -> str:
    """The time in a file's name, which has no zone."""
    named = _NAME.search(name.lower())
    if named is None:
        return ""
    month, day, year, hour, minute, second, half = named.groups()[1:]
    return readable_timestamp(f"{month} {day} {year} {hour}:{minute}:{second} {half}")
