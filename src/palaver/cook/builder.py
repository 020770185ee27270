"""A builder that takes calls, exchanges and documents, and writes one cooked object in the order they came."""

from array import array
from collections.abc import Iterator
from dataclasses import replace

from palaver.cook.blocks import Style, block_pieces
from palaver.cook.call_ids import CallPairing, complete_response
from palaver.cook.conversations import Conversations
from palaver.cook.parents import Request, parent_indexes
from palaver.cook.pieces import Pieces, PieceTable, encode_json, piece
from palaver.cook.requests import RequestReader, request_pieces, request_tools
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind, finding_kind
from palaver.model.timestamps import milliseconds_of
from palaver.sources.damage import NON_FINITE
from palaver.threads.call import Call

NOT_VALID = finding_kind("not-valid", "error", "A document does not match its schema and was left out.")
REPEATED_REQUEST_ID = finding_kind(
    "repeated-request-id", "warning", "A request has the id of an earlier one; a number was added to it."
)
PARTIAL_ANSWER = finding_kind(
    "partial-answer", "note", "An error ended an answer; the part before it is kept, followed by the error."
)
Remark = tuple[FindingKind, str]
"""A kind of finding, and a sentence about the case."""
_BATCH_SIZE = 256
_MAX_QUOTED = 80


class CookBuilder:
    """Builds a cooked object; of each request it holds only new messages and tools, and the numbers of all others."""

    def __init__(self, *, keeps_order: bool = False) -> None:
        self._style = Style(keeps_order=keeps_order)
        self._table = PieceTable()
        self._reader = RequestReader(self._table)
        self._conversations = Conversations(self._table, self._style)
        self._requests: list[Request] = []
        self._ids_and_durations: list[tuple[str, int]] = []
        """The id and the duration in milliseconds of each request."""
        self._known_ids: dict[str, int] = {}
        """For each id, the number of the latest request that states it."""

    @property
    def requests(self) -> int:
        return len(self._requests)

    @property
    def messages(self) -> int:
        return len(self._table.messages)

    @property
    def tools(self) -> int:
        return len(self._table.tools)

    def add_call(self, call: Call) -> list[Remark]:
        """Add a logged call, and return what was odd about it."""
        pairing = CallPairing()
        messages = self._reader.messages(call.wire, call.request, self._style_of(call.wire), pairing)
        if not messages and (unreadable := call.answer.get("request_body")):
            messages = self._table.add_messages([piece("user", unreadable)])
        response: JsonObject | None = None
        if call.response is not None:
            wire = call.response_wire
            call = replace(call, response=complete_response(wire, call.response, pairing))
            response = call.exchange_response()
        answers = _answers(response, self._style_of(call.response_wire))
        stated = (response or {}).get("model") if call.wire == "gemini" else None
        model = stated or call.request.get("model") or call.model
        remarks = self._add(
            messages,
            answers,
            call.error,
            self._reader.tools(call.wire, call.request),
            identifier=call.call_id,
            timestamp=_milliseconds(call.started_at),
            model=model if isinstance(model, str) and model else "unknown",
            duration_ms=call.duration_ms,
        )
        if pairing.constants:
            names = ", ".join(dict.fromkeys(pairing.constants))
            remarks.append((NON_FINITE, f"{names} in the arguments of a call became null"))
        return remarks

    def add_exchange(self, exchange: JsonObject) -> list[Remark]:
        """Add an exchange in the superset format, and return what was odd about it."""
        request = exchange["request"]
        return self._add(
            self._table.add_messages(request_pieces(request, self._style)),
            _answers(exchange["response"], self._style),
            exchange.get("error"),
            self._table.add_tools(request_tools(request)),
            identifier=exchange["exchange_id"],
            timestamp=_milliseconds(exchange.get("started_at")),
            model=request["model"],
            duration_ms=exchange.get("duration_ms"),
        )

    def add_document(self, document: JsonObject) -> list[Remark]:
        """Add a conversation document, or a fragment of one, and return what was odd about it."""
        remarks: list[Remark] = []
        for call in self._conversations.model_calls(document):
            self._requests.append(Request(call.timestamp, call.model, call.messages, call.response, array("I")))
            self._ids_and_durations.append((self._unique_id(call.identifier, remarks), call.duration_ms))
        return remarks

    def json_chunks(self) -> Iterator[bytes]:
        """Yield the cooked JSON object in pieces."""
        yield b'{"messages":['
        yield from _joined_batches(_entry(b"m", number, raw) for number, raw in enumerate(self._table.messages))
        yield b'],"tools":['
        yield from _joined_batches(_entry(b"t", number, raw) for number, raw in enumerate(self._table.tools))
        yield b'],"requests":['
        yield from _joined_batches(map(encode_json, self._requests_json()))
        yield b"]}\n"

    def _style_of(self, wire: str) -> Style:
        return self._style._replace(joins_text=wire == "openai-chat")

    def _add(
        self,
        messages: "array[int]",
        answers: list[Pieces],
        error: JsonObject | None,
        tools: "array[int]",
        *,
        identifier: str,
        timestamp: int,
        model: str,
        duration_ms: float | None,
    ) -> list[Remark]:
        remarks: list[Remark] = []
        numbers = [self._table.add_messages(answer) for answer in answers]
        response = array("I", [number for answer in numbers for number in answer])
        if error:
            response.extend(self._table.add_messages([piece("assistant", f"Error: {error['message']}")]))
            if answers:
                remarks.append((PARTIAL_ANSWER, f"the answer ends in an error: {_quoted(error['message'])}"))
        if not response:
            response.extend(self._table.add_messages([piece("assistant")]))
        alternatives = tuple(numbers) if len(numbers) > 1 else ()
        self._requests.append(Request(timestamp, model, messages, response, tools, alternatives))
        self._ids_and_durations.append((self._unique_id(identifier, remarks), max(0, round(duration_ms or 0))))
        return remarks

    def _unique_id(self, stated: str, remarks: list[Remark]) -> str:
        """Return the id, or the id with a number if an earlier request has it."""
        identifier, number = stated, self._known_ids.get(stated, 0) + 1
        while number > 1 and (identifier := f"{stated}#{number}") in self._known_ids:
            number += 1
        self._known_ids[stated] = number
        self._known_ids.setdefault(identifier, 1)
        if number > 1:
            quoted = _quoted(stated)
            message = f"the id {quoted!r} is taken: this request is {f'{quoted}#{number}'!r}"
            remarks.append((REPEATED_REQUEST_ID, message))
        return identifier

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


def _answers(response: JsonObject | None, style: Style) -> list[Pieces]:
    """Return the pieces of each answer that says anything, in the order of their index."""
    listed = (response, *(response.get("alternatives") or ())) if response else ()
    found = [block_pieces("assistant", answer["content"], style) for answer in listed]
    return [pieces for pieces in found if any(made["content"] or made["tool_calls"] for made in pieces)]


def _quoted(text: str) -> str:
    """Return a text as part of a sentence on one line."""
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"


def _milliseconds(timestamp: str | None) -> int:
    """Return milliseconds since 1970, or 0 for an unknown time."""
    try:
        return max(0, milliseconds_of(timestamp)) if timestamp else 0
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
