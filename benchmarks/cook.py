"""Measures cooking: the time a request takes must not grow with the length of the trace; prints one table.

    python benchmarks/cook.py [--requests 2000 10000] [--messages 200] [--runs 3]

The traces are made here: talks in which each request sends a window of messages, the newest of them new. Records are
made one by one and put into the kitchen, so that making them is measured apart and taken off.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from palaver.cook.kitchen import Kitchen

GROWTH_LIMIT, GROWTH_GOAL = 1.5, 1.2
TALK = 100
"""Requests of one talk, before the next one begins."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure cooking.")
    parser.add_argument("--requests", type=int, nargs="+", default=[2_000, 10_000])
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    table = Table(title=f"palaver cook: requests of {asked.messages} messages")
    for column in ("requests", "seconds", "ms a request", "messages a second", "growth", "limit"):
        table.add_column(column, justify="right")
    first = 0.0
    for requests in asked.requests:
        seconds = min(_cooked(requests, asked.messages) for _ in range(asked.runs))
        each = seconds / requests
        first = first or each
        rate = requests * asked.messages / seconds
        row = (f"{requests:,}", f"{seconds:.2f}", f"{each * 1e3:.3f}", f"{rate:,.0f}", f"{each / first:.2f}")
        table.add_row(*row, f"{GROWTH_LIMIT}")
    Console(width=100).print(table)
    return 0


def _cooked(requests: int, messages: int) -> float:
    kitchen = Kitchen()
    seconds = 0.0
    for record in _records(requests, messages):
        began = time.perf_counter()
        kitchen.add_record(record)
        seconds += time.perf_counter() - began
    began = time.perf_counter()
    for _ in kitchen.cooked():
        pass
    return seconds + time.perf_counter() - began


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


if __name__ == "__main__":
    sys.exit(main())
