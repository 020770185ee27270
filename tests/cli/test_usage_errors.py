"""Mistakes on the command line: one line each, in one style."""

import pytest
import typer.main

from palaver.cli import app


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("lst",), "unknown command 'lst': did you mean 'list'?"),
        (("xyzzy",), "unknown command 'xyzzy': see `palaver --help`"),
        (("quarantine", "xyzzy"), "unknown command 'xyzzy': see `palaver quarantine --help`"),
        (("list", "--platfrm"), "unknown option --platfrm: did you mean --platform?"),
        (("list", "--xyzzy"), "unknown option --xyzzy: see `palaver list --help`"),
        (("list", "--limit"), "--limit needs a value: see `palaver --help`"),
        (("list", "--limit", "0"), "--limit must be at least 1: see `palaver list --help`"),
        (("list", "--limit", "x"), "--limit must be a whole number: see `palaver list --help`"),
        (("rate", "latest", "9"), "SCORE must be at most 5: see `palaver rate --help`"),
        (("stats", "extra"), "unexpected argument 'extra': see `palaver stats --help`"),
        (
            ("search", "x", "--role", "me"),
            "--role 'me' is not one of 'user', 'assistant', 'system', 'tool', 'function': see `palaver search --help`",
        ),
    ],
)
def test_a_mistake_is_one_line_with_what_to_do(run, words, sentence):
    result = run(*words)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"palaver: {sentence}\n")


def test_a_missing_argument_is_named(run):
    for command in ("show", "search", "forget", "identify"):
        result = run(command)
        assert result.exit_code == 2
        assert result.stderr.startswith("palaver: ")
        assert result.stderr.count("\n") == 1


def test_a_group_without_a_command_shows_its_help(run):
    result = run("quarantine")
    assert result.exit_code == 2
    assert "Commands:" in result.stderr


def known_commands():
    """Every command with its words and its parameters."""
    group = typer.main.get_command(app)
    context = group.context_class(group, info_name="palaver")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        subcommands = getattr(command, "commands", None)
        for words, leaf in [((name, sub), found) for sub, found in (subcommands or {}).items()] or [((name,), command)]:
            yield words, leaf.params


def wrong_calls():
    """Each command with an unknown option, without what it needs, and with values out of range or of a wrong type."""
    for words, parameters in known_commands():
        yield (*words, "--xyzzy")
        if any(parameter.required for parameter in parameters):
            yield words
        for parameter in parameters:
            takes_any_text = parameter.bare_type() in {"str", "bool", "Path", "list[str]", "list[Path]"}
            wrong = [] if takes_any_text else ["xyzzy"]
            is_option = parameter.param_type_name == "option"
            needed = ["1" for other in parameters if other.required and other is not parameter]
            wrong += [f"{parameter.min - 1:g}"] if parameter.min is not None else []
            wrong += [f"{parameter.max + 1:g}"] if parameter.max is not None else []
            for value in wrong:
                yield (*words, *needed, *([f"{parameter.opts[0]}={value}"] if is_option else ["--", value]))


CHOICES = [
    ("validate", "--level", "xyzzy"),
    ("validate", "--rule", "xyzzy"),
    ("validate", "--report", "report.xyzzy"),
    ("list", "--since", "xyzzy"),
    ("list", "--platform", "xyzzy"),
    ("findings", "--platform", "xyzzy"),
    ("cook", "--format", "xyzzy", "-"),
    ("convert", "-", "--from", "xyzzy", "--to", "anthropic"),
    ("convert", "-", "--from", "anthropic", "--to", "xyzzy"),
    ("convert", "-", "--from", "anthropic", "--to", "openai-chat", "--dialect", "xyzzy"),
    ("convert", "nowhere.json", "--from", "anthropic", "--to", "openai-chat"),
    ("merge", "nowhere.jsonl"),
    ("schema", "xyzzy"),
    ("schema", "--version", "xyzzy"),
    ("rate", "latest", "nan"),
    ("forget",),
    ("tag", "--remove"),
]
WRONG_CALLS = [*wrong_calls(), *CHOICES]


@pytest.mark.parametrize("words", WRONG_CALLS, ids=" ".join)
def test_every_wrong_value_is_one_line_in_one_style(run, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("palaver: ")
    assert result.stderr.count("\n") == 1
    leaks = (
        "Value error",
        "Input should",
        "Usage:",
        "Error:",
        "Traceback",
        "pydantic",
        "validation error",
        "Invalid value",
    )
    assert not [leak for leak in leaks if leak in result.stderr]


def test_the_wrong_values_cover_every_command():
    called = {words[:2] if words[0] == "quarantine" else words[:1] for words in WRONG_CALLS}
    assert called == {words for words, _ in known_commands()}
    assert len(WRONG_CALLS) > 60
