"""`palaver tag`: the user's own tags on conversations."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.conversation_tags import conversation_tags
from palaver.archive.filters import Filters
from palaver.archive.selection import ConversationRef, find_conversation, matching_conversations
from palaver.archive.short_ids import ShortIds
from palaver.archive.tags import change_tags, normalize_tag, tag_counts
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, escaped_line
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3

_SHOWN = 20


@takes_filters
def tag(
    words: Annotated[list[str] | None, typer.Argument(metavar="TAG", hidden=True)] = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the tags instead of adding them.")] = False,
    filters: Filters,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, but change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tag conversations, or list the tags in use.

    ID is a conversation's id, its first characters, PLATFORM:ID, or latest. With filters and no ID, every matching
    conversation is tagged. Without TAG, the tags in use are listed.

    Tags survive importing the conversation again.

    Exit codes: 0 done, 1 no conversation or tag was found, 2 the tags could not be read or changed.
    """
    is_filtered = filters != Filters()
    name, tags = (None, words or []) if is_filtered or not words else (words[0], words[1:])
    tags = [normalize_tag(word) for word in tags]
    if remove and not tags:
        raise OptionError("--remove needs the tags to remove")
    opened = _archive.open_for_writing if tags and not dry_run else _archive.open_for_reading
    with opened() as connection:
        answer = _apply(connection, name, filters, tags, is_removed=remove, dry_run=dry_run)
        ids = ShortIds(connection)
        shown = answer["conversations"][:_SHOWN]
        names = [ids.short_id(changed["platform"], changed["conversation_id"]) for changed in shown]
    if as_json:
        output.answer_json(answer)
    else:
        _show(answer, names, is_listing=not tags)
    raise typer.Exit(0 if answer["conversations"] or answer["tags"] else 1)


def _apply(
    connection: "sqlite3.Connection",
    name: str | None,
    filters: Filters,
    tags: list[str],
    *,
    is_removed: bool,
    dry_run: bool,
) -> dict[str, Any]:
    is_all = name is None and filters == Filters()
    found: list[ConversationRef] = (
        [] if is_all else [find_conversation(connection, name)] if name else matching_conversations(connection, filters)
    )
    conversations: list[dict[str, Any]] = []
    for conversation in found if tags or name else []:
        before = set(conversation_tags(connection, *conversation[:3]))
        after = before - set(tags) if is_removed else before | set(tags)
        if not dry_run and after != before:
            change_tags(connection, conversation, tags, is_removed=is_removed)
        conversations.append(
            {
                "platform": conversation.platform,
                "conversation_id": conversation.conversation_id,
                "title": conversation.title,
                "tags": sorted(after),
                "is_changed": after != before,
            }
        )
    counts = tag_counts(connection, None if is_all else found) if not tags else {}
    tags_in_use = [
        {"tag": word, "conversations": count}
        for word, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    ]
    return {"conversations": conversations, "tags": tags_in_use, "is_dry_run": dry_run}


def _show(answer: dict[str, Any], short_ids: list[str], *, is_listing: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    if is_listing and not answer["conversations"]:
        for entry in answer["tags"]:
            table.add_row(
                Text(f"{entry['conversations']:,}", justify="right"), Text(escaped_line(entry["tag"]), "cyan")
            )
        if answer["tags"]:
            output.answer(table)
        else:
            output.notify("No tags yet. Add one with `palaver tag ID TAG`.")
        return
    for short_id, changed in zip(short_ids, answer["conversations"], strict=False):
        name = Text(escaped_line(short_id), "cyan", no_wrap=True)
        tags = Text(", ".join(map(escaped_line, changed["tags"])) or "no tags", "" if changed["tags"] else "dim")
        table.add_row(name, tags, Text(escaped_line(changed["title"] or ""), "dim", no_wrap=True, overflow="ellipsis"))
    if answer["conversations"]:
        output.answer(table)
    changes = sum(changed["is_changed"] for changed in answer["conversations"])
    if (more := len(answer["conversations"]) - _SHOWN) > 0:
        output.notify(Text(f"and {more:,} more", "dim"))
    if not is_listing:
        would = " would be" if answer["is_dry_run"] else ""
        output.notify(f"{counted(changes, 'conversation')}{would} changed.")
