"""`palaver forget`: remove conversations from the archive and keep them out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive import deletion
from palaver.archive.connection import open_to_write
from palaver.archive.deletion import (
    DeletionPlan,
    agent_conversations,
    plan_deletion,
    rewrite_file,
    tombstones,
    undo_forget,
)
from palaver.archive.filters import Filters
from palaver.archive.selection import ConversationRef, find_conversation, matching_conversations
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, display_path, escaped_line, gist
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3

    from rich.console import RenderableType

_SHOWN = 10
_LARGE_BYTES = 1 << 28


@takes_filters
def forget(
    words: Annotated[list[str] | None, typer.Argument(metavar="ID", hidden=True)] = None,
    *,
    filters: Filters,
    with_agents: Annotated[
        bool, typer.Option("--agents", help="Also forget the conversations of their agents.")
    ] = False,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Record a reason.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed, but change nothing.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List forgotten conversations.")] = False,
    undo: Annotated[str | None, typer.Option(metavar="ID", help="Allow the conversation to be imported again.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remove conversations from the archive for good.

    ID is a conversation's id, its first characters, PLATFORM:ID, or latest. With filters and no ID, every matching
    conversation is removed, with its messages, search index entries, tags and ratings. Messages shared with other
    conversations stay in those. The archive file is then rewritten, so that no deleted text remains in it, and later
    scans and imports skip the conversation.

    The archive keeps the conversation's id, the time, your reason and the names of the source files. palaver never
    changes source files: delete them yourself if you want them gone. After --undo, the next scan or import of these
    files brings the conversation back.

    Exit codes: 0 done, 1 nothing was forgotten, 2 the archive could not be read or changed.
    """
    if list_:
        answer, code = _list_tombstones(as_json=as_json)
    elif undo is not None:
        answer, code = _undo(undo, as_json=as_json)
    else:
        answer, code = _forget(
            words or [],
            filters,
            reason,
            with_agents=with_agents,
            is_sure=yes,
            dry_run=dry_run,
            as_json=as_json,
        )
    if as_json:
        output.answer_json({"conversations": [], "tombstones": [], "undone": None, "is_dry_run": dry_run, **answer})
    raise typer.Exit(code)


def _forget(
    words: list[str],
    filters: Filters,
    reason: str | None,
    *,
    with_agents: bool,
    is_sure: bool,
    dry_run: bool,
    as_json: bool,
) -> tuple[dict[str, Any], int]:
    from rich.text import Text

    if not words and filters == Filters():
        raise OptionError("missing ID: `palaver list` and `palaver search` show the ids of conversations")
    with _archive.open_for_reading() as connection:
        selected = _select(connection, words, filters, with_agents=with_agents)
        plans = plan_deletion(connection, selected)
    answer = {"conversations": [_described(plan, selected) for plan in plans]}
    if not plans:
        output.notify("No conversation matches these filters. Nothing was forgotten.")
        return answer, 1
    lines = [_shown(plan, selected) for plan in plans[:_SHOWN]]
    if (more := len(plans) - _SHOWN) > 0:
        lines.append(Text(f"and {more:,} more"))
    if dry_run:
        for line in lines if not as_json else ():
            output.answer(line)
        return answer, 0
    if not is_sure:
        if not output.can_prompt():
            raise OptionError(
                "this cannot be undone and there is no terminal to confirm on: pass --yes, or try --dry-run"
            )
        output.notify(*lines)
        if not output.confirm(f"Forget {'it' if len(plans) == 1 else f'these {len(plans):,} conversations'} for good?"):
            output.notify("Nothing was forgotten.")
            return {"conversations": []}, 1
    _remove(selected, reason)
    if not as_json:
        for plan in plans:
            output.answer(f"forgotten  {plan.conversation.platform}:{escaped_line(plan.conversation.conversation_id)}")
    return answer, 0


def _select(
    connection: "sqlite3.Connection", words: list[str], filters: Filters, *, with_agents: bool
) -> list[ConversationRef]:
    found = [find_conversation(connection, word) for word in words]
    if filters != Filters():
        matching = matching_conversations(connection, filters)
        found = [conversation for conversation in found if conversation in matching] if words else matching
    if with_agents:
        found += [agent for conversation in found for agent in agent_conversations(connection, conversation)]
    return list(dict.fromkeys(found))


