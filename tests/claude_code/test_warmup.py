"""Warm-up agents are no conversations, but what they used was billed and counts."""

import os
import shutil
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from archiving import facts, keep_folder
from importing import CHECKOUT, FIXTURES, import_folder
from palaver.archive.connection import open_to_read
from palaver.archive.filters import Filters
from palaver.archive.statistics import statistics
from palaver.archive.usage import Scope
from palaver.importers.claude_code import session
from palaver.prices import Prices
from palaver.sources import jsonl

DEFECTS = Path(os.environ.get("PALAVER_DEFECTS") or CHECKOUT.parent / "shared" / "defects")
SESSION = "2b7e1516-28ae-4d2a-abf7-158809cf4f3c"


def line(kind, uuid, parent, message, **more):
    shared = {"sessionId": SESSION, "version": "2.0.50", "cwd": "/home/ada/bees", "isSidechain": False}
    times = {"timestamp": f"2026-01-15T10:00:0{uuid[-1]}.000Z"}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **shared, **times, **more}


def answer(uuid, parent, api_id, text, counts, **more):
    sent, answered, written = counts
    usage = {"input_tokens": sent, "output_tokens": answered, "cache_creation_input_tokens": written}
    content = [{"type": "text", "text": text}] if isinstance(text, str) else [text]
    message = {"id": api_id, "role": "assistant", "model": "claude-haiku-4-5-20251001", "content": content}
    return line("assistant", uuid, parent, {**message, "stop_reason": "end_turn", "usage": usage}, **more)


MAIN = [
    line("user", "u1", None, {"role": "user", "content": "How many hives are there?"}),
    answer("a2", "u1", "msg_main", "Nine hives.", (3, 5, 0)),
]
SIDE = {"isSidechain": True, "agentId": "abc12345"}
WARMUP = [
    line("user", "w1", None, {"role": "user", "content": "Warmup"}, **SIDE),
    answer("w2", "w1", "msg_warmup", "Ready.", (1000, 200, 12000), **SIDE),
]


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in lines))


def lay_out(folder, where, agent=WARMUP):
    """Write a session with a warm-up agent in a file of its own, in a flat file beside it, or inline."""
    write(folder / f"{SESSION}.jsonl", [*agent, *MAIN] if where == "inline" else MAIN)
    if where != "inline":
        inside = folder / SESSION / "subagents" if where == "subagents" else folder
        write(inside / "agent-abc12345.jsonl", agent)


def tokens(archive, scope=Scope()):  # noqa: B008 - it is frozen
    with closing(open_to_read(archive)) as connection:
        total = statistics(connection, scope, "day", Prices()).total
    return total.tokens.input, total.tokens.output, total.tokens.cache_write


@pytest.mark.parametrize("where", ["subagents", "flat", "inline"])
def test_usage_of_a_warmup_agent_counts_without_a_conversation(tmp_path, where):
    lay_out(tmp_path / "source", where)
    imported = import_folder(tmp_path / "source", "claude_code")
    assert [document["conversation_id"] for document in imported.documents] == [SESSION]
    (record,) = imported.used
    assert (record["api_message_id"], record["model"]) == ("msg_warmup", "claude-haiku-4-5-20251001")
    assert imported.skipped_rules() == {"warmup-agent"}
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    assert tokens(tmp_path / "archive.db") == (1003, 205, 12000)


@pytest.mark.parametrize("where", ["subagents", "flat", "inline"])
def test_a_second_import_counts_nothing_again(tmp_path, where):
    lay_out(tmp_path / "source", where)
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    before = facts(tmp_path / "archive.db")
    keep_folder(tmp_path / "source", tmp_path / "archive.db", is_again=True)
    assert facts(tmp_path / "archive.db") == before
    assert tokens(tmp_path / "archive.db") == (1003, 205, 12000)


@pytest.mark.parametrize("where", ["subagents", "flat", "inline"])
def test_a_session_that_grows_counts_its_warmup_once(tmp_path, where):
    lay_out(tmp_path / "source", where)
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    with (tmp_path / "source" / f"{SESSION}.jsonl").open("ab") as stream:
        stream.write(orjson.dumps(answer("a3", "a2", "msg_later", "And a swarm.", (10, 20, 30))) + b"\n")
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    assert tokens(tmp_path / "archive.db") == (1013, 225, 12030)


