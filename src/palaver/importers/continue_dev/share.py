"""Transcripts that Continue's `/share` writes: Markdown with a heading and a quotation for every message.

All that is not the user's stands under `_Assistant_`, results of tools and thoughts too, and messages without a text
are missing. In the user's code blocks the name of a file is already a comment in the first line. The time in the file's
name and the one in the text are the export's, in the zone of whoever made it.
"""

import re
from collections.abc import Iterator

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.sources.damage import BOM
from palaver.sources.run import Run
from palaver.sources.sections import NO_SECTIONS, Sections
from palaver.sources.source import Source

PLATFORM = "continue_dev"

_TITLE = "### [Continue](https://continue.dev) session transcript"
_HEADING = re.compile(rb"^#### _(User|Assistant)_$", re.MULTILINE)
_QUOTED = re.compile("(?:\\A|(?<=[\n\r\u2028\u2029]))>(?: |(?=[\n\r\u2028\u2029]|\\Z))")
"""What JavaScript takes for the beginning of a line, whichever of the four characters ends the one before."""
_NAMED = re.compile(r"([0-9]{8}T[0-9]{6})_session")
_EXPORTED = re.compile(r"^ ?Exported: (.+)$", re.MULTILINE)


def is_share(head: bytes) -> bool:
    return head.removeprefix(BOM).startswith(_TITLE.encode())


def read_share(source: Source, run: Run) -> Iterator[JsonObject]:
    with source.open() as stream:
        sections = Sections(stream, run, _HEADING)
    exported = _EXPORTED.search(sections.preface)
    told = _time_in_name(source.stem) or (_time_of_export(exported[1]) if exported else "")
    timestamp = told or source.written_at()
    said: list[tuple[str, str]] = []
    for speaker, section in sections:
        said.append((speaker, _QUOTED.sub("", section.strip("\n"))))
        run.note(INFERRED_TIMESTAMP, sections.where())
        run.mapped()
    preface = _EXPORTED.sub("", sections.preface.removeprefix(_TITLE), count=1).strip()
    if said:
        custom = {"exported": exported[1] if exported else "", "preface": preface}
        yield build.conversation(
            conversation_id=(conversation := conversation_uuid(PLATFORM, told, said[0][1])),
            platform={"name": PLATFORM},
            context={"custom": kept} if (kept := {name: value for name, value in custom.items() if value}) else None,
            created_at=timestamp,
            messages=[_message(conversation, number, *said[number], timestamp) for number in range(len(said))],
        )
    elif preface:
        sections.set_aside()
    else:
        run.note(NO_SECTIONS, "the text")


def _message(conversation: str, number: int, speaker: str, text: str, timestamp: str) -> JsonObject:
    is_user = speaker == "User"
    return build.message(
        message_id=f"{conversation}:{number}",
        parent_message_id=f"{conversation}:{number - 1}" if number else None,
        role="user" if is_user else "assistant",
        timestamp=timestamp,
        content=[build.text(text)],
        metadata={"author_kind": "human" if is_user else "model", "timestamp_inferred": True},
    )


def _time_in_name(stem: str) -> str:
    named = _NAMED.search(stem)
    return readable_timestamp(named[1]) if named else ""


def _time_of_export(spelled: str) -> str:
    """The time in a spelling of the user's country; of those with a slash, only Americans write capitals behind it."""
    spelled = " ".join(spelled.split())
    may_begin_with_day = "/" in spelled[:3] and not spelled.endswith(("AM", "PM"))
    return "" if may_begin_with_day else readable_timestamp(spelled)
