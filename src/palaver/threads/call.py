"""A call: one request to a model's API with what came back, as a log holds it, in the provider's own format."""

from dataclasses import dataclass, field
from typing import Any

from palaver.model import compose
from palaver.model.build import JsonObject
from palaver.wire import wire_format


@dataclass(slots=True)
class Call:
    """What a log says of one call. Whoever reads the log fills it in; `Threads` makes conversations of many."""

    call_id: str
    """The log's own id of the request, the same in every file that tells of it: correlation id, request id."""
    wire: str
    """The format of both payloads, as `wire_format` names it: `openai-chat`, `openai-responses`, `anthropic`, …"""
    request: JsonObject
    """The payload as it was sent, as far as it is known; parsed."""
    response: JsonObject | None = None
    """The payload of the answer as it would have come in one piece; None where there is none, or an error."""
    error: JsonObject | None = None
    """Why there is no answer, or only a part of one, as `error_from_wire` tells it."""
    started_at: str | None = None
    """When the request was sent, in the schema's spelling."""
    ended_at: str | None = None
    """When the answer was there."""
    duration_ms: float | None = None
    is_request_cut: bool = False
    """Whether some of the request is missing: then it cannot be told which conversation it belongs to."""
    is_answer_cut: bool = False
    """Whether some of the answer is missing."""
    caller: str = ""
    """Who asked, in whatever words the log has: calls of different callers never share a conversation."""
    session_id: str = ""
    """The client's own session, where the request names it; then a system prompt may change within a conversation."""
    version: str | None = None
    """Of the API."""
    model: str | None = None
    """The model that answered, where the log says so and the answer does not."""
    platform: JsonObject = field(default_factory=dict[str, Any])
    """What is said of the conversation as a whole: `platform.metadata` (the deployment, …)."""
    answer: JsonObject = field(default_factory=dict[str, Any])
    """What is said of the answer beside its payload: `metadata` of its message (region, status, filters, …)."""
    helper: str = ""
    """What the client asked this for, where it was not for the person: `title`, `quota`, `topic`, …"""
    usage: JsonObject | None = None
    """Token counts that the log has beside the payload, by the names of a message's `tokens`; they fill gaps."""
    where: str = ""
    """Where it stands in the source."""

    def exchange(self) -> JsonObject:
        """The call as an exchange document."""
        wire = wire_format(self.wire)
        request = wire.request_from_wire(self.request)
        request.setdefault("model", self.model or "unknown")
        response = wire.response_from_wire(self.response) if self.response is not None else None
        return compose.exchange(
            self.call_id,
            request,
            response,
            provider=wire.provider,
            error=self.error,
            started_at=self.started_at,
            duration_ms=self.duration_ms if self.duration_ms is None or self.duration_ms >= 0 else None,
        )
