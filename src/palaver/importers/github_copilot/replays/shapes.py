"""Telling exported logs from other files: by the keys at their beginning, of Markdown by its headings."""

from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.replays.names import ALL, ENTRY, PROMPT, REQUEST_MARKDOWN, TOOL_MARKDOWN
from palaver.sources.source import Source

_MARKDOWN = ".copilotmd"
_BLANK = b"\xef\xbb\xbf\0 \t\r\n"


def recognize(source: Source) -> Match:
    if source.is_folder:
        return Match.no()
    if source.suffix == _MARKDOWN:
        return _markdown(source.head())
    if source.suffix != ".json":
        return Match.no()
    glimpsed: Any = source.glimpse() if source.head().lstrip(_BLANK).startswith(b"{") else None
    form = form_of(glimpsed) if isinstance(glimpsed, dict) else ""
    if form:
        return Match.yes(_REASONS[form], form=form)
    if source.file_name.endswith(".chatreplay.json"):
        return Match.maybe("named like a replay", form=PROMPT if b'"logs"' in source.head()[:2000] else ALL)
    return Match.maybe("named like an entry", form=ENTRY) if source.file_name.startswith("ccreq") else Match.no()


_REASONS = {
    ALL: "prompts with the log of their requests",
    PROMPT: "a prompt with the log of its requests",
    ENTRY: "an entry of the log of requests",
}


def form_of(value: dict[str, Any]) -> str:
    """The form of a file by its keys; empty where it is none of these."""
    match value:
        case {"prompts": list(), "exportedAt": _} | {"prompts": list(), "totalLogEntries": _}:
            return ALL
        case {"exportedAt": str(), "totalPrompts": int()}:
            return ALL
        case {"prompt": str(), "logs": list(), **rest} if not {"hasSeen", "logCount", "promptId"}.isdisjoint(rest):
            return PROMPT
        case {"id": str(), "kind": "request", "type": str(kind)} if kind.startswith(("ChatML", "MarkdownContent")):
            return ENTRY
        case {"id": str(), "kind": "toolCall", "tool": str()}:
            return ENTRY
        case _:
            return ""


def _markdown(head: bytes) -> Match:
    begun = head.lstrip(_BLANK)
    if begun.startswith(b"# Tool Call - "):
        return Match.yes("a call of a tool as Markdown", form=TOOL_MARKDOWN)
    if _is_request(begun):
        return Match.yes("a request to a model as Markdown", form=REQUEST_MARKDOWN)
    return Match.maybe("Markdown of the chat's debug view", form=REQUEST_MARKDOWN)


def _is_request(begun: bytes) -> bool:
    if begun.startswith(b"> "):
        begun = begun.partition(b"\n")[2]
    title = begun.partition(b"\n")[0]
    is_titled = title.startswith(b"# ") and b" - " in title
    return is_titled and (b"\n## Metadata" in begun or b"\n## Request Messages" in begun)
