"""What a conversation says, line by line, so that the same words in a prompt's log are known to be the same."""

from collections.abc import Iterable

_SEARCHED_LINES = 200
_SEARCHED_CHARACTERS = 1 << 28
"""How much is searched in all: many odd lines in a long conversation are news without a second look."""
_MARKS = (
    *("", "<system>", "<user>", "<assistant>", "<tool>", "<thinking>", "<think>", "</think>"),
    *("[object Object]", "```", "```tool", "END_ARG"),
)


class Heard:
    """The lines that were said, by their hashes: prompts repeat all of a conversation again and again."""

    def __init__(self) -> None:
        self._lines: set[int] = set(map(hash, _MARKS))
        self._texts: list[str] = []
        self._joined: str | None = None
        self._searchable = _SEARCHED_CHARACTERS

    def add(self, text: str) -> None:
        self._lines.update(map(hash, map(str.strip, text.split("\n"))))
        self._texts.append(text)
        self._joined = None

    def add_all(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.add(text)

    def forget_texts(self) -> None:
        """Keep the lines only: what was handed out need not stay in memory."""
        self._texts.clear()
        self._joined = None

    def has_news(self, text: str) -> bool:
        """Whether a text has a line that is not known as it stands: a quick look."""
        return not self._lines.issuperset(map(hash, map(str.strip, text.split("\n"))))

    def unheard(self, text: str, shortest: int = 1) -> list[str]:
        """The lines of a text that nobody said; a prompt that was too long is cut in the middle of one."""
        known = self._lines
        lines = map(str.strip, text.split("\n"))
        new = [line for line in lines if len(line) >= shortest and hash(line) not in known]
        if not new or len(new) > _SEARCHED_LINES or self._searchable < 0:
            return new
        if self._joined is None:
            self._joined = "\n".join(self._texts)
            self._searchable -= len(self._joined)
        self._searchable -= len(new) * len(self._joined)
        return [line for line in new if line not in self._joined]
