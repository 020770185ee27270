"""Records of a trace cooked in memory, and by the workflow that `palaver cook` runs."""

import json

from palaver.cook.builder import CookBuilder
from palaver.importers.api_trace.calls import call_from_log
from palaver.importers.api_trace.records import trace_call
from palaver.validation.schema import is_valid
from palaver.workflows.cook import cook_units, find_sources

ASKED = {"role": "user", "content": "hi"}
CHAT_ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello!"}}]}


def record(response=None, *messages, error=None, **request):
    return {
        "id": "r1",
        "timestamp": "2026-02-20T10:00:00Z",
        "request": {"model": "m", "messages": list(messages or (ASKED,)), **request},
        "response": response,
        "error": error,
    }


def events(*datas):
    return {"stream": True, "sse_lines": [f"data: {json.dumps(data)}" for data in datas]}


def texts(pieces):
    return [(made["role"], made["content"]) for made in pieces]


def call_of(record):
    return call_from_log(trace_call(record, "record"), lambda *_: None)


def notes_of(record):
    """Return the codes of what is odd about a record."""
    codes = []
    call_from_log(trace_call(record, "record"), lambda kind, *_: codes.append(kind.code))
    return codes


def cook(*records, keeps_order=False):
    """Cook records, and return the cooked object."""
    builder = CookBuilder(keeps_order=keeps_order)
    for record in records:
        builder.add_call(call_of(record))
    return finished(builder)


def cook_file(path, stated_format=None):
    """Cook a file, and return the cooked object and the report."""
    builder = CookBuilder()
    [report] = cook_units(find_sources([path]).units, builder, stated_format)
    return finished(builder), report


def finished(builder):
    made = json.loads(b"".join(builder.json_chunks()))
    assert is_valid(made, "cooked")
    return made


def sent(made):
    """Return the messages of all requests, without the answers, which are never missing."""
    return _named(made, "request_messages")


def received(made):
    return _named(made, "response_messages")


def _named(made, field):
    by_id = {one["id"]: one for one in made["messages"]}
    return [by_id[name] for request in made["requests"] for name in request[field]]
