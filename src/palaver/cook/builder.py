"""A builder that takes records, exchanges and documents, and writes one cooked object in the order they came."""

from array import array
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import orjson

from palaver.cook import claude, openai, ucs
from palaver.cook.parents import Request, parent_indexes
from palaver.cook.pieces import CallPairing, Pieces, PieceTable, piece
from palaver.cook.ucs import Conversations
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import milliseconds_of, normalize_timestamp
from palaver.streams import assemble_events
from palaver.streams.event_parsers import events_of_lines
from palaver.wire import wire_format
from palaver.wire._detection import FORMATS, WIRE_FORMAT_NAMES, Format, detect_format

__all__ = ["FORMATS", "NOT_VALID", "NO_RECORD", "ODD_STREAM", "CookBuilder", "Format", "detect_format"]

ODD_STREAM = finding_kind(
    "odd-stream", "note", "A recorded stream is not whole or not in order; what is there was read."
)
NO_RECORD = finding_kind("no-record", "error", "A record of a trace holds no request; it is left out.")
NOT_VALID = finding_kind("not-valid", "error", "A document does not meet its schema, and is left out.")
_BATCH_SIZE = 256


class CookBuilder:
    """Builds a cooked object; of each record it holds only new messages and tools, and the numbers of all others."""

    def __init__(self) -> None:
        self._table = PieceTable()
        self._conversations = Conversations(self._table)
        self._requests: list[Request] = []
        self._ids_and_durations: list[tuple[str, int]] = []
        """The id and the duration in milliseconds of each request."""
        self._cache: dict[str, dict[bytes, tuple[array[int], list[tuple[str, str | None]]]]] = {
            "openai": {},
            "claude": {},
        }
        """By format and hash of a message: the numbers of its pieces, and the ids of calls and results in it."""

    @property
    def requests(self) -> int:
        return len(self._requests)

    @property
    def messages(self) -> int:
        return len(self._table.messages)

    @property
    def tools(self) -> int:
        return len(self._table.tools)

    def add_record(self, record: JsonObject, trace_format: Format | None = None) -> list[str]:
        """Add a trace record, in the given format or the detected one; return the issues of its stream as sentences."""
        request: Any = record.get("request")
        request = request if isinstance(request, dict) else {}
        kind = trace_format or detect_format(record)
        issues: list[str] = []
        response = _complete_response(record.get("response"), kind, issues)
        model = request.get("model")
        if kind in {"gemini", "responses"}:
            sent, received, tools, model = _pieces_through_wire(request, response, kind, model)
            messages = self._table.add_messages(sent)
        else:
            source = claude if kind == "claude" else openai
            pairing = CallPairing()
            messages = self._table.add_messages(source.system_pieces(request))
            self._add_history(request.get("messages"), kind, source.message_pieces, pairing, messages)
            received = source.response_pieces(response, pairing) if response else []
            tools = source.request_tools(request)
        self._add(
            messages,
            _response_pieces(record.get("error"), response, received),
            tools,
            identifier=_identifier(record.get("id"), len(self._requests)),
            timestamp=_timestamp(record.get("timestamp")),
            model=model if isinstance(model, str) else "",
            duration_ms=record.get("duration_ms"),
        )
        return issues

    def add_exchange(self, exchange: JsonObject) -> None:
        """Add an exchange in the superset format."""
        response = exchange["response"]
        error = exchange.get("error")
        self._add(
            self._table.add_messages(ucs.request_pieces(exchange["request"])),
            _response_pieces(error and error["message"], None, ucs.response_pieces(response) if response else []),
            ucs.request_tools(exchange["request"]),
            identifier=exchange["exchange_id"],
            timestamp=_timestamp(exchange.get("started_at")),
            model=exchange["request"]["model"],
            duration_ms=exchange.get("duration_ms"),
        )

    def add_document(self, document: JsonObject) -> None:
        """Add a conversation document, or a fragment of one."""
        for call in self._conversations.model_calls(document):
            self._requests.append(Request(call.timestamp, call.model, call.messages, call.response, array("I")))
            self._ids_and_durations.append((call.identifier, call.duration_ms))

    def json_chunks(self) -> Iterator[bytes]:
        """Yield the cooked JSON object in pieces."""
        yield b'{"messages":['
        yield from _joined_batches(_entry(b"m", number, raw) for number, raw in enumerate(self._table.messages))
        yield b'],"tools":['
        yield from _joined_batches(_entry(b"t", number, raw) for number, raw in enumerate(self._table.tools))
        yield b'],"requests":['
        yield from _joined_batches(map(orjson.dumps, self._requests_json()))
        yield b"]}\n"

    def _add_history(
        self,
        history: Any,
        kind: Format,
        pieces_of: Callable[[Any, CallPairing], Pieces],
        pairing: CallPairing,
        messages: "array[int]",
    ) -> None:
        """Append the numbers of a request's messages; most are unchanged since the request before, and cached."""
        known = self._cache[kind]
        for message in history if isinstance(history, list) else ():
            try:
                key = blake2b(orjson.dumps(message), digest_size=16).digest()
            except TypeError:  # an integer beyond 64 bits, a lone surrogate, or too deeply nested
                messages.extend(self._table.add_messages(pieces_of(message, pairing)))
                continue
            if (found := known.get(key)) is None:
                pairing.seen, pairing.has_guessed = [], False
                found = self._table.add_messages(pieces_of(message, pairing)), pairing.seen
                if not pairing.has_guessed:
                    known[key] = found
            elif found[1]:
                pairing.replay(found[1])
            messages.extend(found[0])

    def _add(
        self,
        messages: "array[int]",
        received: Pieces,
        tools: list[JsonObject],
        *,
        identifier: str,
        timestamp: int,
        model: str,
        duration_ms: Any,
    ) -> None:
        response = self._table.add_messages(received)
        self._requests.append(Request(timestamp, model, messages, response, self._table.add_tools(tools)))
        is_number = isinstance(duration_ms, int | float) and not isinstance(duration_ms, bool) and duration_ms >= 0
        self._ids_and_durations.append((identifier, round(duration_ms) if is_number else 0))

    def _requests_json(self) -> Iterator[JsonObject]:
        for request, parent, (identifier, duration_ms) in zip(
            self._requests, parent_indexes(self._requests), self._ids_and_durations, strict=True
        ):
            yield {
                "id": identifier,
                "parent_id": None if parent is None else self._ids_and_durations[parent][0],
                "timestamp": request.timestamp,
                "request_messages": [f"m{number}" for number in request.messages],
                "response_messages": [f"m{number}" for number in request.response],
                "model": request.model,
                "tools": [f"t{number}" for number in request.tools],
                "duration_ms": duration_ms,
            }


