"""Five-hour blocks of usage, as plans with a limit every five hours count it, and as ccusage shows it.

A block begins at the full hour (UTC) of its first answer and lasts five hours. The next answer begins a new block if it
came more than five hours after the block began, or more than five hours after the answer before it.

The status line imports this module: it needs nothing but the standard library.
"""

from bisect import bisect_right
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

BLOCK_HOURS = 5
_LENGTH = timedelta(hours=BLOCK_HOURS)


class Block(NamedTuple):
    """Times as in the schema."""

    start: str
    end: str
    first: str
    """The time of its first answer."""
    last: str

    def seconds_left(self, now: datetime) -> int:
        """Return how long the block still lasts; 0 if it is over, or if nothing was answered for five hours."""
        if now - _moment(self.last) >= _LENGTH:
            return 0
        return max(0, int((_moment(self.end) - now).total_seconds()))


def usage_blocks(times: Iterable[str]) -> list[Block]:
    """Return the blocks of answers at these times, in order; a time that cannot be read belongs to none."""
    found: list[Block] = []
    start = last = None
    for time in sorted(times):
        try:
            moment = _moment(time)
            if start is None or last is None or moment - start > _LENGTH or moment - last > _LENGTH:
                start = moment.replace(minute=0, second=0, microsecond=0)
                found.append(Block(_text(start), _text(start + _LENGTH), time, time))
        except (ValueError, OverflowError):
            continue
        last = moment
        found[-1] = found[-1]._replace(last=time)
    return found


def is_gap(before: str, after: str) -> bool:
    """Return whether so much time lies between two answers that the second begins a block, whatever came before."""
    try:
        return _moment(after) - _moment(before) > _LENGTH
    except ValueError:
        return False


class BlockIndex:
    """Finds the block of a time. A prompt shortly before the first answer of a block belongs to that block."""

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self._starts = [block.start for block in blocks]

    def block_start(self, time: str) -> str | None:
        """Return the start of the block that a time belongs to, or None if it is far from every block."""
        after = bisect_right(self._starts, time)
        if after:
            # A block includes its last instant: an answer then does not begin the next one.
            if after > 1 and self.blocks[after - 2].end == time == self._starts[after - 1]:
                return self._starts[after - 2]
            if time <= self.blocks[after - 1].end:
                return self._starts[after - 1]
        if after < len(self._starts) and not is_gap(time, self._starts[after]):
            return self._starts[after]
        return None


def _moment(time: str) -> datetime:
    return datetime.fromisoformat(time)


def _text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.000Z"
