"""What a correct import of the generated files must find."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import orjson

Json = dict[str, Any]


@dataclass
class Truth:
    bytes: int = 0
    lines: int = 0
    """Lines, and documents of which a file is one."""
    largest_line: int = 0
    conversations: int = 0
    prompts: int = 0
    tool_calls: int = 0
    tool_results: int = 0
    completions: int = 0
    usage_rows: int = 0


def counted(raw: bytes, truth: Truth) -> bytes:
    truth.bytes += len(raw)
    truth.lines += 1
    truth.largest_line = max(truth.largest_line, len(raw))
    return raw


class Lines:
    """A file of JSON Lines that is being written."""

    def __init__(self, path: Path, truth: Truth) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("ab")
        self._truth = truth
        self.bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, value: Json) -> None:
        raw = counted(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE), self._truth)
        self._file.write(raw)
        self.bytes += len(raw)
