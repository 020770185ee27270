"""How the command line describes itself, on a small one."""

from typing import Annotated

import pytest
import typer

from palaver.cli._reference import Option, commands
from palaver.model.json_output import schema_kind

bees = typer.Typer()
hives = typer.Typer(invoke_without_command=True)
bees.add_typer(hives, name="hives")


@bees.command()
def count(
    meadows: Annotated[list[str], typer.Argument(metavar="MEADOW")],
    season: Annotated[str, typer.Argument()] = "summer",
    *,
    most: Annotated[int, typer.Option("--most", "-m", min=1, metavar="N", help="Where to stop [roughly].")] = 20,
    jobs: Annotated[int | None, typer.Option(metavar="N", help="At a time.", show_default="all cores")] = None,
    secret: Annotated[bool, typer.Option("--secret", hidden=True)] = False,
) -> None:
    """Count bees.

    In every MEADOW,
    one by one.

    Exit codes: 0 they were counted, 1 there are none, or 2 of them at most, 2 it rains.
    """


@bees.command(hidden=True)
def sting() -> None:
    pass


@hives.callback()
def _hives(*, as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """List hives."""


@hives.command("open")
def open_(hive: str) -> None:
    """Open a hive."""


@pytest.fixture
def known():
    return {command.name: command for command in commands(bees)}


def test_every_command_is_told_but_the_hidden_ones(known):
    assert list(known) == ["count", "hives", "hives open"]
    assert schema_kind("hives open") == "hives-open-answer"


def test_usage_and_arguments(known):
    assert known["count"].usage == "palaver count [OPTIONS] MEADOW... [SEASON]"
    assert known["count"].arguments == {"MEADOW": "one or more", "SEASON": "may be left out"}
    assert known["hives open"].usage == "palaver hives open [OPTIONS] HIVE"


def test_options_with_their_defaults(known):
    assert known["count"].options == [
        Option("-m, --most N", "Where to stop [roughly].", "20"),
        Option("--jobs N", "At a time.", "all cores"),
    ]
    assert [command.name for command in known.values() if command.has_json] == ["hives"]


def test_paragraphs_are_unwrapped_and_exit_codes_told_apart(known):
    assert known["count"].paragraphs == ["Count bees.", "In every MEADOW, one by one."]
    assert known["count"].exit_codes == {
        0: "they were counted",
        1: "there are none, or 2 of them at most",
        2: "it rains",
    }
