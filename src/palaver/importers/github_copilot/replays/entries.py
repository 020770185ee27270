"""Entries of an exported log and their prompts: requests as API calls, tool calls as tool runs."""

from dataclasses import dataclass, field
from typing import Any

from palaver.importers.github_copilot.replays.chat_messages import chat_message, plain_id
from palaver.importers.github_copilot.replays.tool_runs import ToolRun
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import timestamp_or_empty
from palaver.redact.policy import mask_url
from palaver.threads.call import Call
from palaver.wire._errors import exchange_error

BAD_ENTRY = finding_kind(
    "bad-replay-entry", "error", "An entry of an exported log has an unknown kind; it is quarantined."
)
SESSION = "exported log"
"""A made-up session id, as these files have none: it lets the system prompt change within a conversation."""
_HELPERS = {"title": "title", "progressMessages": "progress", "promptCategorization": "categorization"}
_MAPPED = frozenset({"model", "startTime", "endTime", "duration", "usage", "tools", "url"})


@dataclass(slots=True)
class Prompt:
    """What the user typed, with the other fields of the prompt in the log."""

    fields: JsonObject = field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        text = self.fields.get("prompt")
        return text if isinstance(text, str) else ""


@dataclass(slots=True)
class Entry:
    log: JsonObject
    where: str
    prompt: Prompt

    @property
    def kind(self) -> str:
        match self.log:
            case {"kind": "request", "type": "MarkdownContentRequest", "content": str()}:
                return "markdown"
            case {"kind": "request", "id": str(name)} if name:
                return "request"
            case {"kind": "toolCall", "id": str(name)} if name:
                return "tool"
            case {"kind": "element"}:
                return "element"
            case {"kind": "error"}:
                return "error"
            case _:
                return ""


def to_tool_run(log: JsonObject) -> ToolRun:
    """Return a tool entry as a run; the thinking before the call goes into the result's metadata."""
    time = timestamp_or_empty(log.get("time"))
    name = log.get("tool")
    metadata: JsonObject = {"source_id": log["id"]}
    if time:
        metadata["time"] = time
    mapped = {"id", "kind", "tool", "args", "response"} | ({"time"} if time else set())
    if not isinstance(name, str):
        mapped -= {"tool"}
    if rest := {key: value for key, value in log.items() if key not in mapped and value is not None}:
        metadata["entry"] = rest
    return ToolRun(
        call_id=plain_id(log["id"]),
        name=name if isinstance(name, str) and name else "unknown",
        arguments=log.get("args"),
        result=log.get("response"),
        ended_at=time,
        metadata=metadata,
    )


def to_call(log: JsonObject, where: str) -> Call:
    """Return a request entry as an API call with its response or error."""
    metadata = log.get("metadata")
    fields: JsonObject = metadata if isinstance(metadata, dict) else {}
    raw_request = log.get("requestMessages")
    sent: JsonObject = raw_request if isinstance(raw_request, dict) else {}
    messages = sent.get("messages")
    model = fields.get("model")
    request: JsonObject = {
        "messages": [chat_message(message) for message in messages] if isinstance(messages, list) else []
    }
    if isinstance(model, str) and model:
        request["model"] = model
    if isinstance(tools := fields.get("tools"), list):
        request["tools"] = tools
    response, failure = _response_or_error(log.get("response"), fields.get("usage"))
    if response is not None and isinstance(resolved := fields.get("resolvedModel"), str):
        response["model"] = resolved
    if log.get("type") == "ChatMLCancelation" and failure is None and response is None:
        failure = exchange_error("canceled", ("canceled",))
    duration = fields.get("duration")
    name = log.get("name")
    return Call(
        call_id=log["id"],
        wire="openai-chat",
        request=request,
        response=response,
        error=failure,
        started_at=timestamp_or_empty(fields.get("startTime")) or None,
        ended_at=timestamp_or_empty(fields.get("endTime")) or None,
        duration_ms=duration if type(duration) in (int, float) else None,
        session_id=SESSION,
        answer={"entry": _unmapped_fields(log, fields, sent)},
        helper=_HELPERS.get(name, "") if isinstance(name, str) else "",
        where=where,
    )


def answer_messages(call: Call) -> list[JsonObject]:
    """Return the messages of a call's response, to be completed in place."""
    choices = (call.response or {}).get("choices")
    return [choice["message"] for choice in choices] if isinstance(choices, list) else []


def _response_or_error(response: Any, usage: Any) -> tuple[JsonObject | None, JsonObject | None]:
    match response:
        case {"type": "failure", **rest}:
            reason = rest.get("reason")
            return None, exchange_error(
                reason if isinstance(reason, str) else "failed", provider_data={"response": response}
            )
        case {"type": "canceled" | "cancelled" as word}:
            return None, exchange_error(word, (word,), provider_data={"response": response})
        case {"message": message}:
            texts = message if isinstance(message, list) else [message]
            is_truncated = response.get("type") == "truncated"
            rest = {key: value for key, value in response.items() if key not in {"type", "message"}}
            payload: JsonObject = {
                "choices": [_choice(text, number, is_truncated=is_truncated) for number, text in enumerate(texts)]
            }
            if isinstance(calls := rest.get("toolCalls"), list) and len(texts) == 1:
                del rest["toolCalls"]
                payload["choices"][0]["message"] |= chat_message({"role": 2, "toolCalls": calls})
            if isinstance(usage, dict):
                payload["usage"] = usage
            return {**({"response": rest} if rest else {}), **payload}, None
        case None:
            return None, None
        case _:
            return None, exchange_error("no answer that can be read", provider_data={"response": response})


def _choice(text: Any, number: int, *, is_truncated: bool) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": text if isinstance(text, str) else [text]}
    return {"index": number, "message": message, "finish_reason": "length" if is_truncated else "stop"}


def _unmapped_fields(log: JsonObject, fields: JsonObject, sent: JsonObject) -> JsonObject:
    """Return the other fields of an entry, its metadata and its request, under the log's names."""
    entry = {key: value for key, value in log.items() if key not in {"id", "metadata", "requestMessages", "response"}}
    metadata = {key: value for key, value in fields.items() if key not in _MAPPED and value is not None}
    if isinstance(url := fields.get("url"), str):
        metadata["url"] = mask_url(url)
    for key in ("model", "duration", "usage", "tools", "startTime", "endTime"):
        if key in fields and not _is_mapped(key, fields[key]):
            metadata[key] = fields[key]
    if not isinstance(log.get("metadata"), dict | None):
        entry["metadata"] = log["metadata"]
    if not isinstance(sent.get("messages"), list | None):
        entry["messages"] = sent["messages"]
    if not isinstance(log.get("requestMessages"), dict | None):
        entry["requestMessages"] = log["requestMessages"]
    if rest := {key: value for key, value in sent.items() if key != "messages" and value is not None}:
        entry["requestMessages"] = rest
    if metadata:
        entry["metadata"] = metadata
    return entry


def _is_mapped(key: str, value: Any) -> bool:
    """Whether the value of a mapped field has the type that its mapping needs."""
    match key:
        case "model":
            return isinstance(value, str)
        case "duration":
            return type(value) in (int, float)
        case "usage":
            return isinstance(value, dict)
        case "tools":
            return isinstance(value, list)
        case _:
            return bool(timestamp_or_empty(value))
