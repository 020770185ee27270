"""The lines above a transcript: what the conversation is, how large, and where it comes from."""

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from palaver.archive.conversation_totals import ConversationCost, ConversationTotals
from palaver.archive.overview import Overview
from palaver.archive.short_ids import ShortIds
from palaver.cli._archive import platform_title
from palaver.cli._terminal.layout import stars, wrapped
from palaver.cli._terminal.words import counted, display_path, duration, escaped_line, gist, local_time, short_number
from palaver.importers import reopening

_LABEL_WIDTH = 10
_MAX_SUMMARIES = 3
_MAX_SOURCES = 3
_MAX_COUNTED_ELSEWHERE = 5


def overview_lines(
    overview: Overview, short_ids: ShortIds, width: int | None, cost: ConversationCost | None = None
) -> Iterator[Text]:
    conversation = overview.conversation
    yield Text(
        "\n".join(wrapped(gist(conversation.title, 1000), width)), "bold" if conversation.has_title else "bold italic"
    )
    for label, words in _fields(overview, short_ids, cost):
        if not words:
            continue
        # A command or an address is copied: it stays on one line.
        is_copied = label in {"resume", "web"}
        lines = [words] if is_copied else wrapped(words, None if width is None else width - _LABEL_WIDTH - 2)
        yield Text.assemble((f"  {label:{_LABEL_WIDTH}}", "dim"), ("\n" + " " * (_LABEL_WIDTH + 2)).join(lines))


def _fields(overview: Overview, short_ids: ShortIds, cost: ConversationCost | None) -> Iterator[tuple[str, str]]:
    conversation, header = overview.conversation, overview.header
    yield "id", escaped_line(conversation.conversation_id)
    yield "platform", " ".join(filter(None, [platform_title(conversation.platform), escaped_line(_version(header))]))
    yield "project", _project(overview)
    yield "model", ", ".join(map(escaped_line, overview.models))
    yield "when", _when(conversation.created_at, conversation.updated_at)
    yield "messages", ", ".join(filter(None, _sizes(overview)))
    yield "tokens", _usage(conversation.totals)
    for owner in overview.counted_elsewhere[:_MAX_COUNTED_ELSEWHERE]:
        name = escaped_line(short_ids.short_id(owner.platform, owner.conversation_id))
        yield "", f"the tokens of {counted(owner.messages, 'message')} are counted in {name}"
    if cost:
        unpriced = f", {counted(cost.unpriced, 'answer')} without a known price" if cost.unpriced else ""
        yield "cost", f"${cost.amount:,.2f}{unpriced}" if cost.priced else unpriced.removeprefix(", ")
    if conversation.parent:
        word = "agent of" if conversation.is_sidechain else "goes on"
        known = overview.parent_title is not None
        name = escaped_line(
            short_ids.short_id(conversation.platform, conversation.parent) if known else conversation.parent
        )
        yield word, name + (f"  {gist(overview.parent_title or '')}" if known else "  (not in the archive)")
    if overview.branches:
        yield "branches", other_branches(overview.branches, overview.off_path)
    if overview.revised:
        yield "versions", f"{counted(overview.revised, 'message')} with another version: --revisions"
    yield "tags", ", ".join(map(escaped_line, conversation.tags))
    yield "rating", _rating(conversation.rating)
    for number, summary in enumerate(overview.summaries[:_MAX_SUMMARIES]):
        yield "summary" if not number else "", gist(summary["text"])
    if len(overview.summaries) > _MAX_SUMMARIES:
        yield "", f"and {len(overview.summaries) - _MAX_SUMMARIES:,} more"
    for number, source in enumerate(conversation.sources[:_MAX_SOURCES]):
        yield "from" if not number else "", display_path(source)
    if len(conversation.sources) > _MAX_SOURCES:
        yield "", f"and {len(conversation.sources) - _MAX_SOURCES:,} more"
    if reopened := reopening(
        conversation.platform, conversation.conversation_id, conversation.project, conversation.sources
    ):
        yield "web" if "://" in reopened else "resume", escaped_line(reopened)


def other_branches(branches: int, messages: int) -> str:
    noun = "branch" if branches == 1 else "branches"
    return f"{branches:,} other {noun}, {counted(messages, 'message')}: --branch all"


def _version(header: dict[str, Any]) -> str:
    version = header["platform"].get("version")
    return version if isinstance(version, str) else ""


def _project(overview: Overview) -> str:
    if not overview.conversation.project:
        return ""
    workspace = (overview.header.get("context") or {}).get("workspace") or {}
    branch = workspace.get("git_branch")
    return display_path(overview.conversation.project) + (
        f"  (branch {escaped_line(branch)})" if isinstance(branch, str) and branch else ""
    )


def _when(created_at: str, updated_at: str | None) -> str:
    began, ended = local_time(created_at), local_time(updated_at or created_at)
    if began is None or ended is None:
        return " to ".join(map(escaped_line, filter(None, [created_at, updated_at])))
    start = f"{began:%Y-%m-%d %H:%M}"
    seconds = (ended - began).total_seconds()
    if seconds < 60:
        return start
    same_day = began.date() == ended.date()
    return f"{start} to {ended:%H:%M} ({duration(seconds)})" if same_day else f"{start} to {ended:%Y-%m-%d %H:%M}"


def _sizes(overview: Overview) -> Iterator[str]:
    totals = overview.conversation.totals
    yield f"{totals.messages:,}"
    if totals.human_messages:
        yield f"{totals.human_messages:,} of them by a person"
    if overview.tool_calls:
        failed = f" ({overview.failed_calls:,} failed)" if overview.failed_calls else ""
        yield f"{overview.tool_calls:,} tool {'call' if overview.tool_calls == 1 else 'calls'}{failed}"
    if overview.conversation.agents:
        yield counted(overview.conversation.agents, "agent")


def _usage(totals: ConversationTotals) -> str:
    if not totals.has_tokens:
        return ""
    words = [f"{short_number(totals.input)} in", f"{short_number(totals.output)} out"]
    words += [f"{short_number(totals.cache_read)} cache read"] if totals.cache_read else []
    words += [f"{short_number(totals.cache_write)} cache write"] if totals.cache_write else []
    words += [f"{short_number(totals.thinking)} thinking"] if totals.thinking else []
    return ", ".join(words)


def _rating(rating: dict[str, Any] | None) -> str:
    if not rating:
        return ""
    score = stars(rating["score"]) if rating["score"] is not None else ""
    return "  ".join(filter(None, [score, gist(rating["feedback"] or "")]))
