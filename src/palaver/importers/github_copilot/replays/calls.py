"""A logged request as a call of a model's API."""

from typing import Any

from palaver.importers.github_copilot.replays.messages import chat_message
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp
from palaver.redact import masked_url
from palaver.threads.call import Call
from palaver.wire._errors import error

SESSION = "exported log"
"""These files name no session; with one, the system prompt may change within a conversation."""
_HELPERS = {"title": "title", "progressMessages": "progress", "promptCategorization": "categorization"}
_PLACED = frozenset({"model", "startTime", "endTime", "duration", "usage", "tools", "url"})


def call_of(log: JsonObject, where: str) -> Call:
    """What an entry says of a request and of what came back."""
    metadata = log.get("metadata")
    stated: JsonObject = metadata if isinstance(metadata, dict) else {}
    sent = log.get("requestMessages")
    asked: JsonObject = sent if isinstance(sent, dict) else {}
    messages = asked.get("messages")
    model = stated.get("model")
    request: JsonObject = {"messages": [chat_message(one) for one in messages] if isinstance(messages, list) else []}
    if isinstance(model, str) and model:
        request["model"] = model
    if isinstance(tools := stated.get("tools"), list):
        request["tools"] = tools
    response, failure = _came_back(log.get("response"), stated.get("usage"))
    if response is not None and isinstance(resolved := stated.get("resolvedModel"), str):
        response["model"] = resolved
    if log.get("type") == "ChatMLCancelation" and failure is None and response is None:
        failure = error("canceled", ("canceled",))
    duration = stated.get("duration")
    name = log.get("name")
    return Call(
        call_id=log["id"],
        wire="openai-chat",
        request=request,
        response=response,
        error=failure,
        started_at=readable_timestamp(stated.get("startTime")) or None,
        ended_at=readable_timestamp(stated.get("endTime")) or None,
        duration_ms=duration if type(duration) in (int, float) else None,
        session_id=SESSION,
        answer=_about(log, stated, asked),
        helper=_HELPERS.get(name, "") if isinstance(name, str) else "",
        where=where,
    )


def answers_of(call: Call) -> list[JsonObject]:
    """The messages of the answer, as they can still be changed."""
    choices = (call.response or {}).get("choices")
    return [choice["message"] for choice in choices] if isinstance(choices, list) else []


def _came_back(response: Any, usage: Any) -> tuple[JsonObject | None, JsonObject | None]:
    match response:
        case {"type": "failure", **rest}:
            reason = rest.get("reason")
            return None, error(reason if isinstance(reason, str) else "failed", provider_data={"response": response})
        case {"type": "canceled" | "cancelled" as word}:
            return None, error(word, (word,), provider_data={"response": response})
        case {"message": said}:
            texts = said if isinstance(said, list) else [said]
            is_cut = response.get("type") == "truncated"
            rest = {key: value for key, value in response.items() if key not in {"type", "message"}}
            payload: JsonObject = {
                "choices": [_choice(text, number, is_cut=is_cut) for number, text in enumerate(texts)]
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
            return None, error("no answer that can be read", provider_data={"response": response})


def _choice(text: Any, number: int, *, is_cut: bool) -> JsonObject:
    message: JsonObject = {"role": "assistant", "content": text if isinstance(text, str) else [text]}
    return {"index": number, "message": message, "finish_reason": "length" if is_cut else "stop"}


def _about(log: JsonObject, stated: JsonObject, asked: JsonObject) -> JsonObject:
    """What else is said of a request, under the names that the log has for it."""
    about: JsonObject = {}
    told = {key: value for key, value in log.items() if key not in {"id", "metadata", "requestMessages", "response"}}
    facts = {key: value for key, value in stated.items() if key not in _PLACED and value is not None}
    if isinstance(url := stated.get("url"), str):
        facts["url"] = masked_url(url)
    unread = {
        key: stated[key] for key in ("model", "duration", "usage", "tools", "startTime", "endTime") if key in stated
    }
    facts |= {key: value for key, value in unread.items() if not _is_read(key, value)}
    if not isinstance(log.get("metadata"), dict | None):
        told["metadata"] = log["metadata"]
    if not isinstance(asked.get("messages"), list | None):
        told["messages"] = asked["messages"]
    if not isinstance(log.get("requestMessages"), dict | None):
        told["requestMessages"] = log["requestMessages"]
    if rest := {key: value for key, value in asked.items() if key != "messages" and value is not None}:
        told["requestMessages"] = rest
    if facts:
        told["metadata"] = facts
    about["entry"] = told
    return about


def _is_read(key: str, value: Any) -> bool:
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
            return bool(readable_timestamp(value))
