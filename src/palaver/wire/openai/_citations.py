"""Citations: nested in Chat, flat in Responses, both with places in the text."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire.openai._notes import CHAT, Writing

_URL = ("start_index", "end_index", "title", "url")
_FLAT = {
    "url_citation": _URL,
    "file_citation": ("file_id", "filename", "index"),
    "container_file_citation": ("container_id", "file_id", "filename", "start_index", "end_index"),
    "file_path": ("file_id", "index"),
}
_NUMBERS = ("start_index", "end_index", "index")


def are_annotations(found: Any, name: str) -> bool:
    """Whether a list holds citations, all in the form of one format."""
    return isinstance(found, list) and all(isinstance(one, dict) and annotation(one, name) is one for one in found)


def annotation(citation: JsonObject, name: str) -> JsonObject | None:
    """The citation in the form of a format; None where it has none for it."""
    kind = citation.get("type")
    nested = citation.get("url_citation")
    if kind == "url_citation" and isinstance(nested, dict) and _is_complete(nested, _URL):
        return citation if name == CHAT else {"type": kind, **{key: nested[key] for key in _URL}}
    if not isinstance(kind, str) or not _is_complete(citation, _FLAT.get(kind, ("",))):
        return None
    if name != CHAT:
        return citation
    return {"type": kind, kind: {key: citation[key] for key in _URL}} if kind == "url_citation" else None


def annotations_to(block: JsonObject, at: str, writing: Writing, offset: int = 0) -> list[JsonObject]:
    """The citations of a text that begins at an offset of the whole."""
    made: list[JsonObject] = []
    for index, citation in enumerate(block.get("citations") or ()):
        found = annotation(citation, writing.name)
        if found is None:
            writing.losses.drop(f"{at}/citations/{index}", "there is no place for a citation of this kind")
            continue
        if found is not citation:
            writing.losses.change(f"{at}/citations/{index}", "a citation looks different here")
        made.append(_moved(found, offset) if offset else found)
    return made


def _moved(citation: JsonObject, offset: int) -> JsonObject:
    nested = citation.get("url_citation")
    if isinstance(nested, dict):
        return {**citation, "url_citation": _moved(nested, offset)}
    places = {key: citation[key] + offset for key in ("start_index", "end_index") if key in citation}
    return {**citation, **places}


def _is_complete(citation: JsonObject, names: tuple[str, ...]) -> bool:
    return all(type(citation.get(name)) is (int if name in _NUMBERS else str) for name in names)