def _complete_response(response: Any, kind: Format, issues: list[str]) -> JsonObject | None:
    """Return the response as the API sends it without streaming."""
    match response:
        case {"sse_lines": list() as lines}:
            assembled = assemble_events(WIRE_FORMAT_NAMES[kind], events_of_lines(map(str, lines)))
            issues += [f"{issue.type}: {issue.detail}" for issue in assembled.issues]
            return assembled.payload
        case dict():
            return response
        case _:
            return None


def _pieces_through_wire(
    request: JsonObject, response: JsonObject | None, kind: Format, model: Any
) -> tuple[Pieces, Pieces, list[JsonObject], Any]:
    wire = wire_format(WIRE_FORMAT_NAMES[kind])
    sent = wire.request_from_wire(request)
    received = wire.response_from_wire(response) if response and not wire.error_from_wire(response) else None
    return (
        ucs.request_pieces(sent),
        ucs.response_pieces(received) if received else [],
        ucs.request_tools(sent),
        ((received or {}).get("model") if kind == "gemini" else None) or model,
    )


def _response_pieces(error: Any, response: JsonObject | None, received: Pieces) -> Pieces:
    """Return the pieces of a response, or one with the error message; never an empty list."""
    if not error and response and not received:
        stated = response.get("error")
        error = stated.get("message") if isinstance(stated, dict) else stated
    if error:
        return [piece("assistant", f"Error: {error}")]
    return received or [piece("assistant")]


def _identifier(stated: Any, number: int) -> str:
    return str(stated) if isinstance(stated, str | int) and stated != "" else f"record-{number}"


def _timestamp(stated: Any) -> int:
    """Return milliseconds since 1970, or 0 for an unreadable time."""
    try:
        return max(0, milliseconds_of(normalize_timestamp(stated)))
    except ValueError:
        return 0


def _entry(letter: bytes, number: int, raw: bytes) -> bytes:
    return b'{"id":"%s%d",%s' % (letter, number, raw[1:])


def _joined_batches(entries: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the entries separated by commas, many at a time."""
    batch: list[bytes] = []
    is_first = True
    for entry in entries:
        batch.append(entry)
        if len(batch) == _BATCH_SIZE:
            yield (b"" if is_first else b",") + b",".join(batch)
            batch, is_first = [], False
    if batch:
        yield (b"" if is_first else b",") + b",".join(batch)
