"""The health of everything: damaged, foreign and missing archives, files about to be deleted, settings."""

import json
import os
import sqlite3
from contextlib import closing
from time import time

import pytest

from importing import CHECKOUT
from palaver.archive.connection import open_to_write
from palaver.errors import ArchiveError
from palaver.workflows import doctor
from palaver.workflows.archive_import import import_into_archive
from palaver.workflows.plan import Planner

SESSIONS = CHECKOUT / "fixtures" / "claude_code" / "subagents_folder" / "source"
DAY = 86_400


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    folder = tmp_path.resolve() / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "PALAVER_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path))
    return folder


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "archive.db"
    take_in(path, SESSIONS)
    return path


def take_in(archive, *paths):
    plan = Planner(archive, {}).plan(paths)
    import_into_archive(plan.tasks, plan.report, archive, unclaimed=plan.unclaimed)


def checked(archive):
    return {check.name: check for check in doctor.checks(archive)}


def verdicts(found, *but):
    return {check.verdict for check in found.values() if check.name not in but}


def test_a_healthy_archive_has_no_fault(archive):
    found = checked(archive)
    assert verdicts(found, "disk") == {"ok"}
    assert found.keys() >= {"integrity", "references", "search index", "documents", "ledgers", "settings", "software"}


def test_without_an_archive_the_rest_is_looked_at(tmp_path):
    found = checked(tmp_path / "nowhere" / "archive.db")
    assert found["archive"].verdict == "warning"
    assert found.keys() >= {"settings", "disk", "software"}
    assert not (tmp_path / "nowhere").exists()


def overwritten(path, start):
    raw = bytearray(path.read_bytes())
    raw[start : start + 4096] = os.urandom(4096)
    path.write_bytes(raw)


def middle(path):
    """Where a page in the middle begins."""
    return path.stat().st_size // 2 // 16384 * 16384


DAMAGES = {
    "cut short": lambda path: os.truncate(path, middle(path)),
    "cut inside a page": lambda path: os.truncate(path, middle(path) + 5000),
    "cut to its head": lambda path: os.truncate(path, 50),
    "overwritten at its head": lambda path: overwritten(path, 0),
    "overwritten behind its head": lambda path: overwritten(path, 100),
    "overwritten in the middle": lambda path: overwritten(path, middle(path)),
    "no database": lambda path: path.write_text("once upon a time " * 1000),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_archive_is_a_problem_in_words(archive, damage):
    DAMAGES[damage](archive)
    found = checked(archive)
    faults = [check for check in found.values() if check.verdict == "problem"]
    assert faults
    assert all(check.message and check.advice for check in faults)
    assert "settings" in found


def test_an_empty_file_is_not_damaged(tmp_path):
    (tmp_path / "archive.db").touch()
    assert checked(tmp_path / "archive.db")["archive"].verdict == "warning"


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("pragma user_version = 99", "newer palaver"),
        ("pragma application_id = 7", "another program"),
    ],
)
def test_an_archive_of_others_is_a_problem_in_words(archive, statement, told):
    with closing(sqlite3.connect(archive)) as connection:
        connection.execute(statement)
        connection.commit()
    check = checked(archive)["archive"]
    assert check.verdict == "problem"
    assert told in check.message


@pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")
def test_a_file_that_others_may_read_is_a_warning(archive):
    archive.chmod(0o644)
    check = checked(archive)["permissions"]
    assert (check.verdict, check.advice) == ("warning", f"chmod 600 {archive}")


def test_settings_that_cannot_be_read_are_a_problem(archive):
    (archive.parent / "config.toml").write_text("[prices")
    assert checked(archive)["settings"].verdict == "problem"


def test_whoever_writes_is_not_waited_for(archive):
    with closing(open_to_write(archive)) as other:
        other.execute("begin immediate")
        assert checked(archive)["index structure"].verdict == "warning"
        other.execute("rollback")


@pytest.fixture
def old_session(home):
    folder = home / ".claude" / "projects" / "garden"
    folder.mkdir(parents=True)
    file = folder / "0b5e.jsonl"
    message = {"role": "user", "content": "When?"}
    at = "2025-03-01T10:00:00.000Z"
    record = {"type": "user", "uuid": "u1", "sessionId": "0b5e", "timestamp": at, "message": message}
    file.write_text(json.dumps(record) + "\n")
    aged(file, 25)
    return file


def aged(file, days):
    os.utime(file, (time() - days * DAY,) * 2)


def test_a_session_that_is_about_to_be_deleted_and_not_in_the_archive_is_a_problem(archive, old_session):
    check = checked(archive)["deletion"]
    assert check.verdict == "problem"
    assert check.details == (str(old_session),)
    take_in(archive, old_session.parents[1])
    check = checked(archive)["deletion"]
    assert check.verdict == "ok"
    assert "1 due within 7 days, all in the archive" in check.message


def test_it_is_a_problem_without_any_archive_too(tmp_path, old_session):
    assert checked(tmp_path / "none.db")["deletion"].details == (str(old_session),)


@pytest.mark.parametrize(
    ("settings", "days", "verdict"),
    [
        ('{"cleanupPeriodDays": 365}', 25, "ok"),
        ('{"cleanupPeriodDays": 365}', 360, "problem"),
        ('{"cleanupPeriodDays": 3}', 0.1, "problem"),
        ('{"cleanupPeriodDays": true}', 25, "problem"),
        ('{"cleanupPeriodDays": "99999"}', 25, "problem"),
        ("no JSON", 25, "problem"),
        ("{}", 20, "ok"),
    ],
)
def test_how_long_sessions_stay_is_the_users_setting(archive, old_session, settings, days, verdict):
    (old_session.parents[2] / "settings.json").write_text(settings)
    aged(old_session, days)
    assert checked(archive)["deletion"].verdict == verdict


def test_repair_makes_the_index_anew(archive):
    with closing(open_to_write(archive)) as connection:
        connection.execute("insert into search (search) values ('delete-all')")
        connection.execute("insert into body values (9999, x'00', 9999, 0, '[]')")
    assert checked(archive)["search index"].verdict == "problem"
    done = doctor.repair(archive)
    assert len(done) == 3
    assert verdicts(checked(archive), "disk") == {"ok"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_not_repaired(archive, damage):
    DAMAGES[damage](archive)
    before = archive.read_bytes()
    with pytest.raises(ArchiveError):
        doctor.repair(archive)
    assert archive.read_bytes() == before


def test_what_is_not_there_is_not_repaired(tmp_path):
    with pytest.raises(ArchiveError, match="nothing to repair"):
        doctor.repair(tmp_path / "archive.db")
