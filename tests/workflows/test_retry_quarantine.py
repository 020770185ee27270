"""Another try at what was set aside: it is read, refused again or kept, and never lost."""

import json
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from palaver.archive.connection import open_to_read
from palaver.archive.findings import FindingFilters, quarantine_entries
from palaver.workflows.archive_import import import_into_archive
from palaver.workflows.plan import Planner
from palaver.workflows.retry_quarantine import retry


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "kept" / "archive.db"


@pytest.fixture
def session(tmp_path):
    path = tmp_path.resolve() / "garden.jsonl"
    path.write_bytes(b"\n".join([line(1, "When?"), b"no JSON", line(2, "Then!"), b'{"type": 7', b""]))
    return path


def line(number, text):
    message = {"role": "user", "content": text}
    at = "2025-03-01T10:00:00.000Z"
    record = {"type": "user", "uuid": f"u{number}", "sessionId": "0b5e", "timestamp": at, "message": message}
    return json.dumps(record).encode()


def take_in(archive, *paths):
    plan = Planner(archive, {}).plan(paths)
    import_into_archive(plan.tasks, plan.report, archive)


def outcomes(done):
    return [(one.entry.where.partition(",")[0], one.outcome) for one in done.retried]


def set_aside(archive):
    with closing(open_to_read(archive)) as connection:
        return list(quarantine_entries(connection, FindingFilters()))


def test_what_is_as_it_was_is_refused_again(archive, session):
    take_in(archive, session)
    before = set_aside(archive)
    done = retry(archive, FindingFilters())
    assert outcomes(done) == [("line 2", "refused"), ("line 4", "refused")]
    assert set_aside(archive) == before
    assert not done.new


def test_what_was_mended_is_read(archive, session):
    take_in(archive, session)
    session.write_bytes(session.read_bytes().replace(b"no JSON", line(9, "Mended.")))
    done = retry(archive, FindingFilters())
    assert outcomes(done) == [("line 2", "read"), ("line 4", "refused")], "the second has moved"
    assert not done.new
    assert [entry.where.partition(",")[0] for entry in set_aside(archive)] == ["line 4"]
    with closing(open_to_read(archive)) as connection:
        found = connection.execute("select count(*) from search where search match 'mended'").fetchone()
    assert found == (1,)


def test_what_has_no_source_any_more_is_kept(archive, session):
    take_in(archive, session)
    before = set_aside(archive)
    session.unlink()
    done = retry(archive, FindingFilters())
    assert outcomes(done) == [("line 2", "kept"), ("line 4", "kept")]
    assert "no longer exists" in done.retried[0].reason
    assert set_aside(archive) == before


def test_what_breaks_off_is_kept(archive, session, monkeypatch):
    take_in(archive, session)
    before = set_aside(archive)

    def broken(*_):
        raise OSError("the disk is gone")

    monkeypatch.setattr("palaver.importers.claude_code.ClaudeCode.read", broken)
    done = retry(archive, FindingFilters())
    assert [(one.outcome, one.reason) for one in done.retried] == [("kept", "the disk is gone")] * 2
    assert set_aside(archive) == before


def test_only_the_sources_that_are_meant_are_read(archive, session):
    other = session.with_name("shed.jsonl")
    other.write_bytes(session.read_bytes().replace(b"0b5e", b"5hed"))
    take_in(archive, session, other)
    done = retry(archive, FindingFilters(sources=("shed.jsonl",)))
    assert {one.entry.source for one in done.retried} == {str(other)}
    assert [source.source for source in done.report.sources] == [str(other)]
    assert retry(archive, FindingFilters(codes=("nul-bytes",))).retried == []


def test_a_member_of_a_zip_is_found_again(archive, tmp_path, session):
    from zipfile import ZipFile

    with ZipFile(tmp_path.resolve() / "a!b.zip", "w") as whole:
        whole.write(session, "inside/garden.jsonl")
    take_in(archive, tmp_path.resolve() / "a!b.zip")
    done = retry(archive, FindingFilters())
    assert [outcome for _, outcome in outcomes(done)] == ["refused", "refused"]
    assert done.retried[0].entry.source.endswith("a!b.zip!inside/garden.jsonl")


LINES = st.lists(
    st.sampled_from([line(1, "When?"), line(2, "Then!"), b"no JSON", b'{"type": 7', b"[1]"]), min_size=1, max_size=6
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(first=LINES, second=st.none() | LINES)
def test_an_entry_is_read_refused_or_kept_and_told_so(tmp_path_factory, first, second):
    folder = tmp_path_factory.mktemp("law").resolve()
    archive, path = folder / "archive.db", folder / "garden.jsonl"
    path.write_bytes(b"\n".join([line(0, "First."), *first, b""]))
    take_in(archive, path)
    before = set_aside(archive)
    if second is None:
        path.unlink()
    else:
        path.write_bytes(b"\n".join([line(0, "First."), *second, b""]))
    done = retry(archive, FindingFilters())
    assert [one.entry for one in done.retried] == before
    after = {entry.number: entry for entry in set_aside(archive)}
    for one in done.retried:
        assert (one.entry.number in after) == (one.outcome != "read")
    assert after.keys() == {one.entry.number for one in done.retried if one.outcome != "read"} | {
        entry.number for entry in done.new
    }
    if second is None or second == first:
        assert list(after.values()) == before
