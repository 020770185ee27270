"""Whatever is wrong with a record, what cook writes is valid, and a change in one place loses no text in another."""

import copy
import json
import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odd_records import ODD_RECORDS, RICH_RECORDS
from palaver.cook.builder import CookBuilder
from palaver.importers.api_trace.calls import call_from_log
from palaver.importers.api_trace.records import record_kind, trace_call
from palaver.threads.call import Call
from palaver.validation.rules.cooked import RULES, orphan_result
from palaver.validation.schema import is_valid

RECORDS = [*ODD_RECORDS, *RICH_RECORDS]
ODD_VALUES = [
    *(None, True, 0, -1, 5, 1 << 80, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "\0", [], {}, [None], [[1]]),
    *(["x"], [{}], {"type": []}, {"type": "text"}, {"a": 1}, {"type": "text", "text": "t"}, "[", '{"a":1}', "data:,x"),
]


def places(value, place=()):
    """Yield the path to every value inside a value."""
    if isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield (*place, name)
            yield from places(inner, (*place, name))


def changed(record, place, odd):
    record = copy.deepcopy(record)
    holder = record
    for name in place[:-1]:
        holder = holder[name]
    holder[place[-1]] = odd
    return record


def written(record, *, keeps_order=False):
    """Return the cooked JSON of a record, or None if the record tells of no call."""
    call = call_from_log(trace_call(record, "record"), lambda *_: None) if record_kind(record) == "trace" else ""
    if not isinstance(call, Call):
        return None
    builder = CookBuilder(keeps_order=keeps_order)
    for one in (call, *call.following):
        builder.add_call(one)
    return b"".join(builder.json_chunks()).decode()


changes = st.integers(0, len(RECORDS) - 1).flatmap(
    lambda number: st.tuples(
        st.just(RECORDS[number]), st.sampled_from(list(places(RECORDS[number]))), st.sampled_from(ODD_VALUES)
    )
)


@settings(deadline=None)
@given(changes, st.booleans())
def test_law_what_is_cooked_is_valid(change, keeps_order):
    text = written(changed(*change), keeps_order=keeps_order)
    if text is not None:
        made = json.loads(text, parse_constant=pytest.fail)
        assert is_valid(made, "cooked")
        rules = [rule for rule in RULES if rule is not orphan_result]  # the call may be what was changed
        assert [fault.message for rule in rules for fault in rule.check(made)] == []


WRITTEN_FIELDS = {"text", "thinking", "refusal", "transcript", "logs", "output", "reasoning_content"}


def with_marks(value, numbers, name=""):
    """Return a record in which every text that a person, a model or a tool wrote is unique."""
    if isinstance(value, dict):
        return {key: with_marks(inner, numbers, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_marks(inner, numbers) for inner in value]
    return f"mark {next(numbers)}." if isinstance(value, str) and name in WRITTEN_FIELDS else value


def marks(text):
    return set(re.findall(r"mark \d+\.", text))


MARKED = [with_marks(record, count()) for record in RICH_RECORDS]
inner_changes = st.sampled_from(MARKED).flatmap(
    lambda record: st.tuples(
        st.just(record), st.sampled_from([place for place in places(record) if place[1:]]), st.sampled_from(ODD_VALUES)
    )
)


@pytest.mark.parametrize("record", MARKED, ids=lambda record: record["id"])
def test_every_text_is_kept(record):
    assert marks(json.dumps(record)) == marks(written(record)) == marks(written(record, keeps_order=True))


@settings(deadline=None)
@given(inner_changes)
def test_law_a_change_in_one_place_loses_no_text_in_another(change):
    record = changed(*change)
    assert marks(json.dumps(record)) <= marks(written(record))
