"""Sessions of the Cline SDK: what no single fixture shows."""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from importing import first_error
from palaver.importers.cline import session_reader
from palaver.importers.cline.session_files import recognize_session
from palaver.importers.cline.session_messages import author_of, typed_text
from palaver.importers.cline.session_reader import read_session
from palaver.sources.arrays import elements
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.zip.folder import ZipFolder

SESSION = "1784192400000_abcde"
NOW = 1784192400000


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def file_of(*messages, session=SESSION, agent="lead", **more):
    return {"version": 1, "updated_at": "2026-07-16T10:00:00.000Z", "agent": agent, "sessionId": session} | {
        "messages": list(messages),
        **more,
    }


def manifest(session=SESSION, **more):
    return {
        "version": 1,
        "session_id": session,
        "source": "cli",
        "pid": 1,
        "started_at": "2026-07-16T09:00:00.000Z",
        "status": "completed",
        "interactive": True,
        "provider": "cline",
        "model": "m",
        "cwd": "/w",
        "workspace_root": "/w",
        "enable_tools": True,
        "enable_spawn": True,
        "enable_teams": True,
        **more,
    }


def user(text="Good morning.", **more):
    return {"id": "u1", "role": "user", "content": [{"type": "text", "text": text}], "ts": NOW, **more}


def answer(**more):
    content = [{"type": "text", "text": "Good morning to you."}]
    return {"id": "a1", "role": "assistant", "content": content, "ts": NOW + 1, **more}


def read(source):
    run = Run(source.label)
    documents = list(read_session(source, run))
    assert not [error for document in documents if (error := first_error(document))]
    ledger = run.ledger
    words = (ledger.folded, ledger.skipped, ledger.quarantined)
    assert ledger.read == ledger.mapped + sum(word.total() for word in words)
    return documents, run


def session_in(folder, *messages, name=SESSION, **more):
    return Source.at(write(folder / "sessions" / SESSION / f"{name}.messages.json", file_of(*messages, **more)))


# -- which files are one session ------------------------------------------------------------------------------------


def test_a_session_is_its_messages_with_what_lies_beside_them(tmp_path):
    source = session_in(tmp_path, user())
    folder = tmp_path / "sessions" / SESSION
    write(folder / f"{SESSION}.json", manifest())
    write(folder / f"{SESSION}.compaction.json", file_of(user()))
    write(folder / "other.json", {"a": 1})
    found = recognize_session(source)
    assert (found.verdict, found.form) == ("yes", "session")
    assert found.members == (f"{SESSION}.json", f"{SESSION}.compaction.json")
    for name in found.members:
        part = recognize_session(Source.at(folder / name))
        assert (part.verdict, bool(part.reason)) == ("no", True)
    assert recognize_session(Source.at(folder / "other.json")).reason == ""
    assert recognize_session(Source.at(folder)).verdict == "no"


def test_agents_of_a_session_are_sessions_of_their_own(tmp_path):
    session_in(tmp_path, user())
    helper = session_in(tmp_path, user(), name="helper", session=f"{SESSION}__helper", agent="subagent")
    folder = tmp_path / "sessions" / SESSION
    write(folder / f"{SESSION}.json", manifest())
    write(folder / "helper.compaction.json", {"version": 1, "updated_at": "x", "messages": []})
    write(folder / "old.compaction.json", {**file_of(), "sessionId": f"{SESSION}__helper"})
    assert recognize_session(helper).members == ("helper.compaction.json", "old.compaction.json")
    assert recognize_session(Source.at(folder / f"{SESSION}.messages.json")).members == (f"{SESSION}.json",)


def test_parts_without_the_messages_are_read_alone(tmp_path):
    folder = tmp_path / "sessions" / SESSION
    alone = Source.at(write(folder / f"{SESSION}.compaction.json", file_of(user("What is left of it all."))))
    assert recognize_session(alone).verdict == "yes"
    (document,), _ = read(alone)
    assert document["conversation_id"] == SESSION
    assert document["platform"]["metadata"]["compactions"][0]["messages_are_this_view"] is True
    alone = Source.at(write(tmp_path / "x" / f"{SESSION}.json", manifest(prompt="Say good morning.")))
    assert recognize_session(alone).verdict == "yes"
    (document,), run = read(alone)
    assert [message["content"][0]["text"] for message in document["messages"]] == ["Say good morning."]
    assert run.findings.counts["missing-messages"] == 1


