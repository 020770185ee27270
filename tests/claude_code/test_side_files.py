"""A file beside a session that cannot be read costs nothing but itself."""

import shutil

from importing import FIXTURES, import_folder
from palaver.importers import importer
from palaver.importers._shared import side_files
from palaver.sources.folders import DiskFolder
from palaver.sources.run import Run
from palaver.sources.source import Source


def read_without(monkeypatch, source, word):
    """Read a session on a disk where files with a word in their name vanish when they are opened."""
    opened = DiskFolder.open

    def vanished(folder, name):
        return opened(folder, f"{name}.gone" if word in name else name)

    monkeypatch.setattr(DiskFolder, "open", vanished)
    claude_code = importer("claude_code")
    run = Run("source", claude_code.options())
    return list(claude_code.read(Source.at(source), run)), run


def session_of(tmp_path, case):
    shutil.copytree(FIXTURES / "claude_code" / case / "source", tmp_path / "source")
    return next(path for path in (tmp_path / "source").rglob("*.jsonl") if path.with_suffix("").is_dir())


def test_an_agent_that_cannot_be_read(tmp_path, monkeypatch):
    made, run = read_without(monkeypatch, session_of(tmp_path, "subagents_folder"), "agent-aab7a33058b4bc900.jsonl")
    assert len(made) == 3
    assert run.findings.counts["unreadable-side-file"] == 1


def test_a_journal_that_cannot_be_read(tmp_path, monkeypatch):
    made, run = read_without(monkeypatch, session_of(tmp_path, "subagents_folder"), "journal.jsonl")
    assert len(made) == 4
    assert run.findings.counts["unreadable-side-file"] == 1
    assert run.ledger.adds_up


def test_an_output_that_cannot_be_read_leaves_its_preview(tmp_path, monkeypatch):
    made, run = read_without(monkeypatch, session_of(tmp_path, "persisted_output"), "tool-results/")
    assert len(made) == 1
    assert run.findings.counts["persisted-output-missing"] == 3
    assert "unforeseen" not in run.findings.counts
    assert run.ledger.adds_up


def test_an_index_is_read_once_for_all_sessions_beside_it(tmp_path, monkeypatch):
    shutil.copytree(FIXTURES / "claude_code" / "sessions_index" / "source", tmp_path / "source")
    [index] = (tmp_path / "source").rglob("sessions-index.json")
    session = next(path for path in index.parent.glob("*.jsonl"))
    for number in range(3):
        shutil.copy(session, session.with_stem(f"{number}0000000-0000-4000-8000-000000000000"))
    read = []
    reading = side_files._read

    def counted(source):
        read.append(source.name)
        return reading(source)

    monkeypatch.setattr(side_files, "_read", counted)
    imported = import_folder(tmp_path / "source", "claude_code")
    assert len(imported.documents) > 3
    assert read == ["sessions-index.json"]
