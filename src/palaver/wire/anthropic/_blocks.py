"""Content blocks of Anthropic's format, both ways.

Text, thinking, pictures, documents, calls of tools and their results have their counterparts. What Anthropic runs
itself (`server_tool_use`, `web_search_tool_result`, `mcp_tool_use`, …), `search_result`, `container_upload`,
`compaction`, `fallback` and whatever comes next is opaque: it keeps its place and, within it, the ids that pair it.

Thinking goes back to the API only under Anthropic's own seal. In a request, thinking without one is written as text
between tags; in a response it has an empty seal. A seal without an origin is taken for Anthropic's.
"""

import re
from typing import Any, Literal, NamedTuple, cast

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire._contract import Losses
from palaver.wire.anthropic import _media as media
from palaver.wire.anthropic._calls import Names, input_of
from palaver.wire.anthropic._kept import difference, is_foreign, keep, own, plain, report_rest, settle

Place = Literal["system", "user", "assistant", "result", "response"]

_TAKEN: dict[Place, frozenset[str]] = {
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


class Where(NamedTuple):
    """What surrounds a block."""

    place: Place
    states_errors: bool = False
    """Results say `is_error` also where it is false."""
    origin: Literal["own", "foreign", "unknown"] = "unknown"
    """Whose it is: Anthropic's, another provider's."""


def block_from_wire(raw: Any, where: Where, names: Names) -> JsonObject:
    match raw:
        case {"type": "text", "text": str(text)} if len(raw) == 2:
            return build.text(text)
        case {"type": str(kind)}:
            block = _counterpart(kind, raw, where, names)
        case _:
            kind, block = "", None
    made = _made(block, "", where._replace(origin="own"), Losses()) if block else None
    if not block or not made:
        block = build.opaque(kind=kind or "block", raw=raw)
        keep(block, {})
        return block
    kept = difference(raw, made)
    if kept or block["type"] not in _TAKEN[where.place] or _is_unsealed(block, where):
        keep(block, kept)
    return block


def block_to_wire(block: JsonObject, pointer: str, where: Where, losses: Losses) -> list[Any]:
    """The block as one piece of content, or nothing."""
    kind = block["type"]
    where = where._replace(origin=_origin(block, where))
    if kind == "opaque":
        return _opaque(block, pointer, losses)
    if kind != "code" and kind not in _TAKEN[where.place] and where.origin != "own":
        losses.drop(pointer, f"{_called(where.place)} takes no {kind} block")
        return []
    found = Losses()
    made = _made(block, pointer, where, found)
    if made is None:
        losses.found += found.found
        return []
    report_rest(block, _FIELDS[kind], pointer, losses)

    def says(raw: JsonObject) -> JsonObject:
        ids = {name: block[name] for name in ("id", "tool_use_id") if name in block}
        return plain(block_from_wire(raw | ids, where, Names()))

    return [settle(block, made, says, pointer=pointer, found=found, losses=losses)]


def _origin(block: JsonObject, where: Where) -> Literal["own", "foreign", "unknown"]:
    if own(block) is not None:
        return "own"
    return "foreign" if where.origin == "foreign" or is_foreign(block) else "unknown"


def _counterpart(kind: str, raw: JsonObject, where: Where, names: Names) -> JsonObject | None:
    if where.place == "result" and kind not in _IN_RESULTS:
        return None  # also keeps a result within a result within … from being walked
    match kind, raw:
        case "text", {"text": str(text)}:
            return build.text(text, citations=_citations(raw.get("citations")))
        case "thinking", {"thinking": str(thinking)}:
            seal = raw.get("signature")
            return build.thinking(thinking, signature=seal if isinstance(seal, str) and seal else None)
        case "redacted_thinking", {"data": str(data)}:
            return build.thinking("", redacted_data=data)
        case "tool_use", {"name": str(name)}:
            return build.tool_use(id=names.call(raw.get("id")), name=name, input=input_of(raw.get("input")))
        case "tool_result", _:
            return build.tool_result(
                tool_use_id=names.result(raw.get("tool_use_id")),
                content=_result_content(raw.get("content"), where, names),
                is_error=raw.get("is_error") is True,
            )
        case "image", _:
            return media.image_from_wire(raw)
        case "document", _:
            return media.document_from_wire(raw)
        case _:
            return None


def _made(block: JsonObject, pointer: str, where: Where, losses: Losses) -> JsonObject | None:
    match block["type"]:
        case "text":
            return _text(block, pointer, losses)
        case "code":
            losses.change(pointer, "code is written as text between fences")
            return build.text(_fenced(block))
        case "thinking":
            return _thinking(block, pointer, where, losses)
        case "tool_use":
            return build.tool_use(id=block["id"], name=block["name"], input=block["input"])
        case "tool_result":
            return _tool_result(block, pointer, where, losses)
        case "image":
            return media.image_to_wire(block, pointer, losses, is_foreign=where.origin == "foreign")
        case "file":
            return media.document_to_wire(block, pointer, losses, is_foreign=where.origin == "foreign")
        case kind:
            losses.drop(pointer, f"no writer knows {kind} blocks")
            return None


def _text(block: JsonObject, pointer: str, losses: Losses) -> JsonObject:
    citations = block.get("citations")
    if citations is None:
        return build.text(block["text"])
    known = [citation for citation in citations if _is_known(citation)]
    if citations and not known:
        losses.drop(f"{pointer}/citations", "they are in another provider's shape")
        return build.text(block["text"])
    for number, citation in enumerate(citations):
        if not _is_known(citation):
            losses.drop(f"{pointer}/citations/{number}", "it is in another provider's shape")
    return build.text(block["text"], citations=known)


def _thinking(block: JsonObject, pointer: str, where: Where, losses: Losses) -> JsonObject | None:
    text, seal, hidden = block["thinking"], block.get("signature"), block.get("redacted_data")
    if where.origin == "foreign":
        if where.place == "response":
            for name in ("signature", "redacted_data"):
                if block.get(name) is not None:
                    losses.drop(f"{pointer}/{name}", "it is another provider's seal")
        seal = hidden = None
    if hidden is not None and not text and not seal:
        return {"type": "redacted_thinking", "data": hidden}
    if seal or where.origin == "own" or where.place == "response":
        if hidden is not None:
            losses.drop(f"{pointer}/redacted_data", "thinking is either readable or hidden")
        return {"type": "thinking", "thinking": text, "signature": seal or ""}
    if not text:
        losses.drop(pointer, "thinking without words and without Anthropic's seal")
        return None
    losses.change(pointer, "thinking without Anthropic's seal is written as text")
    return build.text(f"<thinking>\n{text}\n</thinking>")


def _is_unsealed(block: JsonObject, where: Where) -> bool:
    """Thinking that would be written as text, if nothing said that it came as thinking."""
    return where.place != "response" and block["type"] == "thinking" and not {"signature", "redacted_data"} & set(block)


def _tool_result(block: JsonObject, pointer: str, where: Where, losses: Losses) -> JsonObject:
    made = {"type": "tool_result", "tool_use_id": block["tool_use_id"], "content": block["content"]}
    if not isinstance(block["content"], str):
        inner = where._replace(place="result")
        made["content"] = [
            piece
            for number, part in enumerate(block["content"])
            for piece in block_to_wire(part, f"{pointer}/content/{number}", inner, losses)
        ]
    if block.get("is_error") or where.states_errors:
        made["is_error"] = bool(block.get("is_error"))
    return made


def _result_content(raw: Any, where: Where, names: Names) -> str | list[JsonObject]:
    match raw:
        case str():
            return raw
        case list():
            return [block_from_wire(piece, where._replace(place="result"), names) for piece in raw]
        case _:
            return ""


def _opaque(block: JsonObject, pointer: str, losses: Losses) -> list[Any]:
    if own(block) is not None:
        report_rest(block, {"type", "kind", "raw"}, pointer, losses)
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


def _is_known(citation: JsonObject) -> bool:
    kind = citation.get("type")
    return isinstance(kind, str) and kind in _CITATIONS


def _fenced(block: JsonObject) -> str:
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", block["code"])), 0)
    return f"{fence}{block.get('language') or ''}\n{block['code']}\n{fence}"


def _called(place: Place) -> str:
    match place:
        case "system":
            return "a system prompt"
        case "user" | "assistant":
            return f"a message of the {place}"
        case "result":
            return "a tool's result"
        case "response":
            return "a response"
