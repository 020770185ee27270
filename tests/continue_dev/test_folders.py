"""Continue's folder and its parts: what is recognised, what is never opened, what a part alone gives."""

import json
import zipfile
from pathlib import Path

import pytest

from continue_dev.folders import SESSION, assistant, event, folder, imported, row, session, texts, user
from importing import FIXTURES, Case, check, import_folder, import_units, set_time
from palaver.importers import importer, match_importers, winner
from palaver.importers.continue_dev import session as session_module
from palaver.importers.continue_dev.session import Conversation
from palaver.sources.arrays import elements
from palaver.sources.folders import DiskFolder
from palaver.sources.source import Source
from palaver.workflows.find_units import find_units

CASES = [
    Case("continue_dev", FIXTURES / "continue_dev" / name)
    for name in ("ide_chat", "agent_tools", "cn_with_tools", "old_prompt_logs", "answers_left_behind", "odd_items")
]


def test_the_folder_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("CONTINUE_GLOBAL_DIR", str(tmp_path))
    assert importer("continue_dev").locations() == [tmp_path]
    monkeypatch.delenv("CONTINUE_GLOBAL_DIR")
    assert importer("continue_dev").locations() == [Path.home() / ".continue"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_session_alone_is_told_as_with_the_folder(case, tmp_path):
    root = case.lay_out(tmp_path) / ".continue"
    whole = {one["conversation_id"]: one for one in import_folder(root, "continue_dev").documents}
    for path in (root / "sessions").glob("*.json"):
        if path.name != "sessions.json":
            alone = import_folder(path, "continue_dev")
            check(alone)
            assert alone.documents == [whole[path.stem]]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_folder_in_a_zip_is_told_as_on_disk(case, tmp_path):
    root = case.lay_out(tmp_path)
    archive = tmp_path / "home.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, raw in case.files().items():
            packed.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), raw)
    set_time(archive)
    on_disk, in_zip = import_folder(root, "continue_dev"), import_folder(archive, "continue_dev")
    check(in_zip)
    assert in_zip.documents == on_disk.documents
    assert in_zip.used == on_disk.used


def test_a_session_elsewhere_stands_alone(tmp_path):
    (tmp_path / "copies").mkdir()
    (tmp_path / "copies" / f"{SESSION}.json").write_text(json.dumps(session(user("a"))))
    folder(tmp_path, {"sessions/sessions.json": [row()]})
    (made,) = import_folder(tmp_path / "copies", "continue_dev").documents
    assert made["created_at"] != "2025-02-09T16:33:43.126Z"


def test_keys_are_never_opened(tmp_path, monkeypatch):
    opened = []
    plain = DiskFolder.open
    monkeypatch.setattr(DiskFolder, "open", lambda self, name: opened.append(name) or plain(self, name))
    secrets = dict.fromkeys(("auth.json", "permissions.yaml", ".env"), "token: hush")
    found = import_folder(folder(tmp_path, {f"sessions/{SESSION}.json": session(user("a")), **secrets}))
    check(found)
    assert found.found.unclaimed == []
    assert found.reports[0].ledger.skipped == {"secret": 3}
    assert not {name.rpartition("/")[2] for name in opened} & secrets.keys()
    assert f"{SESSION}.json" in opened


@pytest.mark.parametrize(
    "files",
    [
        {"sessions/one/one.messages.json": {"messages": []}, "sessions/sessions.json": {"version": 1, "sessions": []}},
        {"sessions/2026/02/03/rollout-1.jsonl": [{"type": "session_meta", "payload": {}}]},
        {
            "sessions/a.json": session(
                {"message": {"role": "user", "content": "a"}, "contextItems": [], "executionId": "x"}
            )
        },
        {"sessions/a.json": {"sessionId": "a", "projectHash": "b", "messages": []}},
        {"dev_data/notes.jsonl": [{"text": "mine"}]},
        {"sessions/sessions.json": []},
    ],
)
def test_folders_of_others_are_not_claimed(tmp_path, files):
    root = folder(tmp_path, files)
    for place in (root, *(path for path in root.rglob("*") if path.is_file())):
        assert importer("continue_dev").recognizes(Source.at(place)).verdict == "no"


def test_only_continue_claims_its_files(tmp_path):
    root = folder(
        tmp_path,
        {
            f"sessions/{SESSION}.json": session(user("a" * 70_000), assistant("b")),
            "sessions/short.json": session(user("a"), assistant("b")),
            "dev_data/0.2.0/chatInteraction.jsonl": [event("chatInteraction", prompt="a", completion="b")],
            "dev_data/tokens_generated.jsonl": [{"model": "m", "promptTokens": 1, "generatedTokens": 2}],
        },
    )
    for path in (root, *(path for path in root.rglob("*") if path.is_file())):
        judgements = match_importers(Source.at(path))
        assert [name for name, match in judgements.items() if match.verdict != "no"] == ["continue_dev"]
        assert winner(judgements, str(path))


def test_the_index_alone_is_known_and_holds_no_conversation(tmp_path):
    root = folder(
        tmp_path, {"sessions/sessions.json": [row("gone"), row()], f"sessions/{SESSION}.json": session(user("a"))}
    )
    match = importer("continue_dev").recognizes(Source.at(root / "sessions" / "sessions.json"))
    assert (match.verdict, match.reason) == ("no", "Continue's index of sessions")
    found = import_folder(root / "sessions" / "sessions.json", "continue_dev")
    check(found)
    assert found.documents == []
    assert found.reports[0].ledger.skipped == {"missing-session-file": 1, "session-file-exists": 1}


