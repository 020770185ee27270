"""What events say of a completion under which names: the words, the file, the cursor, the model, the editor."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

from palaver.importers.github_copilot.completions.inner import loaded
from palaver.model.build import JsonObject

REQUEST_IDS = ("headerRequestId", "clientCompletionId", "opportunityId")
FILES = ("file", "filePath", "file_path", "fileUri", "documentUri", "uri", "relativePath", "path", "fileName")
LANGUAGES = ("languageId", "language", "detectedLanguageId")
MODELS = ("engineName", "model", "modelId", "engine")
VERSIONS = ("extensionVersion", "common_extversion", "copilot_version", "editor_plugin_version", "ai.application.ver")
EDITORS = ("editor", "ide", "editor_version", "common_vscodeversion", "editorName")
SYSTEMS = ("common_os", "os")
CHOICES = ("originalChoiceIndex", "choiceIndex", "completionIndex", "completion_index")
COMPLETIONS = ("completionTextJson", "completionText", "completion", "insertText", "displayText")
CURSORS = ("cursor", "cursorPosition", "position")
LINES = ("cursorLine", "lineNumber")
COLUMNS = ("cursorColumn", "column", "character")
ENVIRONMENT = (
    *("ai.application.ver", "ai.internal.sdkVersion", "common_arch", "common_extname", "common_extversion"),
    *("common_os", "common_platformversion", "common_vscodeversion", "copilot_version", "editor", "editorName"),
    *("editor_plugin_version", "editor_version", "extensionVersion", "ide", "os", "runtime_version", "sku"),
)
"""What stays the same for long, and belongs to the conversation."""
DURATIONS = ("timeToProduceMs", "requestTimeMs")
_PROMPTS = ("promptJson", "promptContext", "prompt", "promptPrefix", "prefix")
_SUFFIXES = ("promptSuffixJson", "promptSuffix", "suffix")
_MOST_PARTS = 99
_MAPPED = frozenset(
    {
        *(*REQUEST_IDS, *FILES, *LANGUAGES, *MODELS, *CURSORS, *LINES, *COLUMNS, *CHOICES, *ENVIRONMENT, "accepted"),
    }
)
"""Facts that have a place of their own, as far as the first event that has them is concerned."""


@dataclass(slots=True)
class Words:
    parts: list[tuple[str, str]]
    """What each is, and the text."""
    names: frozenset[str]
    """Of the facts that they were found in."""


_NO_WORDS = Words([], frozenset())


def first_of(places: list[JsonObject]) -> JsonObject:
    """What is first said under every name."""
    first = places[-1].copy() if places else {}
    for place in places[-2::-1]:
        first |= place
    return first


class Names(NamedTuple):
    """Of the names under which something is said, those that say what is asked for, in the order of preference.

    Events are much alike: what the names mean is found out once for all that have the same.
    """

    files: tuple[str, ...]
    languages: tuple[str, ...]
    models: tuple[str, ...]
    versions: tuple[str, ...]
    editors: tuple[str, ...]
    systems: tuple[str, ...]
    completions: tuple[str, ...]
    prompts: tuple[str, ...]
    suffixes: tuple[str, ...]
    choices: tuple[str, ...]
    durations: tuple[str, ...]
    environment: tuple[str, ...]
    mapped: tuple[str, ...]
    of_cursors: tuple[str, ...]


@lru_cache(1 << 10)
def names_in(names: tuple[str, ...]) -> Names:
    asked = (
        *(FILES, LANGUAGES, MODELS, VERSIONS, EDITORS, SYSTEMS, COMPLETIONS, _PROMPTS, _SUFFIXES, CHOICES, DURATIONS),
        *(ENVIRONMENT, tuple(name for name in names if name in _MAPPED), CURSORS + LINES),
    )
    return Names(*(tuple(name for name in some if name in names) for some in asked))


class Said:
    """What several events say: of every name, what the first of them has there."""

    __slots__ = ("first", "names", "places")

    def __init__(self, places: list[JsonObject]) -> None:
        self.places = places
        self.first = first_of(places)
        self.names = names_in(tuple(self.first))

    def text(self, names: tuple[str, ...]) -> str:
        """The first text under one of these names."""
        return self._found(names)[1] if names else ""

    def whole(self, names: tuple[str, ...]) -> tuple[str, list[str]]:
        """The first text with its parts, and their names: what is too long for one property is spread over several."""
        name, text = self._found(names)
        if not name:
            return "", []
        if f"{name}_02" not in self.first:
            return text, [name]
        place = next(place for place in self.places if place.get(name) == text)
        found = [name]
        parts = [text]
        for number in range(2, _MOST_PARTS):
            more = place.get(f"{name}_{number:02}")
            if not isinstance(more, str):
                break
            found.append(f"{name}_{number:02}")
            parts.append(more)
        return "".join(parts), found

    def _found(self, names: tuple[str, ...]) -> tuple[str, str]:
        """The first of some names that are here under which a text stands that is not empty, and the text."""
        for name in names:
            text = self.first[name]
            if isinstance(text, str) and text:
                return name, text
            for place in self.places:
                text = place.get(name)
                if isinstance(text, str) and text:
                    return name, text
        return "", ""


def prompt_of(said: Said) -> Words:
    """What the engine was given."""
    if not (said.names.prompts or said.names.suffixes):
        return _NO_WORDS
    parts: list[tuple[str, str]] = []
    found: list[str] = []
    for kind, known in (("prefix", said.names.prompts), ("suffix", said.names.suffixes)):
        text, names = said.whole(known)
        if text:
            parts += _prompt_parts(kind, loaded(text) if names[0].endswith("Json") else text, text)
            found += names
    return Words([part for part in parts if part[1]], frozenset(found))


def completion_of(said: Said) -> Words:
    """What was suggested."""
    text, names = said.whole(said.names.completions)
    if not text:
        return _NO_WORDS
    value = loaded(text) if names[0].endswith("Json") else text
    return Words([("completion", value if isinstance(value, str) else text)], frozenset(names))


def cursor_of(said: Said) -> tuple[JsonObject | None, int | None]:
    """Where the cursor was, as it is told; and in which line, counted from 1."""
    for place in said.places if said.names.of_cursors else ():
        for name in CURSORS:
            match place.get(name):
                case {"line": line} as cursor:
                    number = whole(line)
                    return cast("JsonObject", cursor), None if number is None else number + 1
                case _:
                    pass
        for name in LINES:
            number = whole(place.get(name))
            if number:
                columns = {key: place[key] for key in COLUMNS if key in place}
                return {name: place[name], **columns}, number
    return None, None


def whole(value: Any) -> int | None:
    """A whole number that is not negative, be it written as text."""
    if isinstance(value, str) and len(value) < 10 and value.isdecimal():
        return int(value)
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def truth(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def version_in(text: str) -> str:
    """`1.308.0` of `copilot/1.308.0`."""
    return text.rpartition("/")[2]


def name_in(text: str) -> str:
    """`vscode` of `vscode/1.99.0`."""
    return text.partition("/")[0]


def _prompt_parts(kind: str, said: Any, text: str) -> list[tuple[str, str]]:
    match said:
        case str():
            return [(kind, said)]
        case {"prefix": str(prefix), "context": list(context)} if all(isinstance(one, str) for one in context):
            return [*(("context", one) for one in cast("list[str]", context)), (kind, prefix)]
        case {"prefix": str(prefix)} if said.keys() <= {"prefix", "context"} and not said.get("context"):
            return [(kind, prefix)]
        case _:
            return [(kind, text)]
