"""Property names of completion events, and how to look up text, file, cursor, model and editor under them."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, cast

from palaver.importers.github_copilot.raw_records import parse_or_text
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
"""Properties that rarely change and belong to the conversation."""
DURATIONS = ("timeToProduceMs", "requestTimeMs")
_PROMPTS = ("promptJson", "promptContext", "prompt", "promptPrefix", "prefix")
_SUFFIXES = ("promptSuffixJson", "promptSuffix", "suffix")
_MAX_PARTS = 99
_MAPPED = frozenset(
    {
        *(*REQUEST_IDS, *FILES, *LANGUAGES, *MODELS, *CURSORS, *LINES, *COLUMNS, *CHOICES, *ENVIRONMENT, "accepted"),
    }
)
"""Properties that are mapped, as far as the first event with them is concerned."""


@dataclass(slots=True)
class SourceText:
    parts: list[tuple[str, str]]
    """The kind and text of each part."""
    names: frozenset[str]
    """Names of the properties that held them."""


_NO_TEXT = SourceText([], frozenset())


def first_values(sources: list[JsonObject]) -> JsonObject:
    """Return the first value under every name."""
    first = sources[-1].copy() if sources else {}
    for source in sources[-2::-1]:
        first |= source
    return first


class KnownNames(NamedTuple):
    """The property names present in an event, by meaning, in order of preference.

    Many events have the same names, so this is computed once for each set of names.
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
    cursors: tuple[str, ...]


@lru_cache(1 << 10)
def names_in(names: tuple[str, ...]) -> KnownNames:
    known = (
        *(FILES, LANGUAGES, MODELS, VERSIONS, EDITORS, SYSTEMS, COMPLETIONS, _PROMPTS, _SUFFIXES, CHOICES, DURATIONS),
        *(ENVIRONMENT, tuple(name for name in names if name in _MAPPED), CURSORS + LINES),
    )
    return KnownNames(*(tuple(name for name in group if name in names) for group in known))


class MergedFields:
    """The fields of several events; for every name, the value in the first event that has it."""

    __slots__ = ("first", "names", "sources")

    def __init__(self, sources: list[JsonObject]) -> None:
        self.sources = sources
        self.first = first_values(sources)
        self.names = names_in(tuple(self.first))

    def text(self, names: tuple[str, ...]) -> str:
        """Return the first text under one of these names."""
        return self._first_text(names)[1] if names else ""

    def long_text(self, names: tuple[str, ...]) -> tuple[str, list[str]]:
        """Return the first text and the properties that hold it: a long one is spread over several."""
        name, text = self._first_text(names)
        if not name:
            return "", []
        if f"{name}_02" not in self.first:
            return text, [name]
        source = next(source for source in self.sources if source.get(name) == text)
        found = [name]
        parts = [text]
        for number in range(2, _MAX_PARTS):
            continuation = source.get(f"{name}_{number:02}")
            if not isinstance(continuation, str):
                break
            found.append(f"{name}_{number:02}")
            parts.append(continuation)
        return "".join(parts), found

    def _first_text(self, names: tuple[str, ...]) -> tuple[str, str]:
        """Return the first of these names, all present here, that has a non-empty text, and the text."""
        for name in names:
            text = self.first[name]
            if isinstance(text, str) and text:
                return name, text
            for source in self.sources:
                text = source.get(name)
                if isinstance(text, str) and text:
                    return name, text
        return "", ""


def prompt_of(fields: MergedFields) -> SourceText:
    """Return the text given to the engine."""
    if not (fields.names.prompts or fields.names.suffixes):
        return _NO_TEXT
    parts: list[tuple[str, str]] = []
    found: list[str] = []
    for kind, known in (("prefix", fields.names.prompts), ("suffix", fields.names.suffixes)):
        text, names = fields.long_text(known)
        if text:
            parts += _prompt_parts(kind, parse_or_text(text) if names[0].endswith("Json") else text, text)
            found += names
    return SourceText([part for part in parts if part[1]], frozenset(found))


def completion_of(fields: MergedFields) -> SourceText:
    """Return the suggested text."""
    text, names = fields.long_text(fields.names.completions)
    if not text:
        return _NO_TEXT
    value = parse_or_text(text) if names[0].endswith("Json") else text
    return SourceText([("completion", value if isinstance(value, str) else text)], frozenset(names))


def cursor_of(fields: MergedFields) -> tuple[JsonObject | None, int | None]:
    """Return the cursor as the source states it, and its line, counted from 1."""
    for source in fields.sources if fields.names.cursors else ():
        for name in CURSORS:
            match source.get(name):
                case {"line": line} as cursor:
                    number = non_negative_int(line)
                    return cast("JsonObject", cursor), None if number is None else number + 1
                case _:
                    pass
        for name in LINES:
            number = non_negative_int(source.get(name))
            if number:
                columns = {key: source[key] for key in COLUMNS if key in source}
                return {name: source[name], **columns}, number
    return None, None


def non_negative_int(value: Any) -> int | None:
    """Return a non-negative integer, also if it is written as text."""
    if isinstance(value, str) and len(value) < 10 and value.isdecimal():
        return int(value)
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def boolean(value: Any) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower())
    return value if isinstance(value, bool) else None


def version_in(text: str) -> str:
    """Return `1.308.0` for `copilot/1.308.0`."""
    return text.rpartition("/")[2]


def name_in(text: str) -> str:
    """Return `vscode` for `vscode/1.99.0`."""
    return text.partition("/")[0]


def _prompt_parts(kind: str, value: Any, text: str) -> list[tuple[str, str]]:
    match value:
        case str():
            return [(kind, value)]
        case {"prefix": str(prefix), "context": list(context)} if all(isinstance(item, str) for item in context):
            return [*(("context", item) for item in cast("list[str]", context)), (kind, prefix)]
        case {"prefix": str(prefix)} if value.keys() <= {"prefix", "context"} and not value.get("context"):
            return [(kind, prefix)]
        case _:
            return [(kind, text)]