def test_messages_anywhere_are_known_by_their_shape(tmp_path):
    assert recognize_session(Source.at(write(tmp_path / "export.json", file_of(user())))).verdict == "yes"
    for name, value in {
        "a.json": {"sessionId": "x", "messages": []},
        "b.json": {"messages": [user()]},
        "c.messages.json": {"messages": [user()]},
        "d.json": {"session_id": "x", "messages": []},
        "e.json": [file_of()],
    }.items():
        assert recognize_session(Source.at(write(tmp_path / name, value))).verdict == "no", name


@pytest.mark.parametrize("name", [f"{SESSION}.messages.json", f"{SESSION}.json", "helper.messages.json"])
@pytest.mark.parametrize("damage", ["", "{", '{"version": 1', "\0\0\0"])
def test_a_damaged_file_in_the_folder_of_a_session_may_be_one(name, damage, tmp_path):
    source = Source.at(write(tmp_path / SESSION / name, damage))
    assert recognize_session(source).verdict == "maybe"
    assert read(source)[0] == []
    assert recognize_session(Source.at(write(tmp_path / "elsewhere" / name, damage))).verdict == "no"


def test_a_session_in_a_zip_is_whole(tmp_path):
    with zipfile.ZipFile(tmp_path / "backup.zip", "w") as zipped:
        zipped.writestr(f"data/sessions/{SESSION}/{SESSION}.json", json.dumps(manifest(metadata={"title": "Zipped"})))
        zipped.writestr(f"data/sessions/{SESSION}/{SESSION}.messages.json", json.dumps(file_of(user())))
    source = Source(ZipFolder(tmp_path / "backup.zip"), f"data/sessions/{SESSION}/{SESSION}.messages.json")
    assert recognize_session(source).members == (f"{SESSION}.json",)
    (document,), _ = read(source)
    assert document["title"] == "Zipped"


# -- the database ---------------------------------------------------------------------------------------------------


def database(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE sessions ({', '.join(columns)})")
        marks = ", ".join("?" * len(columns))
        connection.execute(f"INSERT INTO sessions VALUES ({marks})", list(columns.values()))
        connection.commit()


def test_the_database_tells_which_session_started_which(tmp_path, monkeypatch):
    monkeypatch.delenv("CLINE_DB_DATA_DIR", raising=False)
    source = session_in(tmp_path, user(), name="helper", session="helper-session", agent="lead")
    facts = {
        "session_id": "helper-session",
        "parent_session_id": SESSION,
        "agent_id": "helper",
        "is_subagent": 1,
        "cwd": "/mill",
        "status": "failed",
        "started_at": "2026-07-16T08:00:00.000Z",
        "provider": "cline",
        "metadata_json": '{"title": "A title"}',
        "messages_path": "/nowhere",
        "team_name": None,
    }
    database(tmp_path / "db" / "sessions.db", **facts)
    (document,), _ = read(source)
    assert document["session"]["parent_conversation_id"] == SESSION
    assert document["session"]["is_sidechain"] is True
    assert document["messages"][0]["metadata"]["author_kind"] == "model"
    assert (document["title"], document["status"]) == ("A title", "error")
    assert document["created_at"] == "2026-07-16T08:00:00.000Z"
    assert document["context"]["workspace"]["path"] == "/mill"
    assert document["platform"]["metadata"]["agent_id"] == "helper"
    monkeypatch.setenv("CLINE_DB_DATA_DIR", str(tmp_path / "db"))
    copy = write(tmp_path / "far/off/x.messages.json", file_of(user(), session="helper-session"))
    (elsewhere,), _ = read(Source.at(copy))
    assert elsewhere["session"]["parent_conversation_id"] == SESSION


def test_an_agent_of_an_unknown_session_claims_no_sidechain(tmp_path):
    (document,), _ = read(session_in(tmp_path, user(), agent="subagent"))
    assert document["session"] == {"session_id": SESSION, "is_sidechain": False}
    assert document["messages"][0]["metadata"]["author_kind"] == "model"


@pytest.mark.parametrize("raw", [b"", b"no database", b"SQLite format 3\0" + b"x" * 200])
def test_a_broken_database_costs_nothing(raw, tmp_path):
    source = session_in(tmp_path, user())
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "sessions.db").write_bytes(raw)
    (document,), _ = read(source)
    assert document["session"] == {"session_id": SESSION, "is_sidechain": False}


