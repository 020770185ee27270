"""Citations: marks that the service left in an answer's text, joined with what it says about them.

The text stays as it was exported; a citation says by code points where in it its mark stands. Older exports mark as
`【19†source】`, newer ones with characters for private use: U+E200, a kind, U+E202 before each argument, U+E201.
"""

import re
from typing import Any

from palaver.model.build import JsonObject

_MARKS = re.compile("\ue200([^\ue200\ue201]*)\ue201|【[^【】]{1,200}】")


def add(block: JsonObject, metadata: JsonObject) -> None:
    """Give a text its citations, with the references taken out of its message's metadata."""
    newer, older = metadata.pop("content_references", None), metadata.pop("citations", None)
    text: str = block["text"]
    is_marked = not text.isascii() and ("\ue200" in text or "【" in text)
    if not (newer or older or is_marked):
        return
    references: list[JsonObject] = []
    if newer:
        references += _references(newer, metadata, "content_references")
    if older:
        references += _references(older, metadata, "citations")
    if not (references or is_marked):
        return
    marks = {mark.span(): mark for mark in _MARKS.finditer(text)} if is_marked else {}
    placed: dict[tuple[int, int], JsonObject] = {place: _citation(mark) for place, mark in marks.items()}
    unplaced: list[JsonObject] = []
    for reference in references:
        place = _place(reference, text)
        if place is None:
            unplaced.append(reference)
        else:
            citation = placed.setdefault(place, {"start": place[0], "end": place[1], "marker": text[slice(*place)]})
            _join(citation, reference)
    loose = _match_in_order([placed[place] for place in sorted(marks)], unplaced)
    if placed or loose:
        block["citations"] = [*(placed[place] for place in sorted(placed)), *loose]


def _references(found: Any, metadata: JsonObject, name: str) -> list[JsonObject]:
    """A list of references; anything odd goes back to the metadata."""
    if isinstance(found, list) and all(isinstance(item, dict) for item in found):
        return found
    metadata[name] = found
    return []


def _place(reference: JsonObject, text: str) -> tuple[int, int] | None:
    """Where a reference says its mark stands, if the text has it there: the offsets count code points."""
    start = reference.get("start_idx", reference.get("start_ix"))
    end = reference.get("end_idx", reference.get("end_ix"))
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        return None
    matched = reference.get("matched_text")
    return None if isinstance(matched, str) and text[start:end] != matched else (start, end)


def _citation(mark: re.Match[str]) -> JsonObject:
    citation: JsonObject = {"start": mark.start(), "end": mark.end(), "marker": mark[0]}
    if mark[1] is not None:
        kind, *arguments = mark[1].split("\ue202")
        citation["kind"] = kind
        if arguments:
            citation["arguments"] = arguments
    return citation


def _join(citation: JsonObject, reference: JsonObject) -> None:
    if "references" in citation:
        citation["references"].append(reference)
    else:
        citation["references"] = [reference]
    known: list[JsonObject] = citation.get("sources", [])
    _add_sources(reference, known)
    if known:
        citation["sources"] = known


def _add_sources(item: Any, found: list[JsonObject]) -> None:
    """The pages and files that a reference leads to, each with its address and title, in the order of mention."""
    stack: list[Any] = [item]
    while stack:
        item = stack.pop()
        if not isinstance(item, dict):
            continue
        address = item.get("url") or item.get("cloud_doc_url")
        title = item.get("title") or item.get("name")
        source: JsonObject = {"url": address} if isinstance(address, str) else {}
        if title and isinstance(title, str):
            source["title"] = title
        if source and source not in found:
            found.append(source)
        for name in _LEAD_ON:
            if inner := item.get(name):
                stack += reversed(inner) if isinstance(inner, list) else [inner]


_LEAD_ON = ("supporting_websites", "fallback_items", "items", "sources", "metadata")


def _match_in_order(citations: list[JsonObject], references: list[JsonObject]) -> list[JsonObject]:
    """Exports without offsets list the references in the order of the marks; what is left over belongs to the whole."""
    waiting = [citation for citation in citations if "references" not in citation]
    tied = [reference for reference in references if reference.get("type") not in _OF_THE_WHOLE]
    loose = [reference for reference in references if reference.get("type") in _OF_THE_WHOLE]
    if len(waiting) != len(tied):
        loose, tied = references, []
    for citation, reference in zip(waiting, tied, strict=False):
        _join(citation, reference)
    for_the_whole: list[JsonObject] = []
    for reference in loose:
        citation: JsonObject = {}
        _join(citation, reference)
        for_the_whole.append(citation)
    return for_the_whole


_OF_THE_WHOLE = ("sources_footnote", "hidden", "attribution")
"""References that have no mark of their own in the text."""
