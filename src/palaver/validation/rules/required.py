"""What each platform's conversations must say beside what the schema asks of all: the table of the mapping."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from palaver.model.build import JsonObject
from palaver.model.facts import Facts
from palaver.model.rules import Fault, Path, on_document


class Required(NamedTuple):
    field: str
    """In the words of the platform."""
    path: Path
    is_there: Callable[[Facts], bool]


def _session_id(facts: Facts) -> bool:
    return bool(_part(facts, "session").get("session_id"))


def _model(facts: Facts) -> bool:
    return bool(_part(facts, "platform").get("model")) or any(
        metadata.get("model_override") for metadata in facts.metadata
    )


def _mode(facts: Facts) -> bool:
    about: JsonObject = _part(facts, "platform").get("metadata") or {}
    return bool(about.get("mode") or about.get("active_mode"))


def _deployment(facts: Facts) -> bool:
    return bool((_part(facts, "platform").get("metadata") or {}).get("deployment"))


def _request_id(facts: Facts) -> bool:
    about: JsonObject = _part(facts, "platform").get("metadata") or {}
    return bool(about.get("request_id")) or any(metadata.get("request_id") for metadata in facts.metadata)


def _completion(facts: Facts) -> bool:
    return not _suggests(facts) or any(
        block.get("code") or block.get("text")
        for content, metadata in zip(facts.contents, facts.metadata, strict=True)
        if _is_suggestion(metadata)
        for block in content
    )


def _file_path(facts: Facts) -> bool:
    return not _suggests(facts) or any(block.get("file_path") for content in facts.contents for block in content)


def _suggests(facts: Facts) -> bool:
    """Whether these are completions in an editor; chats belong to no file."""
    return any(map(_is_suggestion, facts.metadata))


def _is_suggestion(metadata: JsonObject) -> bool:
    return "completion_index" in metadata or "accepted" in metadata


def _part(facts: Facts, name: str) -> JsonObject:
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
"""ChatGPT asks for nothing that the schema does not ask: an id, a time of creation, messages."""


@on_document("required-field", "warning")
def required_field(facts: Facts) -> Iterator[Fault]:
    """A conversation lacks what those of its platform always have; its id and times are the schema's business."""
    if facts.thread.messages:
        return  # a later fragment
    name = facts.document["platform"]["name"]
    for required in REQUIRED.get(name, ()):
        if facts.messages and not required.is_there(facts):
            yield Fault(required.path, f"A conversation of {name} without {required.field}")


RULES = (required_field,)
