"""Fields of Continue's records in UCS terms: unmapped fields, context, user agent, rating, token counts."""

import re
from collections.abc import Container
from typing import Any, NamedTuple

from palaver.importers._shared.contract import Description
from palaver.importers._shared.vscode import path_from_uri
from palaver.model import build
from palaver.model.build import JsonObject

OWN_NAMES = frozenset(
    {
        *build.METADATA,
        *("source_fields", "more_source_fields", "role_inferred", "thinking_items", "call_states", "completed_at"),
        *("tool_usage", "more_tool_usage", "feedback", "interaction", "recovered_from", "event", "model_config"),
        "index_title",
    }
)
"""Metadata names that the importer sets itself; a source field of the same name goes to `source_fields`."""
DESCRIPTION = Description(own_names=OWN_NAMES)
_USER_AGENT = re.compile(r"(?P<editor>.+?)/(?P<editor_version>\S+)\s+\(Continue/(?P<version>[^)\s]+)\)")
_LONGEST_USER_AGENT = 400
_COUNTS = (
    ("input_tokens", (("promptTokens",), ("prompt_tokens",))),
    ("output_tokens", (("completionTokens",), ("completion_tokens",))),
    (
        "cache_creation_input_tokens",
        (("promptTokensDetails", "cacheWriteTokens"), ("prompt_tokens_details", "cache_write_tokens")),
    ),
    (
        "cache_read_input_tokens",
        (
            ("promptTokensDetails", "cachedTokens"),
            ("prompt_tokens_details", "cached_tokens"),
            ("prompt_tokens_details", "cache_read_tokens"),
        ),
    ),
    (
        "thinking_tokens",
        (("completionTokensDetails", "reasoningTokens"), ("completion_tokens_details", "reasoning_tokens")),
    ),
)


def unmapped_fields(fields: JsonObject, mapped: Container[str]) -> JsonObject:
    """Return the fields that are neither mapped nor null, ready for use as metadata."""
    own: JsonObject = {}
    ours: JsonObject = {}
    for name, value in fields.items():
        if value is not None and name not in mapped:
            (ours if name in OWN_NAMES else own)[name] = value
    if ours:
        own["source_fields"] = ours
    return own


def merge_fields(metadata: JsonObject, fields: JsonObject) -> None:
    """Add unmapped fields to metadata, where another item of the same message may have set the same names."""
    if not fields:
        return
    ours = fields.pop("source_fields", {})
    taken = {name: value for name, value in fields.items() if metadata.setdefault(name, value) != value}
    if source_fields := {**ours, **taken}:
        first = metadata.setdefault("source_fields", {})
        if more := {name: value for name, value in source_fields.items() if first.setdefault(name, value) != value}:
            metadata.setdefault("more_source_fields", []).append(more)


def text_of(fields: JsonObject, name: str) -> str:
    """Return the text in a field; empty if it is missing or not a text."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


class UserAgent(NamedTuple):
    """Writer of an event, as in `Visual Studio Code/1.109.5 (Continue/1.2.16)`."""

    editor: str
    version: str


def parse_user_agent(text: str) -> UserAgent:
    found = _USER_AGENT.fullmatch(text.strip()) if len(text) <= _LONGEST_USER_AGENT else None
    return UserAgent(found["editor"], found["version"]) if found else UserAgent("", "")


def document_context(
    workspace_dir: str = "",
    git_branch: str = "",
    providers: list[JsonObject] | None = None,
    codebase_context: Any = None,
    *,
    editor: str = "",
    custom: JsonObject | None = None,
) -> JsonObject | None:
    """Build the `context` of a document; return None if nothing is known."""
    found: JsonObject = {}
    workspace: JsonObject = {}
    if workspace_dir:
        workspace["path"] = path_from_uri(workspace_dir)
    if git_branch:
        workspace["git_branch"] = git_branch
    if workspace:
        found["workspace"] = workspace
    if editor:
        found["environment"] = {"editor": editor}
    own = dict(custom or {})
    if providers:
        own["context_providers"] = [{name: provider.get(name) for name in ("name", "query")} for provider in providers]
    if codebase_context:
        own["codebase_context"] = codebase_context
    if own:
        found["custom"] = own
    return found or None


_UP, _DOWN = 5, 1


def mean_rating(thumbs: list[tuple[str, bool]]) -> JsonObject | None:
    """Return the mean rating of thumbs up and down, each with its time, and the time of the last; None without any."""
    if not thumbs:
        return None
    scores = [_UP if is_up else _DOWN for _, is_up in thumbs]
    rating: JsonObject = {"score": round(sum(scores) / len(scores), 2)}
    if rated_at := max(time for time, _ in thumbs):
        rating["rated_at"] = rated_at
    return rating


def token_counts(usage: Any) -> JsonObject | None:
    """Return the counts in a message's `usage`, with its other fields as `source_fields`; None if it has no counts."""
    if not isinstance(usage, dict):
        return None
    found = {name: count for name, paths in _COUNTS for path in paths if (count := _count(usage, path)) is not None}
    if not found:
        return None
    rest = {name: value for name, value in usage.items() if not _is_counted(name, value, found)}
    return {**found, "source_fields": rest} if rest else found


def _count(usage: JsonObject, path: tuple[str, ...]) -> int | None:
    value: Any = usage
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _is_counted(name: str, value: Any, found: JsonObject) -> bool:
    """Return whether the counts hold everything that a field holds."""
    inner = {(name, key): item for key, item in value.items()} if isinstance(value, dict) else {(name,): value}
    return all(item is None or _is_count(path, item, found) for path, item in inner.items())


def _is_count(path: tuple[str, ...], value: Any, found: JsonObject) -> bool:
    return any(path in paths and found.get(count) == value for count, paths in _COUNTS)
