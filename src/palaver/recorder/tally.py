"""Counts of what a recorder saw, for its status line and its summary.

`Tally` watches in the thread of the server, where nothing may take long: it keeps the numbers and names of a finished
exchange. `Totals` adds them up, with prices, where there is time.
"""

import re
import statistics
import threading
from collections import Counter
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import urlsplit

from palaver.model.build import JsonObject
from palaver.model.timestamps import normalize_timestamp
from palaver.prices import Prices
from palaver.streams.exchange import FinishedExchange
from palaver.threads.answers import answering_model, stated_tokens
from palaver.threads.call import Call
from palaver.wire._detection import WIRE_FORMAT_NAMES, response_format

_PLATFORM = "api_trace"
"""The platform of recorded calls in the archive, so that they cost here what they cost there."""
_FIRST_ERROR_STATUS = 400
_ERROR_NAMES = ("code", "type", "status")
"""Fields of an error that name it, the most specific first."""
_COUNTS = frozenset(
    {"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "thinking_tokens"}
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")


class FinishedCall(NamedTuple):
    """A finished exchange without its content."""

    method: str
    path: str
    status: int | None
    model: str | None
    tokens: JsonObject
    """As the provider counts them, under the names of a message's `tokens`."""
    excludes_cache: bool
    """Whether `input_tokens` leaves cached tokens out where the model is unknown."""
    timestamp: str
    duration_s: float
    is_stream: bool
    first_token_s: float | None
    """The time from the request to the first piece of a stream with content; None without one."""
    error: str
    """What went wrong in a few words, such as `529 overloaded_error`, or ""."""
    unwritten: str
    """Why it is not in the log, or ""."""


class Tokens(NamedTuple):
    """Tokens, each counted once: `input` without cached ones, `output` with thinking."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def plus(self, other: "Tokens") -> "Tokens":
        return Tokens(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class PricedCall(NamedTuple):
    call: FinishedCall
    tokens: Tokens
    cost: Decimal | None
    """In US dollars; None if the call has no tokens, or its model no known price."""


class Tally:
    """Watches a proxy; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._finished: list[FinishedCall] = []
        self._running: set[str] = set()
        self._streaming: set[str] = set()
        self._defects: Counter[str] = Counter()

    @property
    def running_count(self) -> int:
        """How many exchanges go on."""
        return len(self._running)

    @property
    def stream_count(self) -> int:
        """How many of them receive a stream."""
        return len(self._streaming)

    def started(self, request_id: str, method: str, path: str) -> None:  # noqa: ARG002 - the signature of a watcher
        with self._lock:
            self._running.add(request_id)

    def streaming(self, request_id: str) -> None:
        with self._lock:
            self._streaming.add(request_id)

    def finished(self, exchange: FinishedExchange) -> None:
        call = _without_content(exchange)
        with self._lock:
            self._running.discard(exchange.request_id)
            self._streaming.discard(exchange.request_id)
            self._finished.append(call)

    def failed(self, message: str) -> None:
        with self._lock:
            self._defects[message] += 1

    def take_finished(self) -> list[FinishedCall]:
        """Return the exchanges that finished since the last time."""
        with self._lock:
            finished, self._finished = self._finished, []
        return finished

    def take_defects(self) -> Counter[str]:
        """Return defects of the recorder itself since the last time, with how often each occurred."""
        with self._lock:
            defects, self._defects = self._defects, Counter()
        return defects


class Totals:
    """Sums over finished exchanges."""

    def __init__(self, prices: Prices) -> None:
        self._prices = prices
        self.calls = 0
        self.streams = 0
        self.tokens = Tokens()
        self.cost = Decimal(0)
        self.priced = 0
        """Calls whose cost is in the sum."""
        self.models: Counter[str] = Counter()
        """Calls with tokens, by model."""
        self.unpriced: Counter[str] = Counter()
        """Calls with tokens whose model has no known price, by model."""
        self.errors: Counter[str] = Counter()
        self.unwritten: Counter[str] = Counter()
        """Exchanges that are not in the log, by reason."""
        self._first_tokens_s: list[float] = []

    @property
    def median_first_token_s(self) -> float | None:
        return statistics.median(self._first_tokens_s) if self._first_tokens_s else None

    @property
    def slowest_first_token_s(self) -> float | None:
        return max(self._first_tokens_s, default=None)

    def add(self, call: FinishedCall) -> PricedCall:
        """Add a finished exchange and return it with its price."""
        priced = self._priced(call)
        self.calls += 1
        self.tokens = self.tokens.plus(priced.tokens)
        self.streams += call.is_stream
        if call.first_token_s is not None:
            self._first_tokens_s.append(call.first_token_s)
        if call.error:
            self.errors[call.error] += 1
        if call.unwritten:
            self.unwritten[call.unwritten] += 1
        if any(priced.tokens):
            model = call.model or "unknown"
            self.models[model] += 1
            if priced.cost is None:
                self.unpriced[model] += 1
            else:
                self.cost += priced.cost
                self.priced += 1
        return priced

    def _priced(self, call: FinishedCall) -> PricedCall:
        found = self._prices.cost(call.model, call.tokens, call.timestamp, _PLATFORM)
        if found is None:
            return PricedCall(call, _counted_once(call), None)
        charge = found.row.charge(call.tokens)
        written = charge.cache_write_5m + charge.cache_write_1h
        tokens = Tokens(charge.input, charge.output + charge.thinking, charge.cache_read, written)
        return PricedCall(call, tokens, found.amount)


def _without_content(exchange: FinishedExchange) -> FinishedCall:
    payload = exchange.payload
    wire = _wire(exchange)
    call = Call(exchange.request_id, wire, {}, payload, model=exchange.requested_model)
    tokens = stated_tokens(call) if wire else {}
    first = exchange.first_content
    return FinishedCall(
        method=exchange.method,
        path=urlsplit(exchange.url).path,
        status=exchange.status,
        model=answering_model(call),
        # A server may use these names for anything.
        tokens={name: count for name, count in tokens.items() if name not in _COUNTS or type(count) is int},
        excludes_cache=wire == "anthropic",
        timestamp=normalize_timestamp(exchange.started),
        duration_s=max(0.0, exchange.ended - exchange.started),
        is_stream=exchange.is_stream,
        first_token_s=None if first is None else max(0.0, first - exchange.started),
        error=_error(exchange),
        unwritten=exchange.unwritten,
    )


def _wire(exchange: FinishedExchange) -> str:
    """Return the wire format of the response, or "" if it does not show one."""
    if exchange.wire_format is not None:
        return exchange.wire_format.replace("_", "-")
    shown = response_format(exchange.payload)
    return "" if shown is None else WIRE_FORMAT_NAMES[shown]


def _error(exchange: FinishedExchange) -> str:
    """Return what went wrong: the end of the exchange, or the status and the API's name of the error."""
    if exchange.error is not None:
        return str(exchange.error["type"])
    stated = exchange.payload.get("error")
    names = [stated.get(field) for field in _ERROR_NAMES] if isinstance(stated, dict) else []
    name = next((name for name in names if isinstance(name, str) and _NAME.fullmatch(name)), "")
    if exchange.status is not None and exchange.status >= _FIRST_ERROR_STATUS:
        return f"{exchange.status} {name}".rstrip()
    return name or ("error" if stated else "")


def _counted_once(call: FinishedCall) -> Tokens:
    """Return the tokens of a call whose model has no known price."""
    sent, answered, read, written = (
        call.tokens.get(name) or 0
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    if not call.excludes_cache and sent >= read + written:
        sent -= read + written
    return Tokens(sent, answered, read, written)
