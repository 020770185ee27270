import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.validation.judge import Level, Verdict
from palaver.validation.report import build_report, source_entry
from palaver.validation.tally import ReportedFinding, ReportTally, SourceTally, excerpt

KEPT = 3
DESCRIBED = (frozenset(), frozenset({"known"}))


def document(name, *kinds, platform="claude_code", version=None):
    content = [{"type": "opaque", "kind": kind, "raw": None} for kind in kinds]
    about = {"metadata": {"version": version, f"field_of_{name}": 1}} if version else {}
    message = {"message_id": "m", "role": "user", "timestamp": "2025-01-01T00:00:00.000Z", "content": content, **about}
    return {"conversation_id": name, "platform": {"name": platform, "version": "1.0"}, "messages": [message]}


def checked_sources():
    """Four sources, each with something of its own and something that others have too."""
    tallies = []
    for number in range(4):
        tally = SourceTally(f"source-{number}", "claude_code", 10 * number, max_examples=KEPT)
        tally.documents = tally.conversations = tally.messages = number + 1
        for time in range(number + 1):
            tally.add(ReportedFinding("long-gap", "warning", "rule", f"gap {time} of {number}"))
        severity = "error" if number == 2 else "warning"
        verdict = Verdict("missing-parent", severity, "rule", ("messages", 0), f"parent of {number}")
        read = document(f"c{number}", "known", "surprise", f"only-{number}", version="1.1" if number % 2 else None)
        tally.add_verdicts(read, [verdict], line=number + 1)
        tally.cover(read, lambda _: DESCRIBED)
        tally.failure = "it broke off" if number == 3 else ""
        tally.close()
        tallies.append(tally)
    return tallies


def merged(order):
    tallies = checked_sources()
    total = ReportTally(KEPT)
    for number in order:
        total.merge(number, tallies[number], source_entry(tallies[number], Level.STANDARD))
    told = build_report(
        total, subject="paths", level=Level.STANDARD, rules=[], refused=[], unclaimed=[], title=lambda name: name
    )
    return {**told, "generated_at": ""}


IN_ORDER = merged(range(4))


@given(st.permutations(range(4)))
def test_law_sources_may_come_in_any_order(order):
    assert merged(order) == IN_ORDER


def test_a_report_holds_the_first_examples_in_the_order_of_sources():
    parents, gaps, others = IN_ORDER["findings"]
    assert (gaps["code"], gaps["count"], gaps["sources"]) == ("long-gap", 10, 4)
    assert [one["message"] for one in gaps["examples"]] == ["gap 0 of 0", "gap 0 of 1", "gap 1 of 1"]
    assert (parents["code"], parents["severity"], parents["count"]) == ("missing-parent", "error", 1)
    assert [(one["source"], one["line"]) for one in parents["examples"]] == [("source-2", 3)]
    assert (others["code"], others["severity"], others["count"]) == ("missing-parent", "warning", 3)
    assert [one["source"] for one in others["examples"]] == ["source-0", "source-1", "source-3"]


def test_totals_are_sums_and_one_bad_source_makes_all_invalid():
    totals = IN_ORDER["totals"]
    assert [totals[name] for name in ("sources", "bytes", "documents", "conversations")] == [4, 60, 10, 10]
    assert totals["invalid_documents"] == 1
    assert [source["valid"] for source in IN_ORDER["sources"]] == [True, True, False, False]
    assert not IN_ORDER["valid"]


def test_findings_count_with_their_own_severity():
    assert IN_ORDER["totals"]["severities"] == {"error": 1, "warning": 13, "note": 0}
    for severity, count in IN_ORDER["totals"]["severities"].items():
        assert sum(group["count"] for group in IN_ORDER["findings"] if group["severity"] == severity) == count


def test_kinds_that_no_importer_knows_are_told_with_where_they_were_met_first():
    met = {(one["kind"], one["version"]): (one["count"], one["source"]) for one in IN_ORDER["drift"]}
    assert met["surprise", "1.0"] == (2, "source-0")
    assert met["surprise", "1.1"] == (2, "source-1")
    assert met["only-3", "1.1"] == (1, "source-3")
    assert not any(kind == "known" for kind, _ in met)


def test_examples_are_bounded_for_each_severity():
    tally = SourceTally("s", "ucs", max_examples=KEPT)
    severities = ["warning"] * 20 + ["error"] + ["warning"] * 20
    verdicts = [Verdict("missing-parent", one, "rule", ("messages",), "lost") for one in severities]
    tally.add_verdicts({}, verdicts)
    groups = {key.severity: (group.count, len(group.examples)) for key, group in tally.groups.items()}
    assert groups == {"warning": (40, KEPT), "error": (1, 1)}
    assert tally.invalid_documents == 1
    assert tally.fails(Level.STANDARD)


def test_without_examples_everything_is_still_counted():
    tally = SourceTally("s", "ucs", max_examples=0)
    tally.add_verdicts({}, [Verdict("long-gap", "warning", "rule", (), "late")] * 5)
    (group,) = tally.groups.values()
    assert (group.count, group.examples) == (5, [])


def test_a_finding_in_an_earlier_document_has_its_place_and_no_excerpt_of_this_one():
    tally = SourceTally("s", "ucs")
    here, there = (Verdict("missing-parent", "error", "rule", ("messages", 0), "lost", one) for one in (None, "line 2"))
    tally.add_verdicts({"conversation_id": "c", "messages": ["hello"]}, [here, there], line=7)
    (group,) = tally.groups.values()
    found = [(one.where, one.line, one.conversation_id, one.pointer, one.excerpt) for _, one in group.examples]
    assert found == [("", 7, "c", "/messages/0", "hello"), ("line 2", None, "c", "/messages/0", None)]


# -- excerpts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "path", "shown"),
    [
        ({"a": "one\n  two"}, ("a",), "one two"),
        ({"a": [{"b": True}]}, ("a", 0), '{"b":true}'),
        ({"a": "x" * 500}, ("a",), "x" * 160 + "…"),
        ({"a": None}, ("a",), "null"),
        ({"a": 2**70}, ("a",), str(2**70)),
        ({"a": {"b": "\ud800"}}, ("a",), r"{'b': '\ud800'}"),
        ({"messages": ["all"]}, ("messages",), None),
        ({"a": 1}, (), None),
        ({"a": 1}, ("b",), None),
        ({"a": [1]}, ("a", 1), None),
        ({"a": [1]}, ("a", -1), None),
        ({"a": [1]}, ("a", -2), None),
        ({"a": [1]}, ("a", "0"), None),
        ({"a": "text"}, ("a", 0), None),
        ({"a": 1}, ("a", "b", "c"), None),
    ],
)
def test_excerpts(value, path, shown):
    assert excerpt(value, path) == shown


keys = st.sampled_from(["a", "b", "messages", ""])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=10,
)


@given(json_values, st.lists(keys | st.integers(-3, 3) | st.booleans(), max_size=4).map(tuple))
def test_law_an_excerpt_is_short_and_on_one_line_wherever_the_path_leads(value, path):
    shown = excerpt(value, path)
    assert shown is None or (len(shown) <= 161 and len(shown.splitlines()) <= 1)


def test_a_report_can_be_written():
    assert json.loads(json.dumps(IN_ORDER)) == IN_ORDER
