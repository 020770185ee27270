"""A call: one logged request to a model's API with its response, in the provider's own format."""

from dataclasses import dataclass, field
from typing import Any

from palaver.model import compose
from palaver.model.build import JsonObject
from palaver.wire import wire_format


@dataclass(slots=True)
class Call:
    """One API call as logged. Importers fill it in; `Threads` joins many calls into conversations."""

    call_id: str
    """The log's id of the request (correlation id, request id), the same in every file that mentions it."""
    wire: str
    """The format of the request, as `wire_format` names it: `openai-chat`, `openai-responses`, `anthropic`, …"""
    request: JsonObject
    """The parsed payload as sent, as far as it is known."""
    response: JsonObject | None = None
    """The response payload, with streams assembled; None without an answer, or with an error instead."""
    error: JsonObject | None = None
    """Why the answer is missing or incomplete, as returned by `error_from_wire`."""
    started_at: str | None = None
    """When the request was sent, as a schema timestamp."""
    ended_at: str | None = None
    """When the answer was complete."""
    duration_ms: float | None = None
    is_request_cut: bool = False
    """Whether part of the request is missing; its conversation cannot be determined then."""
    is_answer_cut: bool = False
    """Whether part of the answer is missing."""
    caller: str = ""
    """Who made the call, however the log names them. Calls of different callers never share a conversation."""
    session_id: str = ""
    """The client's session, if the request names it. The system prompt may then change within a conversation."""
    version: str | None = None
    """The version of the API."""
    model: str | None = None
    """The model that answered, if the log names it and the answer does not."""
    platform: JsonObject = field(default_factory=dict[str, Any])
    """Metadata of the whole conversation, for `platform.metadata` (the deployment, …)."""
    answer: JsonObject = field(default_factory=dict[str, Any])
    """Metadata of the answer that its payload lacks, for `metadata` of its message (region, status, filters, …)."""
    helper: str = ""
    """Why the client made the call on its own account: `title`, `quota`, `topic`, …; empty if a person asked."""
    usage: JsonObject | None = None
    """Token counts logged beside the payload, named as in a message's `tokens`; used where the payload has none."""
    where: str = ""
    """The position in the source."""
    following: "list[Call]" = field(default_factory=list["Call"])
    """Further answers to this request in the same stream, each with the request; they have no followers themselves."""
    stream_position: int = 0
    """The number of answers before this one in the same stream."""
    answer_wire: str = ""
    """The format of the response where it shows: translating proxies answer in another one than they were asked in."""

    @property
    def response_wire(self) -> str:
        """The format of the response."""
        return self.answer_wire or self.wire

    def exchange(self) -> JsonObject:
        """Return the call as an exchange document."""
        wire = wire_format(self.wire)
        request = wire.request_from_wire(self.request)
        request.setdefault("model", self.model or "unknown")
        return compose.exchange(
            self.call_id,
            request,
            self.exchange_response(),
            provider=wire.provider,
            error=self.error,
            started_at=self.started_at,
            duration_ms=self.duration_ms if self.duration_ms is None or self.duration_ms >= 0 else None,
        )

    def exchange_response(self) -> JsonObject | None:
        """Return the response as in an exchange document; None if there is none."""
        return wire_format(self.response_wire).response_from_wire(self.response) if self.response is not None else None
