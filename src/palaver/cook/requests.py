"""The request of a call as numbers of messages and tools, through the wire format that it was sent in.

A request repeats the messages and tools of the one before it. Each message is converted alone, once, and then found by
the hash of its JSON, so that the time for a request does not grow with the cost of converting its history. Formats in
which a message cannot stand alone (Gemini and Responses pair calls and results by position) are converted as a whole.
"""

from array import array
from hashlib import blake2b
from typing import Any

import orjson

from palaver.cook.blocks import Style, block_text, message_pieces
from palaver.cook.call_ids import CallPairing, complete_items, complete_message
from palaver.cook.pieces import Pieces, PieceTable, json_text, piece, tool_definition
from palaver.model.build import JsonObject
from palaver.wire import wire_format

SINGLE_MESSAGE_FORMATS = frozenset({"anthropic", "openai-chat"})
_TOOL_FIELDS = ("tools", "functions")
_MAX_KEY_BYTES = 1 << 9


def request_pieces(request: JsonObject, style: Style) -> Pieces:
    """Return the pieces of the request of an exchange."""
    pieces = [piece("system", block_text(block)) for block in request.get("system") or ()]
    for message in request["messages"]:
        pieces += message_pieces(message, style)
    return pieces


def request_tools(request: JsonObject) -> list[JsonObject]:
    """Return the tools of the request of an exchange."""
    return [
        tool_definition(stated["name"], stated.get("description"), stated.get("parameters"))
        for stated in request.get("tools") or ()
    ]


class RequestReader:
    """Converts the requests of calls, and remembers the numbers of what it has converted."""

    def __init__(self, table: PieceTable) -> None:
        self._table = table
        self._messages: dict[str, dict[bytes, tuple[array[int], list[tuple[str, str | None]]]]] = {}
        """By format and hash of a message: the numbers of its pieces, and the ids of calls and results in it."""
        self._tools: dict[bytes, array[int]] = {}

    def messages(self, wire: str, request: JsonObject, style: Style, pairing: CallPairing) -> "array[int]":
        """Return the numbers of everything that a request sent."""
        history = request.get("messages")
        rest = {name: value for name, value in request.items() if name not in _TOOL_FIELDS}
        if wire not in SINGLE_MESSAGE_FORMATS or not isinstance(history, list):
            if wire == "openai-responses" and "input" in rest:
                rest["input"] = complete_items(rest["input"], pairing)
            return self._add(wire, rest, style)
        numbers = array("I")
        if "system" in request:
            # Only Anthropic has this field; some proxies write it beside messages in the format of OpenAI.
            numbers.extend(self._add("anthropic", {"system": request["system"], "messages": []}, style))
        known = self._messages.setdefault(wire, {})
        for message in history:
            key = _key(message)
            found = known.get(key)
            if found is None:
                pairing.seen, pairing.has_guessed = [], False
                found = self._add(wire, {"messages": [complete_message(wire, message, pairing)]}, style), pairing.seen
                if key and not pairing.has_guessed:
                    known[key] = found
            elif found[1]:
                pairing.unread.append(found[1])
            numbers.extend(found[0])
        return numbers

    def tools(self, wire: str, request: JsonObject) -> "array[int]":
        """Return the numbers of the tools that a request offered, those that the provider runs among them."""
        stated = {name: request[name] for name in _TOOL_FIELDS if isinstance(request.get(name), list)}
        if not stated:
            return array("I")
        key = _key([wire, stated])
        found = self._tools.get(key)
        if found is None:
            found = self._table.add_tools(
                [tool for name, listed in stated.items() for raw in listed for tool in _tools(wire, name, raw)]
            )
            if key:
                self._tools[key] = found
        return found

    def _add(self, wire: str, payload: JsonObject, style: Style) -> "array[int]":
        return self._table.add_messages(request_pieces(wire_format(wire).request_from_wire(payload), style))


def _key(value: Any) -> bytes:
    """Return what tells a value from all others: its JSON, or a hash of that if it is long; b"" if it has none."""
    try:
        raw = orjson.dumps(value)
    except TypeError:  # an integer beyond 64 bits, a lone surrogate, or too deeply nested
        return b""
    return raw if len(raw) <= _MAX_KEY_BYTES else blake2b(raw, digest_size=16).digest()


def _tools(wire: str, field: str, raw: Any) -> list[JsonObject]:
    """Return the tools of one entry: the caller's own, else one that the provider runs, by its name or its type."""
    found = request_tools(wire_format(wire).request_from_wire({"messages": [], field: [raw]}))
    if found:
        return found
    if not isinstance(raw, dict):
        return [tool_definition(json_text(raw), None, None)]
    stated = next((raw[name] for name in ("function", "custom") if isinstance(raw.get(name), dict)), raw)
    name = stated.get("name") or raw.get("type") or next(iter(raw), "")
    parameters = stated.get("parameters") or stated.get("input_schema")
    return [tool_definition(name, stated.get("description"), parameters)]
