#!/usr/bin/env python3
"""Generated files: `python docs/build.py` writes them, `--check` names the stale ones and fails."""

import importlib
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from man_page import man_page
from site_pages import llms_txt
from traps import traps_page

import palaver.cook
import palaver.exporters
import palaver.importers
import palaver.sources
import palaver.validation
import palaver.wire._contract
from palaver.cli._reference import Command, commands
from palaver.model import EXCHANGE_SCHEMA_VERSION, json_output
from palaver.model.finding import KINDS
from palaver.model.rules import Rule
from palaver.model.schema_markdown import fields_table, row, schema_tables, usage_tables
from palaver.model.schemas import answer_schema, conversation_schema, cooked_schema, exchange_schema, usage_schema
from palaver.validation.judge import COERCED
from palaver.validation.rules import RULES, cooked, exchange

ROOT = Path(__file__).resolve().parents[1]


def conversation_file() -> str:
    return _written(conversation_schema())


def exchange_file() -> str:
    return _written(exchange_schema())


def cooked_file() -> str:
    return _written(cooked_schema())


def usage_file() -> str:
    return _written(usage_schema())


def answer_files() -> dict[str, Callable[[], str]]:
    """The schema of what each command prints with `--json`, in the version that its models state now."""
    return {
        f"schema/{json_output.schema_kind(command)}/{json_output.answer_model(command).SCHEMA_VERSION}.json": partial(
            _answer_file, command
        )
        for command in json_output.commands()
    }


def _answer_file(command: str) -> str:
    return _written(answer_schema(command))


