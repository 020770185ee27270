"""Cooking: the time a request takes must not grow with the length of the trace.

The traces are made here: talks in which each request sends a window of messages, the newest of them new. Records are
made one by one and added to the builder, so that making them is measured apart and taken off.
"""

import time
from collections.abc import Iterator
from typing import Any

from datasets import Asked
from palaver.cook.builder import CookBuilder
from palaver.importers.api_trace.calls import call_from_log
from palaver.importers.api_trace.records import trace_call
from palaver.threads.call import Call
from rows import Row

GROWTH_LIMIT, GROWTH_GOAL = 1.5, 1.2
TALK = 100
"""Requests of one talk, before the next one begins."""


def measure(name: str, asked: Asked) -> list[Row]:
    fewest, most = asked.requests
    took = {requests: float("inf") for requests in asked.requests}
    for _ in range(asked.runs):
        for requests, before in took.items():
            took[requests] = min(before, seconds(requests, asked.request_messages))
    each = {requests: 1e3 * spent_s / requests for requests, spent_s in took.items()}
    work = f"cook: a request of {asked.request_messages} messages, among {most:,} over among {fewest:,}"
    return [
        Row(
            name=name,
            work=work,
            size=f"{most:,} requests",
            ours=each[most],
            yardstick=each[fewest],
            unit="ms CPU",
            ratio=each[most] / each[fewest],
            limit=GROWTH_LIMIT,
            stretch=GROWTH_GOAL,
            details={"messages_a_second": most * asked.request_messages / took[most]},
        )
    ]


def seconds(requests: int, messages: int) -> float:
    """CPU time."""
    builder = CookBuilder()
    spent_s = 0.0
    for record in _records(requests, messages):
        began = time.process_time()
        call = call_from_log(trace_call(record, ""), _ignore)
        assert isinstance(call, Call)
        builder.add_call(call)
        spent_s += time.process_time() - began
    began = time.process_time()
    for _ in builder.json_chunks():
        pass
    return spent_s + time.process_time() - began


def _ignore(*_: object) -> None:
    """Take a finding."""


def _records(requests: int, messages: int) -> Iterator[dict[str, Any]]:
    tools = [{"type": "function", "function": {"name": f"tool_{n}", "parameters": {}}} for n in range(10)]
    talk: list[dict[str, str]] = []
    for number in range(requests):
        if number % TALK == 0:
            talk = [{"role": "system", "content": "Be helpful."}]
            talk += [_message(number, position) for position in range(messages - 2)]
        answer = {"role": "assistant", "content": f"answer {number} " + "word " * 20}
        question = {"role": "user", "content": f"question {number} " + "word " * 20}
        talk = [talk[0], *talk[-(messages - 2) :], question]
        yield {
            "id": f"r{number}",
            "timestamp": 1_760_000_000_000 + number,
            "duration_ms": 1_000,
            "request": {"model": "gpt-4", "messages": talk, "tools": tools},
            "response": {"choices": [{"message": answer}]},
            "error": None,
        }
        talk = [*talk, answer]


def _message(talk: int, position: int) -> dict[str, str]:
    role = "user" if position % 2 else "assistant"
    return {"role": role, "content": f"message {position} of talk {talk} " + "word " * 20}
