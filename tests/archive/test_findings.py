"""What was noticed and what was set aside, found by code, by source and by platform."""

from contextlib import closing

import pytest

from archiving import keep_folder
from importing import CHECKOUT
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.findings import FindingFilters, finding_groups, quarantine_entries, quarantine_entry
from palaver.archive.source_records import (
    QuarantinedRecord,
    SourceDescription,
    add_to_quarantine,
    ensure_source,
    reconcile_quarantine,
)
from palaver.errors import ArchiveError, OptionError

FIXTURES = CHECKOUT / "fixtures"


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("noticed") / "archive.db"
    for folder in ("claude_code/damage_bad_line_middle", "claude_code/damage_crlf", "chatgpt/plain_classic"):
        if (FIXTURES / folder).is_dir():
            keep_folder(FIXTURES / folder / "source", path)
    with closing(open_to_read(path)) as connection:
        yield connection


def test_findings_are_told_the_gravest_first(archive):
    found = finding_groups(archive, FindingFilters())
    order = [("error", "warning", "note").index(one.severity) for one in found]
    assert order == sorted(order)
    assert found[0].code == "bad-json"
    assert found[0].findings == sum(source.findings for source in found[0].sources) == 3
    assert [place.where for place in found[0].sources[0].places] == [
        "line 2, byte 376",
        "line 5, byte 1318",
        "line 6, byte 1469",
    ]


@pytest.mark.parametrize(
    ("sought", "count"),
    [
        (FindingFilters(codes=("bad-json",)), 3),
        (FindingFilters(codes=("bad-json", "nul-bytes")), 3),
        (FindingFilters(codes=("nul-bytes",)), 0),
        (FindingFilters(sources=(str(FIXTURES),)), 3),
        (FindingFilters(sources=(str(FIXTURES / "claude_code") + "/",)), 3),
        (FindingFilters(sources=("54752a38-abea-416f-8ee5-3f38bb2254e7.jsonl",)), 3),
        (FindingFilters(sources=("source/54752a38-abea-416f-8ee5-3f38bb2254e7.jsonl", "nowhere")), 3),
        (FindingFilters(sources=("2254e7.jsonl",)), 0),
        (FindingFilters(sources=(str(FIXTURES)[:-1],)), 0),
        (FindingFilters(sources=("%",)), 0),
        (FindingFilters(platforms=("claude_code",)), 3),
        (FindingFilters(platforms=("chatgpt",)), 0),
    ],
)
def test_entries_are_found_by_what_is_sought(archive, sought, count):
    assert len(list(quarantine_entries(archive, sought))) == count
    found = [one for one in finding_groups(archive, sought) if one.code == "bad-json"]
    assert sum(one.findings for one in found) == count


def test_an_entry_is_its_bytes(archive):
    [first, *_] = quarantine_entries(archive, FindingFilters())
    told, raw = quarantine_entry(archive, first.number)
    assert told == first
    assert len(raw) == told.size_bytes
    [file] = (FIXTURES / "claude_code" / "damage_bad_line_middle" / "source").glob("*.jsonl")
    assert raw in file.read_bytes()


def test_what_is_not_there_is_said(archive):
    with pytest.raises(ArchiveError, match="number 99"):
        quarantine_entry(archive, 99)
    with pytest.raises(OptionError, match="error, warning, note"):
        finding_groups(archive, FindingFilters(severities=("grave",)))


def test_what_is_refused_again_keeps_its_number(tmp_path):
    with closing(open_to_write(tmp_path / "archive.db")) as connection:
        key = ensure_source(connection, SourceDescription("toy", "a"))
        for place in ("line 1", "line 2", "line 2"):
            add_to_quarantine(connection, key, QuarantinedRecord(place, "bad-json", "", b"{"))
        before = [one.number for one in quarantine_entries(connection, FindingFilters())]
        for place in ("line 2", "line 2", "line 2", "line 3"):
            add_to_quarantine(connection, key, QuarantinedRecord(place, "bad-json", "", b"{"))
        reconcile_quarantine(connection, key, before[-1], is_whole=True)
        after = [(one.number, one.where) for one in quarantine_entries(connection, FindingFilters())]
        assert dict(after).keys() >= set(before)
        assert (before[1], "line 2") in after
        assert (before[2], "line 2") in after
        assert sorted(where for _, where in after) == ["line 2", "line 2", "line 2", "line 3"]


def test_nothing_leaves_when_reading_broke_off(tmp_path):
    with closing(open_to_write(tmp_path / "archive.db")) as connection:
        key = ensure_source(connection, SourceDescription("toy", "a"))
        for place in ("line 1", "line 2"):
            add_to_quarantine(connection, key, QuarantinedRecord(place, "bad-json", "", b"{"))
        add_to_quarantine(connection, key, QuarantinedRecord("line 1", "bad-json", "", b"{"))
        reconcile_quarantine(connection, key, 2, is_whole=False)
        assert [(one.number, one.where) for one in quarantine_entries(connection, FindingFilters())] == [
            (1, "line 1"),
            (2, "line 2"),
        ]
