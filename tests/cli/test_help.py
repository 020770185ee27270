"""`--help`: commands in groups, examples that work, usage lines as people write them."""

import shlex

import pytest
import typer.main

from palaver.cli import app
from palaver.cli._commands import COMMANDS, GROUPS
from palaver.cli._examples import EXAMPLES
from palaver.cli._reference import commands


def test_commands_are_listed_in_groups(run):
    shown = run("--help").stdout
    for title, group in GROUPS.items():
        section = shown.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines() if line.startswith("  ") and line[2] != " "] == list(
            group
        )


def test_every_command_has_examples(run):
    names = {command.name for command in commands()}
    assert set(EXAMPLES) == names
    for name, examples in EXAMPLES.items():
        assert all(example.startswith(f"palaver {name}") for example in examples)
        assert run(*name.split(), "--help").stdout.endswith("".join(f"  {example}\n" for example in examples))


@pytest.mark.parametrize("example", [example for examples in EXAMPLES.values() for example in examples])
def test_examples_parse(example):
    group = typer.main.get_command(app)
    words = shlex.split(example)[1:]
    context = group.make_context("palaver", words)
    while hasattr(group, "commands"):
        name, group, words = group.resolve_command(context, words)
        context = group.make_context(name, words, parent=context)
    assert context.params is not None


def test_usage_lines_name_each_argument_once(run):
    for name in COMMANDS:
        usage = run(name, "--help").stdout.splitlines()[0]
        assert "{" not in usage
        assert "[[" not in usage
