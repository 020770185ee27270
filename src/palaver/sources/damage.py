"""Repairing a damaged JSON line: what can be read is read, what cannot is handed back.

This is the slow path: a line comes here only after the parser refused it.
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

BAD_JSON = finding_kind("bad-json", "error", "A record is not JSON and could not be repaired; its bytes are set aside.")
TOO_DEEP = finding_kind("too-deep", "error", "A record is nested too deeply to be read; its bytes are set aside.")
NOT_AN_OBJECT = finding_kind("not-an-object", "error", "A record is JSON but not an object; its bytes are set aside.")
NUL_BYTES = finding_kind("nul-bytes", "warning", "NUL bytes, left by a crash, were removed.")
BYTE_ORDER_MARK = finding_kind("byte-order-mark", "note", "A byte order mark was skipped.")
INVALID_UTF8 = finding_kind("invalid-utf8", "warning", "Bytes that are not UTF-8 were replaced by U+FFFD.")
LONE_SURROGATE = finding_kind("lone-surrogate", "warning", "Half of a surrogate pair was replaced by U+FFFD.")
BIG_INTEGER = finding_kind("big-integer", "warning", "An integer past 64 bits is kept as a string of its digits.")
NON_FINITE = finding_kind("non-finite-number", "warning", "NaN or an infinite number became null.")
JOINED_OBJECTS = finding_kind("joined-objects", "warning", "Several objects stood on one line; each was read.")
TORN_LINE = finding_kind("torn-line", "warning", "A whole object was found behind a torn one on the same line.")

_RESYNC_TRIES = 50
_MISSING = object()


@dataclass(slots=True)
class Repaired:
    """What a damaged line held: values that could be read, and pieces that could not, with their byte offsets."""

    values: list[Any] = field(default_factory=list[Any])
    remarks: list[tuple[FindingKind, str]] = field(default_factory=list[tuple[FindingKind, str]])
    torn: list[tuple[int, bytes, FindingKind, str]] = field(
        default_factory=list[tuple[int, bytes, FindingKind, str]],
    )


def repair(raw: bytes, *, goes_on: bool = False) -> Repaired:
    """Read what can be read of a line.

    Of a line that `goes_on` (its end is not written yet) only whole objects and arrays are: all else may be a part.
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
    if (value := _quick(clean)) is not _MISSING and not (goes_on and _is_scalar(value)):
        result.values.append(value)
        return result
    try:
        text = clean.decode()
    except UnicodeDecodeError as error:
        result.remarks.append((INVALID_UTF8, f"first at byte {_offset_in(raw, clean, error.start)} of the line"))
        text = clean.decode(errors="replace")
    reader = _Reader(text, goes_on=goes_on)
    reader.read()
    result.values = reader.values
    result.remarks += reader.remarks
    for start, end, kind, message in reader.torn:
        first = _offset_in(raw, clean, _bytes_before(clean, text, start))
        last = _offset_in(raw, clean, _bytes_before(clean, text, end))
        result.torn.append((first, raw[first:last], kind, message))
    return result


def is_big(value: Any) -> bool:
    """Whether a value is an integer past 64 bits, which few writers and readers of JSON keep."""
    return type(value) is int and not -(1 << 63) <= value < 1 << 64


def without_surrogates(value: Any) -> tuple[Any, int]:
    """Replace lone surrogates in every string of a JSON value, in place, without recursion; count the strings."""
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
                if not _encodes(item):
                    container[key] = _replace_surrogates(item)
                    replaced += 1
            elif isinstance(item, dict | list):
                stack.append(item)
    return holder[0], replaced


def _replace_in_keys(container: dict[str, Any]) -> int:
    broken = {key for key in container if not _encodes(key)}
    if broken:
        items = list(container.items())
        taken = container.keys() - broken
        container.clear()
        for key, item in items:
            if key in broken:
                key = _replace_surrogates(key)
                while key in taken:  # two broken keys may become the same one
                    key += "\ufffd"
                taken.add(key)
            container[key] = item
    return len(broken)


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _replace_surrogates(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _quick(raw: bytes) -> Any:
    try:
        return parse(raw)
    except NOT_JSON:
        return _MISSING


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


class _Reader:
    """Reads one text with the standard library, which accepts more and says where it stopped."""

    def __init__(self, text: str, *, goes_on: bool) -> None:
        self.values: list[Any] = []
        self.remarks: list[tuple[FindingKind, str]] = []
        self.torn: list[tuple[int, int, FindingKind, str]] = []
        self._text = text
        self._goes_on = goes_on
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
            # A number or a word has no end of its own: it counts only where the line's end is its end.
            if _is_scalar(value) and (self._goes_on or following < len(self._text)):
                position = self._tear(position, end, "neither an object nor an array")
                continue
            value, replaced = without_surrogates(value)
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
        """Set aside what cannot be read, up to where the line reads well again."""
        resumed = None if self._goes_on else self._resync(position, failed)
        end = len(self._text) if resumed is None else resumed
        self.torn.append((position, end, BAD_JSON, message))
        if resumed is not None:
            self.remarks.append((TORN_LINE, ""))
        return end

    def _resync(self, position: int, failed: int) -> int | None:
        """Find a later object from which on the line reads well to its end.

        What was glued to a torn object begins where reading failed, or a few characters before: its first quote
        closes a string. If the torn object ended in front of a value, reading fails only at the line's end; then an
        object counts if it begins as the torn one does, since it may just as well be a part of it.
        """
        text = self._text
        start = text.find('{"', max(position + 1, failed - _GLUED_WITHIN))
        while start >= 0:
            failure = self._failure(start)
            if failure is None:
                if start <= failed < len(text.rstrip()) or not _BEFORE_A_PART.search(
                    text, max(0, start - _GLUED_WITHIN), start
                ):
                    return start
                break
            failed = failure
            start = text.find('{"', max(start + 1, failed - _GLUED_WITHIN))
        if opening := _OPENING.match(text, position):
            start = position
            for _ in range(_RESYNC_TRIES):
                start = text.find(opening[0], start + 1)
                if start < 0:
                    break
                if self._failure(start) is None:
                    return start
        return None

    def _failure(self, position: int) -> int | None:
        """Where the text stops to read as objects, or None if they reach to its end."""
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
        while position < len(text) and text[position] in _BETWEEN_OBJECTS:
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
_BETWEEN_OBJECTS = " \t\r\n\ufeff"
_GLUED_WITHIN = 8
_OPENING = re.compile(r'\{"[^"\\]*"')
_BEFORE_A_PART = re.compile(r"[:,\[]\s*$")


def _bytes_before(clean: bytes, text: str, position: int) -> int:
    """How many bytes of a line stand before a character of its text, where several bytes may have become one."""
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
    """Where a byte of the cleaned line stands in the raw one; NUL bytes right before it are passed over."""
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
