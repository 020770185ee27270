"""What is known of a row of the interface: whether the records of the API history around it say the same."""

import re
from typing import Any

from palaver.importers._tasks.known import Known, long_lines
from palaver.importers._tasks.ui_rows import LONG, REASONING, Row, images_of, texts_in

Json = dict[str, Any]

SUMS = frozenset({"deleted_api_reqs", "api_req_deleted", "subagent_usage"})
"""Rows with the sums of requests that stand nowhere else: they are numbers, and nothing else has them."""

_LOADING = "<environment_details>\nLoading...\n</environment_details>"
"""What is shown until the surroundings are known."""
_MENTION = re.compile(r"@\S+")
_NO_SPACE = re.compile(r"\S")
_NOT_OF = {"human": "assistant", "model": "user"}
"""By who made a row, the role of the records that cannot hold it."""


class Nearby:
    """The history around the turn whose rows are told."""

    def __init__(self) -> None:
        self.known = Known({})
        self.places: list[int] = []
        """Where a row may stand: what a tool gave stands behind the answer that called it."""
        self.answered: set[str] | None = None
        """The texts of the turn's answer, where it stands in the history: then it says the details of its calls."""

    def move_to(self, place: int) -> None:
        """Look around a record from now on; what lies further back is not asked for any more."""
        self.places = [place + 1, place, place - 1, place + 2]
        self.known.forget(place - 2)

    def begin_turn(self, answer: Json) -> None:
        self.answered = found = set[str]()
        for block in answer["content"]:
            kind = block["type"]
            if kind == "text" or kind == "thinking":  # noqa: PLR1714 - this is done for every block
                found.add(block[kind].strip())
            elif kind == "tool_use":
                found.update([value.strip() for value in block["input"].values() if type(value) is str])
        found.discard("")

    def end_turn(self) -> None:
        self.answered = None

    def is_answer(self, row: Row) -> bool:
        """Whether a row is one of the texts of the answer, and nothing else."""
        answered = self.answered
        return (
            answered is not None
            and row.value is None
            and row.speaker == "model"
            and row.text.strip() in answered
            and row.is_plain
        )

    def says(self, row: Row) -> bool:
        """Whether everything in a row stands in the history."""
        if row.kind in SUMS:
            return False
        if row.value is None and row.is_plain:
            return self._has(row.text, row)
        if not self.has_images(row):
            return False
        texts = row.texts()
        if row.speaker == "harness" and row.value is not None and not texts:
            return False
        rest = {} if row.is_plain else row.rest()
        if rest and (not row.text or not all(self.has_near(text) for text in texts_in(rest) if len(text) >= LONG)):
            return False
        return all(self._has(text, row) for text in texts)

    def has_images(self, row: Row) -> bool:
        return all(self.known.has(image["source"]["data"], self.places) for image in images_of(row))

    def _has(self, text: str, row: Row) -> bool:
        text = text.strip()
        is_detail = row.value is not None and len(text) < LONG and row.speaker != "harness"
        if not text or (is_detail and self.answered is not None):
            return True
        places = self._places_of(row)
        if row.speaker == "human" and "@" in text and self._has_mentioning(text, places):
            return True
        if row.speaker == "human" and len(text) < LONG:
            return self.known.has_words(text, places)
        if self.known.has(text, places):
            return True
        return row.kind != REASONING and self.known.has_lines(text, places)

    def _places_of(self, row: Row) -> list[int]:
        """The records around that may hold a row: nobody's words are found by chance in those of another."""
        role = _NOT_OF.get(row.speaker)
        if role is None:
            return self.places
        return [place for place in self.places if self.known.records.get(place, {}).get("role") != role]

    def has_near(self, text: str) -> bool:
        """Whether a text, or each of its long lines, stands in the records around."""
        text = text.strip()
        if (self.answered is not None and text in self.answered) or self.known.has(text, self.places):
            return True
        lines = long_lines(text) if "\n" in text else []
        return bool(lines) and all(self.known.has(line, self.places) for line in lines)

    def _has_mentioning(self, text: str, places: list[int]) -> bool:
        """The same for words that name files: the program writes these names in another way."""
        pieces = [piece.strip() for piece in _MENTION.split(text)]
        return any(pieces) and all(self.known.has(piece, places) for piece in pieces if piece)

    def says_request(self, asked: str, *, is_paired: bool) -> bool:
        """Whether what was sent stands in the history, block by block."""
        rest = asked.replace(_LOADING, "").strip()
        at = 0
        for place in self.places:
            record = self.known.records.get(place)
            if record is not None and record.get("role") == "user":
                for text in reversed(self.known.texts(place)):
                    if (text := text.strip()) and rest.startswith(text, at):
                        following = _NO_SPACE.search(rest, at + len(text))
                        at = following.start() if following else len(rest)
        rest = rest[at:]
        if not rest or self.known.has(rest, self.places) or self.known.has_lines(rest, self.places):
            return True
        return is_paired and not long_lines(rest)
