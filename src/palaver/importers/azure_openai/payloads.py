"""The payloads of a call, its request and its response, each chosen from all versions that a log has.

The client's version takes precedence over the backend's, unless only the backend's is complete. A version that differs
is kept in the metadata of the answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from palaver.importers.azure_openai.bodies import Body, decode_body
from palaver.importers.azure_openai.payload_formats import (
    Kind,
    contains_message,
    request_from_messages,
    request_kind,
    response_from_messages,
)
from palaver.importers.azure_openai.row import Row
from palaver.importers.azure_openai.row_groups import CallRows, join_messages, missing_chunk_numbers
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.run import Run

CUT_BODY = finding_kind("cut-body", "warning", "The log has only the beginning of a body; that part was read.")
OPAQUE_BODY = finding_kind(
    "opaque-body", "warning", "A body is neither JSON nor an event stream; it is kept unchanged."
)
MISSING_CHUNK = finding_kind("missing-chunk", "warning", "Numbered rows with parts of a call's messages are missing.")


@dataclass(slots=True)
class Payload:
    name: str
    """`request` or `response`."""
    body: Body | None = None
    extra_fields: JsonObject = field(default_factory=dict[str, Any])
    """Metadata of the answer: versions that differ, and bodies that could not be read."""

    @property
    def value(self) -> Any:
        return self.body.value if self.body is not None else None

    @property
    def is_cut(self) -> bool:
        return self.body is not None and (self.body.is_cut or self.body.is_opaque)

    def body_text(self) -> str:
        return self.body.text if self.body is not None and self.body.is_opaque else ""

    def contains_message(self) -> bool:
        """Whether the body contains a message, in any format."""
        return self.body is not None and (contains_message(self.body.value) or contains_message(self.body.text))

    def preserve_body(self) -> None:
        """Keep the original body, because it is dropped or converted."""
        if self.body is not None and (original := self.body.value or self.body.text):
            self.extra_fields[f"{self.name}_body"] = original


class Payloads:
    """The request and the response of one call."""

    def __init__(self, call_rows: CallRows) -> None:
        self._call_rows = call_rows
        self._missing = missing_chunk_numbers(call_rows.llm)
        self.request = self._from_heads("request")
        self.response = self._from_heads("response")
        if any(row.is_cut for row in call_rows.heads):
            self._mark_cut()
        self._add_llm_request()
        self.request_kind: Kind | None = request_kind(self.request.value)
        """The format of the request."""
        self._add_llm_response()

    def note_findings(self, run: Run) -> None:
        """Note what is missing or could not be read."""
        if self._missing:
            run.note(MISSING_CHUNK, self._call_rows.llm[0].where, f"row {', '.join(map(str, self._missing))}")
        for payload in (self.request, self.response):
            if payload.body is not None and (payload.is_cut or payload.body.remarks or payload.body.unread_tail):
                self._note_payload(payload, payload.body, run)

    def _from_heads(self, name: str) -> Payload:
        payload = Payload(name)
        for row in self._call_rows.heads:
            of_client, of_backend = row.get(f"{name}body"), row.get(f"backend{name}body")
            client = decode_body(of_client)
            backend = decode_body(of_backend) if of_backend != of_client else None
            for body, prefix in ((client, ""), (backend, "backend_")):
                if body is not None:
                    _add_body(payload, body, f"{prefix}{name}_body")
        return payload

    def _mark_cut(self) -> None:
        """Mark the last body of a truncated record: a body that is an object does not show that it is cut."""
        last = self.response.body or self.request.body
        if last is not None and last.value is not None:
            last.is_cut = True

    def _add_llm_request(self) -> None:
        messages = join_messages(self._call_rows.llm, "requestmessages", self._missing)
        if messages is not None:
            if isinstance(messages.value, list):
                messages.value = request_from_messages(messages.value)
            _add_messages(self.request, messages, "llm_request_messages")

    def _add_llm_response(self) -> None:
        messages = join_messages(self._call_rows.llm, "responsemessages", self._missing)
        if messages is not None:
            if isinstance(messages.value, list):
                messages.value = response_from_messages(messages.value, self.request_kind or "openai-chat")
            _add_messages(self.response, messages, "llm_response_messages")

    def _note_payload(self, payload: Payload, body: Body, run: Run) -> None:
        where = self._where(payload.name)
        for kind, message in body.remarks:
            run.note(kind, where, message)
        if body.unread_tail:
            payload.extra_fields["unread_events"] = body.unread_tail
        if body.is_opaque:
            run.note(OPAQUE_BODY, where, f"the {payload.name}")
        elif body.is_cut:
            run.note(CUT_BODY, where, f"the {payload.name}")

    def _where(self, name: str) -> str:
        rows: list[Row] = [*self._call_rows.heads, *self._call_rows.llm]
        names = (f"{name}body", f"backend{name}body", f"{name}messages")
        return next((row.where for row in rows if row.has(names)), rows[0].where)


def _add_body(payload: Payload, body: Body, name: str) -> None:
    """Add a body of the client or, after it, of the backend."""
    current = payload.body
    if current is None:
        payload.body = body
    elif _is_less_complete(current, body):
        payload.body = body
        if current.is_opaque or not _is_prefix(current.value, body.value):
            payload.extra_fields[f"{payload.name}_body"] = current.value or current.text
    elif (body.value != current.value or body.is_opaque) and not (
        body.is_cut and _is_prefix(body.value, current.value)
    ):
        payload.extra_fields[name] = body.value or body.text


def _add_messages(payload: Payload, body: Body, name: str) -> None:
    """Add messages that were logged without the rest of their payload."""
    current = payload.body
    if current is None:
        payload.body = body
    elif _is_less_complete(current, body) and isinstance(current.value, dict) and isinstance(body.value, dict):
        # Only the truncated body has the settings.
        payload.body = Body({**current.value, **body.value})
        if not _adds_nothing(current.value, body.value):
            payload.extra_fields[f"{payload.name}_body"] = current.value
    elif current.is_opaque and not body.is_opaque:
        payload.body = body
        payload.extra_fields[f"{payload.name}_body"] = current.text
    elif body.is_opaque or not _adds_nothing(body.value, current.value):
        payload.extra_fields[name] = body.value or body.text


def _is_less_complete(current: Body, body: Body) -> bool:
    return (current.is_cut or current.is_opaque) and not (body.is_cut or body.is_opaque)


def _is_prefix(part: Any, whole: Any) -> bool:
    """Whether a value is the truncated form of the other."""
    match part, whole:
        case str(), str():
            return whole.startswith(part.rstrip("\ufffd"))
        case dict(), dict():
            return all(name in whole and _is_prefix(item, whole[name]) for name, item in part.items())
        case list(), list():
            return len(part) <= len(whole) and all(map(_is_prefix, part, whole))
        case _:
            return part == whole


def _adds_nothing(part: Any, whole: Any) -> bool:
    """Whether every text in one value is also in the other, in any structure; texts may be truncated."""
    texts = set(_texts(whole))
    missing = [text for text in _texts(part) if text not in texts]
    return all(any(longer.startswith(text.rstrip("\ufffd")) for longer in texts) for text in missing)


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