def _written(schema: dict[str, Any]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def findings_table() -> str:
    """Every kind of finding, from the declarations beside the code that notices it."""
    for package in (palaver.sources, palaver.importers, palaver.validation, palaver.cook):
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


def rules_page() -> str:
    """Every rule that documents are judged by, from what its declaration says."""
    lines = [
        "# Rules",
        "",
        "What `palaver validate` asks of every document: first the published schema, then these rules. `--rule NAME`",
        "asks only that one, `--no-rule NAME` all but that one. An error makes a document invalid, a warning only at",
        "the level `strict`, a note never. `fixtures/rules/` has for each rule documents that break it, and some that",
        "do not.",
    ]
    for title, rules in _rules_by_section().items():
        lines += ["", f"## {title}", "", "| rule | severity | said when |", "|---|---|---|"]
        lines += [row(f"`{rule.name}`", rule.severity, rule.meaning) for rule in rules]
    lines += [
        "",
        "Rules that are the schema's own (a missing id, an unknown role) cannot be left out: the schema always speaks.",
        "Everything else that it refuses is called after its keyword: `schema-type`, `schema-required`, ….",
    ]
    return "\n".join(lines) + "\n"


def _rules_by_section() -> dict[str, list[Rule]]:
    sections = {"Conversations": list(RULES)}
    for platform in palaver.importers.platforms():
        if rules := palaver.importers.description(platform).rules:
            sections[f"Conversations of {palaver.importers.importer(platform).title}"] = list(rules)
    return {**sections, "API exchanges": list(exchange.RULES), "Cooked traces": list(cooked.RULES), "Levels": [COERCED]}


def importers_page() -> str:
    """What each importer says of itself: its docstring, and its options."""
    lines = ["# Importers", ""]
    for platform in palaver.importers.platforms():
        importer = palaver.importers.importer(platform)
        module = inspect.getmodule(type(importer))
        lines += [f"## {importer.title}: `{platform}`", "", "```text", inspect.getdoc(module) or "", "```", ""]
        for module_info in pkgutil.iter_modules(getattr(module, "__path__", ())):
            if module_info.ispkg:
                format_ = importlib.import_module(f"{module.__name__}.{module_info.name}")
                lines += [
                    f"### `{platform}`: `{module_info.name}`",
                    "",
                    "```text",
                    inspect.getdoc(format_) or "",
                    "```",
                    "",
                ]
        lines += [f"The ledger counts each {importer.record}.", ""]
        for name, option in importer.options.model_fields.items():
            lines += [f"* `-O {name}=…` (default `{option.default}`): {option.description}"]
        lines += [""]
    return "\n".join(lines)


def cli_page() -> str:
    """The command line, from what it says of itself; an example of each command stands in `docs/examples/`."""
    known = commands()
    lines = [
        "# The command line",
        "",
        "Answers go to standard output, everything else to standard error. Every command has `--help` (`-h`).",
        "Exit codes: 0 done, 1 done but some records were refused or the answer is no, 2 could not do it; an interrupt",
        "(Ctrl-C) ends with 130, and a reader who went away is no failure. What `--json` prints has a published",
        "schema: `palaver schema COMMAND-answer`; that of `validate` is called `report`.",
        "",
        *(f"* [`palaver {command.name}`](#{_anchor(command)}): {command.paragraphs[0]}" for command in known),
    ]
    told: dict[str, Command] = {}
    for command in known:
        lines += ["", *_command_section(command), *(_answer_section(command, told) if command.has_json else [])]
    return "\n".join(lines) + "\n"


def _command_section(command: Command) -> list[str]:
    example = _content(ROOT / "docs" / "examples" / f"{command.name.replace(' ', '-')}.md")
    if example is None:
        raise LookupError(f"`palaver {command.name}` has no example: write docs/examples/{command.name}.md")
    lines = [f"## palaver {command.name}", "", "```text", command.usage, "```", ""]
    for paragraph in command.paragraphs:
        lines += [paragraph, ""]
    if command.arguments:
        lines += ["| argument | given |", "|---|---|"]
        lines += [row(f"`{name}`", times) for name, times in command.arguments.items()]
        lines += [""]
    lines += ["| option | meaning | default |", "|---|---|---|"]
    lines += [row(f"`{option.words}`", option.meaning, option.default) for option in command.options]
    lines += ["", "| exit code | meaning |", "|---|---|"]
    lines += [row(str(code), meaning) for code, meaning in command.exit_codes.items()]
    return [*lines, "", *example.rstrip().splitlines()]


def _answer_section(command: Command, told: dict[str, Command]) -> list[str]:
    kind = json_output.schema_kind(command.name)
    path = f"schema/{kind}/{json_output.answer_model(command.name).SCHEMA_VERSION}.json"
    opening = f"With `--json` (`palaver schema {kind}`, [{path}](../{path})):"
    table = fields_table(answer_schema(command.name)).rstrip()
    same = told.setdefault(table, command)
    if same is not command:
        return ["", f"{opening} the fields of [`palaver {same.name}`](#{_anchor(same)})."]
    return ["", opening, "", table]


def _anchor(command: Command) -> str:
    return f"palaver-{command.name.replace(' ', '-')}"


def exporters_page() -> str:
    """What each exporter says of itself: its docstring."""
    lines = ["# Exporters", ""]
    for name in palaver.exporters.formats():
        exporter = palaver.exporters.exporter(name)
        module = inspect.getmodule(type(exporter))
        lines += [f"## `{name}`: {exporter.title}", "", "```text", inspect.getdoc(module) or "", "```", ""]
    return "\n".join(lines)


def wire_page() -> str:
    """What each wire format says of itself, and what all of them promise."""
    contract = inspect.getdoc(palaver.wire._contract) or ""  # noqa: SLF001 - the contract is documented there
    lines = ["# Wire formats", "", "```text", contract, "```", ""]
    for name in palaver.wire.formats():
        module: Any = palaver.wire.wire_format(name)
        lines += [f"## `{name}`", "", "```text", inspect.getdoc(module) or "", "```", ""]
    return "\n".join(lines)


GENERATED: dict[str, Callable[[], str]] = {
    "schema/conversation/1.0.0.json": conversation_file,
    f"schema/exchange/{EXCHANGE_SCHEMA_VERSION}.json": exchange_file,
    "schema/cooked/1.0.0.json": cooked_file,
    "schema/usage/1.0.0.json": usage_file,
    **answer_files(),
    "docs/schema.md": schema_tables,
    "docs/usage.md": usage_tables,
    "docs/findings.md": findings_table,
    "docs/rules.md": rules_page,
    "docs/importers.md": importers_page,
    "docs/cli.md": cli_page,
    "docs/exporters.md": exporters_page,
    "docs/wire.md": wire_page,
    "docs/traps.md": partial(traps_page, ROOT / "tests"),
    "docs/llms.txt": llms_txt,
    "docs/man/palaver.1": man_page,
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