def _remove(selected: list[ConversationRef], reason: str | None) -> None:
    import sqlite3
    from contextlib import closing

    with _archive.open_for_writing() as connection:
        deletion.forget(connection, selected, reason.encode(errors="replace").decode() if reason else None)
    if _archive.archive_path().stat().st_size > _LARGE_BYTES:
        output.notify("Rewriting the archive, so that no deleted text remains in it …")
    try:
        with closing(open_to_write(_archive.archive_path())) as connection:
            is_clean = rewrite_file(connection)
    except sqlite3.Error as error:
        output.report_error(
            f"forgotten, but the archive file could not be rewritten ({error}): it may still contain deleted text; "
            "run `palaver doctor --repair`"
        )
        return
    if not is_clean:
        output.report_error(
            "forgotten, but another process is reading the archive: the write-ahead log beside it keeps deleted text "
            "until that process ends"
        )


def _described(plan: DeletionPlan, selected: list[ConversationRef]) -> dict[str, Any]:
    return {
        "platform": plan.conversation.platform,
        "conversation_id": plan.conversation.conversation_id,
        "title": plan.conversation.title,
        "messages": plan.messages,
        "sources": plan.sources,
        "agents_kept": [agent.conversation_id for agent in plan.agents if agent not in selected],
        "shared_messages": plan.shared_messages,
        "shared_with": plan.shared_with,
        "set_aside_kept": plan.remaining_quarantine,
    }


def _shown(plan: DeletionPlan, selected: list[ConversationRef]) -> "RenderableType":
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    conversation = plan.conversation
    lines = [Text(gist(conversation.title, 100))] if conversation.title else []
    origins = f", from {', '.join(map(display_path, plan.sources[:3]))}" if plan.sources else ""
    lines.append(Text(f"{counted(plan.messages, 'message')}{origins}", "dim", overflow="fold"))
    if plan.shared_messages:
        names = ", ".join(map(escaped_line, plan.shared_with))
        lines.append(Text(f"{plan.shared_messages:,} of them stay in {names}", "dim"))
    if agents := sum(agent not in selected for agent in plan.agents):
        verb = "stays" if agents == 1 else "stay"
        lines.append(Text(f"{counted(agents, 'agent')} {verb} unless you pass --agents", "yellow"))
    if plan.remaining_quarantine:
        verb = "stays" if plan.remaining_quarantine == 1 else "stay"
        note = f"{counted(plan.remaining_quarantine, 'quarantined record')} of its source {verb}"
        lines.append(Text(note, "yellow"))
    name = Text(f"{conversation.platform}:{escaped_line(conversation.conversation_id)}", "bold")
    return Group(name, Padding(Group(*lines), (0, 0, 0, 2)))


def _list_tombstones(*, as_json: bool) -> tuple[dict[str, Any], int]:
    from rich.table import Table
    from rich.text import Text

    with _archive.open_for_reading() as connection:
        found = tombstones(connection)
    if not as_json and found:
        table = Table.grid(padding=(0, 2, 0, 0))
        for tombstone in found:
            name = Text(f"{tombstone.platform}:{escaped_line(tombstone.conversation_id)}", overflow="fold")
            table.add_row(Text(tombstone.forgotten_at[:10], "dim"), name, Text(gist(tombstone.reason or ""), "dim"))
        output.answer(table)
    elif not found:
        output.notify("No conversation was forgotten.")
    return {"tombstones": [tombstone._asdict() for tombstone in found]}, 0 if found else 1


def _undo(word: str, *, as_json: bool) -> tuple[dict[str, Any], int]:
    with _archive.open_for_writing() as connection:
        undone = undo_forget(connection, word)
    name = f"{undone.tombstone.platform}:{escaped_line(undone.tombstone.conversation_id)}"
    existing = [label for label in undone.sources if Path(label.partition("!")[0]).exists()]
    if not as_json:
        output.answer(f"no longer forgotten  {name}")
        if existing:
            paths = " ".join(map(display_path, existing))
            output.notify(f"The next scan imports it again. To import it now: palaver import {paths}")
        else:
            output.notify("Its source files no longer exist: only another copy can bring it back.")
    return {"undone": {**undone.tombstone._asdict(), "sources": undone.sources}}, 0
