#!/usr/bin/env python3
"""Generated files: `python docs/build.py` writes them, `--check` names the stale ones and fails."""

import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

import palaver.exporters
import palaver.importers
import palaver.sources
import palaver.validate
from palaver.model.finding import KINDS
from palaver.model.publish import conversation_schema, schema_tables

ROOT = Path(__file__).resolve().parents[1]


def schema_file() -> str:
    return json.dumps(conversation_schema(), indent=2, ensure_ascii=False) + "\n"


def findings_table() -> str:
    """Every kind of finding, from the declarations beside the code that notices it."""
    for package in (palaver.sources, palaver.importers, palaver.validate):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    order = {"error": 0, "warning": 1, "note": 2}
    kinds = sorted(KINDS.values(), key=lambda kind: (order[kind.severity], kind.code))
    rows = [f"| `{kind.code}` | {kind.severity} | {kind.meaning} |" for kind in kinds]
    return "\n".join(
        [
            "# Findings",
            "",
            "What an import noticed. An error means that something was set aside or could not be read (exit code 1); a",
            "warning, that something was repaired; a note, that something is worth knowing.",
            "",
            "| code | severity | meaning |",
            "|---|---|---|",
            *rows,
            "",
        ]
    )


def importers_page() -> str:
    """What each importer says of itself: its docstring, and its options."""
    lines = ["# Importers", ""]
    for platform in palaver.importers.platforms():
        importer = palaver.importers.importer(platform)
        module = inspect.getmodule(type(importer))
        lines += [f"## {importer.title}: `{platform}`", "", "```text", inspect.getdoc(module) or "", "```", ""]
        lines += [f"The ledger counts each {importer.record}.", ""]
        for name, option in importer.options.model_fields.items():
            lines += [f"* `-O {name}=…` (default `{option.default}`): {option.description}"]
        lines += [""]
    return "\n".join(lines)


def exporters_page() -> str:
    """What each exporter says of itself: its docstring."""
    lines = ["# Exporters", ""]
    for name in palaver.exporters.formats():
        exporter = palaver.exporters.exporter(name)
        module = inspect.getmodule(type(exporter))
        lines += [f"## `{name}`: {exporter.title}", "", "```text", inspect.getdoc(module) or "", "```", ""]
    return "\n".join(lines)


GENERATED: dict[str, Callable[[], str]] = {
    "schema/conversation/1.0.0.json": schema_file,
    "docs/schema.md": schema_tables,
    "docs/findings.md": findings_table,
    "docs/importers.md": importers_page,
    "docs/exporters.md": exporters_page,
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
