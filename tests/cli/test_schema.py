import json

from palaver.model import SCHEMA_VERSION
from palaver.model.schemas import published_schema


def test_the_published_schema_is_printed_as_it_is_committed(run):
    result = run("schema")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == published_schema("conversation")
    assert result.stdout == run("schema", "conversation", "--version", SCHEMA_VERSION).stdout


def test_kinds_are_listed(run):
    assert f"conversation {SCHEMA_VERSION}" in run("schema", "--list").stdout.splitlines()


def test_what_is_not_published_exits_with_2(run):
    for words, told in ((["nope"], "no schema of the kind 'nope'"), (["--version", "9.9.9"], "no version '9.9.9'")):
        result = run("schema", *words)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert told in result.stderr
