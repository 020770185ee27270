"""`palaver duplicates`: what the archive holds more than once, and what became of it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, gist, place, plain, size

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from rich.text import Text

    from palaver.archive.duplicates import EqualFile, Link, Marked, Merged, Remembered

_SCREENFUL = 30


def duplicates(
    *,
    level: Annotated[
        int | None, typer.Option("--level", min=1, max=4, metavar="N", help="Show what is found at this level, 1 to 4.")
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            "--window", min=0, metavar="MS", help="How far apart equal messages may be.", show_default="config, or 5000"
        ),
    ] = None,
    platforms: _archive.Platforms = None,
    projects: _archive.Projects = None,
    models: _archive.Models = None,
    since: _archive.Since = None,
    until: _archive.Until = None,
    has: _archive.Has = None,
    tools: _archive.Tools = None,
    tags: _archive.Tags = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="How many.")] = _SCREENFUL,
    everything: Annotated[bool, typer.Option("--all", "-a", help="All of them.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is there more than once, and why.

    Nothing of it is removed. Level 1: a source that has not changed is not opened again. Level 2: a conversation that
    several sources hold is merged into one. Level 3: conversations that share messages, as resumed and forked ones do,
    are linked, each to the first that holds the message; bodies of less than 100 characters and what a product injects
    by itself are no link. Level 4: a message with the role and content of one before it, within a window that begins
    with that first, is marked as its copy.

    Exit codes: 0 it was looked for, 2 the archive could not be read.
    """
    from palaver.archive import duplicates as look
    from palaver.config import config_path, load_config

    window_ms = load_config(config_path()).duplicate_window_ms if window is None else window
    wanted = _archive.filters(
        platforms=platforms,
        projects=projects,
        models=models,
        since=since,
        until=until,
        has=has,
        tools=tools,
        tags=tags,
    )
    with _archive.reading() as connection:
        found = _Found(
            connection,
            window_ms,
            None if everything else limit,
            remembered=look.remembered(connection, wanted),
            equal=list(look.equal_files(connection, wanted)),
            merged=list(look.merged(connection, wanted)),
            links=look.links(connection, wanted),
            marked=list(look.marked(connection, wanted, window_ms)),
        )
        if as_json:
            output.answer_json(found.answer(level))
            return
        output.answer_pieces(found.levels())
        if level is not None:
            output.answer("")
            output.answer_pieces(found.details(level))


@dataclass(frozen=True, slots=True)
class _Found:
    """Everything that was found, and how much of it is shown."""

    connection: "sqlite3.Connection"
    window_ms: int
    limit: int | None
    remembered: "Remembered"
    equal: "list[EqualFile]"
    merged: "list[Merged]"
    links: "list[Link]"
    marked: "list[Marked]"

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
                "messages": len(self.marked),
                "conversations": len({one.conversation for one in self.marked}),
                "window_ms": self.window_ms,
            },
            "equal_files": [
                {"path": file.path, "equal_to": file.equal_to, "bytes": file.size_bytes}
                for file in self.equal[: self.limit]
            ]
            if level == 1
            else None,
            "merged_conversations": [
                {**self._name(one.conversation), "sources": one.sources} for one in self.merged[: self.limit]
            ]
            if level == 2
            else None,
            "linked_pairs": [
                {
                    "first": self._name(link.first),
                    "other": self._name(link.other),
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
                    "conversation": self._name(one.conversation),
                    "message_id": one.message_id,
                    "first_message_id": one.first_message_id,
                    "apart_ms": one.apart_ms,
                }
                for one in self.marked[: self.limit]
            ]
            if level == 4
            else None,
        }

    def _name(self, key: int) -> dict[str, Any]:
        from palaver.archive.statistics import titles

        platform, conversation_id, title = titles(self.connection, [key])[key]
        return {"platform": platform, "conversation_id": conversation_id, "title": title}

    # -- for people -------------------------------------------------------------------------------------------------

    def levels(self) -> "Iterator[Text]":
        from rich.text import Text

        files = f"{counted(self.remembered.files, 'file')}, {size(self.remembered.size_bytes)}"
        equal = f"; {len(self.equal):,} equal to another" if self.equal else ""
        shared = counted(sum(link.shared for link in self.links), "message")
        marked = f"{counted(len(self.marked), 'message')} within {self.window_ms:,} ms of the first"
        told = (
            ("unchanged source", f"{files}{equal}", "not opened again"),
            ("same conversation", f"{counted(len(self.merged), 'conversation')} from several sources", "merged"),
            ("same content", f"{counted(len(self.links), 'pair')} of conversations, {shared} in common", "linked"),
            ("same again", marked, "marked, never removed"),
        )
        for number, (name, found, became) in enumerate(told, 1):
            yield Text.assemble((f"{number}  ", "cyan"), (f"{name:<19}", "bold"), found, (f"  {became}", "dim"))

    def details(self, level: int) -> "Iterator[Text]":
        from rich.text import Text

        rows, total = {
            1: (self._equal_lines, len(self.equal)),
            2: (self._merged_lines, len(self.merged)),
            3: (self._link_lines, len(self.links)),
            4: (self._marked_lines, len(self.marked)),
        }[level]
        yield from rows()
        if not total:
            yield Text("There is nothing at this level.", "dim")
        elif self.limit is not None and total > self.limit:
            yield Text(f"{self.limit:,} of {total:,}: --limit N or --all shows more.", "dim")

    def _equal_lines(self) -> "Iterator[Text]":
        from rich.text import Text

        for file in self.equal[: self.limit]:
            yield Text.assemble(place(file.path), (f"  {size(file.size_bytes)}, equal to", "dim"))
            yield Text(f"  {place(file.equal_to)}", "dim")

    def _merged_lines(self) -> "Iterator[Text]":
        from rich.text import Text

        for one in self.merged[: self.limit]:
            yield Text.assemble(self._title(one.conversation), (f"  from {len(one.sources):,} sources", "dim"))
            for label in one.sources:
                yield Text(f"  {place(label)}", "dim")

    def _link_lines(self) -> "Iterator[Text]":
        from rich.text import Text

        for link in self.links[: self.limit]:
            shared = f"{link.share:>4.0%}  {counted(link.shared, 'message'):<14}  {link.reason}"
            yield Text.assemble(self._title(link.other), "")
            yield Text.assemble((f"  {shared}, first in ", "dim"), self._title(link.first))

    def _marked_lines(self) -> "Iterator[Text]":
        from rich.text import Text

        before = 0
        for one in self.marked[: self.limit]:
            if one.conversation != before:
                yield self._title(one.conversation)
                before = one.conversation
            ids = f"{plain(one.message_id)} repeats {plain(one.first_message_id)}"
            yield Text.assemble(f"  {one.apart_ms:>6,} ms  ", (ids, "dim"))

    def _title(self, key: int) -> "Text":
        from rich.text import Text

        name = self._name(key)
        return Text.assemble(
            (plain(name["conversation_id"])[:8], "cyan"), "  ", gist(name["title"] or "without a title", 60)
        )
