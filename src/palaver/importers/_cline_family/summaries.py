"""Condensed and truncated histories: which messages the model does not see any more, and what stands for them.

Summaries of 2025 replaced messages for good; since then the messages stay and name the summary (`condenseParent`) or
the marker (`truncationParent`) that hides them. One that names nothing the file holds is visible again: its summary was
undone. Cline hides by position (`conversationHistoryDeletedRange`, both ends included).
"""

import re
from collections.abc import Iterable
from typing import Any

from palaver.model import build
from palaver.model.build import JsonObject

_IDS = re.compile(rb'"(?:condenseId|truncationId)"\s*:\s*"((?:[^"\\]|\\.)*)"')


def hiding_ids(records: Iterable[Any]) -> set[str]:
    """The ids of all summaries and markers among some records."""
    found: set[str] = set()
    for record in records:
        if isinstance(record, dict) and (record.get("isSummary") is True or record.get("isTruncationMarker") is True):
            found.update(name for key in ("condenseId", "truncationId") if isinstance((name := record.get(key)), str))
    return found


def hiding_ids_in(raw: bytes) -> set[str]:
    """The same for bytes of a file that is too large to be held; a text that speaks of such ids has them escaped."""
    return {name.decode(errors="replace") for name in _IDS.findall(raw)}


class Hidden:
    """Tells which messages the model does not see any more."""

    def __init__(self, ids: set[str], deleted: tuple[int, int] | None) -> None:
        self._ids = ids
        self._deleted = deleted
        self.may_hold = bool(ids) or deleted is not None
        self._covered: dict[str, list[str]] = {}

    def holds(self, index: int, record: JsonObject) -> bool:
        if self._deleted is not None and self._deleted[0] <= index <= self._deleted[1]:
            return True
        return bool(self._ids) and any(
            isinstance((name := record.get(key)), str) and name in self._ids
            for key in ("condenseParent", "truncationParent")
        )

    def cover(self, record: JsonObject, messages: list[JsonObject]) -> None:
        """Remember the messages of a record for the summary that hides it."""
        if isinstance((name := record.get("condenseParent")), str):
            self._covered.setdefault(name, []).extend([message["message_id"] for message in messages])

    def covered(self, record: JsonObject) -> list[str]:
        name = record.get("condenseId")
        return self._covered.get(name, []) if isinstance(name, str) else []


def deleted_range(*stated: Any) -> tuple[int, int] | None:
    """The range that reaches furthest: it grows, and not everything that states it is up to date."""
    found = [(one[0], one[1]) for one in stated if _is_range(one)]
    return max(found, key=lambda pair: pair[1], default=None)


def _is_range(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(type(end) is int for end in value)


def summary_of(message: JsonObject, record: JsonObject, covered: list[str]) -> JsonObject:
    """The entry of a summary among those of its conversation."""
    name = record.get("condenseId")
    texts = [block["text"] for block in message["content"] if block["type"] == "text"]
    spoken = [text for text in texts if not text.startswith(("<system-reminder>", "<environment_details>"))]
    return build.summary(
        summary_id=name if isinstance(name, str) and name else message["message_id"],
        type="automatic",
        text="\n\n".join(spoken or texts),
        timestamp=message["timestamp"],
        covers_messages=covered or None,
    )
