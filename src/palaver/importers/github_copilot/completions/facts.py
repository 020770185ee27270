"""What events say of a completion under which names: the words, the file, the cursor, the model, the editor."""

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

from palaver.importers.github_copilot.completions.inner import loaded

Json = dict[str, Any]

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
ENVIRONMENT = frozenset(
    {
        *("editor_version", "editor_plugin_version", "copilot_version", "common_extname", "common_extversion"),
        *("common_vscodeversion", "common_os", "common_platformversion", "common_arch", "runtime_version", "sku"),
        *("extensionVersion", "editor", "ide", "editorName", "os", "ai.application.ver", "ai.internal.sdkVersion"),
    }
)
"""What stays the same for long, and belongs to the conversation."""
_PROMPTS = ("promptJson", "promptContext", "prompt", "promptPrefix", "prefix")
_SUFFIXES = ("promptSuffixJson", "promptSuffix", "suffix")
_MOST_PARTS = 99


class Words(NamedTuple):
    parts: list[tuple[str, str]]
    """What each is, and the text."""
    names: frozenset[str]
    """Of the facts that they were found in."""


def first_text(places: Iterable[Json], names: tuple[str, ...]) -> str:
    """The first text under one of these names: the names in their order, for each the places in theirs."""
    places = list(places)
    for name in names:
        for place in places:
            text = place.get(name)
            if type(text) is str and text:
                return text
    return ""


def prompt_of(places: list[Json]) -> Words:
    """What the engine was given."""
    parts: list[tuple[str, str]] = []
    names: set[str] = set()
    for kind, known in (("prefix", _PROMPTS), ("suffix", _SUFFIXES)):
        for place, name in ((place, name) for name in known for place in places):
            text = _whole(place, name, names)
            if not text:
                continue
            parts += _prompt_parts(kind, loaded(text) if name.endswith("Json") else text, text)
            break
    return Words([part for part in parts if part[1]], frozenset(names))


def completion_of(places: list[Json]) -> Words:
    """What was suggested."""
    names: set[str] = set()
    for place, name in ((place, name) for name in COMPLETIONS for place in places):
        text = _whole(place, name, names)
        if text:
            said = loaded(text) if name.endswith("Json") else text
            return Words([("completion", said if type(said) is str else text)], frozenset(names))
    return Words([], frozenset())


def cursor_of(places: list[Json]) -> tuple[Json | None, int | None]:
    """Where the cursor was, as it is told; and in which line, counted from 1."""
    for place in places:
        for name in CURSORS:
            match place.get(name):
                case {"line": line} as cursor:
                    number = whole(line)
                    return cast("Json", cursor), None if number is None else number + 1
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
    if type(value) is str and len(value) < 10 and value.isdecimal():
        return int(value)
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def truth(value: Any) -> bool | None:
    if type(value) is str:
        return {"true": True, "false": False}.get(value.lower())
    return value if type(value) is bool else None


def version_in(text: str) -> str:
    """`1.308.0` of `copilot/1.308.0`."""
    return text.rpartition("/")[2]


def name_in(text: str) -> str:
    """`vscode` of `vscode/1.99.0`."""
    return text.partition("/")[0]


def _whole(place: Json, name: str, names: set[str]) -> str:
    """A text with its parts: what is too long for one property is spread over several."""
    text = place.get(name)
    if type(text) is not str or not text:
        return ""
    names.add(name)
    if f"{name}_02" in place:
        for number in range(2, _MOST_PARTS):
            more = place.get(f"{name}_{number:02}")
            if type(more) is not str:
                break
            names.add(f"{name}_{number:02}")
            text += more
    return text


def _prompt_parts(kind: str, said: Any, text: str) -> list[tuple[str, str]]:
    match said:
        case str():
            return [(kind, said)]
        case {"prefix": str(prefix), "context": list(context)} if all(type(one) is str for one in context):
            return [*(("context", one) for one in cast("list[str]", context)), (kind, prefix)]
        case {"prefix": str(prefix)} if said.keys() <= {"prefix", "context"} and not said.get("context"):
            return [(kind, prefix)]
        case _:
            return [(kind, text)]
