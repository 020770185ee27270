"""JSON Lines: the documents themselves, one per line, as `palaver import` writes and reads them.

This is the only format that loses nothing: importing the file gives the same conversations again.

With costs, a message that states none gets `metadata.computed_cost` {amount, currency, source}: `cost` is reserved for
what the source states, and the document remains valid.
"""

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import repeat

import orjson

from palaver.exporters._contract import MessageCost, PlatformTitle
from palaver.exporters._message_fields import computed_cost, metadata
from palaver.model.build import JsonObject


class JsonLines:
    title = "conversation documents, one per line"
    suffix = ".jsonl"
    other_suffixes = (".ndjson",)

    def write(
        self, documents: Iterable[JsonObject], *, cost: MessageCost | None = None, platform_title: PlatformTitle = str
    ) -> Iterator[bytes]:
        _ = platform_title  # documents have the platform's id
        yield from map(_line, documents if cost is None else map(with_costs, documents, repeat(cost)))


def _line(document: JsonObject) -> bytes:
    try:
        return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # a sum may exceed 64 bits, which only the standard library writes
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def with_costs(document: JsonObject, cost: MessageCost) -> JsonObject:
    """Return a copy of a document with the computed cost of every message that states none."""
    return {**document, "messages": [_with_cost(message, document, cost) for message in document["messages"]]}


def _with_cost(message: JsonObject, document: JsonObject, cost: MessageCost) -> JsonObject:
    amount = computed_cost(message, document, cost)
    if amount is None:
        return message
    return {**message, "metadata": {**metadata(message), "computed_cost": _cost_object(amount)}}


def _cost_object(amount: Decimal) -> JsonObject:
    return {"amount": float(amount), "currency": "USD", "source": "list_prices"}


EXPORTER = JsonLines()
