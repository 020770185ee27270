"""Numbers, sizes, times and places in words."""

import os
import re

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}
# Marks that turn the direction of writing: they make a line read as something that it is not.
_TURNING = {code: f"\\u{code:04x}" for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_ON_ONE_LINE = _CONTROL | _TURNING
# Where there is little to be found in much text, looking for it is far quicker than translating all of it.
_STEERING = re.compile("[" + "".join(re.escape(chr(code)) for code in _ON_ONE_LINE if chr(code) not in "\n\t") + "]")


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 line`, `1,234 lines`, `2 nodes with a message`."""
    return f"{number:,} {noun if number == 1 else plural(noun)}"


def plural(noun: str) -> str:
    head, space, rest = noun.partition(" ")
    head = f"{head[:-1]}ies" if head.endswith("y") and head[-2:-1] not in set("aeiou") else f"{head}s"
    return head + space + rest


def tallied(counts: dict[str, int]) -> str:
    """Counts by name, the most frequent first: `progress 120, file-history 14`."""
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


def place(path: str | os.PathLike[str]) -> str:
    """A path as people write it: the home folder is `~`."""
    text = os.fspath(path)
    if text == "-":
        return "standard input"
    home = os.path.expanduser("~").rstrip(os.sep)  # noqa: PTH111 - unlike `Path.home`, it never raises
    if home and (text == home or text.startswith(home + os.sep)):
        text = "~" + text[len(home) :]
    return plain(text)


def plain(text: str) -> str:
    """Text from outside on one line; what could steer a terminal is made visible instead."""
    return text.translate(_ON_ONE_LINE)


def visible(text: str) -> str:
    """Text from outside on its own lines; line ends and tabs stay what they are."""
    return _STEERING.sub(lambda found: _ON_ONE_LINE[ord(found[0])], text.replace("\r\n", "\n"))
