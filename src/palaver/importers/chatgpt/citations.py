"""Citations: markers in an answer's text, joined with the references in its metadata.

The text stays as exported; a citation gives the position of its marker in code points. Older exports write
`【19†source】`, newer ones use private-use characters: U+E200, a kind, U+E202 before each argument, U+E201.
"""

import re
from typing import Any

from palaver.model.build import JsonObject

_MARKER = re.compile("\ue200([^\ue200\ue201]*)\ue201|【[^【】]{1,200}】")


def attach(block: JsonObject, metadata: JsonObject) -> None:
    """Add citations to a text block, moving the references out of its message's metadata."""
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
    markers = {marker.span(): marker for marker in _MARKER.finditer(text)} if is_marked else {}
    by_span: dict[tuple[int, int], JsonObject] = {span: _citation(marker) for span, marker in markers.items()}
    unmatched: list[JsonObject] = []
    for reference in references:
        span = _span(reference, text)
        if span is None:
            unmatched.append(reference)
        else:
            citation = by_span.setdefault(span, {"start": span[0], "end": span[1], "marker": text[slice(*span)]})
            _join(citation, reference)
    unanchored = _match_in_order([by_span[span] for span in sorted(markers)], unmatched)
    if by_span or unanchored:
        block["citations"] = [*(by_span[span] for span in sorted(by_span)), *unanchored]


def _references(found: Any, metadata: JsonObject, name: str) -> list[JsonObject]:
    """Return a list of references; put anything else back into the metadata."""
    if isinstance(found, list) and all(isinstance(item, dict) for item in found):
        return found
    metadata[name] = found
    return []


def _span(reference: JsonObject, text: str) -> tuple[int, int] | None:
    """Return the span of a reference's marker in code points; None if it has none, or the text there differs."""
    start = reference.get("start_idx", reference.get("start_ix"))
    end = reference.get("end_idx", reference.get("end_ix"))
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
        return None
    matched = reference.get("matched_text")
    return None if isinstance(matched, str) and text[start:end] != matched else (start, end)


def _citation(marker: re.Match[str]) -> JsonObject:
    citation: JsonObject = {"start": marker.start(), "end": marker.end(), "marker": marker[0]}
    if marker[1] is not None:
        kind, *arguments = marker[1].split("\ue202")
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
    """Collect the pages and files that a reference leads to, with address and title, in order of appearance."""
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
        for name in _NESTED_FIELDS:
            if inner := item.get(name):
                stack += reversed(inner) if isinstance(inner, list) else [inner]


_NESTED_FIELDS = ("supporting_websites", "fallback_items", "items", "sources", "metadata")


def _match_in_order(citations: list[JsonObject], references: list[JsonObject]) -> list[JsonObject]:
    """Match references without offsets to markers by order; return citations of the whole text for the rest."""
    open_citations = [citation for citation in citations if "references" not in citation]
    anchored = [reference for reference in references if reference.get("type") not in _WITHOUT_MARKER]
    unanchored = [reference for reference in references if reference.get("type") in _WITHOUT_MARKER]
    if len(open_citations) != len(anchored):
        unanchored, anchored = references, []
    for citation, reference in zip(open_citations, anchored, strict=False):
        _join(citation, reference)
    message_citations: list[JsonObject] = []
    for reference in unanchored:
        citation: JsonObject = {}
        _join(citation, reference)
        message_citations.append(citation)
    return message_citations


_WITHOUT_MARKER = ("sources_footnote", "hidden", "attribution")
"""References that have no marker in the text."""
