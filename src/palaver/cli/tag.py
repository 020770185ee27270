"""`palaver tag`: words of the user's own on conversations."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._archive import Has, Models, Platforms, Projects, Since, Tags, Tools, Until
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, plain
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3

    from palaver.archive.filters import Filters
    from palaver.archive.naming import Named

_SHOWN = 20


def tag(
    words: Annotated[list[str] | None, typer.Argument(metavar="TAG", hidden=True)] = None,
    *,
    remove: Annotated[bool, typer.Option("--remove", help="Take the tags away instead.")] = False,
    platform: Platforms = None,
    project: Projects = None,
    model: Models = None,
    since: Since = None,
    until: Until = None,
    has: Has = None,
    tool: Tools = None,
    tagged: Tags = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would change, change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tag conversations, or list the tags in use.

    WORD names a conversation: its id, the beginning of it, PLATFORM:ID, or latest. With filters there is no WORD: all
    conversations that they let through are meant. Without any TAG, those in use are listed.

    Tags are kept by the conversation's name: they stay when it is imported again.

    Exit codes: 0 done, 1 no conversation or no tag is there, 2 could not do it.
    """
    from palaver.archive.filters import Filters
    from palaver.archive.marks import clean_tag

    chosen = _archive.filters(
        platforms=platform,
        projects=project,
        models=model,
        since=since,
        until=until,
        has=has,
        tools=tool,
        tags=tagged,
    )
    is_filtered = chosen != Filters()
    name, tags = (None, words or []) if is_filtered or not words else (words[0], words[1:])
    tags = [clean_tag(word) for word in tags]
    if remove and not tags:
        raise OptionError("--remove needs the tags to take away")
    opened = _archive.writing if tags and not dry_run else _archive.reading
    with opened() as connection:
        told = _done(connection, name, chosen, tags, is_removed=remove, dry_run=dry_run)
    if as_json:
        output.answer_json(told)
    else:
        _show(told, is_listing=not tags)
    raise typer.Exit(0 if told["conversations"] or told["tags"] else 1)


def _done(
    connection: "sqlite3.Connection",
    name: str | None,
    chosen: "Filters",
    tags: list[str],
    *,
    is_removed: bool,
    dry_run: bool,
) -> dict[str, Any]:
    from palaver.archive.filters import Filters
    from palaver.archive.marks import mark, tags_used
    from palaver.archive.naming import named, selected
    from palaver.archive.reading import tags_of

    is_all = name is None and chosen == Filters()
    found: list[Named] = [] if is_all else [named(connection, name)] if name else selected(connection, chosen)
    conversations: list[dict[str, Any]] = []
    for one in found if tags or name else []:
        now = set(tags_of(connection, *one[:3]))
        wanted = now - set(tags) if is_removed else now | set(tags)
        if not dry_run and wanted != now:
            mark(connection, one, tags, is_removed=is_removed)
        conversations.append(
            {
                "platform": one.platform,
                "conversation_id": one.conversation_id,
                "title": one.title,
                "tags": sorted(wanted),
                "is_changed": wanted != now,
            }
        )
    used = tags_used(connection, None if is_all else found) if not tags else {}
    counts = [{"tag": word, "conversations": used[word]} for word in sorted(used, key=lambda word: (-used[word], word))]
    return {"conversations": conversations, "tags": counts, "is_dry_run": dry_run}


def _show(told: dict[str, Any], *, is_listing: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    if is_listing and not told["conversations"]:
        for used in told["tags"]:
            table.add_row(Text(f"{used['conversations']:,}", justify="right"), Text(plain(used["tag"]), "cyan"))
        if told["tags"]:
            output.answer(table)
        else:
            output.tell("No conversation has a tag; `palaver tag WORD TAG` gives it one.")
        return
    for one in told["conversations"][:_SHOWN]:
        name = Text(f"{one['platform']}:{plain(one['conversation_id'])}", no_wrap=True, overflow="ellipsis")
        tags = Text(", ".join(map(plain, one["tags"])) or "no tags", "cyan" if one["tags"] else "dim")
        table.add_row(name, tags, Text(plain(one["title"] or ""), "dim", no_wrap=True, overflow="ellipsis"))
    if told["conversations"]:
        output.answer(table)
    changed = sum(one["is_changed"] for one in told["conversations"])
    if (more := len(told["conversations"]) - _SHOWN) > 0:
        output.tell(Text(f"and {more:,} more", "dim"))
    if not is_listing:
        would = " would be" if told["is_dry_run"] else " was" if changed == 1 else " were"
        output.tell(f"{counted(changed, 'conversation')}{would} changed.")
