"""`palaver duplicates`: duplicates in the archive, and how they were handled."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.duplicates import (
    ConversationLink,
    EqualFile,
    MergedConversation,
    RememberedFiles,
    RepeatedMessage,
    conversation_links,
    equal_files,
    merged_conversations,
    remembered_files,
    repeated_messages,
)
from palaver.archive.filters import Filters
from palaver.archive.statistics import conversation_titles
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path, escaped_line, gist, size
from palaver.config import config_path, load_config

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from rich.text import Text

_SCREENFUL = 30


@takes_filters
def duplicates(
    *,
    level: Annotated[
        int | None, typer.Option("--level", min=1, max=4, metavar="N", help="List the duplicates of one level, 1 to 4.")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            min=0,
            metavar="MS",
            help="Time between equal messages, at most, in milliseconds.",
            show_default="config, or 5000",
        ),
    ] = None,
    filters: Filters,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="Show at most N.")] = _SCREENFUL,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Show all.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show duplicates and how they were handled.

    Duplicates are never removed. Level 1: unchanged sources are not read again. Level 2: a conversation in several
    sources is merged into one. Level 3: conversations that share messages, such as resumed or forked ones, are linked
    to the one that held the messages first. Messages under 100 characters and text injected by the product do not link.
    Level 4: a message with the role and content of an earlier one is marked as its copy if it follows within the time
    of --window.

    Exit codes: 0 done, also without duplicates, 2 the archive could not be read.
    """
    window_ms = load_config(config_path()).duplicate_window_ms if window is None else window
    with _archive.open_for_reading() as connection:
        found = _Duplicates(
            connection,
            window_ms,
            None if everything else limit,
            remembered=remembered_files(connection, filters),
            equal=list(equal_files(connection, filters)),
            merged=list(merged_conversations(connection, filters)),
            links=conversation_links(connection, filters),
            repeated=list(repeated_messages(connection, filters, window_ms)),
        )
        if as_json:
            output.answer_json(found.answer(level))
            return
        output.answer_texts(found.levels())
        if level is not None:
            output.answer("")
            output.answer_texts(found.details(level))


_LEVEL_WIDTH = len("1  ") + 19 + len("  ")


