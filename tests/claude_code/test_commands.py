"""What a person types behind a slash is the person's; what the command expands to is not."""

import os
import shutil
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from archiving import keep_folder
from importing import CHECKOUT, FIXTURES, import_folder
from palaver.archive.connection import open_to_read
from palaver.importers import importer
from palaver.importers.claude_code.commands import parse_command
from palaver.sources.run import Run
from palaver.sources.source import Source

DEFECTS = Path(os.environ.get("PALAVER_DEFECTS") or CHECKOUT.parent / "shared" / "defects")
PLAN = (
    "<command-message>plan</command-message>\n<command-name>/plan</command-name>\n"
    "<command-args>One drawing a night</command-args>"
)


def read(tmp_path, *lines):
    path = tmp_path / "0b9c8d7e-6f5a-4b3c-9d2e-1f0a9b8c7d6e.jsonl"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    claude_code = importer("claude_code")
    (document,) = claude_code.read(Source.at(path), Run("source", claude_code.options()))
    return document


def line(uuid, content, **more):
    time = f"2026-05-01T10:00:0{uuid[-1]}.000Z"
    return {"type": "user", "uuid": uuid, "timestamp": time, "message": {"role": "user", "content": content}, **more}


def said(document):
    return [(message["metadata"]["author_kind"], message["content"][0]["text"]) for message in document["messages"]]


@pytest.mark.parametrize("content", [PLAN, [{"type": "text", "text": PLAN}], PLAN.replace("/plan<", "plan<")])
def test_a_command_is_the_persons_and_reads_as_it_was_typed(tmp_path, content):
    document = read(tmp_path, line("u1", content))
    assert said(document) == [("human", "/plan One drawing a night")]
    assert document["messages"][0]["metadata"]["stored_text"].startswith("<command-message>plan")


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("<bash-input>ls -l | sort</bash-input>", "!ls -l | sort"),
        ([{"type": "text", "text": "<bash-input>git log</bash-input>"}], "!git log"),
        ("<bash-input>echo '</bash-input>'</bash-input>\n", "!echo '</bash-input>'"),
        ("<user-memory-input>Paid on Friday</user-memory-input>", "#Paid on Friday"),
    ],
)
def test_a_shell_command_and_a_note_read_as_they_were_typed(tmp_path, stored, typed):
    document = read(tmp_path, line("u1", stored))
    assert said(document) == [("human", typed)]
    assert document["messages"][0]["metadata"]["stored_text"].startswith("<")


@pytest.mark.parametrize(
    "stored",
    ["<bash-input>ls</bash-input> and more", "<bash-stdout>ls</bash-stdout>", "<bash-input>ls"],
)
def test_other_text_in_tags_stays_as_it_is(tmp_path, stored):
    (said_now,) = said(read(tmp_path, line("u1", stored)))
    assert said_now[1] == stored


@pytest.mark.parametrize(
    "stored",
    [
        "<command-name>/clear</command-name>",
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
        "<command-name>clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
        [{"type": "text", "text": "<command-name>/clear</command-name>"}],
    ],
)
def test_a_command_without_arguments_is_its_name(tmp_path, stored):
    assert said(read(tmp_path, line("u1", stored))) == [("human", "/clear")]


def test_arguments_may_contain_the_tag_that_ends_them(tmp_path):
    stored = "<command-name>/plan</command-name><command-args>Explain </command-args> to me</command-args>"
    document = read(tmp_path, line("u1", stored))
    assert said(document) == [("human", "/plan Explain </command-args> to me")]
    assert document["messages"][0]["metadata"]["command_args"] == "Explain </command-args> to me"


def test_a_picture_beside_a_command_stays_beside_it(tmp_path):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0="}}
    document = read(tmp_path, line("u1", [{"type": "text", "text": PLAN}, picture]))
    assert said(document) == [("human", "/plan One drawing a night")]
    assert [block["type"] for block in document["messages"][0]["content"]] == ["text", "image"]


