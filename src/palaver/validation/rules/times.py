"""Rules about times: they exist, are plausible, and increase along the links of the conversation."""

from collections.abc import Iterator

from palaver.model.facts import Facts
from palaver.model.rules import Fault, in_schema, on_document
from palaver.model.timestamps import are_canonical, is_canonical, milliseconds_of

MISSING_TIMESTAMP = in_schema("missing-timestamp", "A message has no time.")

_EARLIEST = "2020-01-01"
"""No supported assistant existed before."""
_HOUR_LENGTH = 13
"""Characters of a timestamp up to its hour."""
_GAP_MS = 3_600_000


@on_document("future-timestamp", "warning")
def future_timestamp(facts: Facts) -> Iterator[Fault]:
    """A time is in the future."""
    now = facts.thread.now
    for name, time in _header_times(facts):
        if time > now:
            yield Fault((name,), f"{name} is in the future: {time}")
    if facts.times and max(facts.times) > now:
        for index, time in enumerate(facts.times):
            if time > now:
                yield Fault(("messages", index, "timestamp"), f"Message {index} has future timestamp")


@on_document("early-timestamp", "warning")
def early_timestamp(facts: Facts) -> Iterator[Fault]:
    """A time is before 2020, when no supported assistant existed."""
    for name, time in _header_times(facts):
        if time < _EARLIEST:
            yield Fault((name,), f"{name} is {time}, before {_EARLIEST}")
    if facts.times and min(facts.times) < _EARLIEST:
        for index, time in enumerate(facts.times):
            if time < _EARLIEST:
                yield Fault(("messages", index, "timestamp"), f"Message {index} is of {time}, before {_EARLIEST}")


@on_document("impossible-timestamp", "error")
def impossible_timestamp(facts: Facts) -> Iterator[Fault]:
    """A time does not exist, such as 30 February or 25 o'clock."""
    header = _header_times(facts)
    if are_canonical([time for _, time in header] + facts.times):
        return
    for name, time in header:
        if not is_canonical(time) and not are_canonical([time]):
            yield Fault((name,), f"{name} is {time}, which does not exist")
    for index, time in enumerate(facts.times):
        if not is_canonical(time) and not are_canonical([time]):
            yield Fault(("messages", index, "timestamp"), f"Message {index} is of {time}, which does not exist")


def _header_times(facts: Facts) -> list[tuple[str, str]]:
    """Return the times in the header, but only for the first fragment: the others repeat them."""
    if facts.thread.messages:
        return []
    return [(name, time) for name in ("created_at", "updated_at") if (time := facts.document.get(name))]


@on_document("backward-timestamp", "warning")
def backward_timestamp(facts: Facts) -> Iterator[Fault]:
    """A message is older than the message it follows: its parent, or else the one before it."""
    times = facts.times
    if facts.is_linear:
        if times and not facts.parents[0] and times[0] < facts.thread.last_time:
            yield _backward(0, times[0], facts.thread.last_time)
        if facts.is_sorted:
            return
    for index, before in enumerate(facts.predecessors):
        if before >= 0 and times[index] < times[before]:
            yield _backward(index, times[index], times[before])


def _backward(index: int, time: str, before: str) -> Fault:
    return Fault(
        ("messages", index, "timestamp"), f"Message {index} is of {time}, older than what it follows: {before}"
    )


@on_document("long-gap", "warning")
def long_gap(facts: Facts) -> Iterator[Fault]:
    """A model or tool answered more than an hour later."""
    times = facts.times
    if times and times[0][:_HOUR_LENGTH] == times[-1][:_HOUR_LENGTH] and facts.is_sorted:
        return
    hours = [time[:_HOUR_LENGTH] for time in times]
    for index, before in enumerate(facts.predecessors):
        if (
            before >= 0
            and hours[index] != hours[before]
            and _is_answer(facts, index)
            and (gap_ms := _gap_ms(times[before], times[index])) > _GAP_MS
        ):
            sentence = f"Message {index} came {gap_ms / _GAP_MS:,.1f} hours after what it follows"
            yield Fault(("messages", index, "timestamp"), sentence)


def _is_answer(facts: Facts, index: int) -> bool:
    if facts.metadata[index].get("author_kind") in {"human", "harness"}:
        return False
    return facts.roles[index] in {"assistant", "tool", "function"} or any(
        block["type"] == "tool_result" for block in facts.contents[index]
    )


def _gap_ms(earlier: str, later: str) -> int:
    try:
        return milliseconds_of(later) - milliseconds_of(earlier)
    except ValueError:  # one does not exist; `impossible-timestamp` reports it
        return 0


@on_document("inferred-timestamp", "note")
def inferred_timestamp(facts: Facts) -> Iterator[Fault]:
    """A message without a time got the nearest known time."""
    for index, metadata in enumerate(facts.metadata):
        if metadata.get("timestamp_inferred"):
            yield Fault(("messages", index, "timestamp"), f"Message {index} has an inferred timestamp")


RULES = (
    MISSING_TIMESTAMP,
    future_timestamp,
    early_timestamp,
    impossible_timestamp,
    backward_timestamp,
    long_gap,
    inferred_timestamp,
)
