"""The order of groups in statistics, and the figure by which they are compared."""

from typing import Any

from palaver.archive.statistics import TIME_GROUPINGS, GroupBy, GroupKey, Statistics, Tally
from palaver.archive.usage_record_statistics import UsageGroupBy

Names = dict[GroupKey, tuple[str, str, str | None]]
"""Platform, id and title of conversations, by key."""


def in_order(found: Statistics, by: GroupBy | UsageGroupBy, names: Names) -> list[tuple[GroupKey, Tally]]:
    """Return times in order, everything else with the greatest first; of equal ones, the first by name."""
    if by in TIME_GROUPINGS:
        return sorted(found.groups.items(), key=lambda entry: (entry[0] is None, str(entry[0])))
    measure = greatest_measure(found)[1]

    def rank(entry: tuple[GroupKey, Tally]) -> tuple[float, float, str]:
        key, tally = entry
        return -measure(tally), -_size(tally), ":".join(names[key][:2]) if key in names else str(key)

    return sorted(found.groups.items(), key=rank)


def _size(tally: Tally) -> float:
    return tally.tokens.total() or tally.messages.total() or tally.tool_calls


def greatest_measure(found: Statistics) -> tuple[str, Any]:
    """Return what bars are drawn of: the first of cost, tokens, messages, calls and records that any group has."""
    groups = found.groups.values()
    if any(group.cost for group in groups):
        return "cost", lambda tally: float(tally.cost or 0)
    if any(group.answers for group in groups):
        return "tokens", lambda tally: tally.tokens.total()
    if any(group.messages for group in groups):
        return "messages", lambda tally: tally.messages.total()
    if any(group.tool_calls for group in groups):
        return "calls", lambda tally: tally.tool_calls
    return "records", lambda tally: tally.usage_records