def test_what_old_versions_stored_in_the_tags_is_not_what_the_person_typed(tmp_path):
    """Versions around 1.0.0 wrote what a command expands to behind its arguments."""
    contents = '{"type": "text", "text": "Write a plan before anything is done."}'
    document = read(tmp_path, line("u1", f"{PLAN}\n<command-contents>{contents}</command-contents>"))
    assert said(document) == [("human", "/plan One drawing a night")]
    assert contents in document["messages"][0]["metadata"]["stored_text"]


def test_what_a_command_expands_to_is_the_programs(tmp_path):
    body = [{"type": "text", "text": "Write a plan before anything is done."}]
    output = "<local-command-stdout>Planned.</local-command-stdout>"
    document = read(tmp_path, line("u1", PLAN), line("u2", body, isMeta=True, parentUuid="u1"), line("u3", output))
    assert [author for author, _ in said(document)] == ["human", "harness", "harness"]


@pytest.mark.parametrize(
    ("stored", "more"),
    [
        ("<command-message>The skill is running</command-message>\n<command-name>charts</command-name>", {}),
        (PLAN, {"sourceToolUseID": "toolu_1"}),
        (PLAN, {"isMeta": True}),
        (PLAN, {"origin": {"kind": "channel"}}),
    ],
)
def test_a_command_that_the_program_started_stays_as_it_is_stored(tmp_path, stored, more):
    assert said(read(tmp_path, line("u1", stored, **more))) == [("harness", stored)]


def test_text_behind_the_tags_stays_with_them(tmp_path):
    assert said(read(tmp_path, line("u1", f"{PLAN}\nAnd a lamp."))) == [("human", f"{PLAN}\nAnd a lamp.")]


def test_a_command_with_arguments_is_a_title_and_one_without_is_not(tmp_path):
    clear = line("u1", "<command-name>/clear</command-name>")
    assert read(tmp_path, clear, line("u2", PLAN))["title"] == "/plan One drawing a night"
    assert read(tmp_path, clear, line("u2", "Draw the moons."))["title"] == "Draw the moons."
    assert read(tmp_path, clear)["title"] == "/clear"


def test_a_prompt_beside_a_command_is_no_rewind(tmp_path):
    model = line("u2", "<command-name>/model</command-name>", parentUuid="u1")
    document = read(tmp_path, line("u1", "Draw."), model, line("u3", "Draw again.", parentUuid="u1"))
    assert not [message for message in document["messages"] if "on_active_path" in message["metadata"]]


def test_a_queued_command_is_the_command_that_is_sent_later(tmp_path):
    queued = {"type": "queue-operation", "operation": "enqueue", "content": "/plan One drawing a night"}
    document = read(
        tmp_path, line("u1", "Draw."), {**queued, "timestamp": "2026-05-01T10:00:02.000Z"}, line("u3", PLAN)
    )
    assert said(document) == [("human", "Draw."), ("human", "/plan One drawing a night")]


def test_a_replayed_command_is_a_copy(tmp_path):
    shutil.copytree(FIXTURES / "claude_code" / "typed_commands" / "source", tmp_path / "source")
    imported = import_folder(tmp_path / "source", "claude_code")
    (report,) = imported.reports
    assert report.ledger.folded["copy"] == 1
    assert not report.findings.counts


@pytest.mark.parametrize("text", ["", "<command-", "<command-x>/plan</command-x>", "/plan", "Say <command-name>"])
def test_any_other_text_is_no_command(text):
    assert parse_command(text) is None


@pytest.mark.skipif(not DEFECTS.is_dir(), reason=f"there is nothing at {DEFECTS}")
def test_the_reported_command_is_found_among_what_people_wrote(tmp_path):
    shutil.copytree(DEFECTS / "typed_command", tmp_path / "source")
    keep_folder(tmp_path / "source", tmp_path / "archive.db")
    with closing(open_to_read(tmp_path / "archive.db")) as connection:
        query = (
            "select json_extract(content, '$[0].text') from message join body on body_key = body where author_kind = ?"
        )
        typed = [text for (text,) in connection.execute(query, ("human",))]
    assert len(typed) == 2
    assert any(text.startswith("/plan Write the zanzibar evaluation layer: one module") for text in typed)
