"""What the tests of the exporters share: documents of fixtures, and an export as a value."""

import json
from decimal import Decimal
from functools import cache
from typing import Any

from importing import FIXTURES, cases, read_golden
from palaver.exporters import exporter

Json = dict[str, Any]

CASES = [str(case) for case in cases()]


@cache
def _written(case: str) -> str:
    entries = read_golden(FIXTURES / case / "expected.jsonl")
    return json.dumps([entry["document"] for entry in entries if "document" in entry])


def documents_of(*names: str) -> list[Json]:
    """The documents of some fixtures, as they are expected."""
    return [document for case in names for document in json.loads(_written(case))]


def export(name: str, documents: list[Json], **options: Any) -> bytes:
    return b"".join(exporter(name).write(iter(documents), **options))


def a_message(*content: Json, **fields: Any) -> Json:
    message = {
        "message_id": "m1",
        "role": "user",
        "timestamp": "2026-04-01T10:00:00.000Z",
        "content": list(content) or [{"type": "text", "text": "a word"}],
        "metadata": {"author_kind": "human"},
    }
    return message | fields


def a_document(*messages: Json, **fields: Any) -> Json:
    document = {
        "schema_version": "1.0.0",
        "conversation_id": "one",
        "title": "A talk",
        "platform": {"name": "chatgpt", "model": "gpt-5"},
        "created_at": "2026-04-01T10:00:00.000Z",
        "messages": list(messages) or [a_message()],
    }
    return document | fields


def ten_cents(message: Json, document: Json) -> Decimal | None:
    """A price list on which only answers stand."""
    assert document["messages"]
    return Decimal("0.10") if message["role"] == "assistant" else None