def test_a_database_without_the_table_or_its_columns_costs_nothing(tmp_path):
    source = session_in(tmp_path, user())
    database(tmp_path / "db" / "sessions.db", something="else")
    (document,), _ = read(source)
    assert document["session"]["is_sidechain"] is False


# -- messages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "author"),
    [
        ("Good morning.", "human"),
        ('<user_input mode="act">Good morning.</user_input>', "human"),
        ('<mode_notice>switched</mode_notice><user_input mode="plan">Go on.</user_input>', "human"),
        ("<mode_notice>switched</mode_notice>", "harness"),
        ("<SYSTEM_NOTICE>left out</SYSTEM_NOTICE>", "harness"),
        ("[TASK RESUMPTION] Go on.", "harness"),
        ("The user approved switching to act mode. Continue with the approved plan now.", "harness"),
        ("", "harness"),
    ],
)
def test_a_person_is_whoever_typed_something(text, author):
    assert author_of("user", [{"type": "text", "text": text}], None, is_sidechain=False) == author


@pytest.mark.parametrize(
    ("metadata", "author"),
    [
        ({"kind": "recovery_notice"}, "harness"),
        ({"displayRole": "status"}, "harness"),
        ({"kind": "compaction_summary"}, "harness"),
        ({"kind": "compaction", "displayRole": "system"}, "human"),
        ({"kind": ["recovery_notice"]}, "human"),
        ("recovery_notice", "human"),
    ],
)
def test_the_runtime_marks_what_it_says_itself(metadata, author):
    assert author_of("user", [{"type": "text", "text": "Go on."}], metadata, is_sidechain=False) == author


def test_results_are_the_tools_unless_a_person_adds_something():
    result, said = {"type": "tool_result"}, {"type": "text", "text": "Stop."}
    assert author_of("user", [result], None, is_sidechain=False) == "tool"
    assert author_of("user", [result, said], None, is_sidechain=False) == "human"
    assert author_of("user", [said], None, is_sidechain=True) == "model"


def test_many_notices_take_no_longer_each():
    text = "<mode_notice>a</mode_notice>" * 20_000 + "<mode_notice>"
    assert typed_text(text) == "<mode_notice>"


def test_the_model_that_answered_most_often_is_the_conversations(tmp_path):
    models = ["b", "a", "a"]
    answers = [answer(id=f"a{number}", modelInfo={"id": model}) for number, model in enumerate(models)]
    source = session_in(tmp_path, user(), *answers)
    write(tmp_path / "sessions" / SESSION / f"{SESSION}.json", manifest())
    (document,), _ = read(source)
    assert document["platform"]["model"] == "a"
    assert document["platform"]["metadata"]["model"] == "m"
    overrides = [message["metadata"].get("model_override") for message in document["messages"]]
    assert overrides == [None, "b", "a", "a"]


def test_a_compacted_message_in_the_transcript_is_marked(tmp_path):
    summary = user(
        "Context summary:\n\nAll is well.", metadata={"kind": "compaction_summary", "summary": "All is well."}
    )
    (document,), _ = read(session_in(tmp_path, summary))
    assert document["messages"][0]["metadata"]["is_compact_summary"] is True
    assert document["messages"][0]["metadata"]["author_kind"] == "harness"


def test_a_prompt_that_no_message_repeats_is_kept(tmp_path):
    source = session_in(tmp_path, user('<user_input mode="act">Good morning.</user_input>'))
    path = tmp_path / "sessions" / SESSION / f"{SESSION}.json"
    write(path, manifest(prompt="Good morning."))
    (document,), _ = read(source)
    assert "prompt" not in document["platform"]["metadata"]
    write(path, manifest(prompt="Something else."))
    (document,), _ = read(source)
    assert document["platform"]["metadata"]["prompt"] == "Something else."


def test_what_comes_before_messages_that_a_fork_took_over_is_not_later_than_they_are(tmp_path):
    source = session_in(tmp_path, user(ts=NOW - 86_400_000), answer(), system_prompt="Be kind.")
    write(tmp_path / "sessions" / SESSION / f"{SESSION}.json", manifest())
    (document,), _ = read(source)
    times = [message["timestamp"] for message in document["messages"]]
    assert times == sorted(times)
    assert times[0] == times[1] < document["created_at"]


