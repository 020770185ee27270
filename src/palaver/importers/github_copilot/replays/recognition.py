"""Recognition of exported logs by their first keys or Markdown headings; the forms and metadata names they have."""

from typing import Any

from palaver.importers._shared.contract import Match
from palaver.sources.source import Source

ALL, PROMPT, ENTRY = "replays:all", "replays:prompt", "replays:entry"
REQUEST_MARKDOWN, TOOL_MARKDOWN = "replays:request-markdown", "replays:tool-markdown"

OWN_NAMES = frozenset(
    {
        *("entry", "prompt", "prompt_elements", "opaque_parts", "source_id", "time", "result", "unread", "stated_role"),
        *("helper", "unanswered", "answer_cut", "request", "response", "error", "instructions"),
    }
)
KNOWN_KINDS: frozenset[str] = frozenset()

_MARKDOWN = ".copilotmd"
_WHITESPACE = b"\xef\xbb\xbf\0 \t\r\n"
_REASONS = {
    ALL: "prompts with the log of their requests",
    PROMPT: "a prompt with the log of its requests",
    ENTRY: "an entry of the log of requests",
}


def recognize(source: Source) -> Match:
    if source.is_folder:
        return Match.no()
    if source.suffix == _MARKDOWN:
        return _markdown(source.head())
    if source.suffix != ".json":
        return Match.no()
    value: Any = source.parsed_head() if source.head().lstrip(_WHITESPACE).startswith(b"{") else None
    form = _form(value) if isinstance(value, dict) else ""
    if form:
        return Match.yes(_REASONS[form], form=form)
    if source.file_name.endswith(".chatreplay.json"):
        return Match.maybe("named like a replay", form=PROMPT if b'"logs"' in source.head()[:2000] else ALL)
    return Match.maybe("named like an entry", form=ENTRY) if source.file_name.startswith("ccreq") else Match.no()


def _form(value: dict[str, Any]) -> str:
    """Return the form of a file by its keys, or "" if it is not an exported log."""
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
    start = head.lstrip(_WHITESPACE)
    if start.startswith(b"# Tool Call - "):
        return Match.yes("a tool call as Markdown", form=TOOL_MARKDOWN)
    if _is_request_markdown(start):
        return Match.yes("a request to a model as Markdown", form=REQUEST_MARKDOWN)
    return Match.maybe("Markdown of the chat's debug view", form=REQUEST_MARKDOWN)


def _is_request_markdown(start: bytes) -> bool:
    if start.startswith(b"> "):
        start = start.partition(b"\n")[2]
    title = start.partition(b"\n")[0]
    is_titled = title.startswith(b"# ") and b" - " in title
    return is_titled and (b"\n## Metadata" in start or b"\n## Request Messages" in start)
