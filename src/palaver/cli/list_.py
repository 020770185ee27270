"""`palaver list`: the conversations of the archive."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.conversation_list import (
    FoundConversations,
    ListedConversation,
    Sort,
    find_conversations,
    list_conversations,
)
from palaver.archive.filters import Filters
from palaver.cli import _archive
from palaver.cli._arguments import AsJson, NoPager
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3

_SCREENFUL = 30
_SORTS = ("updated", "created", "messages", "tokens")


@takes_filters
def list_(
    *,
    filters: Filters,
    here: Annotated[
        bool, typer.Option("--here", help="Only of the current folder or Git repository, and of folders below it.")
    ] = False,
    agents: Annotated[bool, typer.Option("--agents", help="Also the conversations of agents.")] = False,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="Also recorded traffic of conversations that are in the archive anyway.")
    ] = False,
    sort: Annotated[
        str, typer.Option(metavar="BY", help="The greatest first: updated, created, messages, tokens.")
    ] = "updated",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most N.")] = _SCREENFUL,
    everything: Annotated[bool, typer.Option("--all", "-a", help="All of them.")] = False,
    no_pager: NoPager = False,
    as_json: AsJson = False,
) -> None:
    """List the conversations of the archive, the latest first.

    The first column is the id to pass to `palaver show`. Agents are hidden, and counted behind the title of the
    conversation that started them; `palaver stats` counts them as conversations. Recorded API traffic is hidden if an
    assistant's own record has all of its answers: `palaver show` shows their times there. A time with `~` is a guess:
    none of the messages states one, so these conversations come last. Tokens are counted once where a message is kept
    twice, without those read from the cache.

    Exit codes: 0 conversations were found, 1 none was found, 2 the archive could not be read.
    """
    if sort not in _SORTS:
        raise OptionError(f"--sort {sort}: choose from {', '.join(_SORTS)}")
    limit = sys.maxsize if everything else limit
    with _archive.open_for_reading() as connection:
        narrowed = _narrowed_to_here(connection, filters) if here else filters
        found = find_conversations(
            connection, narrowed, Sort(sort), with_agents=agents, with_recordings=recorded, limit=limit
        )
        rows = list(list_conversations(connection, found.keys[:limit]))
    if as_json:
        output.answer_json(
            {
                "conversations": [_described(row) for row in rows],
                "total": len(found.keys),
                "shown": len(rows),
                "hidden_agents": found.hidden_agents,
                "hidden_recordings": found.hidden_recordings,
            }
        )
    elif rows:
        from palaver.cli._terminal.conversation_table import conversation_lines

        with output.paged(is_wanted=not no_pager):
            output.answer_texts(conversation_lines(rows, output.terminal_width()))
        _notify_of_more(len(rows), found)
    elif here and not (found.hidden_agents or found.hidden_recordings):
        output.notify(f"No conversation of {display_path(_here()[0])} or a folder below it matches.")
    else:
        _notify_of_nothing(found, is_filtered=narrowed.where()[0] != "true")
    raise typer.Exit(0 if rows else 1)


def _here() -> list[Path]:
    """Return the folder that `--here` means, as the shell and as the system spell it."""
    spelled = [Path(os.environ.get("PWD") or Path.cwd()), Path.cwd()]
    folders = [_repository(folder) or folder for folder in spelled if folder.exists() and folder.samefile(Path.cwd())]
    return list(dict.fromkeys([*folders, *(folder.resolve() for folder in folders)]))


def _repository(folder: Path) -> Path | None:
    """Return the root of the Git repository around a folder; a home folder under Git is no project."""
    home = Path.home()
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists() and parent != home), None)


def _narrowed_to_here(connection: "sqlite3.Connection", filters: Filters) -> Filters:
    """Return the filters with those of the stored projects that are the current folder, or are below it."""
    roots = [os.path.normcase(folder) for folder in _here()]

    def is_below(project: str) -> bool:
        path = os.path.normcase(os.path.normpath(project))
        return any(path == root or path.startswith(root.rstrip(os.sep) + os.sep) for root in roots)

    query = "select distinct project from conversation where project is not null"
    projects = {project for (project,) in connection.execute(query) if is_below(project)}
    if filters.projects:
        projects &= set(filters.projects)
    # Without any project, no conversation passes: no stored project is empty.
    return replace(filters, projects=tuple(sorted(projects)) or ("",))


def _described(row: ListedConversation) -> dict[str, Any]:
    totals = row.totals
    return {
        "conversation_id": row.conversation_id,
        "short_id": row.short_id,
        "platform": row.platform,
        "title": row.title,
        "has_title": row.has_title,
        "project": row.project,
        "model": row.model,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "is_undated": row.is_undated,
        "status": row.status,
        "messages": totals.messages,
        "human_messages": totals.human_messages,
        "tokens": totals.tokens(),
        "tags": row.tags,
        "rating": row.rating,
        "is_sidechain": row.is_sidechain,
        "parent": row.parent,
        "agents": row.agents,
        "sources": row.sources,
    }


def _notify_of_more(shown: int, found: FoundConversations) -> None:
    sentences: list[str] = []
    if shown < len(found.keys):
        sentences.append(f"{shown:,} of {counted(len(found.keys), 'conversation')}: --limit N or --all shows more")
    sentences += _hidden(found)
    if sentences:
        from rich.text import Text

        output.notify("", *(Text(sentence, "dim") for sentence in sentences))


def _notify_of_nothing(found: FoundConversations, *, is_filtered: bool) -> None:
    if hidden := _hidden(found):
        output.notify(*(f"Only {sentence}" for sentence in hidden))
    elif is_filtered:
        output.notify("No conversation matches these filters.")
    else:
        output.notify("The archive is empty. Start with `palaver scan` or `palaver import PATH`.")


def _hidden(found: FoundConversations) -> list[str]:
    """Return a sentence for each kind of conversations that are hidden, and how to see them."""
    kinds = (("agent", found.hidden_agents, "--agents"), ("recording", found.hidden_recordings, "--recorded"))
    return [
        f"{counted(number, noun)}: {option} shows {'it' if number == 1 else 'them'}"
        for noun, number, option in kinds
        if number
    ]
