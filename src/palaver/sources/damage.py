"""Repair of damaged JSON lines: readable values are returned, and so are the pieces that are not readable.

This is the slow path, for lines that the parser rejected.
"""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

from palaver.model.finding import FindingKind, finding_kind
from palaver.sources.parse import NOT_JSON, parse

BOM = b"\xef\xbb\xbf"
SPACE = b" \t\r\n"

BAD_JSON = finding_kind("bad-json", "error", "A record is not JSON and could not be repaired; it is quarantined.")
TOO_DEEP = finding_kind("too-deep", "error", "A record is nested too deeply; it is quarantined.")
NOT_AN_OBJECT = finding_kind("not-an-object", "error", "A record is JSON but not an object; it is quarantined.")
NUL_BYTES = finding_kind("nul-bytes", "warning", "NUL bytes, left by a crash, were removed.")
BYTE_ORDER_MARK = finding_kind("byte-order-mark", "note", "A byte order mark was skipped.")
INVALID_UTF8 = finding_kind("invalid-utf8", "warning", "Invalid UTF-8 was replaced by U+FFFD.")
LONE_SURROGATE = finding_kind("lone-surrogate", "warning", "Half of a surrogate pair was replaced by U+FFFD.")
BIG_INTEGER = finding_kind("big-integer", "warning", "An integer beyond 64 bits is kept as a string.")
NON_FINITE = finding_kind("non-finite-number", "warning", "NaN or an infinite number became null.")
JOINED_OBJECTS = finding_kind("joined-objects", "warning", "Several objects on one line were all read.")
TORN_LINE = finding_kind("torn-line", "warning", "A complete object was found after a truncated one on the same line.")

_MAX_RESYNC_TRIES = 50
_MISSING = object()


@dataclass(slots=True)
class Repaired:
    """The contents of a damaged line: readable values, and unreadable pieces with their byte offsets."""

    values: list[Any] = field(default_factory=list[Any])
    remarks: list[tuple[FindingKind, str]] = field(default_factory=list[tuple[FindingKind, str]])
    torn: list[tuple[int, bytes, FindingKind, str]] = field(
        default_factory=list[tuple[int, bytes, FindingKind, str]],
    )


def repair(raw: bytes, *, is_incomplete: bool = False) -> Repaired:
    """Read what is readable in a line.

    In a line that `is_incomplete` (its end is not written yet), only complete objects and arrays count as values:
    anything else may be part of a longer value.
    """
    result = Repaired()
    clean = raw.translate(None, b"\0")
    if len(clean) < len(raw):
        result.remarks.append((NUL_BYTES, f"{len(raw) - len(clean)} NUL bytes"))
    if clean.startswith(BOM):
        result.remarks.append((BYTE_ORDER_MARK, ""))
        clean = clean.removeprefix(BOM)
    if not clean.strip(SPACE):
        return result
    if (value := _parse_or_missing(clean)) is not _MISSING and not (is_incomplete and _is_scalar(value)):
        result.values.append(value)
        return result
    try:
        text = clean.decode()
    except UnicodeDecodeError as error:
        result.remarks.append((INVALID_UTF8, f"first at byte {_offset_in(raw, clean, error.start)} of the line"))
        text = clean.decode(errors="replace")
    reader = _TolerantReader(text, is_incomplete=is_incomplete)
    reader.read()
    result.values = reader.values
    result.remarks += reader.remarks
    for start, end, kind, message in reader.torn:
        first = _offset_in(raw, clean, _bytes_before(clean, text, start))
        last = _offset_in(raw, clean, _bytes_before(clean, text, end))
        result.torn.append((first, raw[first:last], kind, message))
    return result


def is_big_integer(value: Any) -> bool:
    """Return whether a value is an integer past 64 bits, which few JSON libraries preserve."""
    return type(value) is int and not -(1 << 63) <= value < 1 << 64


def replace_lone_surrogates(value: Any) -> tuple[Any, int]:
    """Replace lone surrogates in all strings of a JSON value, in place; return the value and how many strings changed.

    Works without recursion, since the value may be nested deeply.
    """
    holder = [value]
    stack: list[Any] = [holder]
    replaced = 0
    while stack:
        container = stack.pop()
        if isinstance(container, dict):
            replaced += _replace_in_keys(container)
            pairs = list(container.items())
        else:
            pairs = list(enumerate(container))
        for key, item in pairs:
            if isinstance(item, str):
                if not _is_encodable(item):
                    container[key] = _replace_surrogates(item)
                    replaced += 1
            elif isinstance(item, dict | list):
                stack.append(item)
    return holder[0], replaced


def _replace_in_keys(container: dict[str, Any]) -> int:
    broken = {key for key in container if not _is_encodable(key)}
    if broken:
        items = list(container.items())
        used_keys = container.keys() - broken
        container.clear()
        for key, item in items:
            if key in broken:
                key = _replace_surrogates(key)
                while key in used_keys:  # two broken keys may become equal
                    key += "\ufffd"
                used_keys.add(key)
            container[key] = item
    return len(broken)


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _parse_or_missing(raw: bytes) -> Any:
    try:
        return parse(raw)
    except NOT_JSON:
        return _MISSING


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


