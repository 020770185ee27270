"""An archive from before there were revisions equals a fresh one after one scan.

`stored/before_revisions.zip` holds the archive, and its sources as they were then: what is in the usual places of
`home` was scanned, what is in `elsewhere` imported by its path.
"""

import json
import os
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from archiving import exported, facts
from palaver.archive.connection import open_to_read
from palaver.archive.tally import GROUPINGS
from palaver.archive.usage_record_statistics import USAGE_GROUPINGS

from .conftest import ROOT

STORED = ROOT / "tests" / "archive" / "stored" / "before_revisions.zip"
MODIFIED_S = 1_767_268_800
"""When each source was written, as the stored archive has it."""
QUESTIONS = [
    *(("stats", "--by", grouping) for grouping in GROUPINGS),
    *(("stats", "--usage", "--by", grouping) for grouping in USAGE_GROUPINGS),
    ("stats", "--explain"),
    ("list", "--all"),
    ("search", "the"),
    ("findings",),
    ("duplicates",),
]


@pytest.fixture
def elsewhere(home, tmp_path, kept):
    """Unpack the sources and their archive, which then knows them by where they are now."""
    unpacked = tmp_path / "unpacked"
    with zipfile.ZipFile(STORED) as stored:
        stored.extractall(unpacked)
    shutil.copytree(unpacked / "home", home, dirs_exist_ok=True)
    (unpacked / "elsewhere").rename(tmp_path / "elsewhere")
    for folder in (home, tmp_path / "elsewhere"):
        for path in folder.rglob("*"):
            os.utime(path, (MODIFIED_S, MODIFIED_S))
    kept.mkdir()
    (unpacked / "archive.db").rename(kept / "archive.db")
    with closing(sqlite3.connect(kept / "archive.db")) as connection:
        for table, column in (("source", "label"), ("source_file", "path"), ("unclaimed_file", "path")):
            for (name,) in connection.execute(f"select distinct {column} from {table}").fetchall():
                path = os.path.realpath(tmp_path / Path(name).relative_to("/stored"))
                connection.execute(f"update {table} set {column} = ? where {column} = ?", (path, name))
        connection.commit()
    return tmp_path / "elsewhere"


def answers(run) -> dict[tuple[str, ...], str]:
    return {words: run(*words, "--json").stdout for words in QUESTIONS}


def sources(archive: Path) -> dict[str, list]:
    """What the archive knows of its sources, without times and numbers."""
    with closing(open_to_read(archive)) as connection:
        return {
            name: sorted(connection.execute(query))
            for name, query in {
                "sources": "select platform, label, form, reason, members, options, size_bytes, conversations, "
                "messages, failure, revision from source",
                "files": "select platform, label, path from source_file join source on source = source_key",
                "origins": "select label, c.platform, conversation_id from origin join source on source = source_key "
                "join conversation c on conversation = conversation_key",
                "ledgers": "select label, disposition, rule, records from ledger join source on source = source_key",
                "quarantine": "select label, place, code, raw from quarantine join source on source = source_key",
            }.items()
        }


def test_after_one_scan_it_answers_as_a_fresh_one(run, elsewhere, kept, monkeypatch, tmp_path):
    old = kept / "archive.db"
    scanned = run("scan", "--json")
    assert json.loads(scanned.stdout)["totals"]["reread"] == 34
    said = answers(run)
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path / "fresh"))
    run("scan")
    run("import", elsewhere)
    fresh = tmp_path / "fresh" / "archive.db"
    assert exported(old) == exported(fresh)
    assert said == answers(run)
    assert facts(old) == facts(fresh)
    assert sources(old) == sources(fresh)


def test_before_the_scan_it_does_not(run, elsewhere, kept, monkeypatch, tmp_path):
    """What is stored was read otherwise than today, on every platform whose reading has changed since."""
    before = {json.loads(line)["conversation_id"]: line for line in exported(kept / "archive.db")}
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path / "fresh"))
    run("scan")
    run("import", elsewhere)
    changed = {
        document["platform"]["name"]
        for line in exported(tmp_path / "fresh" / "archive.db")
        if before.get((document := json.loads(line))["conversation_id"]) != line
    }
    traces = {"api_trace", "azure_openai"}
    assert changed == {*traces, "chatgpt", "claude_ai", "claude_code", "continue_dev", "github_copilot", "roo_code"}
