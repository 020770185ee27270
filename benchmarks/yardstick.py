"""The yardsticks: what merely parsing the same bytes with orjson costs. Nothing is counted or checked.

    python benchmarks/yardstick.py DIR             every session file below: read, split on newlines, parsed, discarded;
                                                   every JSON document: read, parsed, discarded
    python benchmarks/yardstick.py FILE.elements   conversations cut beforehand: parsed, discarded

The process itself is the measure of the first. Of the second only the parsing counts, so it prints the seconds of CPU
time from before the first `orjson.loads` of a batch to after its last, over all batches. That holds the loop and the
freeing of what was parsed; reading, inflating and cutting are not in it.
"""

import os
import sys
import time
from io import BufferedReader

import orjson

# Larger pieces cost page faults: they would make the yardstick slower, and every ratio to it better than it is.
PIECE = 1_000_000
BATCH = 32_000_000


def parse_all(folder: str) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".jsonl"):
                parse(os.path.join(parent, name))  # noqa: PTH118 - pathlib would be part of the time measured
            elif name.endswith(".json") and not name.endswith(".meta.json"):
                parse_whole(os.path.join(parent, name))  # noqa: PTH118 - the same


def parse(path: str) -> None:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - the same
        pending = b""
        while piece := file.read(PIECE):
            lines = (pending + piece).split(b"\n")
            pending = lines.pop()
            for line in lines:
                if line:
                    orjson.loads(line)
        if pending:
            orjson.loads(pending)


def parse_whole(path: str) -> None:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - the same
        orjson.loads(file.read())


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
        parse_all(sys.argv[1])
    else:
        print(parse_elements(sys.argv[1]))
