#!/usr/bin/env python3
"""Generated files: `python docs/build.py` writes them, `--check` names the stale ones and fails."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

from palaver.model.publish import conversation_schema, schema_tables

ROOT = Path(__file__).resolve().parents[1]


def schema_file() -> str:
    return json.dumps(conversation_schema(), indent=2, ensure_ascii=False) + "\n"


GENERATED: dict[str, Callable[[], str]] = {
    "schema/conversation/1.0.0.json": schema_file,
    "docs/schema.md": schema_tables,
}


def stale(root: Path) -> list[str]:
    """Paths of the files under a root that differ from what would be written now."""
    return [path for path, text in GENERATED.items() if _content(root / path) != text()]


def write(root: Path) -> None:
    for path, text in GENERATED.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text().encode())


def main(arguments: list[str], root: Path = ROOT) -> int:
    if arguments not in ([], ["--check"]):
        sys.stderr.write("usage: python docs/build.py [--check]\n")
        return 2
    if not arguments:
        write(root)
        return 0
    old = stale(root)
    for path in old:
        sys.stderr.write(f"{path} is stale: run `make docs` and commit the result\n")
    return 1 if old else 0


def _content(path: Path) -> str | None:
    return path.read_bytes().decode() if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
