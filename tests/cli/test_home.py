"""`palaver` without a command: what there is, what is new, what to do next."""

import json
import os
import shutil

import jsonschema
import pytest

from homes import fill_home
from palaver.importers import locations
from palaver.model import json_output
from palaver.model.schemas import answer_schema, published_schema
from palaver.workflows.news import find_news


@pytest.fixture
def answer(run):
    def answered():
        result = run("--json")
        assert (result.exit_code, result.stderr) == (0, "")
        found = json.loads(result.stdout)
        jsonschema.Draft202012Validator(published_schema("home-answer")).validate(found)
        json_output.answer_model("home").model_validate(found)
        return found

    return answered


def test_the_answer_is_published_as_its_model_is():
    assert published_schema("home-answer") == answer_schema("home"), "run `make docs`"


def test_an_empty_machine_gets_the_same_advice_as_from_a_scan(run, kept):
    result = run()
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == run("scan").stderr + "\nAll commands: palaver --help\n"
    assert not kept.exists()


def test_before_the_first_scan_it_says_what_is_there(run, home, answer):
    fill_home(home)
    shown = run().stdout
    assert shown.startswith("There is no archive yet.\nOn this machine: ")
    assert "\n  palaver scan  " in shown
    found = answer()
    assert (found["conversations"], found["platforms"], found["last_import"]) == (0, [], None)
    assert found["new_files"]["kilo_code"] == 3
    assert found["next"][0] == "palaver scan"


def test_after_a_scan_nothing_is_new(run, home, answer):
    fill_home(home)
    run("scan")
    found = answer()
    assert (found["new_files"], found["outdated_sources"], found["is_complete"]) == ({}, {}, True)
    assert "Nothing new since the last import (just now)\n" in run().stdout
    assert found["next"] == ["palaver list", "palaver search WORDS", "palaver stats"]


def test_its_numbers_are_those_of_the_archive(run, home, answer):
    fill_home(home)
    run("scan")
    found = answer()
    listed = json.loads(run("list", "--all", "--agents", "--json").stdout)["conversations"]
    assert found["conversations"] == len(listed) == sum(held["conversations"] for held in found["platforms"])
    assert found["messages"] == sum(conversation["messages"] for conversation in listed)
    for held in found["platforms"]:
        own = [conversation for conversation in listed if conversation["platform"] == held["platform"]]
        assert held["conversations"] == len(own)
        assert held["agents"] == sum(conversation["is_sidechain"] for conversation in own)
        assert held["newest"] == max(entry["updated_at"] or entry["created_at"] for entry in own)
    agents = sum(held["agents"] for held in found["platforms"])
    first = run().stdout.splitlines()[0]
    assert first == f"{found['conversations']} conversations ({agents} by agents), {found['messages']} messages"


def test_new_and_changed_files_are_news(run, home, answer, session):
    fill_home(home)
    run("scan")
    shutil.copy(session, home / ".claude" / "projects" / "another.jsonl")
    with (home / ".claude-trace" / "log-2026-01-03-09-00-00.jsonl").open("a") as stream:
        stream.write("\n")
    assert answer()["new_files"] == {"claude_code": 1, "api_trace": 1}
    shown = run().stdout
    assert "New or changed since the last import (just now): 1 file of API traces, 1 file of Claude Code\n" in shown
    assert "  palaver scan           bring in what is new\n" in shown
    assert "palaver stats" not in shown
    run("scan")
    assert answer()["new_files"] == {}


def test_sources_that_are_read_better_by_now_are_news(run, home, answer, monkeypatch):
    fill_home(home)
    run("scan")
    monkeypatch.setattr("palaver.workflows.news.revision", lambda platform: 1000 if platform == "cline" else 1)
    assert answer()["outdated_sources"] == {"cline": 2}
    assert "but this version reads Cline better" in run().stdout


def test_looking_is_cut_off_in_time_and_said_so(run, home, kept, monkeypatch):
    fill_home(home)
    run("scan")
    assert not find_news(kept / "archive.db", locations(), seconds=0).is_complete
    monkeypatch.setattr("palaver.cli._home._LOOK_SECONDS", 0)
    assert "There was no time to look at every place; `palaver scan` does.\n" in run().stdout


def test_json_before_a_command_is_refused(run, session):
    run("import", session)
    result = run("--json", "list")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "palaver: --json goes after the command: `palaver list --json`\n"


@pytest.mark.skipif(os.name != "posix", reason="the home folder as it is on Linux")
def test_it_imports_nothing_that_reads_files(finish, home):
    fill_home(home)
    finish("scan")
    program = "import sys; from palaver.cli import app; app(['--json'], standalone_mode=False); print(*sys.modules)"
    done = finish(command=["-c", program])
    imported = set(done.stdout.split())
    assert b"palaver.workflows.news" in imported
    assert not imported & {b"palaver.sources.source", b"palaver.workflows.read_unit", b"pydantic", b"rich"}