@dataclass(frozen=True, slots=True)
class _Duplicates:
    """All duplicates found, and how many of them are shown."""

    connection: "sqlite3.Connection"
    window_ms: int
    limit: int | None
    remembered: RememberedFiles
    equal: list[EqualFile]
    merged: list[MergedConversation]
    links: list[ConversationLink]
    repeated: list[RepeatedMessage]

    def answer(self, level: int | None) -> dict[str, Any]:
        return {
            "unchanged": {
                "sources": self.remembered.sources,
                "files": self.remembered.files,
                "bytes": self.remembered.size_bytes,
                "equal_files": len(self.equal),
            },
            "merged": {"conversations": len(self.merged)},
            "linked": {"pairs": len(self.links), "shared_messages": sum(link.shared for link in self.links)},
            "marked": {
                "messages": len(self.repeated),
                "conversations": len({repeat.conversation for repeat in self.repeated}),
                "window_ms": self.window_ms,
            },
            "equal_files": [
                {"path": file.path, "equal_to": file.equal_to, "bytes": file.size_bytes}
                for file in self.equal[: self.limit]
            ]
            if level == 1
            else None,
            "merged_conversations": [
                {**self._reference(merged.conversation), "sources": merged.sources}
                for merged in self.merged[: self.limit]
            ]
            if level == 2
            else None,
            "linked_pairs": [
                {
                    "first": self._reference(link.first),
                    "other": self._reference(link.other),
                    "shared_messages": link.shared,
                    "share": round(link.share, 4),
                    "reason": link.reason,
                }
                for link in self.links[: self.limit]
            ]
            if level == 3
            else None,
            "marked_messages": [
                {
                    "conversation": self._reference(repeat.conversation),
                    "message_id": repeat.message_id,
                    "first_message_id": repeat.first_message_id,
                    "apart_ms": repeat.apart_ms,
                }
                for repeat in self.repeated[: self.limit]
            ]
            if level == 4
            else None,
        }

    def _reference(self, key: int) -> dict[str, Any]:
        platform, conversation_id, title = conversation_titles(self.connection, [key])[key]
        return {"platform": platform, "conversation_id": conversation_id, "title": title}

    def levels(self) -> "Iterator[Text]":
        from rich.text import Text

        files = f"{counted(self.remembered.files, 'file')}, {size(self.remembered.size_bytes)}"
        equal = f"; {len(self.equal):,} identical to another" if self.equal else ""
        shared = counted(sum(link.shared for link in self.links), "message")
        repeated = f"{counted(len(self.repeated), 'message')} within {self.window_ms:,} ms of the first"
        levels = (
            ("unchanged source", f"{files}{equal}", "not read again"),
            ("same conversation", f"{counted(len(self.merged), 'conversation')} from several sources", "merged"),
            ("same content", f"{counted(len(self.links), 'pair')} of conversations, {shared} shared", "linked"),
            ("repeated message", repeated, "marked, never removed"),
        )
        width = output.terminal_width()
        widest = max(len(found) + len(handling) for _, found, handling in levels) + _LEVEL_WIDTH
        is_narrow = width is not None and widest > width
        for number, (name, found, handling) in enumerate(levels, 1):
            head = Text.assemble((f"{number}  ", "cyan"), (name if is_narrow else f"{name:<19}", "bold"))
            if is_narrow:
                yield head.append(f"  {handling}", "dim")
                yield Text(f"   {found}")
            else:
                yield head.append(found).append(f"  {handling}", "dim")

    def details(self, level: int) -> "Iterator[Text]":
        from rich.text import Text

        rows, total = {
            1: (self._equal_lines, len(self.equal)),
            2: (self._merged_lines, len(self.merged)),
            3: (self._link_lines, len(self.links)),
            4: (self._repeated_lines, len(self.repeated)),
        }[level]
        yield from rows()
        if not total:
            yield Text("No duplicates at this level.", "dim")
        elif self.limit is not None and total > self.limit:
            yield Text(f"{self.limit:,} of {total:,} shown; --limit N or --all shows more.", "dim")

    def _equal_lines(self) -> "Iterator[Text]":
        from rich.text import Text

        for file in self.equal[: self.limit]:
            yield Text.assemble(display_path(file.path), (f"  {size(file.size_bytes)}, identical to", "dim"))
            yield Text(f"  {display_path(file.equal_to)}", "dim")

    def _merged_lines(self) -> "Iterator[Text]":
        from rich.text import Text

        for merged in self.merged[: self.limit]:
            yield Text.assemble(self._title(merged.conversation), (f"  from {len(merged.sources):,} sources", "dim"))
            for label in merged.sources:
                yield Text(f"  {display_path(label)}", "dim")

    def _link_lines(self) -> "Iterator[Text]":
        from rich.text import Text

        for link in self.links[: self.limit]:
            shared = f"{link.share:>4.0%}  {counted(link.shared, 'message'):<14}  {link.reason}"
            yield Text.assemble(self._title(link.other), "")
            yield Text.assemble((f"  {shared}, first in ", "dim"), self._title(link.first))

    def _repeated_lines(self) -> "Iterator[Text]":
        from rich.text import Text

        last_conversation = 0
        for repeat in self.repeated[: self.limit]:
            if repeat.conversation != last_conversation:
                yield self._title(repeat.conversation)
                last_conversation = repeat.conversation
            ids = f"{escaped_line(repeat.message_id)} repeats {escaped_line(repeat.first_message_id)}"
            yield Text.assemble(f"  {repeat.apart_ms:>6,} ms  ", (ids, "dim"))

    def _title(self, key: int) -> "Text":
        from rich.text import Text

        reference = self._reference(key)
        return Text.assemble(
            (escaped_line(reference["conversation_id"])[:8], "cyan"),
            "  ",
            gist(reference["title"] or "(untitled)", 60),
        )
