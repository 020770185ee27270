"""Sides of a call: its request and its answer, each chosen among all tellings of it that a log has.

The client's side counts, then the backend's; where one is cut and the other is not, the whole one. A telling that says
something else is kept beside the answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palaver.importers.azure_openai.bodies import Body, decoded
from palaver.importers.azure_openai.chunks import messages_of, missing_numbers
from palaver.importers.azure_openai.formats import Kind, is_spoken, messages_request, messages_response, request_kind
from palaver.importers.azure_openai.groups import Parts
from palaver.importers.azure_openai.row import Row
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.run import Run

CUT_BODY = finding_kind(
    "cut-body", "warning", "The log holds the beginning of a body only; it was read as far as it goes."
)
OPAQUE_BODY = finding_kind(
    "opaque-body", "warning", "A body is neither JSON nor a stream of events; it is kept as it is."
)
MISSING_CHUNK = finding_kind(
    "missing-chunk", "warning", "Rows with parts of a call's messages are missing, by their numbers."
)


@dataclass(slots=True)
class Side:
    name: str
    body: Body | None = None
    kept: JsonObject = field(default_factory=dict[str, Any])
    """What other tellings say, and what could not be read."""

    @property
    def value(self) -> Any:
        return self.body.value if self.body is not None else None

    @property
    def is_cut(self) -> bool:
        return self.body is not None and (self.body.is_cut or self.body.is_opaque)

    def body_text(self) -> str:
        return self.body.text if self.body is not None and self.body.is_opaque else ""

    def is_spoken(self) -> bool:
        """Whether somebody speaks in it, in whatever form."""
        return self.body is not None and (is_spoken(self.body.value) or is_spoken(self.body.text))

    def keep_unread(self) -> None:
        """Keep the body as it is: nothing was made of it, or something else."""
        if self.body is not None and (held := self.body.value or self.body.text):
            self.kept[f"{self.name}_body"] = held


class Sides:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._missing = missing_numbers(parts.llm)
        self.request = self._of_head("request")
        self.response = self._of_head("response")
        if any(row.is_cut for row in parts.heads):
            self._mark_cut()
        self._add_asked()
        self.asked: Kind | None = request_kind(self.request.value)
        """The format of the request."""
        self._add_said()

    def tell(self, run: Run) -> None:
        """Note what is missing or could not be read."""
        if self._missing:
            run.note(MISSING_CHUNK, self._parts.llm[0].where, f"row {', '.join(map(str, self._missing))}")
        for side in (self.request, self.response):
            if side.body is not None and (side.is_cut or side.body.remarks or side.body.tail):
                self._tell(side, side.body, run)

    def _of_head(self, name: str) -> Side:
        side = Side(name)
        for row in self._parts.heads:
            ours, theirs = row.get(f"{name}body"), row.get(f"backend{name}body")
            client = decoded(ours)
            backend = decoded(theirs) if theirs != ours else None
            for body, word in ((client, ""), (backend, "backend_")):
                if body is not None:
                    _add(side, body, f"{word}{name}_body")
        return side

    def _mark_cut(self) -> None:
        """Of a record that is cut, the last body may be: one that is an object does not tell so itself."""
        last = self.response.body or self.request.body
        if last is not None and last.value is not None:
            last.is_cut = True

    def _add_asked(self) -> None:
        """Take in what the log for language models has of the request."""
        asked = messages_of(self._parts.llm, "requestmessages", self._missing)
        if asked is not None:
            asked.value = _as_request(asked.value)
            _add_part(self.request, asked, "llm_request_messages")

    def _add_said(self) -> None:
        said = messages_of(self._parts.llm, "responsemessages", self._missing)
        if said is not None:
            if isinstance(said.value, list):
                said.value = messages_response(said.value, self.asked or "openai-chat")
            _add_part(self.response, said, "llm_response_messages")

    def _tell(self, side: Side, body: Body, run: Run) -> None:
        where = self._where(side.name)
        for kind, message in body.remarks:
            run.note(kind, where, message)
        if body.tail:
            side.kept["unread_events"] = body.tail
        if body.is_opaque:
            run.note(OPAQUE_BODY, where, f"the {side.name}")
        elif body.is_cut:
            run.note(CUT_BODY, where, f"the {side.name}")

    def _where(self, name: str) -> str:
        rows: list[Row] = [*self._parts.heads, *self._parts.llm]
        names = (f"{name}body", f"backend{name}body", f"{name}messages")
        return next((row.where for row in rows if row.has(names)), rows[0].where)


def _as_request(value: Any) -> Any:
    return messages_request(value) if isinstance(value, list) else value


def _add(side: Side, body: Body, name: str) -> None:
    """Take in a body of the client's side or, after it, of the backend's."""
    held = side.body
    if held is None:
        side.body = body
    elif _is_worse(held, body):
        side.body = body
        if held.is_opaque or not _is_start(held.value, body.value):
            side.kept[f"{side.name}_body"] = held.value or held.text
    elif (body.value != held.value or body.is_opaque) and not (body.is_cut and _is_start(body.value, held.value)):
        side.kept[name] = body.value or body.text


def _add_part(side: Side, body: Body, name: str) -> None:
    """Take in messages that a log has without the rest of their payload."""
    held = side.body
    if held is None:
        side.body = body
    elif _is_worse(held, body) and isinstance(held.value, dict) and isinstance(body.value, dict):
        # Settings before the cut are known only from there.
        side.body = Body({**held.value, **body.value})
        if not _says_no_more(held.value, body.value):
            side.kept[f"{side.name}_body"] = held.value
    elif held.is_opaque and not body.is_opaque:
        side.body = body
        side.kept[f"{side.name}_body"] = held.text
    elif body.is_opaque or not _says_no_more(body.value, held.value):
        side.kept[name] = body.value or body.text


def _is_worse(held: Body, body: Body) -> bool:
    return (held.is_cut or held.is_opaque) and not (body.is_cut or body.is_opaque)


def _is_start(part: Any, whole: Any) -> bool:
    """Whether a value is the other one as far as that was logged."""
    match part, whole:
        case str(), str():
            return whole.startswith(part.rstrip("\ufffd"))
        case dict(), dict():
            return all(name in whole and _is_start(item, whole[name]) for name, item in part.items())
        case list(), list():
            return len(part) <= len(whole) and all(map(_is_start, part, whole))
        case _:
            return part == whole


def _says_no_more(part: Any, whole: Any) -> bool:
    """Whether every text of one telling stands in the other, whatever their shapes; the last may be cut."""
    texts = set(_texts(whole))
    lacking = [text for text in _texts(part) if text not in texts]
    return all(any(one.startswith(text.rstrip("\ufffd")) for one in texts) for text in lacking)


def _texts(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        match stack.pop():
            case str(text):
                yield text
            case dict(found):
                stack += found.values()
            case list(found):
                stack += found
            case _:
                pass
