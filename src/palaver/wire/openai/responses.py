"""OpenAI's Responses API, in two dialects.

`api` is what the API and its SDK accept. `seed` is a specification of the conversion from Chat with forms of its own:
all results of a turn in one message of the user, a `system` field, images of the assistant, calls among the parts of a
message. Both are read; where a payload could be either, it is the API's.

Reasoning needs an id, which only the provider can give: one is made up for reasoning of other origin. What a request
only refers to (a previous response, a conversation, an item by its id) is kept beside the request, or in its place.
"""

from itertools import takewhile
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import Written
from palaver.wire.openai import chat
from palaver.wire.openai._errors import error_from
from palaver.wire.openai._media import fenced
from palaver.wire.openai._notes import Dialect, Fields, Writing, annotate, difference, is_plain, merged, shape, told
from palaver.wire.openai._responses_parts import is_seed
from palaver.wire.openai._responses_turns import blocks_from, turns_from
from palaver.wire.openai._responses_writing import Items
from palaver.wire.openai._settings import effort_to, level_from, limit_from, sampling_from, sampling_to, spelling
from palaver.wire.openai._tools import choice_from, choice_to, tools_from, tools_to
from palaver.wire.openai._usage import usage_from, usage_to

name = "openai_responses"
provider = "openai"

_SAMPLING = {"temperature": "temperature", "top_p": "top_p"}
_REQUEST = ("system", "messages", "model", "thinking", "tools", "tool_choice", "max_output_tokens", "sampling")
_SUMMARIES = ("summary", "generate_summary")
_WORDS = ("auto", "concise", "detailed")
_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}
_CUT_BY = {reason: word for word, reason in _CUT.items()}


def request_from_wire(payload: JsonObject) -> JsonObject:
    request: JsonObject = {}
    given = payload.get("input")
    has_system = not isinstance(payload.get("instructions"), str) and isinstance(payload.get("system"), str)
    dialect: Dialect = "seed" if has_system or (isinstance(given, list) and is_seed(given)) else "api"
    match given:
        case str():
            system, turns = [], [{"role": "user", "content": [{"type": "text", "text": given}]}]
        case list():
            system, turns = turns_from(given, dialect)
        case _:
            system, turns = [], []
    prompt = payload.get("system" if has_system else "instructions")
    if isinstance(prompt, str):
        system = [{"type": "text", "text": prompt}, *system]
    if system:
        request["system"] = system
    request["messages"] = turns
    if isinstance(payload.get("model"), str) and payload["model"]:
        request["model"] = payload["model"]
    first = _settings_from(payload, request)
    is_input = isinstance(given, str | list)
    facts = {"input": "list"} if isinstance(given, list) and _is_one_text(request) else {}
    first = merged(first, {"shape": facts}) if facts else first
    rest = {key: value for key, value in payload.items() if key != "input" or not is_input}
    said, filled = _settings_fields(request, first, Writing(name, "seed" if has_system else "api"))
    notes = difference(rest, said, filled if is_input else {**filled, "input": []})
    return annotate(request, name, merged(first, notes))


def request_to_wire(request: JsonObject, dialect: Dialect = "api") -> Written:
    writing = Writing(name, dialect)
    notes = writing.notes(request)
    writing.leave_out(request, _REQUEST, "")
    said, filled = _settings_fields(request, notes, writing)
    items = Items(writing)
    items.add_system(_system(request)[len(_instructions(request, writing)) :])
    for index, message in enumerate(request["messages"]):
        items.add_turn(message, f"/messages/{index}")
    given: Any = items.written
    if dialect == "api" and shape(notes).get("input") != "list" and _is_one_text(request):
        given = request["messages"][0]["content"][0]["text"]
    if given or isinstance(given, str):
        said = {**said, "input": given}
    else:
        filled = {**filled, "input": []}
    return Written(told(said, filled, notes), writing.told_losses())


def _system(request: JsonObject) -> list[tuple[JsonObject, str]]:
    return [(block, f"/system/{index}") for index, block in enumerate(request.get("system") or ())]


