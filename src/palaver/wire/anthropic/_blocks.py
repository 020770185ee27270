"""Content blocks of Anthropic's format, read and written.

Text, thinking, images, documents, tool calls and tool results have a counterpart in an exchange. What Anthropic runs
itself (`server_tool_use`, `web_search_tool_result`, `mcp_tool_use`, …), `search_result`, `container_upload`,
`compaction`, `fallback` and any unknown type become opaque blocks, in order, with the ids that pair them left inside.

The API accepts thinking only with Anthropic's own signature. In a request, thinking without one is written as text
between tags; in a response, with an empty signature. A signature without an origin is taken for Anthropic's.
"""

import re
from typing import Any, Literal, NamedTuple, cast

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.anthropic import _media as media
from palaver.wire.anthropic._provider_data import (
    difference,
    is_foreign,
    own_data,
    report_unwritten,
    restore,
    store_own_data,
    without_provider_data,
)
from palaver.wire.anthropic._tools import CallIds, parse_input

Container = Literal["system", "user", "assistant", "result", "response"]

_ACCEPTED: dict[Container, frozenset[str]] = {
    "system": frozenset({"text"}),
    "user": frozenset({"text", "image", "file", "tool_use", "tool_result", "thinking"}),
    "assistant": frozenset({"text", "thinking", "tool_use", "tool_result"}),
    "result": frozenset({"text", "image", "file"}),
    "response": frozenset({"text", "thinking", "tool_use"}),
}
_FIELDS: dict[str, frozenset[str]] = {
    "text": frozenset({"type", "text", "citations"}),
    "code": frozenset({"type", "code", "language", "file_path", "line_range"}),
    "image": frozenset({"type", "source"}),
    "file": frozenset({"type", "source", "name", "media_type", "text"}),
    "tool_use": frozenset({"type", "id", "name", "input"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error"}),
    "thinking": frozenset({"type", "thinking", "signature", "redacted_data"}),
}
_IN_RESULTS = frozenset({"text", "image", "document"})
_CITATIONS = frozenset(
    {
        *("char_location", "page_location", "content_block_location"),
        *("web_search_result_location", "search_result_location"),
    }
)


class Context(NamedTuple):
    """What holds a block, and where it came from."""

    container: Container
    states_errors: bool = False
    """Whether tool results state `is_error` even if it is false."""
    origin: Literal["own", "foreign", "unknown"] = "unknown"
    """Whether the block came from Anthropic (own) or from another provider (foreign)."""


def block_from_wire(raw: Any, context: Context, call_ids: CallIds) -> JsonObject:
    match raw:
        case {"type": "text", "text": str(text)} if len(raw) == 2:
            return build.text(text)
        case {"type": str(kind)}:
            block = _parse_piece(kind, raw, context, call_ids)
        case _:
            kind, block = "", None
    made = _build_piece(block, "", context._replace(origin="own"), Losses()) if block else None
    if not block or not made:
        block = build.opaque(kind=kind or "block", raw=raw)
        store_own_data(block, {})
        return block
    saved = difference(raw, made)
    if saved or block["type"] not in _ACCEPTED[context.container] or _is_unsealed(block, context):
        store_own_data(block, saved)
    return block


def block_to_wire(block: JsonObject, pointer: str, context: Context, losses: Losses) -> list[Any]:
    """Return the block as a list of one content piece, or an empty list if it cannot be written."""
    kind = block["type"]
    context = context._replace(origin=_origin(block, context))
    if kind == "opaque":
        return _opaque_to_wire(block, pointer, losses)
    if kind != "code" and kind not in _ACCEPTED[context.container] and context.origin != "own":
        losses.drop(pointer, f"{_container_name(context.container)} takes no {kind} block")
        return []
    writer_losses = Losses()
    made = _build_piece(block, pointer, context, writer_losses)
    if made is None:
        losses.found += writer_losses.found
        return []
    report_unwritten(block, _FIELDS[kind], pointer, losses)

    def parse(raw: JsonObject) -> JsonObject:
        ids = {name: block[name] for name in ("id", "tool_use_id") if name in block}
        return without_provider_data(block_from_wire(raw | ids, context, CallIds()))

    return [restore(block, made, parse, pointer=pointer, writer_losses=writer_losses, losses=losses)]


def _origin(block: JsonObject, context: Context) -> Literal["own", "foreign", "unknown"]:
    if own_data(block) is not None:
        return "own"
    return "foreign" if context.origin == "foreign" or is_foreign(block) else "unknown"


def _parse_piece(kind: str, raw: JsonObject, context: Context, call_ids: CallIds) -> JsonObject | None:
    if context.container == "result" and kind not in _IN_RESULTS:
        return None  # also stops the recursion into results nested in results
    match kind, raw:
        case "text", {"text": str(text)}:
            return build.text(text, citations=_citations(raw.get("citations")))
        case "thinking", {"thinking": str(thinking)}:
            signature = raw.get("signature")
            return build.thinking(thinking, signature=signature if isinstance(signature, str) and signature else None)
        case "redacted_thinking", {"data": str(data)}:
            return build.thinking("", redacted_data=data)
        case "tool_use", {"name": str(name)}:
            return build.tool_use(
                id=call_ids.register_call(raw.get("id")), name=name, input=parse_input(raw.get("input"))
            )
        case "tool_result", _:
            return build.tool_result(
                tool_use_id=call_ids.match_result(raw.get("tool_use_id")),
                content=_result_content(raw.get("content"), context, call_ids),
                is_error=raw.get("is_error") is True,
            )
        case "image", _:
            return media.image_from_wire(raw)
        case "document", _:
            return media.document_from_wire(raw)
        case _:
            return None


def _build_piece(block: JsonObject, pointer: str, context: Context, losses: Losses) -> JsonObject | None:
    match block["type"]:
        case "text":
            return _text_to_wire(block, pointer, losses)
        case "code":
            losses.change(pointer, "code is written as fenced text")
            return build.text(_fenced_code(block))
        case "thinking":
            return _thinking_to_wire(block, pointer, context, losses)
        case "tool_use":
            return build.tool_use(id=block["id"], name=block["name"], input=block["input"])
        case "tool_result":
            return _tool_result_to_wire(block, pointer, context, losses)
        case "image":
            return media.image_to_wire(block, pointer, losses, is_foreign=context.origin == "foreign")
        case "file":
            return media.document_to_wire(block, pointer, losses, is_foreign=context.origin == "foreign")
        case kind:
            losses.drop(pointer, f"no writer knows {kind} blocks")
            return None


def _text_to_wire(block: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    citations = block.get("citations")
    if citations is None:
        return build.text(block["text"])
    known = [citation for citation in citations if _is_anthropic_citation(citation)]
    if citations and not known:
        losses.drop(f"{pointer}/citations", "written in the format of another provider")
        return build.text(block["text"])
    for number, citation in enumerate(citations):
        if not _is_anthropic_citation(citation):
            losses.drop(f"{pointer}/citations/{number}", "written in the format of another provider")
    return build.text(block["text"], citations=known)


def _thinking_to_wire(block: JsonObject, pointer: str, context: Context, losses: Losses) -> JsonObject | None:
    text, signature, redacted = block["thinking"], block.get("signature"), block.get("redacted_data")
    if context.origin == "foreign":
        if context.container == "response":
            for name in ("signature", "redacted_data"):
                if block.get(name) is not None:
                    losses.drop(f"{pointer}/{name}", "signed by another provider")
        signature = redacted = None
    if redacted is not None and not text and not signature:
        return {"type": "redacted_thinking", "data": redacted}
    if signature or context.origin == "own" or context.container == "response":
        if redacted is not None:
            losses.drop(f"{pointer}/redacted_data", "thinking must be either readable or redacted")
        return {"type": "thinking", "thinking": text, "signature": signature or ""}
    if not text:
        losses.drop(pointer, "thinking without text and without Anthropic's signature")
        return None
    losses.change(pointer, "thinking without Anthropic's signature is written as text")
    return build.text(f"<thinking>\n{text}\n</thinking>")


def _is_unsealed(block: JsonObject, context: Context) -> bool:
    """Return whether this is thinking that a request would write as text, unless its provider data says otherwise."""
    return (
        context.container != "response"
        and block["type"] == "thinking"
        and not {"signature", "redacted_data"} & set(block)
    )


def _tool_result_to_wire(block: JsonObject, pointer: str, context: Context, losses: Losses) -> JsonObject:
    made = {"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": block["content"]}
    if not isinstance(block["content"], str):
        inner = context._replace(container="result")
        made["content"] = [
            piece
            for number, part in enumerate(block["content"])
            for piece in block_to_wire(part, f"{pointer}/content/{number}", inner, losses)
        ]
    if block.get("is_error") or context.states_errors:
        made["is_error"] = bool(block.get("is_error"))
    return made


def _result_content(raw: Any, context: Context, call_ids: CallIds) -> str | list[JsonObject]:
    match raw:
        case str():
            return raw
        case list():
            return [block_from_wire(piece, context._replace(container="result"), call_ids) for piece in raw]
        case _:
            return ""


def _opaque_to_wire(block: JsonObject, pointer: str, losses: Losses) -> list[Any]:
    if own_data(block) is not None:
        report_unwritten(block, {"type", "kind", "raw"}, pointer, losses)
        return [block["raw"]]
    losses.drop(pointer, f"{block['kind']} has no counterpart{', and holds text' * _holds_text(block['raw'])}")
    return []


def _holds_text(raw: Any) -> bool:
    waiting = [raw]
    while waiting:
        match waiting.pop():
            case {"text": str(text)} if text:
                return True
            case dict() as inner:
                waiting += cast("JsonObject", inner).values()
            case list() as inner:
                waiting += inner
            case _:
                pass
    return False


def _citations(raw: Any) -> list[JsonObject] | None:
    is_list = isinstance(raw, list) and all(isinstance(citation, dict) for citation in raw)
    return cast("list[JsonObject]", raw) if is_list else None


def _is_anthropic_citation(citation: JsonObject) -> bool:
    kind = citation.get("type")
    return isinstance(kind, str) and kind in _CITATIONS


def _fenced_code(block: JsonObject) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", block["code"])), 0)
    return f"{fence}{block.get('language') or ''}\n{block['code']}\n{fence}"


def _container_name(container: Container) -> str:
    match container:
        case "system":
            return "a system prompt"
        case "user" | "assistant":
            return f"a message of the {container}"
        case "result":
            return "a tool's result"
        case "response":
            return "a response"