def test_events_alone_leave_sessions_to_their_files(tmp_path):
    lines = [
        event("chatInteraction", prompt="<user>\nq\n\n", completion="r", sessionId=SESSION),
        event("chatInteraction", prompt="<user>\nlost\n\n", completion="found", sessionId="gone"),
    ]
    name = "dev_data/0.2.0/chatInteraction.jsonl"
    root = folder(tmp_path, {f"sessions/{SESSION}.json": session(user("q"), assistant("r")), name: lines})
    found = import_folder(root / name, "continue_dev")
    check(found)
    assert [texts(made) for made in found.documents] == [["lost", "found"]]
    assert found.reports[0].ledger.skipped == {"session-file-exists": 1}


def test_a_large_session_comes_in_fragments_that_are_the_whole(tmp_path, monkeypatch):
    history = [
        item
        for number in range(200)
        for item in (
            user(f"question {number}"),
            assistant(f"answer {number}", conversationSummary=f"all up to {number}" if number % 50 == 9 else ""),
        )
    ]
    files = {f"sessions/{SESSION}.json": session(*history), "sessions/sessions.json": [row()]}
    (whole,) = imported(tmp_path / "whole", files).documents
    monkeypatch.setattr(elements, "SMALL_BYTES", 4_000)
    monkeypatch.setattr(session_module, "FRAGMENT_BYTES", 4_000)
    monkeypatch.setattr(session_module, "LATER_FRAGMENT_BYTES", 4_000)
    parts = imported(tmp_path / "parts", files).documents
    assert len(parts) > 5
    assert [part["fragment"]["sequence"] for part in parts] == list(range(len(parts)))
    assert [part["fragment"]["final"] for part in parts] == [*[False] * (len(parts) - 1), True]
    assert [message for part in parts for message in part["messages"]] == whole["messages"]
    assert [one for part in parts for one in part.get("summaries", ())] == whole["summaries"]
    assert parts[-1]["metrics"] == whole["metrics"]


def test_a_cut_file_keeps_its_whole_items(tmp_path):
    raw = json.dumps(session(user("first"), assistant("second"), user("third")), indent=2)
    found = imported(tmp_path, {f"sessions/{SESSION}.json": raw[: raw.index("third")]})
    (made,) = found.documents
    assert texts(made)[:2] == ["first", "second"]
    assert found.reports[0].findings.counts["cut-record"] == 1


def test_units_can_be_read_without_asking_first(tmp_path):
    root = folder(tmp_path, {f"sessions/{SESSION}.json": session(user("a"))})
    units, _ = find_units([root], "continue_dev")
    assert [unit.match.form for unit in units] == ["root"]
    assert len(import_units(root, units).documents) == 1


def test_a_shared_transcript_in_the_folder_is_a_source_of_its_own(tmp_path):
    shared = (
        "### [Continue](https://continue.dev) session transcript\n Exported: 5/14/2026\n\n#### _User_\n\n> Is it dry?"
    )
    files = {f"sessions/{SESSION}.json": session(user("a")), "20260514T093012_session.md": shared}
    found = imported(tmp_path, files)
    assert [unit.match.form for unit in found.units] == ["root", "share"]
    assert [texts(made) for made in found.documents] == [["a"], ["Is it dry?"]]


def test_a_bug_in_one_session_does_not_cost_the_others(tmp_path, monkeypatch):
    def broken(self, items):
        if self.session_id == SESSION:
            raise RuntimeError("a bug")
        whole(self, items)

    whole = Conversation.add
    monkeypatch.setattr(Conversation, "add", broken)
    files = {f"sessions/{SESSION}.json": session(user("a"), assistant("b")), "sessions/other.json": session(user("c"))}
    found = import_folder(folder(tmp_path, files))
    assert [document["conversation_id"] for document in found.documents] == ["other"]
    (report,) = found.reports
    assert report.ledger.adds_up
    assert report.ledger.quarantined == {"unforeseen": 2}
    (aside,) = found.quarantined
    assert b'"history"' in aside.raw


def test_oddities_of_the_index_an_unreadable_config_and_an_empty_file_leave_the_import_green(tmp_path):
    sessions = tmp_path / ".continue" / "sessions"
    sessions.mkdir(parents=True)
    item = {"message": {"role": "user", "content": "Which knot?"}, "contextItems": []}
    session = {"sessionId": "s1", "title": "Knots", "workspaceDirectory": "/w", "history": [item]}
    (sessions / "s1.json").write_text(json.dumps(session), "utf-8")
    (sessions / "s2.json").write_bytes(b"")
    rows = [{"sessionId": "s1", "title": "Knots", "dateCreated": "1757000000000"}, "no row", {"title": "no id"}]
    (sessions / "sessions.json").write_text(json.dumps(rows), "utf-8")
    (tmp_path / ".continue" / "config.json").write_text("{", "utf-8")
    imported = import_folder(tmp_path)
    check(imported)
    assert [document["conversation_id"] for document in imported.documents] == ["s1"]
    assert imported.report.exit_code == 0
    counts = imported.reports[0].findings.counts
    assert (counts["odd-index-row"], counts["unreadable-settings"], counts["empty-session-file"]) == (2, 1, 1)
