"""OpenAI's Chat Completions, and the many servers that speak it.

The first choice of a response is the answer; further ones are kept beside it. `max_tokens`, `functions`,
`function_call` and the role `function` are older forms: they are read, and written again where they were read.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import Written
from palaver.wire.openai._calls import Calls
from palaver.wire.openai._chat_assistant import assistant_fields, assistant_from
from palaver.wire.openai._chat_turns import system_to, turns_from, turns_to
from palaver.wire.openai._errors import error_from
from palaver.wire.openai._notes import (
    NO_ANSWER,
    Dialect,
    Fields,
    Writing,
    annotate,
    difference,
    kept,
    merged,
    shape,
    told,
)
from palaver.wire.openai._settings import effort_to, level_from, limit_from, sampling_from, sampling_to, spelling
from palaver.wire.openai._tools import choice_from, choice_to, function_from, function_to, tools_from, tools_to
from palaver.wire.openai._usage import usage_from, usage_to

name = "openai_chat"
provider = "openai"

_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "seed": "seed", "stop": "stop_sequences"}
_REQUEST = (
    *("system", "messages", "model", "thinking", "tools", "tool_choice", "max_output_tokens", "sampling"),
    "provider_data",
)
_LIMITS = ("max_completion_tokens", "max_tokens")
_FINISHED = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "error": "error",
}
_FINISH = {"stop": "stop", "length": "length", "tool_use": "tool_calls", "content_filter": "content_filter"}


def request_from_wire(payload: JsonObject) -> JsonObject:
    request: JsonObject = {}
    messages = payload.get("messages")
    system, turns = turns_from(messages) if isinstance(messages, list) else ([], [])
    if system:
        request["system"] = system
    request["messages"] = turns
    if isinstance(payload.get("model"), str) and payload["model"]:
        request["model"] = payload["model"]
    first = _settings_from(payload, request)
    if not isinstance(messages, list):
        first["shape"] = {**first.get("shape", {}), "messages": "none"}
    rest = {key: value for key, value in payload.items() if key != "messages" or not isinstance(value, list)}
    fields = _settings_fields(request, first, Writing(name))
    return annotate(request, name, merged(first, difference(rest, *fields)))


def request_to_wire(request: JsonObject) -> Written:
    writing = Writing(name)
    notes = writing.notes(request)
    writing.leave_out(request, _REQUEST, "")
    payload = told(*_settings_fields(request, notes, writing), notes)
    messages = [*system_to(request, writing), *turns_to(request["messages"], writing)]
    if messages or shape(notes).get("messages") != "none":
        payload = {"messages": messages} | {key: value for key, value in payload.items() if key != "messages"}
    return Written(payload, writing.told_losses())


def _settings_from(payload: JsonObject, request: JsonObject) -> JsonObject:
    """Put the settings of a payload into a request; gives what decides how they are written."""
    facts: JsonObject = {}
    if (level := level_from(payload.get("reasoning_effort"))) is not None:
        request["thinking"] = {"level": level, "include_summary": False}
        facts |= spelling("reasoning_effort", payload["reasoning_effort"], level)
    has_tools = isinstance(payload.get("tools"), list)
    older = [function_from(one) for one in payload["functions"]] if isinstance(payload.get("functions"), list) else []
    if has_tools:
        ours, others = tools_from(payload["tools"], name)
        facts |= {"tools": others} if others else {}
        if ours:
            request["tools"] = ours
    elif older and all(one is not None for one in older):
        facts["functions"] = True
        request["tools"] = older
    choice = payload.get("function_call") if facts.get("functions") else payload.get("tool_choice")
    if (chosen := choice_from(choice)) is not None:
        request["tool_choice"] = chosen
        if facts.get("functions") or choice != choice_to(request, None, Writing(name)):
            facts["tool_choice"] = choice
    for field in _LIMITS:
        if "max_output_tokens" not in request and (limit := limit_from(payload.get(field))) is not None:
            request["max_output_tokens"] = limit
            facts |= {"limit": field} if field != _LIMITS[0] else {}
    sampling = sampling_from(payload, {theirs: ours for theirs, ours in _SAMPLING.items() if theirs != "stop"})
    if stop := _stop_from(payload.get("stop")):
        sampling["stop_sequences"] = stop
        facts |= {"stop": payload["stop"]} if isinstance(payload["stop"], str) else {}
    if sampling:
        request["sampling"] = sampling
    return {"shape": facts} if facts else {}


def _settings_fields(request: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    facts = shape(notes)
    said: JsonObject = {"model": request["model"]} if "model" in request else {}
    if thinking := request.get("thinking"):
        said["reasoning_effort"] = effort_to(thinking, request.get("model", ""), facts.get("reasoning_effort"), writing)
        writing.leave_out(thinking, ("level", "include_summary"), "/thinking")
        if thinking.get("include_summary"):
            writing.losses.drop("/thinking/include_summary", "a summary of the reasoning cannot be asked for here")
    is_older = facts.get("functions") is True
    if is_older:
        functions = [function_to(tool, f"/tools/{at}", writing) for at, tool in enumerate(request.get("tools") or ())]
        said |= {"functions": functions} if functions else {}
    elif tools := tools_to(request, facts.get("tools", []), writing):
        said["tools"] = tools
    if request.get("tool_choice"):
        field = "function_call" if is_older else "tool_choice"
        said[field] = choice_to(request, facts.get("tool_choice"), writing)
        if is_older and "function" in said[field]:
            said[field] = said[field]["function"]
    if request.get("max_output_tokens") is not None:
        said[facts.get("limit", _LIMITS[0])] = request["max_output_tokens"]
    sampling = sampling_to(request, _SAMPLING, writing)
    if "stop" in sampling and _stop_from(facts.get("stop")) == sampling["stop"]:
        sampling["stop"] = facts["stop"]
    return Fields({**said, **sampling}, {})


def _stop_from(stop: Any) -> list[str] | None:
    match stop:
        case str() if stop:
            return [stop]
        case [*texts] if texts and all(isinstance(text, str) for text in texts):
            return texts
        case _:
            return None


def response_from_wire(payload: JsonObject) -> JsonObject:
    choices: list[Any] = payload["choices"] if isinstance(payload.get("choices"), list) else []
    choice = choices[0] if choices else None
    response: JsonObject = {"content": [], "finish_reason": "error" if payload.get("error") else "unknown"}
    first: JsonObject = {}
    if not isinstance(choice, dict):
        first["shape"] = {"choices": "none"}
    else:
        first |= _choice_from(choice, response)
        if choices[1:]:
            first["choices"] = choices[1:]
    if (usage := usage_from(payload.get("usage"), name)) is not None:
        response["usage"] = usage
    if isinstance(payload.get("model"), str) and payload["model"]:
        response["model"] = payload["model"]
    rest = _without(payload, "choices") if isinstance(choice, dict) else payload
    notes = difference(rest, *_response_fields(response, first, Writing(name, is_response=True)))
    return annotate(response, name, merged(first, notes))


def _choice_from(choice: JsonObject, response: JsonObject) -> JsonObject:
    """Put a choice into a response; gives its notes."""
    message = choice.get("message")
    notes: JsonObject | None = None
    if isinstance(message, dict):
        content, notes = assistant_from(message, Calls(set()), is_response=True)
        response["content"] = content
    if notes is None:
        response["content"] = [kept("message", message, name)] if message is not None else []
        first: JsonObject = {"shape": {"message": "raw" if message is not None else "none"}}
    else:
        first = {"message": notes} if notes else {}
    finished = choice.get("finish_reason")
    response["finish_reason"] = _FINISHED.get(finished, "unknown") if isinstance(finished, str) else "unknown"
    fields = _choice_fields(response, first, Writing(name, is_response=True))
    found = merged(first, difference(_without(choice, "message") if message is not None else choice, *fields))
    return {"shape": {"choice": found}} if found else {}


def response_to_wire(response: JsonObject, dialect: Dialect = "api") -> Written:
    """`seed` puts a sentence where there is neither text nor call."""
    writing = Writing(name, dialect, is_response=True)
    notes = writing.notes(response)
    writing.leave_out(response, ("content", "finish_reason", "usage", "model"), "")
    payload = told(*_response_fields(response, notes, writing), notes)
    if shape(notes).get("choices") == "none" and not response["content"]:
        return Written(payload, writing.told_losses())
    payload["choices"] = [_choice_to(response, notes, writing), *notes.get("choices", ())]
    return Written(payload, writing.told_losses())


def _response_fields(response: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    said: JsonObject = {"model": response["model"]} if response.get("model") is not None else {}
    if response.get("usage"):
        said["usage"] = usage_to(response["usage"], "/usage", writing)
    filled: JsonObject = {"id": "chatcmpl-0", "object": "chat.completion", "created": 0, "model": ""}
    if shape(notes).get("choices") == "none":
        filled["choices"] = []
    return Fields(said, filled)


def _choice_to(response: JsonObject, notes: JsonObject, writing: Writing) -> JsonObject:
    of_choice: JsonObject = shape(notes).get("choice", {})
    content: list[JsonObject] = response["content"]
    made = told(*_choice_fields(response, of_choice, writing), of_choice)
    form = shape(of_choice).get("message")
    if form == "raw" and len(content) == 1 and "raw" in content[0]:
        return {**made, "message": content[0]["raw"]}
    if form == "none" and not content:
        return made
    of_message: JsonObject = of_choice.get("message", {})
    message = told(*assistant_fields(content, of_message, "", writing), of_message)
    is_empty = not any(message.get(field) for field in ("tool_calls", "refusal", "audio"))
    if writing.dialect == "seed" and message.get("content") is None and is_empty:
        writing.losses.change("/content", "a sentence stands where there is no answer")
        message["content"] = NO_ANSWER
    return {**made, "message": message}


def _choice_fields(response: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    reason = response["finish_reason"]
    noted_reason = notes.get("finish_reason")
    said: JsonObject = {}
    filled: JsonObject = {"index": 0}
    if reason in _FINISH:
        is_same = isinstance(noted_reason, str) and _FINISHED.get(noted_reason) == reason
        said["finish_reason"] = noted_reason if is_same else _FINISH[reason]
    else:
        if "finish_reason" not in notes and "finish_reason" not in shape(notes).get("absent", ()):
            writing.losses.change("/finish_reason", f"there is no word for {reason!r} here")
        filled["finish_reason"] = "stop"
    return Fields(said, filled)


def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    return error_from(payload, name, status)


def _without(payload: JsonObject, field: str) -> JsonObject:
    return {key: value for key, value in payload.items() if key != field}