class _TolerantReader:
    """A reader based on the standard library's decoder, which accepts more and reports where it stopped."""

    def __init__(self, text: str, *, is_incomplete: bool) -> None:
        self.values: list[Any] = []
        self.remarks: list[tuple[FindingKind, str]] = []
        self.torn: list[tuple[int, int, FindingKind, str]] = []
        self._text = text
        self._is_incomplete = is_incomplete
        self._big_integers = 0
        self._non_finite = 0
        self._decoder = json.JSONDecoder(
            parse_int=self._integer, parse_float=self._float, parse_constant=self._constant
        )

    def read(self) -> None:
        big_integers = non_finite = surrogates = 0
        position = self._skip_space(0)
        while position < len(self._text):
            self._big_integers = self._non_finite = 0
            try:
                value, end = self._decoder.raw_decode(self._text, position)
            except RecursionError:
                self.torn.append((position, len(self._text), TOO_DEEP, "nested too deeply"))
                break
            except json.JSONDecodeError as error:
                position = self._tear(position, error.pos, str(error))
                continue
            following = self._skip_space(end)
            # A number or a word has no end of its own: it counts only if it ends at the end of the line.
            if _is_scalar(value) and (self._is_incomplete or following < len(self._text)):
                position = self._tear(position, end, "neither an object nor an array")
                continue
            value, replaced = replace_lone_surrogates(value)
            self.values.append(value)
            surrogates += replaced
            big_integers += self._big_integers
            non_finite += self._non_finite
            position = following
        for kind, count, what in (
            (JOINED_OBJECTS, len(self.values) if len(self.values) > 1 else 0, "objects"),
            (LONE_SURROGATE, surrogates, "strings"),
            (BIG_INTEGER, big_integers, "integers"),
            (NON_FINITE, non_finite, "numbers"),
        ):
            if count:
                self.remarks.append((kind, f"{count} {what}"))

    def _tear(self, position: int, failed: int, message: str) -> int:
        """Record an unreadable piece, up to where the line is readable again, and return where it ends."""
        resumed = None if self._is_incomplete else self._resync(position, failed)
        end = len(self._text) if resumed is None else resumed
        self.torn.append((position, end, BAD_JSON, message))
        if resumed is not None:
            self.remarks.append((TORN_LINE, ""))
        return end

    def _resync(self, position: int, failed: int) -> int | None:
        """Find a later object from which the rest of the line is readable; None if there is none.

        An object glued to a torn one begins where reading failed, or a few characters before, since its first quote
        closes an open string. If the torn object ended just before a value, reading fails only at the end of the line.
        Then an object counts only if it begins like the torn one, since it may be part of it.
        """
        text = self._text
        start = text.find('{"', max(position + 1, failed - _GLUE_BYTES))
        while start >= 0:
            failure = self._failure(start)
            if failure is None:
                if start <= failed < len(text.rstrip()) or not _BEFORE_NESTED_VALUE.search(
                    text, max(0, start - _GLUE_BYTES), start
                ):
                    return start
                break
            failed = failure
            start = text.find('{"', max(start + 1, failed - _GLUE_BYTES))
        if opening := _OPENING.match(text, position):
            start = position
            for _ in range(_MAX_RESYNC_TRIES):
                start = text.find(opening[0], start + 1)
                if start < 0:
                    break
                if self._failure(start) is None:
                    return start
        return None

    def _failure(self, position: int) -> int | None:
        """Return where the text from a position stops being a sequence of objects; None if it never does."""
        while position < len(self._text):
            try:
                value, end = _PROBE.raw_decode(self._text, position)
            except RecursionError:
                return len(self._text)
            except json.JSONDecodeError as error:
                return error.pos
            if not isinstance(value, dict):
                return position
            position = self._skip_space(end)
        return None

    def _skip_space(self, position: int) -> int:
        text = self._text
        while position < len(text) and text[position] in _SEPARATORS:
            position += 1
        return position

    def _integer(self, digits: str) -> int | str:
        try:
            return int(digits)
        except ValueError:  # thousands of digits, which Python refuses to convert
            self._big_integers += 1
            return digits

    def _float(self, digits: str) -> float | None:
        number = float(digits)
        if math.isinf(number):
            self._non_finite += 1
            return None
        return number

    def _constant(self, _name: str) -> None:
        self._non_finite += 1


_PROBE = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_SEPARATORS = " \t\r\n\ufeff"
_GLUE_BYTES = 8
_OPENING = re.compile(r'\{"[^"\\]*"')
_BEFORE_NESTED_VALUE = re.compile(r"[:,\[]\s*$")


def _bytes_before(clean: bytes, text: str, position: int) -> int:
    """Return the number of bytes before a character of the decoded text, where U+FFFD may replace several bytes."""
    before = text[:position]
    if "\ufffd" not in before:
        return len(before.encode())
    escaped = clean.decode(errors="surrogateescape")
    shift = 0
    for run in _ESCAPED.finditer(escaped):
        if run.start() - shift >= position:
            break
        shift += len(run[0]) - len(run[0].encode(errors="surrogateescape").decode(errors="replace"))
    return len(escaped[: position + shift].encode(errors="surrogateescape"))


def _offset_in(raw: bytes, clean: bytes, offset: int) -> int:
    """Convert an offset in the cleaned line to one in the raw line, after any NUL bytes right before it."""
    nul_bytes = raw.count(0)
    offset += len(raw) - nul_bytes - len(clean)
    if nul_bytes:
        for run in _NUL_RUN.finditer(raw):
            if run.start() > offset:
                break
            offset += len(run[0])
    return offset


_ESCAPED = re.compile("[\udc80-\udcff]+")
_NUL_RUN = re.compile(rb"\0+")
