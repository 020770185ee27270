"""The kitchen: records, exchanges and documents in, one cooked object out; everything in the order it came."""

from array import array
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import orjson

from palaver.cook import claude, exchanges, openai
from palaver.cook.conversations import Conversations
from palaver.cook.detection import Format, detect
from palaver.cook.parents import Request, parents
from palaver.cook.pieces import Pairing, Pieces, piece
from palaver.cook.table import Table
from palaver.model.build import JsonObject
from palaver.model.timestamps import milliseconds_of, normalize_timestamp
from palaver.streams import assemble_events
from palaver.streams.sse import events_of_lines
from palaver.wire import wire_format

_WIRE = {"openai": "openai-chat", "claude": "anthropic", "gemini": "gemini", "responses": "openai-responses"}
_BATCH = 256


class Kitchen:
    """Cooks; nothing is kept of a record but its new messages and tools, and its numbers."""

    def __init__(self) -> None:
        self._table = Table()
        self._conversations = Conversations(self._table)
        self._requests: list[Request] = []
        self._names: list[tuple[str, int]] = []
        """Of each request, its id and how long it took."""
        self._known: dict[str, dict[bytes, tuple[array[int], list[tuple[str, str | None]]]]] = {
            "openai": {},
            "claude": {},
        }
        """By format, messages that were cut into pieces before: the numbers of these, and the ids of calls in them."""

    @property
    def requests(self) -> int:
        return len(self._requests)

    @property
    def messages(self) -> int:
        return len(self._table.messages)

    @property
    def tools(self) -> int:
        return len(self._table.tools)

    def add_record(self, record: JsonObject, stated: Format | None = None) -> list[str]:
        """Take a trace record, in the format that it is in or that is stated; what was odd about it, in sentences."""
        request: Any = record.get("request")
        request = request if isinstance(request, dict) else {}
        kind = stated or detect(record)
        odd: list[str] = []
        response = _whole_response(record.get("response"), kind, odd)
        model = request.get("model")
        if kind in {"gemini", "responses"}:
            sent, got, tools, model = _through_wire(request, response, kind, model)
            messages = self._table.add_messages(sent)
        else:
            room = claude if kind == "claude" else openai
            pairing = Pairing()
            messages = self._table.add_messages(room.system_pieces(request))
            self._add_history(request.get("messages"), kind, room.message_pieces, pairing, messages)
            got = room.response_pieces(response, pairing) if response else []
            tools = room.request_tools(request)
        self._add(
            messages,
            _answered(record.get("error"), response, got),
            tools,
            identifier=_identifier(record.get("id"), len(self._requests)),
            timestamp=_timestamp(record.get("timestamp")),
            model=model if isinstance(model, str) else "",
            duration_ms=record.get("duration_ms"),
        )
        return odd

    def add_exchange(self, exchange: JsonObject) -> None:
        """Take an exchange in the superset format."""
        response = exchange["response"]
        error = exchange.get("error")
        self._add(
            self._table.add_messages(exchanges.request_pieces(exchange["request"])),
            _answered(error and error["message"], None, exchanges.response_pieces(response) if response else []),
            exchanges.request_tools(exchange["request"]),
            identifier=exchange["exchange_id"],
            timestamp=_timestamp(exchange.get("started_at")),
            model=exchange["request"]["model"],
            duration_ms=exchange.get("duration_ms"),
        )

    def add_document(self, document: JsonObject) -> None:
        """Take a conversation document, or a fragment of one."""
        for answer in self._conversations.answers(document):
            self._requests.append(Request(answer.timestamp, answer.model, answer.messages, answer.response, array("I")))
            self._names.append((answer.identifier, answer.duration_ms))

    def cooked(self) -> Iterator[bytes]:
        """One JSON object, piece by piece."""
        yield b'{"messages":['
        yield from _joined(_entry(b"m", number, raw) for number, raw in enumerate(self._table.messages))
        yield b'],"tools":['
        yield from _joined(_entry(b"t", number, raw) for number, raw in enumerate(self._table.tools))
        yield b'],"requests":['
        yield from _joined(map(orjson.dumps, self._told()))
        yield b"]}\n"

    def _add_history(
        self,
        history: Any,
        kind: Format,
        pieces_of: Callable[[Any, Pairing], Pieces],
        pairing: Pairing,
        messages: "array[int]",
    ) -> None:
        """Add the numbers of a request's messages; most of them stood in the request before, as they stand here."""
        known = self._known[kind]
        for message in history if isinstance(history, list) else ():
            try:
                key = blake2b(orjson.dumps(message), digest_size=16).digest()
            except TypeError:  # an integer past 64 bits, half of a surrogate pair, or nested too deeply
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
        got: Pieces,
        tools: list[JsonObject],
        *,
        identifier: str,
        timestamp: int,
        model: str,
        duration_ms: Any,
    ) -> None:
        response = self._table.add_messages(got)
        self._requests.append(Request(timestamp, model, messages, response, self._table.add_tools(tools)))
        is_number = isinstance(duration_ms, int | float) and not isinstance(duration_ms, bool) and duration_ms >= 0
        self._names.append((identifier, round(duration_ms) if is_number else 0))

    def _told(self) -> Iterator[JsonObject]:
        for request, parent, (identifier, duration_ms) in zip(
            self._requests, parents(self._requests), self._names, strict=True
        ):
            yield {
                "id": identifier,
                "parent_id": None if parent is None else self._names[parent][0],
                "timestamp": request.timestamp,
                "request_messages": [f"m{number}" for number in request.messages],
                "response_messages": [f"m{number}" for number in request.response],
                "model": request.model,
                "tools": [f"t{number}" for number in request.tools],
                "duration_ms": duration_ms,
            }