@pytest.mark.parametrize("where", ["subagents", "flat"])
def test_an_agent_that_works_after_all_becomes_a_conversation_and_counts_once(tmp_path, where):
    lay_out(tmp_path / "source", where)
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    (agent,) = (tmp_path / "source").rglob("agent-*.jsonl")
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
    with agent.open("ab") as stream:
        stream.write(orjson.dumps(answer("w3", "w2", "msg_work", call, (7, 8, 9), **SIDE)) + b"\n")
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    assert tokens(tmp_path / "archive.db") == (1010, 213, 12009)


@pytest.mark.parametrize(
    ("project", "counted"), [("/home/ada/bees", (1003, 205, 12000)), ("/home/ada/wasps", (0, 0, 0))]
)
def test_a_warmup_counts_in_the_project_of_its_session(tmp_path, project, counted):
    lay_out(tmp_path / "source", "subagents")
    archive = tmp_path / "archive.db"
    keep_folder(tmp_path / "source", archive)
    assert tokens(archive, Scope(Filters(projects=(project,)))) == counted
    with closing(open_to_read(archive)) as connection:
        assert set(statistics(connection, Scope(), "project", Prices()).groups) == {"/home/ada/bees"}


def test_a_person_who_types_warmup_has_a_conversation(tmp_path):
    write(tmp_path / f"{SESSION}.jsonl", [line("user", "u1", None, {"role": "user", "content": "Warmup"}), MAIN[1]])
    imported = import_folder(tmp_path, "claude_code")
    assert len(imported.documents) == 1
    assert not imported.used


def test_an_inline_warmup_of_a_session_in_fragments_is_no_conversation(tmp_path, monkeypatch):
    for name in ("FRAGMENT_BYTES", "LATER_FRAGMENT_BYTES"):
        monkeypatch.setattr(session, name, 1000)
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 200)
    prompts = [line("user", f"p{number}", "a2", {"role": "user", "content": "And now?"}) for number in range(9)]
    write(tmp_path / f"{SESSION}.jsonl", [*WARMUP, *MAIN, *prompts])
    imported = import_folder(tmp_path, "claude_code")
    assert len(imported.documents) > 1
    assert {document["conversation_id"] for document in imported.documents} == {SESSION}
    assert [record["api_message_id"] for record in imported.used] == ["msg_warmup"]
    assert imported.skipped_rules() == {"warmup-agent"}


@pytest.mark.parametrize("where", ["subagents", "flat", "inline"])
def test_an_agent_that_is_asked_something_after_its_warmup_is_a_conversation(tmp_path, where):
    asked = line("user", "w3", "w2", {"role": "user", "content": "Which hive is the oldest?"}, **SIDE)
    lines = [*WARMUP, asked, answer("w4", "w3", "msg_told", "The third.", (7, 8, 9), **SIDE)]
    lay_out(tmp_path / "source", where, lines)
    imported = import_folder(tmp_path / "source", "claude_code")
    assert {document["conversation_id"] for document in imported.documents} == {SESSION, f"{SESSION}:agent-abc12345"}
    assert not imported.used
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    assert tokens(tmp_path / "archive.db") == (1010, 213, 12009)


@pytest.mark.parametrize("where", ["subagents", "flat"])
def test_a_warmup_whose_session_has_no_file_counts(tmp_path, where):
    lay_out(tmp_path / "source", where)
    (tmp_path / "source" / f"{SESSION}.jsonl").unlink()
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    assert tokens(tmp_path / "archive.db") == (1000, 200, 12000)


def test_a_warmup_copied_into_a_resumed_session_counts_once(tmp_path):
    other = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
    lay_out(tmp_path / "source", "inline")
    copied = [{**record, "sessionId": other} for record in [*WARMUP, *MAIN]]
    write(tmp_path / "source" / f"{other}.jsonl", copied)
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    assert tokens(tmp_path / "archive.db") == (1003, 205, 12000)


def test_lines_of_one_answer_are_one_usage_record_with_the_greatest_figures(tmp_path):
    shutil.copytree(FIXTURES / "claude_code" / "warmup_inline" / "source", tmp_path / "source")
    imported = import_folder(tmp_path / "source", "claude_code")
    (record,) = imported.used
    assert record["tokens"]["output_tokens"] == 37
    assert (record["started_at"], record["ended_at"]) == ("2025-10-20T08:00:01.200Z", "2025-10-20T08:00:01.900Z")


@pytest.mark.skipif(not DEFECTS.is_dir(), reason=f"there is nothing at {DEFECTS}")
def test_usage_of_the_reported_tree(tmp_path):
    shutil.copytree(DEFECTS / "warmup_usage", tmp_path / "source")
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    assert tokens(tmp_path / "archive.db") == (1003, 205, 12000)
