"""The message that a request begins with: what was typed, and what was attached to it."""

from dataclasses import dataclass
from typing import Any

from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.importers.github_copilot.sessions.attachments import attachment_blocks
from palaver.importers.github_copilot.sessions.kept import Note, rest_of
from palaver.importers.github_copilot.sessions.uris import is_span
from palaver.model import build
from palaver.model.build import JsonObject

RENDERED = ("renderedUserMessage", "renderedGlobalContext")
"""What the extension made of a request before the model saw it."""
_TEXT = ("text",)
_TEXT_FIELDS = frozenset({"kind", "text", "range", "editorRange"})


@dataclass(slots=True)
class Question:
    blocks: list[JsonObject]
    text: str
    fields: JsonObject
    """What else is known about the message, the data of its attachments, and the prompt that was made of it."""
    is_typed: bool


def question_of(request: JsonObject, note: Note) -> Question:
    blocks, text, rest = _said(request.get("message"), note)
    attached, beside = attachment_blocks(request.get("variableData"), note)
    blocks += attached
    fields: JsonObject = {}
    if rest:
        fields["message"] = rest
    if beside:
        fields["variableData"] = beside
    result = request.get("result")
    if isinstance(result, dict) and isinstance((noted := result.get("metadata")), dict):
        for name in RENDERED:
            if (rendered := noted.get(name)) and not _says_only(rendered, text):
                fields[name] = rendered
    return Question(blocks or [build.text("")], text, fields, _is_typed(request))


def is_hidden(request: JsonObject) -> bool:
    return request.get("hiddenFromTranscript") is True or request.get("requestHiddenFromTranscript") is True


def _is_typed(request: JsonObject) -> bool:
    """Whether a person wrote it, and not the editor in their name."""
    if request.get("isSystemInitiated") is True or is_hidden(request):
        return False
    return not (isinstance((origin := request.get("requestSource")), str) and origin)


def _said(message: Any, note: Note) -> tuple[list[JsonObject], str, JsonObject]:
    """The text of a message as a block, the text itself, and its other fields."""
    match message:
        case None:
            return [], "", {}
        case str():
            return [build.text(message)], message, {}
        case {"text": str(text)}:
            return [build.text(text)] if text else [], text, _beside(message, text)
        case {"parts": list(parts)} if text := _joined(parts):
            return [build.text(text)], text, rest_of(message, ())
        case _:
            note(UNKNOWN_BLOCK, "message")
            return [build.opaque(kind="message", raw=message)], "", {}


def _beside(message: JsonObject, text: str) -> JsonObject:
    """The other fields of a message, without parts that only repeat its text."""
    rest = rest_of(message, _TEXT)
    parts = rest.get("parts")
    if isinstance(parts, list):
        if left := [part for part in parts if not _is_repeated(part, text)]:
            rest["parts"] = left
        else:
            del rest["parts"]
    return rest


def _is_repeated(part: Any, text: str) -> bool:
    if not isinstance(part, dict) or part.get("kind") != "text" or not isinstance((piece := part.get("text")), str):
        return False
    return (
        part.keys() <= _TEXT_FIELDS
        and is_span(part.get("range"))
        and is_span(part.get("editorRange"))
        and piece in text
    )


def _joined(parts: list[Any]) -> str:
    pieces = [part.get("text") for part in parts if isinstance(part, dict)]
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _says_only(rendered: Any, text: str) -> bool:
    """Whether a rendered prompt is the text once more, with marks of a cache at most."""
    if not isinstance(rendered, list):
        return False
    said: list[str] = []
    for part in rendered:
        match part:
            case {"type": 1, "text": str(piece)} if len(part) == 2:
                said.append(piece)
            case {"type": 3, "cacheType": "ephemeral"} if len(part) == 2:
                pass
            case _:
                return False
    return "".join(said) == text