def _instructions(request: JsonObject, writing: Writing) -> list[tuple[JsonObject, str]]:
    """The blocks of the system prompt before those that stood in the input."""
    return list(takewhile(lambda placed: "item" not in writing.notes(placed[0]), _system(request)))


def _is_one_text(request: JsonObject) -> bool:
    """Whether all there is to send is one text of the user."""
    match request["messages"]:
        case [{"role": "user", "content": [block], **rest}] if not rest:
            return is_plain(block) and not any("item" in _notes(one) for one in request.get("system") or ())
        case _:
            return False


def _notes(block: JsonObject) -> JsonObject:
    return (block.get("provider_data") or {}).get(name) or {}


def _settings_from(payload: JsonObject, request: JsonObject) -> JsonObject:
    """Put the settings of a payload into a request; gives what decides how they are written."""
    facts: JsonObject = {}
    first: JsonObject = {}
    reasoning = payload.get("reasoning")
    if isinstance(reasoning, dict) and (level := level_from(reasoning.get("effort"))) is not None:
        asked = next((field for field in _SUMMARIES if reasoning.get(field) in _WORDS), None)
        request["thinking"] = {"level": level, "include_summary": asked is not None}
        words = spelling("effort", reasoning["effort"], level)
        if asked is not None and (asked, reasoning[asked]) != (_SUMMARIES[0], _WORDS[0]):
            words["summary"] = {asked: reasoning[asked]}
        if words:
            first["reasoning"] = {"shape": words}
    if isinstance(payload.get("tools"), list):
        ours, others = tools_from(payload["tools"], name)
        facts |= {"tools": others} if others else {}
        if ours:
            request["tools"] = ours
    if (chosen := choice_from(payload.get("tool_choice"))) is not None:
        request["tool_choice"] = chosen
        if payload["tool_choice"] != choice_to(request, None, Writing(name)):
            facts["tool_choice"] = payload["tool_choice"]
    if (limit := limit_from(payload.get("max_output_tokens"))) is not None:
        request["max_output_tokens"] = limit
    if sampling := sampling_from(payload, _SAMPLING):
        request["sampling"] = sampling
    return {**first, "shape": facts} if facts else first


