"""Facts about answers that formats share: which of several answers is the response, and when it was made.

The answer with the least index is the response, the others are its alternatives.
"""

from datetime import UTC, datetime
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses

_YEAR_10000 = 253_402_300_800


def is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def answer_order(answers: list[Any], field: str) -> list[int]:
    """Return the positions of the answers by index, and of what is no object at the end; empty if there is no answer.

    An answer without a usable index counts as having that of its position.
    """

    def rank(position: int) -> tuple[bool, int]:
        answer = answers[position]
        if not isinstance(answer, dict):
            return True, position
        index: Any = answer.get(field)
        return False, index if is_count(index) else position

    if not any(isinstance(answer, dict) for answer in answers):
        return []
    return sorted(range(len(answers)), key=rank)


def in_payload_order(answers: list[Any], order: Any) -> list[Any]:
    """Return answers at the positions that they had in the payload; unchanged if their number is another."""
    if not isinstance(order, list) or sorted(order) != list(range(len(answers))):
        return answers
    return [answers[order.index(position)] for position in range(len(answers))]


def drop_alternatives(response: JsonObject, losses: Losses, reason: str) -> None:
    """Report each alternative as a loss, for a format that has one answer."""
    for number, _ in enumerate(response.get("alternatives") or ()):
        losses.drop(f"/alternatives/{number}", reason)


def time_of_unix(seconds: Any) -> str | None:
    """Return the timestamp of seconds since 1970; None for 0, which stands for no time, and for what is no time."""
    if type(seconds) not in {int, float} or not 0 < seconds < _YEAR_10000:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def unix_of_time(time: str) -> int | float:
    """Return the seconds since 1970 of a timestamp, a whole number where it is one."""
    seconds = datetime.fromisoformat(time).timestamp()
    return int(seconds) if seconds.is_integer() else seconds
