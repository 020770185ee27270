"""What an answer says, for the question whether the rounds that the extension noted say anything else."""

_MOST_MISSES = 200


class Said:
    """A text in which others are looked for, mostly in their order.

    Each one is looked for behind the one that was found before. A text in which very much is not found is not searched
    for ever: what is asked for then counts as not said.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._bare: str | None = None
        self._at = self._misses = 0

    def __contains__(self, text: object) -> bool:
        wanted = text.strip() if isinstance(text, str) else ""
        if not wanted:
            return True
        if self._misses >= _MOST_MISSES:
            return False
        if (at := self._text.find(wanted, self._at)) >= 0:
            self._at = at + len(wanted)
            return True
        self._misses += 1
        if self._bare is None:
            self._bare = _bare(self._text)
        return wanted in self._text or _bare(wanted) in self._bare


def _bare(text: str) -> str:
    """A text without spaces and backticks: a reference has others around it than the words it was made of."""
    return "".join(text.replace("`", " ").split())
