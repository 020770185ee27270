"""Mistakes on the command line: one line each, in one style."""

import pytest


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
