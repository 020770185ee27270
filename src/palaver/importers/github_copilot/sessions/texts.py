"""A text of an answer, put together from fragments and from the references that stand between them."""

from palaver.importers.github_copilot.sessions.kept import says_nothing
from palaver.importers.github_copilot.sessions.uris import base_name, place_of
from palaver.model import build
from palaver.model.build import JsonObject

_LAYOUT = frozenset({"supportThemeIcons", "supportHtml", "supportAlertSyntax", "isTrusted"})


class Text:
    """The fragments up to the next part that is none."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._citations: list[JsonObject] = []
        self._fields: list[JsonObject] = []

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def add_markdown(self, content: JsonObject, beside: JsonObject | None = None) -> bool:
        """Add a fragment with what is said about it; False where the value is none."""
        text = content.get("value")
        if not isinstance(text, str):
            return False
        self.add(text)
        fields = {
            name: value
            for name, value in content.items()
            if name != "value"
            and (value or not says_nothing(value))
            and (not isinstance(value, bool) or name not in _LAYOUT)
        }
        if beside:
            fields = {**beside, **fields}
        if fields and self._fields[-1:] != [fields]:
            self._fields.append(fields)
        return True

    def add_reference(self, part: JsonObject) -> None:
        """Add the words for a file or symbol, so that the texts before and behind it do not run together."""
        start = self._length
        self.add(f"`{_words_for(part)}`")
        self._citations.append({"start": start, "end": self._length, **part})

    def mark(self, part: JsonObject) -> None:
        """Remember what stands at this place without any words."""
        self._citations.append({"start": self._length, "end": self._length, **part})

    def taken(self) -> JsonObject | None:
        """The block of what was added, if it was anything; the next text begins."""
        if not (self._pieces or self._citations):
            return None
        block = build.text("".join(self._pieces), citations=self._citations or None)
        if self._fields:
            block["source_fields"] = {"parts": self._fields}
        self.__init__()
        return block


def _words_for(part: JsonObject) -> str:
    if isinstance((name := part.get("name")), str) and name:
        return name
    match part.get("inlineReference"):
        case {"name": str(name)} if name:
            return name
        case str(address) if address:
            return base_name(address)
        case reference:
            path, _ = place_of(reference)
            return base_name(path) or path or "reference"
