"""The models of `config.yaml` or `config.json`, by the titles under which sessions name them; keys are never read."""

import re
from typing import Any

import orjson

from palaver.errors import PalaverError
from palaver.importers._shared.side_files import side_value
from palaver.importers.continue_dev.fields import text_of
from palaver.model.build import JsonObject
from palaver.sources.source import Source
from palaver.sources.whole import read_at_most

Models = dict[str, JsonObject]

_LARGEST_BYTES = 1 << 24
_TEXT = r'("(?:[^"\\\n]|\\.)*+"?)'
_COMMENT = re.compile(rf"{_TEXT}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_TEXT}|,(?=\s*[}}\]])")


def models_in(source: Source) -> Models | None:
    """What a config says of its models; None where it cannot be read."""
    value = side_value(source)
    if value is None and source.suffix == ".json":
        value = _commented(source)
    if not isinstance(value, dict):
        return None
    found: Models = {}
    stated = value.get("models")
    beside = [value.get("tabAutocompleteModel")]
    for entry in [*(stated if isinstance(stated, list) else ()), *beside]:
        match entry:
            case {"override": dict(override), **block}:
                model = _model({**block, **override})
            case dict():
                model = _model(entry)
            case _:
                continue
        if title := model.pop("title", ""):
            found.setdefault(title, model)
    return found


def _model(entry: JsonObject) -> JsonObject:
    """The few fields that tell which model it is, by name: anything else may be a secret."""
    found: JsonObject = {"title": text_of(entry, "name") or text_of(entry, "title")}
    for name in ("provider", "model"):
        if text := text_of(entry, name):
            found[name] = text
    if isinstance((roles := entry.get("roles")), list) and all(isinstance(role, str) for role in roles):
        found["roles"] = roles
    templates = entry.get("promptTemplates")
    if template := text_of(entry, "template") or text_of(templates if isinstance(templates, dict) else {}, "chat"):
        found["template"] = template
    return found


def _commented(source: Source) -> Any:
    """JSON with comments and commas behind the last entry, as editors like it."""
    try:
        with source.open() as stream:
            text = read_at_most(stream, _LARGEST_BYTES).decode(errors="replace")
    except (PalaverError, OSError):
        return None
    bare = _LAST_COMMA.sub(_quoted, _COMMENT.sub(_quoted, text.removeprefix("\ufeff")))
    try:
        return orjson.loads(bare)
    except orjson.JSONDecodeError:
        return None


def _quoted(found: re.Match[str]) -> str:
    return found[1] or ""