def _whole_response(response: Any, kind: Format, odd: list[str]) -> JsonObject | None:
    """The response as it would have come in one piece."""
    match response:
        case {"sse_lines": list() as lines}:
            made = assemble_events(_WIRE[kind], events_of_lines(map(str, lines)))
            odd += [f"{issue.type}: {issue.detail}" for issue in made.issues]
            return made.payload
        case dict():
            return response
        case _:
            return None


def _through_wire(
    request: JsonObject, response: JsonObject | None, kind: Format, model: Any
) -> tuple[Pieces, Pieces, list[JsonObject], Any]:
    wire = wire_format(_WIRE[kind])
    sent = wire.request_from_wire(request)
    got = wire.response_from_wire(response) if response and not wire.error_from_wire(response) else None
    return (
        exchanges.request_pieces(sent),
        exchanges.response_pieces(got) if got else [],
        exchanges.request_tools(sent),
        ((got or {}).get("model") if kind == "gemini" else None) or model,
    )


def _answered(error: Any, response: JsonObject | None, got: Pieces) -> Pieces:
    """What came back, in words where it was an error; never nothing."""
    if not error and response and not got:
        stated = response.get("error")
        error = stated.get("message") if isinstance(stated, dict) else stated
    if error:
        return [piece("assistant", f"Error: {error}")]
    return got or [piece("assistant")]


def _identifier(stated: Any, number: int) -> str:
    return str(stated) if isinstance(stated, str | int) and stated != "" else f"record-{number}"


def _timestamp(stated: Any) -> int:
    """Milliseconds since 1970; 0 where there is no time that can be read."""
    try:
        return max(0, milliseconds_of(normalize_timestamp(stated)))
    except ValueError:
        return 0


def _entry(letter: bytes, number: int, raw: bytes) -> bytes:
    return b'{"id":"%s%d",%s' % (letter, number, raw[1:])


def _joined(entries: Iterator[bytes]) -> Iterator[bytes]:
    """Entries with commas between them, many at a time."""
    batch: list[bytes] = []
    is_first = True
    for entry in entries:
        batch.append(entry)
        if len(batch) == _BATCH:
            yield (b"" if is_first else b",") + b",".join(batch)
            batch, is_first = [], False
    if batch:
        yield (b"" if is_first else b",") + b",".join(batch)
