"""OpenAI's Chat Completions, as OpenAI, Azure and many compatible servers have it.

The choice with the least index is the answer, the others are its alternatives. `max_tokens`, `functions`,
`function_call` and the role `function` are legacy forms: they are read, and written only where they were read.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._answers import answer_order, in_payload_order, time_of_unix, unix_of_time
from palaver.wire._checks import takes_payload, takes_request, takes_response
from palaver.wire._contract import Written
from palaver.wire.openai._chat_choices import answer_from_wire, answer_to_wire
from palaver.wire.openai._chat_places import chat_places
from palaver.wire.openai._chat_settings import settings_fields, settings_from_wire
from palaver.wire.openai._chat_turns import system_to_wire, turns_from_wire, turns_to_wire
from palaver.wire.openai._errors import parse_error
from palaver.wire.openai._provider_data import (
    Dialect,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    difference,
    merge_notes,
    shape,
)
from palaver.wire.openai._settings import (
    SAME_NAMES,
    carried_notes,
    other_notes,
    tier_from_wire,
    tier_to_wire,
)
from palaver.wire.openai._usage import usage_from_wire, usage_to_wire

name = "openai_chat"
provider = "openai"

_REQUEST = (
    *("system", "messages", "model", "thinking", "tools", "tool_choice", "max_output_tokens", "sampling"),
    *("output_format", "answer_count", "logprobs", *SAME_NAMES),
)
_RESPONSE = (
    *("content", "finish_reason", "alternatives", "usage", "model"),
    *("response_id", "created_at", "service_tier"),
)
_MADE_UP_ID = "chatcmpl-0"
_ANSWER = ("index", "content", "finish_reason")


@takes_payload
def request_from_wire(payload: JsonObject) -> JsonObject:
    request: JsonObject = {}
    messages = payload.get("messages")
    system, turns = turns_from_wire(messages) if isinstance(messages, list) else ([], [])
    if system:
        request["system"] = system
    request["messages"] = turns
    if isinstance(payload.get("model"), str) and payload["model"]:
        request["model"] = payload["model"]
    initial = settings_from_wire(payload, request)
    if not isinstance(messages, list):
        initial["shape"] = {**initial.get("shape", {}), "messages": "none"}
    has_tools = isinstance(payload.get("tools"), list) and bool(payload["tools"])
    separate = {"messages": isinstance(messages, list), "tools": has_tools}
    rest = {key: value for key, value in payload.items() if not separate.get(key)}
    fields = settings_fields(request, initial, Writer(name))
    return attach_notes(request, name, merge_notes(initial, difference(rest, *fields)))


@takes_request
def request_to_wire(request: JsonObject) -> Written:
    writer = Writer(name)
    notes = writer.notes(request)
    writer.report_unwritten(request, _REQUEST, "", carried_notes(request, writer))
    payload = apply_notes(*settings_fields(request, notes, writer), other_notes(notes))
    messages = [*system_to_wire(request, writer), *turns_to_wire(request["messages"], writer)]
    if messages or shape(notes).get("messages") != "none":
        payload = {"messages": messages} | {key: value for key, value in payload.items() if key != "messages"}
    return Written(payload, writer.unique_losses())


@takes_payload
def response_from_wire(payload: JsonObject) -> JsonObject:
    choices: list[Any] = payload["choices"] if isinstance(payload.get("choices"), list) else []
    order = answer_order(choices, "index")
    response: JsonObject = {"content": [], "finish_reason": "error" if payload.get("error") else "unknown"}
    initial: JsonObject = {}
    if not order:
        initial["shape"] = {"choices": "none"}
    else:
        answers = [answer_from_wire(choices[position], position, is_first=position == order[0]) for position in order]
        response = {key: value for key, value in answers[0].items() if key not in {"index", "provider_data"}}
        if notes := (answers[0].get("provider_data") or {}).get(name):
            initial["choices"] = [notes]
        if answers[1:]:
            response["alternatives"] = answers[1:]
        if order != sorted(order):
            initial["shape"] = {"order": order}
    if (usage := usage_from_wire(payload.get("usage"), name)) is not None:
        response["usage"] = usage
    if isinstance(payload.get("model"), str) and payload["model"]:
        response["model"] = payload["model"]
    if isinstance(payload.get("id"), str) and payload["id"] not in {"", _MADE_UP_ID}:
        response["response_id"] = payload["id"]
    if (created_at := time_of_unix(payload.get("created"))) is not None:
        response["created_at"] = created_at
        if type(payload["created"]) is not int:
            initial = merge_notes(initial, {"shape": {"created": payload["created"]}})
    response |= tier_from_wire(payload, name)
    rest = _without_field(payload, "choices") if order else payload
    notes = difference(rest, *_response_fields(response, initial, Writer(name, is_response=True)))
    return attach_notes(response, name, merge_notes(initial, notes))


@takes_response
def response_to_wire(response: JsonObject, dialect: Dialect = "api") -> Written:
    """Write a response; the dialect `seed` writes a sentence for an answer with neither text nor call."""
    writer = Writer(name, dialect, is_response=True)
    notes = writer.notes(response)
    writer.report_unwritten(response, _RESPONSE, "", {"metadata"})
    alternatives: list[JsonObject] = response.get("alternatives") or []
    fields = _response_fields(response, notes, writer)
    if shape(notes).get("choices") == "none" and not response["content"] and not alternatives:
        return Written(apply_notes(*fields, notes), writer.unique_losses())
    saved = notes.get("choices")
    first_notes = saved[0] if shape(notes).get("choices") != "none" and isinstance(saved, list) else {}
    payload = apply_notes(*fields, _without_field(notes, "choices"))
    answers = [answer_to_wire({"index": 0, **response}, first_notes, "", writer)]
    for number, alternative in enumerate(alternatives):
        pointer = f"/alternatives/{number}"
        writer.report_unwritten(alternative, _ANSWER, pointer)
        answers.append(answer_to_wire(alternative, writer.notes(alternative), pointer, writer))
    payload["choices"] = in_payload_order(answers, shape(notes).get("order"))
    return Written(payload, writer.unique_losses())


def _response_fields(response: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    known: JsonObject = {"model": response["model"]} if response.get("model") is not None else {}
    if response.get("usage"):
        known["usage"] = usage_to_wire(response["usage"], "/usage", writer)
    if response.get("response_id") is not None:
        known["id"] = response["response_id"]
    if response.get("created_at") is not None:
        known["created"] = _created(response["created_at"], shape(notes).get("created"), writer)
    known |= tier_to_wire(response, writer)
    sibling = writer.sibling_notes(response)
    known |= {"metadata": sibling["metadata"]} if "metadata" in sibling else {}
    defaults: JsonObject = {"id": _MADE_UP_ID, "object": "chat.completion", "created": 0, "model": ""}
    if shape(notes).get("choices") == "none":
        defaults["choices"] = []
    return Fields(known, defaults)


def _created(time: str, saved: Any, writer: Writer) -> Any:
    """Return the time of an answer in whole seconds, or as it was stated."""
    if time_of_unix(saved) == time:
        return saved
    seconds = unix_of_time(time)
    if not isinstance(seconds, int):
        writer.losses.change("/created_at", "Chat states the time in whole seconds")
    return int(seconds)


places = chat_places


@takes_payload
def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    return parse_error(payload, name, status)


def _without_field(payload: JsonObject, field: str) -> JsonObject:
    return {key: value for key, value in payload.items() if key != field}
