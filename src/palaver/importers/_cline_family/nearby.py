"""What is known of a row of the interface: whether the records of the API history around it say the same."""

import re
from collections.abc import Collection
from itertools import chain

from palaver.importers._cline_family.known import Known, long_lines
from palaver.importers._cline_family.ui_rows import LONG, OF_PLAIN_ROWS, REASONING, Row, images_of, texts_in
from palaver.model.build import JsonObject

SUMS = frozenset({"deleted_api_reqs", "api_req_deleted", "subagent_usage"})
"""Rows with the sums of requests that stand nowhere else: they are numbers, and nothing else has them."""

_LOADING = "<environment_details>\nLoading...\n</environment_details>"
"""What is shown until the surroundings are known."""
_MENTION = re.compile(r"@\S+")
_NO_SPACE = re.compile(r"\S")
_FEW = 16
_FORGOTTEN = 8
"""So many records are forgotten at a time."""


class Nearby:
    """The history around the turn whose rows are told."""

    def __init__(self) -> None:
        self.known = Known({})
        self.places: list[int] = []
        """Where a row may stand: what a tool gave stands behind the answer that called it."""
        self._places_without: dict[str, list[int]] = {}
        """The same but for the records of a role."""
        self.answered: Collection[str] | None = None
        """The texts of the turn's answer, where it stands in the history: then it says the details of its calls."""

    def move_to(self, place: int) -> None:
        """Look around a record from now on; what lies further back is not asked for any more."""
        self.places = [place + 1, place, place - 1, place + 2]
        self._places_without = {}
        if not place % _FORGOTTEN:
            self.known.forget(place - 1)

    def begin_turn(self, answer: JsonObject) -> list[JsonObject]:
        """Note what an answer says; the calls in it are returned."""
        calls: list[JsonObject] = []
        found: list[str] = []
        for block in answer["content"]:
            kind = block["type"]
            if kind == "text" or kind == "thinking":  # noqa: PLR1714 - this is done for every block
                found.append(block[kind].strip())
            elif kind == "tool_use":
                calls.append(block)
                found += [value.strip() for value in block["input"].values() if isinstance(value, str)]
        # Comparing with a few texts, of other lengths mostly, takes less time than hashing them.
        self.answered = found if len(found) <= _FEW else set(found)
        return calls

    def end_turn(self) -> None:
        self.answered = None

    def is_answer(self, text: str, raw: JsonObject) -> bool:
        """Whether the text of a row is one of those of the answer, and the row is nothing else."""
        if not self.answered or not (text := text.strip()):
            return False
        return text in self.answered and OF_PLAIN_ROWS.issuperset(raw)

    def says_output(self, raws: list[JsonObject]) -> bool:
        """Whether what a command wrote, row by row, stands in the history as a whole."""
        if len(raws) < 2 or not OF_PLAIN_ROWS.issuperset(chain.from_iterable(raws)):
            return False
        texts = [raw.get("text") for raw in raws]
        return None not in texts and self.known.has("\n".join(map(str, texts)).strip(), self.places)

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
        speaker = row.speaker
        is_detail = row.value is not None and len(text) < LONG and speaker != "harness"
        if not text or (is_detail and self.answered is not None):
            return True
        if speaker == "human":
            return self._has_said(text)
        places = self._places_but("user") if speaker == "model" else self.places
        return self.known.has(text, places) or (row.kind != REASONING and self.known.has_lines(text, places))

    def _has_said(self, text: str) -> bool:
        """The same for a person's words."""
        places = self._places_but("assistant")
        if "@" in text and self._has_mentioning(text, places):
            return True
        if len(text) < LONG:
            return self.known.has_words(text, places)
        return self.known.has(text, places) or self.known.has_lines(text, places)

    def _places_but(self, role: str) -> list[int]:
        """The records around but for those of a role: nobody's words are found by chance in those of another."""
        found = self._places_without.get(role)
        if found is None:
            records = self.known.records
            found = [place for place in self.places if place not in records or records[place].get("role") != role]
            self._places_without[role] = found
        return found

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
        for place in reversed(self.places):
            if self._is_sent(asked, place):
                return True
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

    def _is_sent(self, asked: str, place: int) -> bool:
        """Whether a record is just what was sent, as the one before an answer mostly is."""
        try:
            record = self.known.records[place]
            return record["role"] == "user" and asked == "\n\n".join([block["text"] for block in record["content"]])
        except (KeyError, TypeError):
            return False
