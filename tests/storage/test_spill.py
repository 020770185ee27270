"""Containers that outgrow memory: what is on disk is given back as if it had stayed."""

import tracemalloc
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.storage.spill import GroupSpill, QueueSpill, ValueSpill

LAW = settings(max_examples=100, deadline=None, derandomize=True, database=None)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()) | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@LAW
@given(st.lists(st.tuples(st.text(st.characters(), max_size=2), VALUES)), st.integers(0, 5_000))
def test_every_key_comes_once_with_its_values_in_order(entries, limit_bytes):
    expected: dict[str, list[object]] = defaultdict(list)
    with GroupSpill(limit_bytes) as spill:
        for key, value in entries:
            expected[key].append(value)
            spill.add(key, value, 100)
        found = list(spill.groups())
    assert len(found) == len(expected)
    assert dict(found) == expected
    assert [key for key, _ in found] == list(expected)


def test_more_keys_than_are_remembered_come_once_as_well(monkeypatch):
    monkeypatch.setattr("palaver.storage.spill._MAX_REMEMBERED_KEYS", 10)
    with GroupSpill(1_000) as spill:
        for number in range(300):
            spill.add(str(number % 100), number, 10)
        found = list(spill.groups())
    assert sorted(found) == sorted((str(key), [key, key + 100, key + 200]) for key in range(100))


def test_nothing_is_written_while_it_fits():
    with GroupSpill(1 << 20) as spill:
        spill.add("a", "x", 100)
        assert list(spill.groups()) == [("a", ["x"])]
        assert not spill.spilled_bytes


def test_memory_stays_within_the_limit_however_much_is_taken():
    """Ten times the limit, in many groups, and again in a few large ones, which are spread once more."""
    limit_bytes = 1 << 20
    for keys in (1_000, 40):
        tracemalloc.start()
        with GroupSpill(limit_bytes) as spill:
            for number in range(2_560):
                spill.add(f"key {number % keys}", f"{number:08}" * 512, 4_096)
            values = sum(len(group) for _, group in spill.groups())
            spilled = spill.spilled_bytes
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert values == 2_560
        assert spilled > 5 * limit_bytes
        assert peak < 3 * limit_bytes


def test_a_value_of_any_kind_is_given_back():
    odd = {"half": "\ud800", "large": 1 << 80, "bytes": b"\0", "tuple": (1, None)}
    with GroupSpill(0) as spill:
        spill.add("\udfff", odd, 10)
        assert list(spill.groups()) == [("\udfff", [odd])]


@pytest.mark.parametrize("limit_bytes", [0, 1 << 20])
def test_a_value_can_be_got_any_number_of_times_while_others_are_put(limit_bytes):
    with ValueSpill(limit_bytes) as spill:
        first = spill.put({"a": 1})
        second = spill.put(b"x" * 5_000)
        assert spill.get(first) == {"a": 1}
        third = spill.put([1, 2])
        assert [spill.get(offset) for offset in (third, second, first, second)] == [
            [1, 2],
            b"x" * 5_000,
            {"a": 1},
            b"x" * 5_000,
        ]


@pytest.mark.parametrize("limit_bytes", [0, 1 << 20])
def test_a_queue_gives_everything_in_order_and_takes_more(limit_bytes):
    with QueueSpill(limit_bytes) as queue:
        assert list(queue.take_all(2)) == []
        for number in range(5):
            queue.put(number)
        assert list(queue.take_all(2)) == [[0, 1], [2, 3], [4]]
        queue.put(5)
        assert list(queue.take_all(2)) == [[5]]
        assert list(queue.take_all(2)) == []
