"""Models of what each command prints with `--json`, grouped by topic.

The schema of a command's output is published as the kind `<command>-answer`, except that of `validate`: `report`.
The models need pydantic, so a module is imported only when one of its models is asked for.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palaver.model.json_output.answer import Answer

_MODELS = {
    "cook": "conversions:CookAnswer",
    "doctor": "checks:DoctorAnswer",
    "duplicates": "statistics:DuplicatesAnswer",
    "export": "conversions:ExportAnswer",
    "findings": "checks:FindingsAnswer",
    "forget": "edits:ForgetAnswer",
    "home": "imports:HomeAnswer",
    "identify": "imports:IdentifyAnswer",
    "import": "imports:ImportAnswer",
    "list": "conversations:ListAnswer",
    "merge": "conversions:MergeAnswer",
    "quarantine list": "checks:QuarantineListAnswer",
    "quarantine retry": "checks:QuarantineRetryAnswer",
    "quarantine show": "checks:QuarantineShowAnswer",
    "rate": "edits:RateAnswer",
    "record": "recordings:RecordAnswer",
    "scan": "imports:ScanAnswer",
    "search": "conversations:SearchAnswer",
    "show": "conversations:ShowAnswer",
    "sources": "imports:SourcesAnswer",
    "stats": "statistics:StatsAnswer",
    "tag": "edits:TagAnswer",
    "validate": "checks:Report",
}
"""For each command, the module in this package and the model of its whole output. Add a line for a new command.

`home` is `palaver` without a command.
"""

_SCHEMA_KINDS = {"validate": "report"}


def commands() -> list[str]:
    """Return the commands that have a `--json` output, sorted; imports no model."""
    return sorted(_MODELS)


def answer_model(command: str) -> "type[Answer]":
    """Import and return the model of a command's output."""
    module, _, name = _MODELS[command].partition(":")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


def schema_kind(command: str) -> str:
    """Return the kind under which the schema of a command's output is published."""
    return _SCHEMA_KINDS.get(command) or f"{command.replace(' ', '-')}-answer"
