"""Five-hour blocks begin where ccusage begins them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.archive.usage_blocks import BlockIndex, usage_blocks


def at(text):
    return f"2026-03-{text}.000Z"


def starts(*times):
    return [block.start for block in usage_blocks(map(at, times))]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["05T10:30:00"], ["05T10:00:00"]),
        (["05T10:30:00", "05T14:59:59"], ["05T10:00:00"]),
        (["05T10:30:00", "05T15:00:00"], ["05T10:00:00"]),  # five hours are not more than five hours
        (["05T10:30:00", "05T15:00:01"], ["05T10:00:00", "05T15:00:00"]),
        (["05T10:00:00", "05T15:00:01", "05T19:00:00"], ["05T10:00:00", "05T15:00:00"]),
        (["05T10:10:00", "05T23:05:00"], ["05T10:00:00", "05T23:00:00"]),
        (["05T23:30:00", "06T01:00:00", "06T04:30:00"], ["05T23:00:00", "06T04:00:00"]),
        ([], []),
    ],
)
def test_a_block_begins_at_the_full_hour_and_lasts_five_hours(times, expected):
    assert starts(*times) == [at(time) for time in expected]
    assert starts(*times[::-1]) == [at(time) for time in expected]


def test_a_time_that_cannot_be_read_belongs_to_no_block():
    assert usage_blocks(["", "soon", "9999-12-31T23:30:00.000Z"]) == []


def test_a_block_is_active_until_it_ends_or_nothing_happens_for_five_hours():
    [block] = usage_blocks([at("05T10:30:00"), at("05T11:00:00")])
    noon = datetime(2026, 3, 5, 12, tzinfo=UTC)
    assert block.seconds_left(noon) == 3 * 3600
    assert block.seconds_left(noon + timedelta(hours=3)) == 0


@given(st.lists(st.integers(0, 100_000), min_size=1, max_size=40))
def test_every_answer_is_in_the_block_that_it_was_counted_in(minutes):
    times = sorted(
        f"{datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%S}.000Z" for minute in minutes
    )
    blocks = usage_blocks(times)
    index = BlockIndex(blocks)
    for block, later in zip(blocks, [*blocks[1:], None], strict=True):
        inside = [time for time in times if block.first <= time and (later is None or time < later.first)]
        assert {index.block_start(time) for time in inside} == {block.start}
        assert block.start <= inside[0] <= inside[-1] <= block.end


def test_a_prompt_just_before_a_block_belongs_to_it():
    index = BlockIndex(usage_blocks([at("05T10:00:10")]))
    assert index.block_start(at("05T09:59:50")) == at("05T10:00:00")
    assert index.block_start(at("04T09:59:50")) is None
    assert index.block_start(at("06T09:59:50")) is None
