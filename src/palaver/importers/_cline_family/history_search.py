"""Search for the text of UI rows in the API history, so that nothing is imported twice.

A text is first searched in the messages around its turn, which is cheap; only then are the long lines of all messages
collected, once. The total search effort is limited: beyond the limit only whole lines are found, and at worst a short
text is imported twice.
"""

import re
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import chain

from palaver.importers._cline_family.ui_rows import (
    LONG_TEXT,
    PLAIN_FIELDS,
    REASONING,
    Row,
    images_of,
    inner_texts,
    texts_in,
)
from palaver.importers._cline_family.user_text import is_sent_form, may_be_rewritten, split_by_author
from palaver.model.build import JsonObject

_SEPARATOR = "\n\0\n"
_INITIAL_BUDGET = 1 << 29
"""How many characters may be searched; each character of the history adds `_BUDGET_PER_CHARACTER`."""
_BUDGET_PER_CHARACTER = 256
_SEARCH_OVERHEAD = 64
"""Fixed cost of a search, in characters."""


class HistoryText:
    """The texts of some records of the API history, by index."""

    def __init__(self, records: dict[int, JsonObject]) -> None:
        self.records = records
        self._texts: dict[int, list[str]] = {}
        self._joined_texts: dict[int, str] = {}
        """All texts of a record, joined by `_SEPARATOR`."""
        self._joined_json_texts: dict[int, str] = {}
        """All texts inside JSON in the texts of a record, joined; parsed only if the plain texts have no match."""
        self._budget = _INITIAL_BUDGET

    def texts(self, index: int) -> list[str]:
        """Return all texts of a record, last first."""
        found = self._texts.get(index)
        if found is None:
            found = self._texts[index] = texts_in(self.records.get(index))
        return found

    def forget(self, before: int) -> None:
        """Drop the cached texts of records before an index."""
        for index in [index for index in self._texts if index < before]:
            del self._texts[index]
            self._joined_texts.pop(index, None)
            self._joined_json_texts.pop(index, None)

    def has(self, text: str, indexes: list[int]) -> bool:
        """Return whether one of these records contains the text verbatim."""
        for index in indexes:
            joined = self._joined_texts.get(index)
            if joined is None:
                joined = self._joined_texts[index] = self._join(self.texts(index))
            if self._is_in(joined, text):
                return True
        for index in indexes:
            joined = self._joined_json_texts.get(index)
            if joined is None:
                joined = self._joined_json_texts[index] = self._join(inner_texts(self.texts(index)))
            if joined and self._is_in(joined, text):
                return True
        return False

    def _join(self, texts: list[str]) -> str:
        if not texts:
            return ""
        joined = _SEPARATOR.join(["", *texts, ""])
        self._budget += _BUDGET_PER_CHARACTER * len(joined)
        return joined

    def _is_in(self, joined: str, text: str) -> bool:
        self._budget -= len(joined) + _SEARCH_OVERHEAD
        return self._budget >= 0 and text in joined

    def has_short_text(self, text: str, indexes: list[int]) -> bool:
        """Return whether a short text occurs as a whole: single words occur inside many results by chance."""
        candidates = (f">\n{text}\n<", f"{_SEPARATOR}{text}{_SEPARATOR}", f'"{text}"')
        return any(self.has(candidate, indexes) for candidate in candidates)

    def has_lines(self, text: str, indexes: list[int]) -> bool:
        """Return whether every long line of a text occurs somewhere; False if it has no long lines."""
        lines = long_lines(text)
        return bool(lines) and all(line in self._all_lines or self.has(line, indexes) for line in lines)

    def has_anywhere(self, text: str) -> bool:
        """Return whether a text equals one in the history, with or without wrapper, or each long line occurs."""
        return text.strip() in self._all_texts or self.has_lines(text, [])

    @cached_property
    def _all_lines(self) -> set[str]:
        return {line for text in self._iter_texts() if len(text) >= LONG_TEXT for line in long_lines(text)}

    @cached_property
    def _all_texts(self) -> set[str]:
        found: set[str] = set()
        for text in self._iter_texts():
            found.add(text.strip())
            if text.startswith("<"):
                found.add(text.partition(">\n")[2].partition("\n<")[0].strip())
        return found - {""}

    def _iter_texts(self) -> Iterator[str]:
        for index in self.records:
            texts = self.texts(index)
            yield from texts
            yield from inner_texts(texts)


def long_lines(text: str) -> list[str]:
    return [line for part in text.split("\n") if len(part) >= LONG_TEXT and len(line := part.strip()) >= LONG_TEXT]


USAGE_TOTALS = frozenset({"deleted_api_reqs", "api_req_deleted", "subagent_usage"})
"""Rows with the total usage of other requests, which is stated nowhere else."""

_LOADING = "<environment_details>\nLoading...\n</environment_details>"
"""Placeholder in the UI log until the environment is known."""
_NON_SPACE = re.compile(r"\S")
_FEW_TEXTS = 16
_FORGET_INTERVAL = 8
"""Cached texts are dropped every this many records."""


