"""The yardsticks: what merely parsing the same bytes with orjson costs. Nothing is counted or checked.

    python benchmarks/yardstick.py DIR             every session file below: read, split on newlines, parsed, discarded;
                                                   every JSON document: read, parsed, discarded
    python benchmarks/yardstick.py DIR --within    logs of API traffic, tasks of Roo Code: the same, and the JSON that
                                                   they keep in strings is parsed and discarded too
    python benchmarks/yardstick.py FILE.elements   conversations cut beforehand: parsed, discarded

The process itself is the measure of the first two. Of the third only the parsing counts, so it prints the seconds of
CPU time from before the first `orjson.loads` of a batch to after its last, over all batches. That holds the loop and
the freeing of what was parsed; reading, inflating and cutting are not in it.
"""

import os
import sys
import time
from collections.abc import Callable
from io import BufferedReader
from typing import Any

import orjson

# Larger pieces cost page faults: they would make the yardstick slower, and every ratio to it better than it is.
PIECE = 1_000_000
BATCH = 32_000_000
MESSAGES = ("RequestMessages", "ResponseMessages")

Loads = Callable[[bytes], Any]


def parse_all(folder: str, loads: Loads = orjson.loads) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".jsonl"):
                parse(os.path.join(parent, name), loads)  # noqa: PTH118 - pathlib would be part of the time measured
            elif name.endswith(".json") and not name.endswith(".meta.json"):
                parse_whole(os.path.join(parent, name), loads)  # noqa: PTH118 - the same


def parse(path: str, loads: Loads) -> None:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - the same
        pending = b""
        while piece := file.read(PIECE):
            lines = (pending + piece).split(b"\n")
            pending = lines.pop()
            for line in lines:
                if line:
                    loads(line)
        if pending:
            loads(pending)


def parse_whole(path: str, loads: Loads) -> None:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - the same
        loads(file.read())


class Within:
    """Parses a line or a document, and what stands as text in it: messages in rows, events of a stream, calls."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[str, str], dict[int, str]] = {}
        """Of messages that are larger than a row: by call and side, then by the row's number."""

    def __call__(self, raw: bytes) -> None:
        record = orjson.loads(raw)
        if record.__class__ is list:
            for row in record:
                if row.get("say") == "api_req_started" or row.get("ask") == "tool":
                    orjson.loads(row["text"])
            return
        for side in MESSAGES:
            if text := record.get(side):
                self._parse_messages(record, side, text)
        if response := record.get("response"):
            for text in response["body_raw"].split("\n"):
                if text.startswith("data: "):
                    orjson.loads(text[6:])

    def _parse_messages(self, record: dict[str, Any], side: str, text: str) -> None:
        key = record["CorrelationId"], side
        pieces = self._pieces.setdefault(key, {})
        pieces[record["SequenceNumber"]] = text
        first, last = min(pieces), max(pieces)
        if last - first + 1 == len(pieces) and pieces[first][0] == "[" and pieces[last][-1] == "]":
            try:
                orjson.loads("".join(pieces[number] for number in sorted(pieces)))
            except orjson.JSONDecodeError:
                return  # a piece that happens to end like the whole
            del self._pieces[key]


def parse_elements(path: str) -> float:
    """Returns the seconds of CPU time that parsing took."""
    cpu_s = 0.0
    with open(path, "rb") as file:  # noqa: PTH123 - the same
        while batch := _batch(file):
            before = time.process_time()
            for element in batch:
                orjson.loads(element)
            cpu_s += time.process_time() - before
    return cpu_s


def _batch(file: BufferedReader) -> list[bytes]:
    batch: list[bytes] = []
    size = 0
    while size < BATCH and (length := file.readline()):
        batch.append(file.read(int(length)))
        file.readline()
        size += len(batch[-1])
    return batch


if __name__ == "__main__":
    if os.path.isdir(sys.argv[1]):  # noqa: PTH112 - the same
        parse_all(sys.argv[1], Within() if "--within" in sys.argv[2:] else orjson.loads)
    else:
        print(parse_elements(sys.argv[1]))
