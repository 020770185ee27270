"""Condensed and truncated histories: which messages the model no longer sees, and what replaced them.

In 2025, summaries replaced messages for good. Since then the messages stay and name the summary (`condenseParent`) or
the truncation marker (`truncationParent`) that hides them. A message that names one missing from the file is visible:
its summary was undone. Cline hides by position (`conversationHistoryDeletedRange`, both ends included).

Rows of the UI log add cost and savings to a summary or marker in the API history; they are matched by id, else by text.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from palaver.importers._cline_family.history_search import HistoryText
from palaver.importers._cline_family.requests import cost_of
from palaver.model import build
from palaver.model.build import JsonObject

_HIDING_ID = re.compile(rb'"(?:condenseId|truncationId)"\s*:\s*"((?:[^"\\]|\\.)*)"')


def hiding_ids(records: Iterable[Any]) -> set[str]:
    """Return the ids of all summaries and markers among the records."""
    found: set[str] = set()
    for record in records:
        if isinstance(record, dict) and (record.get("isSummary") is True or record.get("isTruncationMarker") is True):
            found.update(name for key in ("condenseId", "truncationId") if isinstance((name := record.get(key)), str))
    return found


def scan_hiding_ids(raw: bytes) -> set[str]:
    """Return the ids of summaries and markers in raw JSON, for a large file; quotes inside texts are escaped."""
    return {name.decode(errors="replace") for name in _HIDING_ID.findall(raw)}


class HiddenRecords:
    """The records that the model no longer sees, and the messages that each summary covers."""

    def __init__(self, ids: set[str], deleted: tuple[int, int] | None) -> None:
        self._ids = ids
        self._deleted = deleted
        self.has_any = bool(ids) or deleted is not None
        self._covered: dict[str, list[str]] = {}

    def contains(self, index: int, record: JsonObject) -> bool:
        if self._deleted is not None and self._deleted[0] <= index <= self._deleted[1]:
            return True
        return bool(self._ids) and any(
            isinstance((name := record.get(key)), str) and name in self._ids
            for key in ("condenseParent", "truncationParent")
        )

    def add_covered(self, record: JsonObject, messages: list[JsonObject]) -> None:
        """Add the messages of a record to those covered by the summary that hides it."""
        if isinstance((name := record.get("condenseParent")), str):
            self._covered.setdefault(name, []).extend([message["message_id"] for message in messages])

    def covered_ids(self, record: JsonObject) -> list[str]:
        name = record.get("condenseId")
        return self._covered.get(name, []) if isinstance(name, str) else []


def deleted_range(*stated: Any) -> tuple[int, int] | None:
    """Return the stated range that ends last: it only grows, and some of its copies are outdated."""
    found = [(value[0], value[1]) for value in stated if _is_range(value)]
    return max(found, key=lambda pair: pair[1], default=None)


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(end) is int for end in value)


def summary_of(message: JsonObject, record: JsonObject, covered: list[str]) -> JsonObject:
    """Return the entry in `summaries` for a summary message."""
    name = record.get("condenseId")
    texts = [block["text"] for block in message["content"] if block["type"] == "text"]
    summary_texts = [text for text in texts if not text.startswith(("<system-reminder>", "<environment_details>"))]
    return build.summary(
        summary_id=name if isinstance(name, str) and name else message["message_id"],
        type="automatic",
        text="\n\n".join(summary_texts or texts),
        timestamp=message["timestamp"],
        covers_messages=covered or None,
    )


MARKER_FIELDS = {"condense_context": "contextCondense", "sliding_window_truncation": "contextTruncation"}
"""Kinds of rows about summaries and markers, each with the field that holds the details."""


class _MarkerRow(NamedTuple):
    """Extract of a row, since the row itself may be dropped."""

    position: int
    keys: list[str]
    field: str
    details: Any


class MarkerRows:
    """Rows of the UI log about summaries and truncation markers, and the records they match."""

    def __init__(self) -> None:
        self._rows: list[_MarkerRow] = []
        self._row_of_record: dict[int, _MarkerRow] = {}
        """The matching row of each record, by index."""

    def add(self, position: int, kind: str, raw: JsonObject) -> None:
        field = MARKER_FIELDS[kind]
        self._rows.append(_MarkerRow(position, list(_row_keys(raw)), field, raw.get(field)))

    def match(self, history: HistoryText, consumed: set[int]) -> None:
        """Match rows to the records of the next portion; positions of matched rows are added to `consumed`."""
        rows_by_key: dict[str, list[_MarkerRow]] = {}
        for row in reversed(self._rows):
            if row.position not in consumed:
                for key in row.keys:
                    rows_by_key.setdefault(key, []).append(row)
        if not rows_by_key:
            return
        for index, record in history.records.items():
            is_marker = record.get("isSummary") is True or record.get("isTruncationMarker") is True
            if not is_marker or index in self._row_of_record:
                continue
            for key in _record_keys(history, index):
                found = rows_by_key.get(key, [])
                while found and found[-1].position in consumed:
                    found.pop()
                if found:
                    self._row_of_record[index] = found[-1]
                    consumed.add(found[-1].position)
                    break

    def annotate(self, index: int, message: JsonObject) -> None:
        """Add the details of the matching row (cost, savings) to the message of a summary or marker."""
        if (row := self._row_of_record.get(index)) is None or not isinstance((details := row.details), dict):
            return
        summary = details.get("summary")
        is_repeated = isinstance(summary, str) and any(
            summary.strip() in block.get("text", "") for block in message["content"]
        )
        message["metadata"][row.field] = {
            name: value for name, value in details.items() if not (is_repeated and name == "summary")
        }
        if cost := cost_of(details.get("cost")):
            message["cost"] = cost


def _row_keys(raw: JsonObject) -> Iterator[str]:
    """Yield the keys that identify the record of a row: its id and its text."""
    match raw:
        case {"contextCondense": dict(details)}:
            key, summary = "condenseId", details.get("summary")
        case {"contextTruncation": dict(details)}:
            key, summary = "truncationId", None
        case _:
            return
    if isinstance((name := details.get(key)), str):
        yield f"{key} {name}"
    if isinstance(summary, str) and summary.strip():
        yield summary.strip()


def _record_keys(history: HistoryText, index: int) -> Iterator[str]:
    """Yield the keys of a record: its id, and each text with and without its first line."""
    record = history.records[index]
    for key in ("condenseId", "truncationId"):
        if isinstance((name := record.get(key)), str):
            yield f"{key} {name}"
    for text in history.texts(index):
        yield text.strip()
        yield text.strip().partition("\n")[2].strip()
