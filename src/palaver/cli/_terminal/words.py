"""Numbers, sizes, times and paths as text, and foreign text made safe for a terminal."""

import os
import re
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from decimal import Decimal

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
# Bidirectional controls, which can make a line read as something else.
_BIDIRECTIONAL = {
    code: f"\\u{code:04x}" for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_ESCAPES = _CONTROL | _BIDIRECTIONAL
# A search is far quicker than a translation of long texts that hold little or nothing to escape.
_UNSAFE = re.compile("[" + "".join(re.escape(chr(code)) for code in _ESCAPES if chr(code) not in "\n\t") + "]")
_UNSAFE_IN_JSON = re.compile("[" + "".join(chr(code) for code in (*range(127, 160), *_BIDIRECTIONAL)) + "]")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 line`, `1,234 lines`, `2 nodes with a message`."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def usage_records(number: int) -> str:
    """Return `1 usage record` or `2 usage records`; `counted` pluralizes the first word."""
    return f"{number:,} usage {'record' if number == 1 else 'records'}"


def plural(noun: str) -> str:
    head, space, rest = noun.partition(" ")
    if head.endswith("y") and head[-2:-1] not in set("aeiou"):
        head = f"{head[:-1]}ie"
    elif head.endswith(("ch", "sh", "s", "x")):
        head = f"{head}e"
    return f"{head}s" + space + rest


def listed(names: list[str]) -> str:
    """Join names as in a sentence: "one, two and three"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def tallied(counts: dict[str, int]) -> str:
    """Return counts by name, the most frequent first: `progress 120, file-history 14`."""
    ordered = sorted(counts.items(), key=lambda count: (-count[1], count[0]))
    return ", ".join(f"{name} {number:,}" for name, number in ordered)


def size(size_bytes: float) -> str:
    if size_bytes < 1000:
        return counted(int(size_bytes), "byte")
    for unit in ("kB", "MB", "GB"):
        size_bytes /= 1000
        if size_bytes < 999.5:
            return f"{size_bytes:.{0 if size_bytes >= 99.5 else 1}f} {unit}"
    return f"{size_bytes / 1000:,.1f} TB"


def duration(seconds: float) -> str:
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"


def rate(size_bytes: int, seconds: float) -> str:
    return f"{size(size_bytes / max(seconds, 1e-9))}/s"


def display_path(path: str | os.PathLike[str]) -> str:
    """Return a path for people: with `~` for the home folder, escaped, `standard input` for `-`."""
    text = os.fspath(path)
    if text == "-":
        return "standard input"
    home = os.path.expanduser("~").rstrip(os.sep)  # noqa: PTH111 - unlike `Path.home`, it never raises
    if home and (text == home or text.startswith(home + os.sep)):
        text = "~" + text[len(home) :]
    return escaped_line(text)


def display_paths(sentence: str) -> str:
    """Return a sentence with `~` for the home folder in its paths, escaped."""
    home = os.path.expanduser("~").rstrip(os.sep)  # noqa: PTH111 - unlike `Path.home`, it never raises
    if home:
        sentence = re.sub(rf"(?<![^\s(]){re.escape(home + os.sep)}", lambda _: f"~{os.sep}", sentence)
    return escaped_line(sentence)


def escaped_line(text: str) -> str:
    """Escape all control and bidirectional characters, line ends and tabs included."""
    return text.translate(_ESCAPES)


def escaped_text(text: str) -> str:
    """Escape control and bidirectional characters but line ends and tabs."""
    return _UNSAFE.sub(lambda found: _ESCAPES[ord(found[0])], text.replace("\r\n", "\n"))


def escaped_json(text: str) -> str:
    """Escape what could control a terminal; the JSON keeps its meaning."""
    return _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def gist(text: str, longest: int = 200) -> str:
    """Return the start of a text on one line, escaped and with single spaces."""
    words = " ".join(text[: 8 * longest].split())
    return escaped_line(words if len(words) <= longest else f"{words[: longest - 1].rstrip()}…")


def short_number(number: int) -> str:
    """Return a number in a few characters: `999`, `1.2k`, `34k`, `5.6M`."""
    if number < 1000:
        return str(number)
    figure = float(number)
    for unit in ("k", "M", "G"):
        figure /= 1000
        if figure < 999.5:
            return f"{figure:.{0 if figure >= 9.95 else 1}f}{unit}"
    return f"{figure / 1000:,.0f}T"


def money(value: "Decimal | float", currency: str = "USD") -> str:
    """Return an amount: `$4.56`, `<$0.01`, `4.56 EUR`."""
    sign = "$" if currency == "USD" else ""
    unit = "" if currency == "USD" else f" {escaped_line(currency)}"
    if 0 < value * 100 < 1:
        return f"<{sign}0.01{unit}"
    return f"{sign}{value:,.2f}{unit}"


def local_time(timestamp: str) -> datetime | None:
    """Return a schema timestamp in this machine's time zone; None if datetime cannot represent it."""
    try:
        return datetime.fromisoformat(timestamp).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def time_ago(timestamp: str, now: datetime) -> str:
    """Return how long ago a time was, or its date if that is a week or more, or in the future."""
    moment = local_time(timestamp)
    if moment is None:
        return escaped_line(timestamp[:10])
    seconds = (now - moment).total_seconds()
    if seconds < 0 or seconds >= 7 * 86_400:
        return f"{moment:%Y-%m-%d}"
    if seconds < 60:
        return "now"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min ago"
    if seconds < 86_400:
        return f"{seconds // 3600:.0f} h ago"
    return f"{counted(int(seconds // 86_400), 'day')} ago"
