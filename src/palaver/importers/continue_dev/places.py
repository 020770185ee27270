"""Where in a conversation something was said, for prompts that repeat it from the beginning."""

from bisect import bisect

from palaver.importers.continue_dev.content import plain_text, texts_in
from palaver.importers.continue_dev.dev_data import words_of
from palaver.model.build import JsonObject


class Places:
    """The messages by their words; the same words may have been said more than once."""

    def __init__(self, messages: list[JsonObject]) -> None:
        self._ids = [message["message_id"] for message in messages]
        self._of: dict[str, list[int]] = {}
        for place, message in enumerate(messages):
            content = message["content"]
            words = "\n".join(texts_in(content)) if message["role"] == "tool" else words_of(plain_text(content))
            if words := words.strip():
                self._of.setdefault(words, []).append(place)

    def after(self, place: int, text: str) -> tuple[int, str] | None:
        """The first message behind a place that says a text, by its place and its id."""
        found = self._of.get(text.strip(), ())
        number = bisect(found, place)
        return (found[number], self._ids[found[number]]) if number < len(found) else None
