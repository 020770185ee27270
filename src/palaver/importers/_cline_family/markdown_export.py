"""Tasks exported as Markdown: a heading and the text of every message of the API history.

Where the files are
    Wherever the user saved them, under a name such as `roo_task_may-4-2026_9-05-00-pm.md`, `cline_task_…` or
    `kilo_code_task_…`. Kilo Code also exports a task with its subtasks: a folder of files such as
    `task_001_code_may-4-2026_9-05-00-pm.md`, which state the task id above the conversation.

What comes out
    A conversation with the task's id if the file states it, else an id derived from the time in the file name and the
    first message. The time in the name is that of the task's last message, in the local time zone of the export; it is
    used for messages without a time in their environment details. Calls have no ids in an export and get new ones;
    results belong to them by order. The products leave out images.

Content blocks follow each other without a separator. Everything after `[Reasoning]` up to the next call is read as
reasoning, and everything after a call as its last parameter, even if it includes answer text. Any line that looks like
the start of a block is treated as one. `[Image]` stays as text, since the export does not include the image.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import orjson

from palaver.importers._cline_family.history import History
from palaver.importers._cline_family.task import Task
from palaver.importers._cline_family.tool_calls import PARAMETERS, TOOLS, is_tool_name
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.damage import BOM
from palaver.sources.run import Run
from palaver.sources.sections import NO_SECTIONS, Sections
from palaver.sources.source import Source

_TOOL_NAMES = "|".join(sorted(frozenset[str]().union(*TOOLS.values())))
_RESULT = re.compile(rf"^\[Tool( \(Error\))?\]$|^(?=\[(?:{_TOOL_NAMES})(?: [^\n]*)?\] Result:$)", re.MULTILINE)
_CALL = re.compile(r"^\[(?:Tool Use: ([^\]\n]+)|Reasoning)\]$", re.MULTILINE)
_ENVIRONMENT, _ENVIRONMENT_END = "<environment_details>", "</environment_details>"
_PARAMETER = re.compile(r"^([A-Z]\w*): ?", re.MULTILINE)
_PRODUCTS = {"roo": "roo_code", "cline": "cline", "kilo_code": "kilo_code"}
_DATE = r"([a-z]{3})-([0-9]{1,2})-([0-9]{4})_([0-9]{1,2})-([0-9]{2})-([0-9]{2})-([ap]m)"
_FILE_NAME = re.compile(rf"(?:({'|'.join(_PRODUCTS)})_task|task_[0-9]{{3,}}_.*)_{_DATE}")
_OPENINGS = ("**User:**\n\n", "**Assistant:**\n\n")
_FIELD = re.compile(r"^\*\*([A-Z][\w ]*):\*\* (.*)$", re.MULTILINE)
_TITLE = re.compile(r"# Task [0-9]+: (.*?)\n\n(?=\*\*Mode:\*\*)", re.DOTALL)
_CONVERSATION = "## Conversation"
_HEADING = re.compile(rb"(?:\A|(?<=\n\n)---\n\n|(?<=\n\n## Conversation\n\n))\*\*(User|Assistant):\*\*$", re.MULTILINE)


def export_product(name: str, head: bytes) -> str | None:
    """Return the platform of an export, by its name and its first bytes, or None if it is not an export."""
    text = head.removeprefix(BOM).replace(b"\r\n", b"\n").decode(errors="replace")
    match = _FILE_NAME.search(name.lower())
    if text.startswith(_OPENINGS):
        if match and match[1]:
            return _PRODUCTS[match[1]]
        return _product_of_text(text)
    is_kilo_code = text.startswith("# Task ") and "\n**Task ID:** " in text and f"\n\n{_CONVERSATION}\n\n" in text
    return "kilo_code" if is_kilo_code else None


def _product_of_text(text: str) -> str | None:
    """Return the platform by the environment details, for a renamed file, or None."""
    if "<environment_details>" not in text:
        return None
    if "ACT MODE" in text or "PLAN MODE" in text or "# Visual Studio Code Visible Files" in text:
        return "cline"
    return "roo_code" if "<slug>" in text or "# VSCode Visible Files" in text else None


def read_export(source: Source, run: Run, platform: str) -> Iterator[JsonObject]:
    with source.open() as stream:
        sections = Sections(stream, run, _HEADING)
    turns = [(speaker, _body(section)) for speaker, section in sections]
    title = _TITLE.match(sections.preface)
    above = sections.preface[title.end() if title else 0 :]
    stated = {name: value.strip() for name, value in _FIELD.findall(above)}
    if not turns:
        if sections.preface.strip():
            sections.quarantine_all()
        else:
            run.note(NO_SECTIONS, "the text")
        return
    time_in_name = _time_of_name(source.file_name)
    task_id = stated.get("Task ID") or conversation_uuid(platform, time_in_name, turns[0][1])
    task = Task(task_id, platform, run, source.written_at, last_time=time_in_name or source.written_at())
    history = History(task)
    for index, (speaker, text) in enumerate(turns):
        is_user = speaker == "User"
        blocks = user_blocks(text) if is_user else answer_blocks(text, platform)
        messages, time = history.messages(index, {"role": speaker.lower(), "content": blocks})
        for message in messages:
            task.add(message, time)
        run.mapped()
    rest = _FIELD.sub("", above).strip().removesuffix(_CONVERSATION).strip()
    yield _document(task, title[1] if title else task.first_prompt, stated, rest)


def _document(task: Task, title: str, stated: dict[str, str], preface: str) -> JsonObject:
    platform: JsonObject = {"name": task.platform}
    if task.models:
        platform["model"] = task.models.most_common(1)[0][0]
    context: JsonObject = {"workspace": {"path": task.workspace}} if task.workspace else {}
    custom: JsonObject = {"mode": task.mode, "modes": list(task.modes), "time_zone": task.time_zone}
    custom |= {"export": stated, "preface": preface}
    if non_empty := {name: value for name, value in custom.items() if value}:
        context["custom"] = non_empty
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


def _time_of_name(name: str) -> str:
    """Return the time in a file name, which has no time zone, or ""."""
    match = _FILE_NAME.search(name.lower())
    if match is None:
        return ""
    month, day, year, hour, minute, second, half = match.groups()[1:]
    return timestamp_or_empty(f"{month} {day} {year} {hour}:{minute}:{second} {half}")


def user_blocks(text: str) -> list[JsonObject]:
    """Return the blocks of a user turn: tool results, text, and the environment details at the end."""
    blocks: list[JsonObject] = []
    text, environment = _split_environment(text)
    for heading, piece in _split_at(_RESULT, text):
        if heading is not None and heading[0]:
            blocks.append({"type": "tool_result", "content": piece} | ({"is_error": True} if heading[1] else {}))
        elif piece:
            blocks.append(_text(piece))
    return [*blocks, _text(environment)] if environment else blocks


def answer_blocks(text: str, platform: str) -> list[JsonObject]:
    """Return the blocks of an answer: text, reasoning and calls."""
    blocks: list[JsonObject] = []
    for heading, piece in _split_at(_CALL, text):
        if heading is None:
            blocks += [_text(piece)] if piece else []
        elif heading[1]:
            blocks.append({"type": "tool_use", "name": heading[1], "input": _arguments(heading[1], piece, platform)})
        else:
            blocks += _reasoning(piece, platform)
    return blocks


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _split_at(headings: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str] | None, str]]:
    """Yield (None, the text before the first heading), then each heading with the text below it."""
    found = list(headings.finditer(text))
    starts = [heading.start() for heading in found]
    yield None, text[: starts[0]].removesuffix("\n") if found else text
    for heading, end in zip(found, [*starts[1:], len(text)][: len(found)], strict=True):
        body = text[heading.end() : end]
        yield heading, (body if end == len(text) else body.removesuffix("\n")).removeprefix("\n" if heading[0] else "")


def _split_environment(text: str) -> tuple[str, str]:
    """Split a turn into its text and the environment details at its end."""
    start = text.rfind(_ENVIRONMENT) if text.rstrip().endswith(_ENVIRONMENT_END) else -1
    if start < 0 or (start and text[start - 1] != "\n"):
        return text, ""
    return text[:start].removesuffix("\n"), text[start:]


def _reasoning(text: str, platform: str) -> list[JsonObject]:
    """Return the reasoning block; a call written as tags after it becomes a text block."""
    opened = _call_tag(platform).search(text)
    reasoning = text[: opened.start()].removesuffix("\n") if opened else text
    blocks = [{"type": "reasoning", "text": reasoning}]
    return [*blocks, _text(text[opened.start() :])] if opened else blocks


@cache
def _call_tag(platform: str) -> re.Pattern[str]:
    return re.compile(rf"^<({'|'.join(sorted(TOOLS[platform]))})>$", re.MULTILINE)


def _arguments(tool: str, text: str, platform: str) -> Any:
    """Return the parameters of a call, or the text itself if it does not start with a parameter."""
    if not _PARAMETER.match(text):
        return text
    known = PARAMETERS[platform] if is_tool_name(tool) else None
    found: dict[str, str] = {}
    key, value_start = "", 0
    for heading in _PARAMETER.finditer(text):
        name = heading[1][0].lower() + heading[1][1:]
        if name == key or name in found or (key and known is not None and name not in known):
            continue
        if key:
            found[key] = text[value_start : heading.start()].removesuffix("\n")
        key, value_start = name, heading.end()
    found[key] = text[value_start:]
    return {name: _value(value) for name, value in found.items()}


def _value(text: str) -> Any:
    """Parse the value of a parameter; objects and lists are written as JSON."""
    if text.startswith(("{", "[")):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
    return text
