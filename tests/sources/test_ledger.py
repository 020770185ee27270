import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.model.finding import KINDS, MAX_STORED_PER_CODE, Finding, FindingTally, finding_kind
from palaver.model.ledger import Counts, Ledger
from palaver.sources.damage import BAD_JSON
from palaver.sources.run import Quarantined, Run

COUNTS = st.integers(0, 50)
TALLIES = st.dictionaries(st.sampled_from(["one", "two", "three"]), st.integers(1, 50)).map(Counts)
LEDGERS = st.builds(Ledger, read=COUNTS, mapped=COUNTS, folded=TALLIES, skipped=TALLIES, quarantined=TALLIES)


@given(COUNTS, TALLIES, TALLIES, TALLIES)
def test_a_ledger_adds_up_when_every_record_has_one_disposition(mapped, folded, skipped, quarantined):
    total = mapped + folded.total() + skipped.total() + quarantined.total()
    assert Ledger(total, mapped, folded, skipped, quarantined).adds_up
    assert not Ledger(total + 1, mapped, folded, skipped, quarantined).adds_up


@given(LEDGERS, LEDGERS)
def test_adding_ledgers_adds_their_parts(one, other):
    read, accounted = one.read + other.read, one.accounted + other.accounted
    one.add(other)
    assert (one.read, one.accounted) == (read, accounted)


@given(LEDGERS)
def test_the_written_ledger_tells_the_rules_in_order(ledger):
    written = ledger.to_json()
    assert list(written) == ["read", "mapped", "folded", "skipped", "quarantined"]
    assert written["folded"] == ledger.folded.total()
    for part in ("skipped", "quarantined"):
        assert written[part] == getattr(ledger, part)
        assert list(written[part]) == sorted(written[part])


def test_a_run_keeps_the_ledger():
    aside = []
    run = Run("a.jsonl", quarantine=aside.append)
    run.read(10)
    run.mapped(4)
    run.folded("message", 3)
    run.skipped("progress", 2)
    run.quarantined(BAD_JSON, b"{", "line 1, byte 0", "Expecting value")
    assert run.ledger.adds_up
    assert run.ledger.to_json() == {
        "read": 10,
        "mapped": 4,
        "folded": 3,
        "skipped": {"progress": 2},
        "quarantined": {"bad-json": 1},
    }
    assert aside == [Quarantined("a.jsonl", "line 1, byte 0", "bad-json", "Expecting value", b"{")]
    assert run.findings.first == [
        Finding("bad-json", "error", "a.jsonl", "line 1, byte 0", "Expecting value", kept=False)
    ]


def test_a_finding_without_words_of_its_own_says_what_its_kind_means():
    run = Run("a.jsonl")
    run.note(BAD_JSON, "line 1, byte 0")
    assert run.findings.first[0].to_json() == {
        "code": "bad-json",
        "severity": "error",
        "source": "a.jsonl",
        "where": "line 1, byte 0",
        "message": BAD_JSON.meaning,
        "kept": True,
    }


def test_frequent_findings_are_counted_and_their_first_places_kept():
    tally = FindingTally()
    for number in range(1000):
        tally.add(Finding("often", "note", "a", f"line {number}", "", kept=True))
    tally.add(Finding("once", "note", "a", "line 5", "", kept=True))
    assert tally.counts == {"often": 1000, "once": 1}
    assert [finding.where for finding in tally.first] == [f"line {number}" for number in range(MAX_STORED_PER_CODE)] + [
        "line 5"
    ]


def test_a_kind_of_finding_is_declared_once():
    assert KINDS["bad-json"] is BAD_JSON
    with pytest.raises(ValueError, match="declared twice"):
        finding_kind("bad-json", "note", "Again.")
