"""Fields that conversations of a platform always have, beyond what the schema requires: the table of the mapping."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from palaver.model.build import JsonObject
from palaver.model.facts import Facts
from palaver.model.rules import Fault, Path, on_document


class Required(NamedTuple):
    field: str
    """The platform's own name for the field."""
    path: Path
    is_present: Callable[[Facts], bool]


def _session_id(facts: Facts) -> bool:
    return bool(_section(facts, "session").get("session_id"))


def _model(facts: Facts) -> bool:
    return bool(_section(facts, "platform").get("model")) or any(
        metadata.get("model_override") for metadata in facts.metadata
    )


def _mode(facts: Facts) -> bool:
    platform_metadata: JsonObject = _section(facts, "platform").get("metadata") or {}
    return bool(platform_metadata.get("mode") or platform_metadata.get("active_mode"))


def _deployment(facts: Facts) -> bool:
    return bool((_section(facts, "platform").get("metadata") or {}).get("deployment"))


def _request_id(facts: Facts) -> bool:
    platform_metadata: JsonObject = _section(facts, "platform").get("metadata") or {}
    return bool(platform_metadata.get("request_id")) or any(metadata.get("request_id") for metadata in facts.metadata)


def _completion(facts: Facts) -> bool:
    return not _has_suggestions(facts) or any(
        block.get("code") or block.get("text")
        for content, metadata in zip(facts.contents, facts.metadata, strict=True)
        if _is_suggestion(metadata)
        for block in content
    )


def _file_path(facts: Facts) -> bool:
    return not _has_suggestions(facts) or any(block.get("file_path") for content in facts.contents for block in content)


def _has_suggestions(facts: Facts) -> bool:
    """Return whether these are completions in an editor; chats belong to no file."""
    return any(map(_is_suggestion, facts.metadata))


def _is_suggestion(metadata: JsonObject) -> bool:
    return "completion_index" in metadata or "accepted" in metadata


def _section(facts: Facts, name: str) -> JsonObject:
    return facts.document.get(name) or {}


_SESSION = ("session", "session_id")
_METADATA = ("platform", "metadata")
REQUIRED: dict[str, tuple[Required, ...]] = {
    "claude_code": (Required("sessionId", _SESSION, _session_id),),
    "github_copilot": (
        Required("completion text", ("messages",), _completion),
        Required("file path", ("messages",), _file_path),
    ),
    "continue_dev": (
        Required("session ID", _SESSION, _session_id),
        Required("model config", ("platform", "model"), _model),
    ),
    "roo_code": (
        Required("session ID", _SESSION, _session_id),
        Required("mode", (*_METADATA, "mode"), _mode),
    ),
    "azure_openai": (
        Required("request ID", (*_METADATA, "request_id"), _request_id),
        Required("deployment", (*_METADATA, "deployment"), _deployment),
    ),
}
"""ChatGPT needs no entry: the schema requires its id, time of creation and messages already."""


@on_document("required-field", "warning")
def required_field(facts: Facts) -> Iterator[Fault]:
    """A conversation lacks a field that its platform always has."""
    if facts.thread.messages:
        return  # a later fragment
    name = facts.document["platform"]["name"]
    for required in REQUIRED.get(name, ()):
        if facts.messages and not required.is_present(facts):
            yield Fault(required.path, f"A conversation of {name} without {required.field}")


RULES = (required_field,)
