"""The yardstick: read every session file under DIR, split it on newlines, parse each line with orjson, discard it.

    python benchmarks/yardstick.py DIR

Nothing but orjson is imported, and nothing is counted or printed: this is what merely parsing the bytes costs.
"""

import os
import sys

import orjson

# Larger pieces cost page faults: they would make the yardstick slower, and every ratio to it better than it is.
PIECE = 1_000_000


def parse_all(folder: str) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".jsonl"):
                parse(os.path.join(parent, name))  # noqa: PTH118 - pathlib would be part of the time measured


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


if __name__ == "__main__":
    parse_all(sys.argv[1])
