"""File names of exported conversations: date, title and the beginning of the id.

They are valid on every system: only letters, digits and hyphens, never a reserved name, since a date comes first; short
enough; and different even where the file system ignores case.
"""

import re
import unicodedata
from hashlib import blake2b

from palaver.exporters._message_fields import author_kind
from palaver.model.build import JsonObject

_TITLE_LETTERS = 60
_TITLE_BYTES = 120
"""A file name may have 255 bytes, on some systems fewer."""
_APOSTROPHES = dict.fromkeys(map(ord, "'\u2019"))
_SHORT_ID = re.compile(r"(?:agent-)?[0-9A-Za-z_-]{1,8}")


class FileNames:
    """The names of the files of one folder."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self._taken: set[str] = set()

    def name_of(self, document: JsonObject) -> str:
        """Return a name that depends on the conversation alone, unless another conversation has it already."""
        platform, name = document["platform"]["name"], document["conversation_id"]
        title = slug(document.get("title") or "") or slug(first_prompt(document))
        parts = [document["created_at"][:10], title, _short_id(name)]
        stem = "-".join(part for part in parts if part)
        if stem.casefold() in self._taken:
            stem += "-" + blake2b(f"{platform}\n{name}".encode(errors="surrogatepass"), digest_size=6).hexdigest()
        self._taken.add(stem.casefold())
        return stem + self._suffix


def slug(text: str) -> str:
    """Join the first words of a text with hyphens; only letters and digits remain."""
    letters = unicodedata.normalize("NFC", text[: 8 * _TITLE_LETTERS]).translate(_APOSTROPHES)
    spaced = "".join(
        letter if letter.isalnum() or unicodedata.category(letter)[0] == "M" else " " for letter in letters
    )
    joined = ""
    for word in spaced.split():
        longer = f"{joined}-{word}" if joined else word
        if len(longer) > _TITLE_LETTERS or len(longer.encode()) > _TITLE_BYTES:
            return joined or word[: _TITLE_BYTES // 4]
        joined = longer
    return joined


def _short_id(conversation_id: str) -> str:
    """Return the beginning of an id, of an agent's id the part after the colon, as `palaver show` accepts it."""
    found = _SHORT_ID.match(conversation_id.rpartition(":")[2])
    return found[0].strip("-_") if found else ""


def first_prompt(document: JsonObject) -> str:
    """Return the first text that a person wrote; empty if there is none."""
    for message in document["messages"]:
        if message["role"] == "user" and author_kind(message) in {"human", ""}:
            for block in message["content"]:
                if block["type"] == "text" and block["text"].strip():
                    return block["text"]
    return ""