class HistoryWindow:
    """The records of the API history around the current turn."""

    def __init__(self) -> None:
        self.history = HistoryText({})
        self.indexes: list[int] = []
        """Records that may contain a row, in order of search; a tool result follows the answer that called the tool."""
        self._indexes_by_excluded_role: dict[str, list[int]] = {}
        """`indexes` without the records of a role."""
        self.answer_texts: Collection[str] | None = None
        """Texts of the answer of the turn, including the details of its calls; None if it has no answer."""

    def move_to(self, index: int) -> None:
        """Move the window to a record; earlier records are no longer searched."""
        self.indexes = [index + 1, index, index - 1, index + 2]
        self._indexes_by_excluded_role = {}
        if not index % _FORGET_INTERVAL:
            self.history.forget(index - 1)

    def begin_turn(self, answer: JsonObject) -> list[JsonObject]:
        """Set the texts of the answer; return its calls."""
        calls: list[JsonObject] = []
        found: list[str] = []
        for block in answer["content"]:
            kind = block["type"]
            if kind == "text" or kind == "thinking":  # noqa: PLR1714 - faster; runs for every block
                found.append(block[kind].strip())
            elif kind == "tool_use":
                calls.append(block)
                found += [value.strip() for value in block["input"].values() if isinstance(value, str)]
        # Comparing a few texts, mostly of different lengths, is faster than hashing them.
        self.answer_texts = found if len(found) <= _FEW_TEXTS else set(found)
        return calls

    def end_turn(self) -> None:
        self.answer_texts = None

    def is_answer(self, text: str, raw: JsonObject) -> bool:
        """Return whether the row holds nothing but a text of the answer."""
        if not self.answer_texts or not (text := text.strip()):
            return False
        return text in self.answer_texts and PLAIN_FIELDS.issuperset(raw)

    def has_command_output(self, raws: list[JsonObject]) -> bool:
        """Return whether the joined output of a command occurs in the history."""
        if len(raws) < 2 or not PLAIN_FIELDS.issuperset(chain.from_iterable(raws)):
            return False
        texts = [raw.get("text") for raw in raws]
        return None not in texts and self.history.has("\n".join(map(str, texts)).strip(), self.indexes)

    def has_row(self, row: Row) -> bool:
        """Return whether everything in a row occurs in the history."""
        if row.kind in USAGE_TOTALS:
            return False
        if row.value is None and row.is_plain:
            return self._has(row.text, row)
        if not self.has_images(row):
            return False
        texts = row.texts()
        if row.speaker == "harness" and row.value is not None and not texts:
            return False
        rest = {} if row.is_plain else row.rest()
        if rest and (not row.text or not all(self.has_text(text) for text in texts_in(rest) if len(text) >= LONG_TEXT)):
            return False
        return all(self._has(text, row) for text in texts)

    def has_images(self, row: Row) -> bool:
        return all(self.history.has(image["source"]["data"], self.indexes) for image in images_of(row))

    def _has(self, text: str, row: Row) -> bool:
        text = text.strip()
        speaker = row.speaker
        is_detail = row.value is not None and len(text) < LONG_TEXT and speaker != "harness"
        if not text or (is_detail and self.answer_texts is not None):
            return True
        if speaker == "human":
            return self._has_human_text(text)
        indexes = self._indexes_without_role("user") if speaker == "model" else self.indexes
        return self.history.has(text, indexes) or (row.kind != REASONING and self.history.has_lines(text, indexes))

    def _has_human_text(self, text: str) -> bool:
        indexes = self._indexes_without_role("assistant")
        if may_be_rewritten(text) and any(is_sent_form(sent.strip(), text) for sent in self._human_texts(indexes)):
            return True
        if len(text) < LONG_TEXT:
            return self.history.has_short_text(text, indexes)
        return self.history.has(text, indexes) or self.history.has_lines(text, indexes)

    def _indexes_without_role(self, role: str) -> list[int]:
        """Return the window without the records of a role, to avoid chance matches in another author's text."""
        found = self._indexes_by_excluded_role.get(role)
        if found is None:
            records = self.history.records
            found = [index for index in self.indexes if index not in records or records[index].get("role") != role]
            self._indexes_by_excluded_role[role] = found
        return found

    def has_text(self, text: str) -> bool:
        """Return whether the window contains a text, or each of its long lines."""
        text = text.strip()
        if (self.answer_texts is not None and text in self.answer_texts) or self.history.has(text, self.indexes):
            return True
        lines = long_lines(text) if "\n" in text else []
        return bool(lines) and all(self.history.has(line, self.indexes) for line in lines)

    def is_rewritten(self, text: str) -> bool:
        """Return whether the history does not hold a text of the user as it was typed."""
        return may_be_rewritten(text) and not self.history.has(text.strip(), self._indexes_without_role("assistant"))

    def _human_texts(self, indexes: list[int]) -> Iterator[str]:
        """Yield what the user wrote in some records."""
        for index in indexes:
            for text in self.history.texts(index):
                parts = split_by_author(text, is_wrapped_elsewhere=False)
                yield from (part.text for part in parts if part.author == "human")

    def has_request(self, prompt: str, *, is_paired: bool) -> bool:
        """Return whether the prompt of a request occurs in the history, block by block."""
        for index in reversed(self.indexes):
            if self._is_prompt(prompt, index):
                return True
        rest = prompt.replace(_LOADING, "").strip()
        at = 0
        for index in self.indexes:
            record = self.history.records.get(index)
            if record is not None and record.get("role") == "user":
                for text in reversed(self.history.texts(index)):
                    if (text := text.strip()) and rest.startswith(text, at):
                        following = _NON_SPACE.search(rest, at + len(text))
                        at = following.start() if following else len(rest)
        rest = rest[at:]
        if not rest or self.history.has(rest, self.indexes) or self.history.has_lines(rest, self.indexes):
            return True
        return is_paired and not long_lines(rest)

    def _is_prompt(self, prompt: str, index: int) -> bool:
        """Return whether a record is exactly this prompt, as is usual for the record before an answer."""
        try:
            record = self.history.records[index]
            return record["role"] == "user" and prompt == "\n\n".join([block["text"] for block in record["content"]])
        except (KeyError, TypeError):
            return False
