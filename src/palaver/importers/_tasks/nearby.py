"""What is known of a row of the interface: whether the records of the API history around it say the same."""

import re

from palaver.importers._tasks.known import Known, long_lines, texts_in
from palaver.importers._tasks.ui_rows import LONG, REASONING, Row, images_of

DELETED = frozenset({"deleted_api_reqs", "api_req_deleted"})
"""Rows with the sums of requests that are gone: they are numbers, and nothing else has them."""

_LOADING = "<environment_details>\nLoading...\n</environment_details>"
"""What is shown until the surroundings are known."""
_MENTION = re.compile(r"@\S+")


class Nearby:
    """The history around the turn whose rows are told."""

    def __init__(self) -> None:
        self.known = Known({})
        self.places: list[int] = []
        self.has_answer = False
        """Whether the turn's answer stands in the history: then it says the details of its calls."""

    def is_summary_of(self, row: Row, place: int) -> bool:
        """Whether a row holds the words of a summary in the history."""
        match row.raw.get("contextCondense"):
            case {"summary": str(words)} if words.strip():
                return self.known.has(words.strip(), [place])
            case _:
                return False

    def says(self, row: Row) -> bool:
        """Whether everything in a row stands in the history."""
        if row.kind in DELETED or not all(
            self.known.has(image["source"]["data"], self.places) for image in images_of(row)
        ):
            return False
        texts = texts_in(row.value) if row.value is not None else [row.text]
        if type(thought := row.raw.get("reasoning")) is str:
            texts.append(thought)
        return all(self._has(text, row) for text in texts) and not (row.rest() and not row.text)

    def _has(self, text: str, row: Row) -> bool:
        text = text.strip()
        is_detail = row.value is not None and len(text) < LONG
        if not text or (is_detail and (row.speaker == "harness" or self.has_answer)):
            return True
        if row.speaker == "human" and "@" in text and self._has_mentioning(text):
            return True
        if row.speaker == "human" and len(text) < LONG:
            return self.known.has_words(text, self.places)
        if self.known.has(text, self.places):
            return True
        return row.kind != REASONING and self.known.has_lines(text, self.places)

    def has_near(self, text: str) -> bool:
        """Whether a text, or each of its long lines, stands in the records around."""
        if self.known.has(text.strip(), self.places):
            return True
        return "\n" in text and all(self.known.has(line, self.places) for line in long_lines(text))

    def _has_mentioning(self, text: str) -> bool:
        """The same for words that name files: the program writes these names in another way."""
        pieces = [piece.strip() for piece in _MENTION.split(text)]
        return any(pieces) and all(self.known.has(piece, self.places) for piece in pieces if piece)

    def says_request(self, asked: str, *, is_paired: bool) -> bool:
        """Whether what was sent stands in the history, block by block."""
        rest = asked.replace(_LOADING, "").strip()
        for place in self.places:
            record = self.known.records.get(place)
            if record is not None and record.get("role") == "user":
                for text in reversed(self.known.texts(place)):
                    if (text := text.strip()) and rest.startswith(text):
                        rest = rest[len(text) :].strip()
        if not rest or self.known.has(rest, self.places) or self.known.has_lines(rest, self.places):
            return True
        return is_paired and not long_lines(rest)
