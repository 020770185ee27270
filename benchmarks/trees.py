"""Folders of JSON files, each one conversation or a part of one: what is in them, and how large each shall be."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import orjson

Json = dict[str, Any]


@dataclass
class Truth:
    """What a correct import must find."""

    bytes: int = 0
    files: int = 0
    largest_line: int = 0
    """The largest file that is read whole, and so is a record to whoever has it in memory."""
    conversations: int = 0
    human_messages: int = 0
    tool_calls: int = 0
    tokens: dict[str, int] = field(default_factory=lambda: {"output_tokens": 0})


def write(path: Path, value: Any, truth: Truth, *, is_indented: bool = False) -> int:
    """Write a file and return its size."""
    return write_bytes(path, orjson.dumps(value, option=orjson.OPT_INDENT_2 if is_indented else 0), truth)


def write_bytes(path: Path, raw: bytes, truth: Truth) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    truth.files += 1
    truth.bytes += len(raw)
    truth.largest_line = max(truth.largest_line, len(raw))
    return len(raw)


def sizes(rng: Random, truth: Truth, wanted: int, smallest: int, largest: int) -> Iterator[int]:
    """Sizes of conversations, log-normal between two limits, until enough was written; at least one."""
    while not truth.conversations or truth.bytes < wanted:
        size = min(largest, max(smallest, int(smallest * 6 * rng.lognormvariate(0, 1.1))))
        yield min(size, wanted - truth.bytes) if truth.conversations else min(size, wanted)
        truth.conversations += 1


def spelled(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1_000)
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat()[:19]}.{rest:03d}Z"