def _settings_fields(request: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    said: JsonObject = {"model": request["model"]} if "model" in request else {}
    if (prompt := _prompt(request, writing)) is not None:
        said["system" if writing.dialect == "seed" else "instructions"] = prompt
    if thinking := request.get("thinking"):
        said["reasoning"] = _reasoning(thinking, request.get("model", ""), notes.get("reasoning"), writing)
    if tools := tools_to(request, shape(notes).get("tools", []), writing):
        said["tools"] = tools
    if request.get("tool_choice"):
        said["tool_choice"] = choice_to(request, shape(notes).get("tool_choice"), writing)
    if request.get("max_output_tokens") is not None:
        said["max_output_tokens"] = request["max_output_tokens"]
    return Fields({**said, **sampling_to(request, _SAMPLING, writing)}, {})


def _prompt(request: JsonObject, writing: Writing) -> str | None:
    """The system prompt as one text, without what stands in the input."""
    texts: list[str] = []
    for block, at in _instructions(request, writing):
        if block["type"] == "text":
            writing.leave_out(block, ("type", "text"), at)
            texts.append(block["text"])
        elif block["type"] == "code":
            writing.losses.change(at, "code is written as text")
            texts.append(fenced(block))
        else:
            writing.drop(block, at, "the instructions are text")
    if len(texts) > 1:
        writing.losses.change("/system", "the instructions are one text; several are joined")
    return "\n\n".join(texts) if texts else None


def _reasoning(thinking: JsonObject, model: str, noted: Any, writing: Writing) -> JsonObject:
    writing.leave_out(thinking, ("level", "include_summary"), "/thinking")
    words = shape(noted) if isinstance(noted, dict) else {}
    said = {"effort": effort_to(thinking, model, words.get("effort"), writing)}
    return said | words.get("summary", {_SUMMARIES[0]: _WORDS[0]}) if thinking.get("include_summary") else said


def response_from_wire(payload: JsonObject) -> JsonObject:
    output = payload.get("output")
    response: JsonObject = {"content": blocks_from(output) if isinstance(output, list) else []}
    response["finish_reason"] = _reason(payload, response["content"])
    if (usage := usage_from(payload.get("usage"), name)) is not None:
        response["usage"] = usage
    if isinstance(payload.get("model"), str) and payload["model"]:
        response["model"] = payload["model"]
    rest = {key: value for key, value in payload.items() if key != "output" or not isinstance(value, list)}
    ended: JsonObject = {key: payload[key] for key in ("status", "incomplete_details") if key in payload}
    ended = ended if "status" in ended else {**ended, "shape": {"absent": ["status"]}}
    said, filled = _response_fields(response, ended, Writing(name, is_response=True))
    notes = difference(rest, said, filled if isinstance(output, list) else {**filled, "output": []})
    return annotate(response, name, notes)


def response_to_wire(response: JsonObject, dialect: Dialect = "api") -> Written:
    writing = Writing(name, dialect, is_response=True)
    notes = writing.notes(response)
    writing.leave_out(response, ("content", "finish_reason", "usage", "model"), "")
    said, filled = _response_fields(response, notes, writing)
    items = Items(writing)
    items.add_answer([(block, f"/content/{index}") for index, block in enumerate(response["content"])], "")
    if items.written:
        said = {**said, "output": items.written}
    else:
        filled = {**filled, "output": []}
    return Written(told(said, filled, notes), writing.told_losses())


def _reason(payload: JsonObject, content: list[JsonObject]) -> str:
    """Why a response ended, from its status and what it holds."""
    details = payload.get("incomplete_details")
    match payload.get("status", "completed"):
        case "completed":
            return "tool_use" if any(block["type"] == "tool_use" for block in content) else "stop"
        case "incomplete":
            word = details.get("reason") if isinstance(details, dict) else None
            return _CUT.get(word, "unknown") if isinstance(word, str) else "unknown"
        case "failed":
            return "error"
        case _:
            return "unknown"


def _response_fields(response: JsonObject, notes: JsonObject, writing: Writing) -> Fields:
    said: JsonObject = {"model": response["model"]} if response.get("model") is not None else {}
    if response.get("usage"):
        said["usage"] = usage_to(response["usage"], "/usage", writing)
    filled: JsonObject = {"id": "resp_0", "object": "response", "created_at": 0, "model": "", "error": None}
    filled |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    reason, content = response["finish_reason"], response["content"]
    status: JsonObject = {"status": "completed", "incomplete_details": None}
    if reason in _CUT_BY:
        status = {"status": "incomplete", "incomplete_details": {"reason": _CUT_BY[reason]}}
    elif reason in {"error", "unknown"}:
        status["status"] = "failed" if reason == "error" else "incomplete"
    if _reason(notes, content) == reason and ("status" in notes or "status" in shape(notes).get("absent", ())):
        return Fields(said, {**filled, **status})
    if _reason(status, content) != reason:
        writing.losses.change("/finish_reason", "calls alone decide here whether a response ended for them")
    said["status"] = status["status"]
    if reason in _CUT_BY:
        said["incomplete_details"] = status["incomplete_details"]
    else:
        filled["incomplete_details"] = None
    return Fields(said, filled)


def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    return error_from(payload, name, status)


def chat_to_responses(messages: list[Any], tools: list[Any] | None = None, dialect: Dialect = "seed") -> Written:
    """Messages and tools of a Chat request as `input`, `tools` and the field of the system prompt."""
    payload = {"messages": messages} if tools is None else {"messages": messages, "tools": tools}
    written = request_to_wire(chat.request_from_wire(payload), dialect)
    return Written({**written.payload, "input": _listed(written.payload["input"])}, written.losses)


def _listed(given: Any) -> list[Any]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def responses_output_to_chat(output: list[Any]) -> JsonObject:
    """The message of Chat that the output of a response is."""
    written = chat.response_to_wire(response_from_wire({"output": output}), "seed")
    message: JsonObject = written.payload["choices"][0]["message"]
    return {key: value for key, value in message.items() if value or key == "content"}
