"""The head of a conversation in a terminal: what it is, how large, and where it comes from."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from palaver.archive.costs import ConversationCost
from palaver.archive.naming import Names
from palaver.archive.overview import Overview
from palaver.archive.totals import Totals
from palaver.cli._archive import platform_title
from palaver.cli._terminal.words import amount, counted, duration, gist, local, place, plain
from palaver.cli._terminal.wrapping import wrapped

_LABEL = 10
_SUMMARIES = 3
_SOURCES = 3
_ELSEWHERE = 5


def head_of(about: Overview, names: Names, width: int | None, cost: ConversationCost | None = None) -> Iterator[Text]:
    listed = about.listed
    yield Text("\n".join(wrapped(gist(listed.title, 1000), width)), "bold" if listed.has_title else "bold italic")
    for label, words in _facts(about, names, cost):
        if not words:
            continue
        lines = wrapped(words, None if width is None else width - _LABEL - 2)
        yield Text.assemble((f"  {label:{_LABEL}}", "dim"), ("\n" + " " * (_LABEL + 2)).join(lines))


def _facts(about: Overview, names: Names, cost: ConversationCost | None) -> Iterator[tuple[str, str]]:
    listed, header = about.listed, about.header
    yield "id", plain(listed.conversation_id)
    yield "platform", " ".join(filter(None, [platform_title(listed.platform), plain(_version(header))]))
    yield "project", _project(about)
    yield "model", ", ".join(map(plain, about.models))
    yield "when", _when(listed.created_at, listed.updated_at)
    yield "messages", ", ".join(filter(None, _sizes(about)))
    yield "tokens", _usage(listed.totals)
    for there in about.counted_elsewhere[:_ELSEWHERE]:
        name = plain(names.short(there.platform, there.conversation_id))
        yield "", f"that of {counted(there.messages, 'message')} is counted in {name}"
    if cost:
        unpriced = f", {counted(cost.unpriced, 'answer')} without a known price" if cost.unpriced else ""
        yield "cost", f"${cost.amount:,.2f}{unpriced}" if cost.priced else unpriced.removeprefix(", ")
    if listed.parent:
        word = "agent of" if listed.is_sidechain else "goes on"
        known = about.parent_title is not None
        name = plain(names.short(listed.platform, listed.parent) if known else listed.parent)
        yield word, name + (f"  {gist(about.parent_title or '')}" if known else "  (not in the archive)")
    if about.branches:
        yield "branches", other_branches(about.branches, about.off_path)
    if about.revised:
        yield "versions", f"{counted(about.revised, 'message')} with another version: --revisions"
    yield "tags", ", ".join(map(plain, listed.tags))
    yield "rating", _rating(listed.rating)
    for number, summary in enumerate(about.summaries[:_SUMMARIES]):
        yield "summary" if not number else "", gist(summary["text"])
    if len(about.summaries) > _SUMMARIES:
        yield "", f"and {len(about.summaries) - _SUMMARIES:,} more"
    for number, source in enumerate(listed.sources[:_SOURCES]):
        yield "from" if not number else "", place(source)
    if len(listed.sources) > _SOURCES:
        yield "", f"and {len(listed.sources) - _SOURCES:,} more"


def other_branches(branches: int, messages: int) -> str:
    noun = "branch" if branches == 1 else "branches"
    return f"{branches:,} other {noun}, {counted(messages, 'message')}: --branch all"


def _version(header: dict[str, Any]) -> str:
    version = header["platform"].get("version")
    return version if isinstance(version, str) else ""


def _project(about: Overview) -> str:
    if not about.listed.project:
        return ""
    workspace = (about.header.get("context") or {}).get("workspace") or {}
    branch = workspace.get("git_branch")
    return place(about.listed.project) + (f"  (branch {plain(branch)})" if isinstance(branch, str) and branch else "")


def _when(created_at: str, updated_at: str | None) -> str:
    began, ended = local(created_at), local(updated_at or created_at)
    if began is None or ended is None:
        return " to ".join(map(plain, filter(None, [created_at, updated_at])))
    told = f"{began:%Y-%m-%d %H:%M}"
    seconds = (ended - began).total_seconds()
    if seconds < 60:
        return told
    same_day = began.date() == ended.date()
    return f"{told} to {ended:%H:%M} ({duration(seconds)})" if same_day else f"{told} to {ended:%Y-%m-%d %H:%M}"


def _sizes(about: Overview) -> Iterator[str]:
    totals = about.listed.totals
    yield f"{totals.messages:,}"
    if totals.human_messages:
        yield f"{totals.human_messages:,} of them by a person"
    if about.tool_calls:
        failed = f" ({about.failed_calls:,} failed)" if about.failed_calls else ""
        yield f"{about.tool_calls:,} tool {'call' if about.tool_calls == 1 else 'calls'}{failed}"
    if about.listed.agents:
        yield counted(about.listed.agents, "agent")


def _usage(totals: Totals) -> str:
    if not totals.has_tokens:
        return ""
    words = [f"{amount(totals.input)} in", f"{amount(totals.output)} out"]
    words += [f"{amount(totals.cache_read)} cache read"] if totals.cache_read else []
    words += [f"{amount(totals.cache_write)} cache write"] if totals.cache_write else []
    words += [f"{amount(totals.thinking)} thinking"] if totals.thinking else []
    return ", ".join(words)


def _rating(rating: dict[str, Any] | None) -> str:
    if not rating:
        return ""
    score = f"{rating['score']:g} of 5" if rating["score"] is not None else ""
    return "  ".join(filter(None, [score, gist(rating["feedback"] or "")]))
