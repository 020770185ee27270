"""`palaver forget`: conversations that are to be in the archive no longer, nor ever again."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._archive import Has, Models, Platforms, Projects, Since, Tags, Tools, Until
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.cli._terminal.words import counted, gist, place, plain
from palaver.errors import OptionError

if TYPE_CHECKING:
    import sqlite3

    from rich.console import RenderableType

    from palaver.archive.filters import Filters
    from palaver.archive.forgetting import Plan
    from palaver.archive.naming import Named

_SHOWN = 10
_LARGE_BYTES = 1 << 28


def forget(
    words: Annotated[list[str] | None, typer.Argument(metavar="WORD", hidden=True)] = None,
    *,
    platform: Platforms = None,
    project: Projects = None,
    model: Models = None,
    since: Since = None,
    until: Until = None,
    has: Has = None,
    tool: Tools = None,
    tag: Tags = None,
    with_agents: Annotated[bool, typer.Option("--with-agents", help="Forget their agents as well.")] = False,
    reason: Annotated[str | None, typer.Option(metavar="TEXT", help="Why; it is kept.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, change nothing.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List what was forgotten.")] = False,
    undo: Annotated[str | None, typer.Option(metavar="WORD", help="Let it come in again.")] = None,
    as_json: AsJson = False,
) -> None:
    """Remove conversations from the archive for good.

    WORD is a conversation's id, the beginning of it, PLATFORM:ID, or latest; filters mean all that they let through.
    Everything that was only theirs goes: messages, words in the index, tags, ratings. Messages that other
    conversations hold as well stay there. The file is then written anew, so that no trace is left in it, and no later
    scan or import brings them back.

    What stays is the conversation's id with the time and your reason, and the names of the files it came from, which
    palaver never touches: delete them yourself if they are to go. With --undo the next scan or import of these files
    brings the conversation back.

    Exit codes: 0 done, 1 nothing was forgotten, 2 could not do it.
    """
    chosen = _archive.filters(
        platforms=platform,
        projects=project,
        models=model,
        since=since,
        until=until,
        has=has,
        tools=tool,
        tags=tag,
    )
    if list_:
        told, code = _listed(as_json=as_json)
    elif undo is not None:
        told, code = _undone(undo, as_json=as_json)
    else:
        told, code = _forgotten(
            words or [],
            chosen,
            reason,
            with_agents=with_agents,
            is_sure=yes,
            dry_run=dry_run,
            as_json=as_json,
        )
    if as_json:
        output.answer_json({"conversations": [], "tombstones": [], "undone": None, "is_dry_run": dry_run, **told})
    raise typer.Exit(code)


def _forgotten(
    words: list[str],
    chosen: "Filters",
    reason: str | None,
    *,
    with_agents: bool,
    is_sure: bool,
    dry_run: bool,
    as_json: bool,
) -> tuple[dict[str, Any], int]:
    from rich.text import Text

    from palaver.archive.filters import Filters
    from palaver.archive.forgetting import planned

    if not words and chosen == Filters():
        raise OptionError("say which conversations to forget: `palaver list` and `palaver search` show their ids")
    with _archive.reading() as connection:
        going = _going(connection, words, chosen, with_agents=with_agents)
        plans = planned(connection, going)
    told = {"conversations": [_told(plan, going) for plan in plans]}
    if not plans:
        output.tell("No conversation is like that: nothing was forgotten.")
        return told, 1
    lines = [_shown(plan, going) for plan in plans[:_SHOWN]]
    if (more := len(plans) - _SHOWN) > 0:
        lines.append(Text(f"and {more:,} more"))
    if dry_run:
        for line in lines if not as_json else ():
            output.answer(line)
        return told, 0
    if not is_sure:
        if not output.can_ask():
            raise OptionError("forgetting is for good, and nobody can be asked here: say --yes, or look with --dry-run")
        output.tell(*lines)
        if not output.ask(f"Forget {'it' if len(plans) == 1 else f'these {len(plans):,} conversations'} for good?"):
            output.tell("Nothing was forgotten.")
            return {"conversations": []}, 1
    _remove(going, reason)
    if not as_json:
        for plan in plans:
            output.answer(f"forgotten  {plan.conversation.platform}:{plain(plan.conversation.conversation_id)}")
    return told, 0


def _going(
    connection: "sqlite3.Connection", words: list[str], chosen: "Filters", *, with_agents: bool
) -> "list[Named]":
    from palaver.archive.filters import Filters
    from palaver.archive.forgetting import agents_of
    from palaver.archive.naming import named, selected

    found = [named(connection, word) for word in words]
    if chosen != Filters():
        passing = selected(connection, chosen)
        found = [one for one in found if one in passing] if words else passing
    if with_agents:
        found += [agent for one in found for agent in agents_of(connection, one)]
    return list(dict.fromkeys(found))


def _remove(going: "list[Named]", reason: str | None) -> None:
    import sqlite3
    from contextlib import closing

    from palaver.archive.connection import open_to_write
    from palaver.archive.forgetting import forget, overwrite

    with _archive.writing() as connection:
        forget(connection, going, reason.encode(errors="replace").decode() if reason else None)
    if _archive.archive_path().stat().st_size > _LARGE_BYTES:
        output.tell("Writing the archive anew, so that no trace is left in it; it is large …")
    try:
        with closing(open_to_write(_archive.archive_path())) as connection:
            is_clean = overwrite(connection)
    except sqlite3.Error as error:
        output.complain(
            f"it is forgotten, but the file could not be written anew ({error}): unused parts of it may still hold "
            "text; `palaver doctor --repair` tries again"
        )
        return
    if not is_clean:
        output.complain(
            "it is forgotten, but another process reads the archive right now: what it was in is kept beside the "
            "archive until that ends"
        )


def _told(plan: "Plan", going: "list[Named]") -> dict[str, Any]:
    return {
        "platform": plan.conversation.platform,
        "conversation_id": plan.conversation.conversation_id,
        "title": plan.conversation.title,
        "messages": plan.messages,
        "sources": plan.sources,
        "agents_kept": [agent.conversation_id for agent in plan.agents if agent not in going],
        "shared_messages": plan.shared_messages,
        "shared_with": plan.shared_with,
        "set_aside_kept": plan.set_aside_kept,
    }


def _shown(plan: "Plan", going: "list[Named]") -> "RenderableType":
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    one = plan.conversation
    lines = [Text(gist(one.title, 100))] if one.title else []
    origins = f", from {', '.join(map(place, plan.sources[:3]))}" if plan.sources else ""
    lines.append(Text(f"{counted(plan.messages, 'message')}{origins}", "dim", overflow="fold"))
    if plan.shared_messages:
        names = ", ".join(map(plain, plan.shared_with))
        lines.append(Text(f"{plan.shared_messages:,} of them also in {names}, where they stay", "dim"))
    if kept := sum(agent not in going for agent in plan.agents):
        verb = "stays" if kept == 1 else "stay"
        lines.append(Text(f"{counted(kept, 'agent')} {verb} unless you say --with-agents", "yellow"))
    if plan.set_aside_kept:
        verb = "stays" if plan.set_aside_kept == 1 else "stay"
        told = f"{counted(plan.set_aside_kept, 'refused record')} of its source {verb} in the quarantine"
        lines.append(Text(told, "yellow"))
    name = Text(f"{one.platform}:{plain(one.conversation_id)}", "bold")
    return Group(name, Padding(Group(*lines), (0, 0, 0, 2)))


def _listed(*, as_json: bool) -> tuple[dict[str, Any], int]:
    from rich.table import Table
    from rich.text import Text

    from palaver.archive.forgetting import tombstones

    with _archive.reading() as connection:
        found = tombstones(connection)
    if not as_json and found:
        table = Table.grid(padding=(0, 2, 0, 0))
        for stone in found:
            name = Text(f"{stone.platform}:{plain(stone.conversation_id)}", overflow="fold")
            table.add_row(Text(stone.forgotten_at[:10], "dim"), name, Text(gist(stone.reason or ""), "dim"))
        output.answer(table)
    elif not found:
        output.tell("Nothing was ever forgotten.")
    return {"tombstones": [stone._asdict() for stone in found]}, 0 if found else 1


def _undone(word: str, *, as_json: bool) -> tuple[dict[str, Any], int]:
    from palaver.archive.forgetting import undo

    with _archive.writing() as connection:
        undone = undo(connection, word)
    name = f"{undone.tombstone.platform}:{plain(undone.tombstone.conversation_id)}"
    there = [label for label in undone.sources if Path(label.partition("!")[0]).exists()]
    if not as_json:
        output.answer(f"no longer forgotten  {name}")
        if there:
            output.tell(f"The next scan brings it back, or: palaver import {' '.join(map(place, there))}")
        else:
            output.tell("None of the files it came from is there any more: only another copy can bring it back.")
    return {"undone": {**undone.tombstone._asdict(), "sources": undone.sources}}, 0