def test_a_large_session_comes_in_fragments(tmp_path, monkeypatch):
    monkeypatch.setattr(elements, "SMALL_BYTES", 2_000)
    monkeypatch.setattr(session_reader, "FRAGMENT_BYTES", 2_000)
    monkeypatch.setattr(session_reader, "LATER_FRAGMENT_BYTES", 1_000)
    messages = [user(f"Message {number} " + "x" * 300, id=f"u{number}") for number in range(20)]
    source = session_in(tmp_path, *messages, system_prompt="Be kind.")
    documents, run = read(source)
    assert len(documents) > 3
    assert [document["fragment"]["sequence"] for document in documents] == list(range(len(documents)))
    assert [document["fragment"]["final"] for document in documents] == [False] * (len(documents) - 1) + [True]
    starts = [document["fragment"]["start"] for document in documents]
    assert starts == [
        sum(len(document["messages"]) for document in documents[:number]) for number in range(len(starts))
    ]
    told = [message["message_id"] for document in documents for message in document["messages"]]
    assert sorted(told) == sorted([*(f"u{number}" for number in range(20)), f"{SESSION}:system"])
    assert len({document["conversation_id"] for document in documents}) == 1
    assert run.ledger.mapped == 20


def test_a_system_prompt_stands_before_everything_in_a_large_session_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(elements, "SMALL_BYTES", 2_000)
    monkeypatch.setattr(session_reader, "FRAGMENT_BYTES", 2_000)
    said = [user(f"Message {number}. {'x' * 500}", id=f"u{number}") for number in range(12)]
    path = write(
        tmp_path / SESSION / f"{SESSION}.messages.json",
        {"version": 1, "agent": "lead", "sessionId": SESSION, "system_prompt": "Be kind.", "messages": said},
    )
    documents = list(read_session(Source.at(path), Run("session")))
    assert len(documents) > 1
    told = [message for document in documents for message in document["messages"]]
    assert [message["message_id"] for message in told if message["role"] == "system"] == [f"{SESSION}:system"]
    assert told[0]["role"] == "system"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("u" + "_tool_c" * 100_000, "done"),
        ("u", "<user_input " * 50_000),
        ("u", '<user_input mode="' * 50_000),
    ],
    ids=["an id that grew", "wrappers", "modes"],
)
def test_what_stands_there_many_times_is_read(name, text, tmp_path):
    """It would take hours if anything were looked at again and again."""
    result = {"type": "tool_result", "tool_use_id": "c", "name": "editor", "content": "done"}
    source = session_in(tmp_path, user(text, id="v"), {"id": name, "role": "user", "content": [result]})
    documents, _ = read(source)
    assert [message["message_id"] for message in documents[0]["messages"]] == ["v", "u"]


def test_what_stands_behind_the_messages_is_known_however_long_they_are(tmp_path):
    messages = [user("x" * 5_000, id=f"u{number}") for number in range(40)]
    (document,), _ = read(session_in(tmp_path, *messages, system_prompt="Be kind.", later={"a": 1}))
    assert document["messages"][0]["content"] == [{"type": "text", "text": "Be kind."}]
    assert document["platform"]["metadata"]["later"] == {"a": 1}


def test_messages_that_are_none_are_set_aside_whole(tmp_path):
    source = Source.at(write(tmp_path / SESSION / f"{SESSION}.messages.json", file_of() | {"messages": {"a": "b"}}))
    write(tmp_path / SESSION / f"{SESSION}.json", manifest(prompt="Good morning."))
    (document,), run = read(source)
    assert run.ledger.quarantined == {"bad-conversation": 1}
    assert document["messages"][0]["content"][0]["text"] == "Good morning."


def test_a_manifest_that_is_no_object_is_set_aside(tmp_path):
    source = session_in(tmp_path, user())
    write(Path(source.label).with_name(f"{SESSION}.json"), "[1, 2]")
    (document,), run = read(source)
    assert run.ledger.quarantined == {"not-an-object": 1}
    assert document["created_at"] == "2026-07-16T09:00:00.000Z"
