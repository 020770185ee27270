"""Filters on the command line: the names that tables print are the names that options take."""

import json

import pytest

from archiving import keep_documents, keep_folder
from importing import FIXTURES
from palaver.model import build

WHEN = "2026-01-01T10:00:00.000Z"


@pytest.fixture
def archive(kept):
    path = kept / "archive.db"
    keep_folder(FIXTURES / "claude_code" / "parallel_tool_calls", path)
    keep_folder(FIXTURES / "chatgpt" / "branches", path)
    return path


@pytest.mark.parametrize("name", ["claude_code", "Claude Code", "CLAUDE CODE", "claude-code", "claudecode"])
@pytest.mark.usefixtures("archive")
def test_a_platform_is_named_as_tables_print_it(run, name):
    for words in (("list",), ("search", "the*"), ("stats", "--by", "platform"), ("findings",)):
        result = run(*words, "--platform", name, "--json")
        assert result.exit_code in (0, 1), result.stderr
        assert '"chatgpt"' not in result.stdout
    rows = json.loads(run("list", "-p", name, "--json").stdout)["conversations"]
    assert {row["platform"] for row in rows} == {"claude_code"}


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    "command", [("list",), ("search", "x"), ("stats",), ("export",), ("findings",), ("duplicates",)]
)
def test_an_unknown_platform_ends_with_what_was_meant(run, command):
    result = run(*command, "--platform", "chatgtp")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "palaver: unknown platform 'chatgtp': did you mean chatgpt?\n"


@pytest.mark.usefixtures("archive")
def test_an_unknown_platform_like_no_other_ends_with_the_list(run):
    result = run("list", "--platform", "zzz")
    assert result.exit_code == 2
    assert "choose one of" in result.stderr
    assert "claude_code" in result.stderr


def test_a_platform_without_an_importer_is_known_from_the_archive(run, archive):
    message = build.message(message_id="m", role="user", timestamp=WHEN, content=[build.text("x")])
    platform = {"name": "toys"}
    keep_documents(
        archive, build.conversation(conversation_id="c", platform=platform, created_at=WHEN, messages=[message])
    )
    assert run("list", "--platform", "Toys").exit_code == 0
    assert run("list", "--platform", "toyz").exit_code == 2


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    "words", [("--since", "2020"), ("--since", "2020-02"), ("--until", "last week"), ("--since", "2000w")]
)
def test_times_as_people_write_them(run, words):
    assert run("list", *words).exit_code == 0


@pytest.mark.usefixtures("archive")
def test_a_time_that_nobody_understands(run):
    result = run("list", "--since", "soonish")
    assert result.exit_code == 2
    assert result.stderr.startswith("palaver: 'soonish' is not a date that palaver understands: try 2026-01-31")
