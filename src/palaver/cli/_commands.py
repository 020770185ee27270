"""The table of commands; each is imported when it is called, and converts only the values it was given."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup


class _Entry(NamedTuple):
    module: str
    """The module in this package with the command's function of the same name, or an `app` of several commands."""
    summary: str
    """The first sentence of the command's help text."""
    options_metavar: str | None = None


GROUPS = {
    "Bring in": {
        "scan": _Entry("scan", "Import everything that assistants keep on this machine."),
        "import": _Entry("import_", "Import conversations from files, folders and ZIPs.", "[OPTIONS] [PLATFORM]"),
        "demo": _Entry("demo", "Try palaver on sample conversations, in an archive that is removed afterwards."),
        "sources": _Entry("sources", "List what can be imported, and where it is looked for."),
        "identify": _Entry("identify", "Show which importer reads a path, and why."),
    },
    "Read": {
        "list": _Entry("list_", "List the conversations of the archive, the latest first."),
        "show": _Entry("show", "Show a conversation, or one of its messages."),
        "search": _Entry("search", "Find messages, and conversations by their titles."),
        "stats": _Entry("stats", "Count messages, tokens and what they cost."),
        "statusline": _Entry("statusline", "Print one line about the current session, for a status bar."),
        "export": _Entry("export", "Write conversations of the archive to files."),
    },
    "Check": {
        "validate": _Entry("validate", "Check sources or the archive against the schema and rules."),
        "findings": _Entry("findings", "Show problems and oddities found while reading sources."),
        "quarantine": _Entry("quarantine", "List, show and retry records that could not be read."),
        "duplicates": _Entry("duplicates", "Show duplicates and how they were handled."),
        "doctor": _Entry("doctor", "Check the health of the archive and its sources."),
    },
    "Yours": {
        "tag": _Entry("tag", "Tag conversations, or list the tags in use.", "[OPTIONS] [ID]"),
        "rate": _Entry("rate", "Rate a conversation from 0 to 5, or show its rating."),
        "forget": _Entry("forget", "Remove conversations from the archive for good."),
        "completion": _Entry("completion", "Print a script that completes commands, options and ids in your shell."),
    },
    "API traffic": {
        "record": _Entry("record", "Record API traffic, with the time of every event.", "[OPTIONS] [--]"),
        "replay": _Entry("replay", "Print a recorded request as a command for `curl`, and its payload."),
        "cook": _Entry("cook", "Deduplicate the requests, messages and tools of traces or conversations."),
        "merge": _Entry("merge", "Merge stream chunks into the log of their requests."),
        "convert": _Entry("convert", "Convert API payloads from one provider's format to another."),
        "schema": _Entry("schema", "Print a published JSON Schema."),
    },
}
"""The commands of `--help`, in its order."""
COMMANDS = {name: entry for group in GROUPS.values() for name, entry in group.items()}


class Commands(TyperGroup):
    """All commands, none of which is imported before it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _LazyCommands()

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_needless_conversion(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature of typer
        """List the commands in their groups, with the table's summaries."""
        width = max(map(len, COMMANDS))
        for title, group in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{width}}", entry.summary) for name, entry in group.items()])


class Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_needless_conversion(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Write the arguments as `ID`, `[TAG]...`: typer's own way is `{ID}`, `[[TAG]...]...`."""
        arguments = [parameter for parameter in self.get_params(ctx) if parameter.param_type_name == "argument"]
        return [self.options_metavar or "[OPTIONS]", *map(usage_of_argument, arguments)]

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Add the examples of this command, if it has any, after the options."""
        from palaver.cli._examples import EXAMPLES

        if examples := EXAMPLES.get(ctx.command_path.partition(" ")[2]):
            with formatter.section("Examples"):
                for example in examples:
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def usage_of_argument(argument: Any) -> str:
    word = argument.metavar or argument.name.upper()
    return (word if argument.required else f"[{word}]") + ("..." if argument.nargs == -1 else "")


class _LazyCommands(Mapping[str, Any]):
    """The commands by name, imported on first access."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _load(name, COMMANDS[name])
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def _load(name: str, entry: _Entry) -> Any:
    module = import_module(f"palaver.cli.{entry.module}")
    app: typer.Typer | None = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        command_class = getattr(module, "COMMAND", Command)
        app.command(name, cls=command_class, options_metavar=entry.options_metavar)(getattr(module, entry.module))
    command: Any = typer.main.get_command(app)
    command.name = name
    return command


def _without_needless_conversion(parameters: list[Any]) -> list[Any]:
    """Skip the conversion of defaults and of plain text: typer converts with pydantic, a third of the start-up time."""
    for parameter in parameters:
        if "process_value" not in vars(parameter):
            parameter.process_value = _convert_if_needed(parameter)
    return parameters


def _convert_if_needed(parameter: Any) -> Any:
    convert = parameter.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        source = ctx.get_parameter_source(parameter.name)
        is_default = source is None or source.name == "DEFAULT"
        annotation = parameter.type_descriptor.annotation
        is_missing = value is None and parameter.required
        is_plain = value is None or is_default or (annotation is str and isinstance(value, str))
        if annotation == list[str] and isinstance(value, tuple) and value:
            value = list(value)
        elif is_missing or not is_plain:
            return convert(ctx, value)
        return parameter.callback(ctx, parameter, value) if parameter.callback else value

    return process_value
