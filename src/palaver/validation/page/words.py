"""Numbers, sizes, shares, times and paths, in words for a reader."""

from datetime import datetime

_PATH_WIDTH = 80


def number(count: int) -> str:
    return f"{count:,}"


def counted(count: int, thing: str, things: str | None = None) -> str:
    """`1 source`, `1,200 sources`."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def size(count: int) -> str:
    """Bytes in the unit in which they are easiest to compare."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5:
            return f"{amount:.{0 if amount >= 99.5 else 1}f} {unit}"
    return f"{amount / 1000:,.1f} TB"


def percent(share: float) -> str:
    """A share from 0 to 1: all and nothing are said only of all and nothing."""
    if share <= 0:
        return "0%"
    if share < 0.001:
        return "<0.1%"
    if 0.999 < share < 1:
        return ">99.9%"
    tenths = f"{share * 100:.1f}"
    return f"{tenths.removesuffix('.0')}%"


def shortened(path: str, width: int = _PATH_WIDTH) -> str:
    """The end of a long path, from a separator on where there is one: its end tells paths apart."""
    if len(path) <= width:
        return path
    end = path[1 - width :]
    cuts = [place for place in (end.find("/"), end.find("\\"), end.find("!")) if place >= 0]
    return f"…{end[min(cuts) :] if cuts and min(cuts) < width // 2 else end}"


def moment(time: str) -> str:
    """A UTC time as a date and the minute; as it stands where it is no time."""
    try:
        read = datetime.fromisoformat(time)
    except ValueError:
        return time
    return f"{read.day} {read:%B %Y}, {read:%H:%M} UTC"
