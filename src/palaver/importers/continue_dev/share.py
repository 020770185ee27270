"""Transcripts that Continue's `/share` writes: Markdown with a heading and a quotation for every message.

Everything but the user's messages is under `_Assistant_`, including tool results and thoughts, and messages without
text are missing. In the user's code blocks the file name is already a comment in the first line. The times in the file
name and in the text are those of the export, in the time zone of its author.
"""

import re
from collections.abc import Iterator

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.damage import BOM
from palaver.sources.run import Run
from palaver.sources.sections import NO_SECTIONS, Sections
from palaver.sources.source import Source

PLATFORM = "continue_dev"

_TITLE = "### [Continue](https://continue.dev) session transcript"
_HEADING = re.compile(rb"^#### _(User|Assistant)_$", re.MULTILINE)
_QUOTE_MARK = re.compile("(?:\\A|(?<=[\n\r\u2028\u2029]))>(?: |(?=[\n\r\u2028\u2029]|\\Z))")
"""A quotation mark at the beginning of a line as JavaScript sees it, where any of four characters ends a line."""
_TIME_IN_NAME = re.compile(r"([0-9]{8}T[0-9]{6})_session")
_EXPORTED = re.compile(r"^ ?Exported: (.+)$", re.MULTILINE)


def is_share(head: bytes) -> bool:
    return head.removeprefix(BOM).startswith(_TITLE.encode())


def read_share(source: Source, run: Run) -> Iterator[JsonObject]:
    with source.open() as stream:
        sections = Sections(stream, run, _HEADING)
    exported = _EXPORTED.search(sections.preface)
    exported_at = _time_in_name(source.stem) or (_time_of_export(exported[1]) if exported else "")
    timestamp = exported_at or source.written_at()
    texts: list[tuple[str, str]] = []
    for speaker, section in sections:
        texts.append((speaker, _QUOTE_MARK.sub("", section.strip("\n"))))
        run.note(INFERRED_TIMESTAMP, sections.where())
        run.mapped()
    preface = _EXPORTED.sub("", sections.preface.removeprefix(_TITLE), count=1).strip()
    if texts:
        conversation_id = conversation_uuid(PLATFORM, exported_at, texts[0][1])
        header = {"exported": exported[1] if exported else "", "preface": preface}
        custom = {name: value for name, value in header.items() if value}
        yield build.conversation(
            conversation_id=conversation_id,
            platform={"name": PLATFORM},
            context={"custom": custom} if custom else None,
            created_at=timestamp,
            messages=[_message(conversation_id, number, *texts[number], timestamp) for number in range(len(texts))],
        )
    elif preface:
        sections.quarantine_all()
    else:
        run.note(NO_SECTIONS, "the text")


def _message(conversation_id: str, number: int, speaker: str, text: str, timestamp: str) -> JsonObject:
    is_user = speaker == "User"
    return build.message(
        message_id=f"{conversation_id}:{number}",
        parent_message_id=f"{conversation_id}:{number - 1}" if number else None,
        role="user" if is_user else "assistant",
        timestamp=timestamp,
        content=[build.text(text)],
        metadata={"author_kind": "human" if is_user else "model", "timestamp_inferred": True},
    )


def _time_in_name(stem: str) -> str:
    named = _TIME_IN_NAME.search(stem)
    return timestamp_or_empty(named[1]) if named else ""


def _time_of_export(spelled: str) -> str:
    """Parse a time in the user's locale; with slashes, only American times (capital AM or PM) are unambiguous."""
    spelled = " ".join(spelled.split())
    may_begin_with_day = "/" in spelled[:3] and not spelled.endswith(("AM", "PM"))
    return "" if may_begin_with_day else timestamp_or_empty(spelled)
