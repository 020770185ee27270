"""OpenAI's Responses API, in two dialects.

`api` is what the API and its SDK accept. `seed` is a specification of the conversion from Chat with forms of its own:
all tool results of a turn in one user message, a `system` field, assistant images, calls among the parts of a message.
Both are read; a payload that could be either is taken for `api`.

Reasoning requires an id that only the provider can assign: reasoning from elsewhere gets a made-up one. What a request
only refers to (a previous response, a conversation, an item by its id) is kept in `provider_data`, or in order as an
opaque block.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._answers import drop_alternatives, time_of_unix, unix_of_time
from palaver.wire._checks import takes_payload, takes_request, takes_response
from palaver.wire._contract import Written
from palaver.wire.openai import chat
from palaver.wire.openai._errors import parse_error
from palaver.wire.openai._provider_data import (
    Dialect,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    difference,
    is_plain,
    merge_notes,
    shape,
)
from palaver.wire.openai._responses_parts import has_seed_parts
from palaver.wire.openai._responses_places import responses_places
from palaver.wire.openai._responses_settings import (
    instruction_blocks,
    located_system,
    settings_fields,
    settings_from_wire,
)
from palaver.wire.openai._responses_turns import ItemWriter, blocks_from_wire, turns_from_wire
from palaver.wire.openai._settings import (
    SAME_NAMES,
    carried_notes,
    other_notes,
    tier_from_wire,
    tier_to_wire,
)
from palaver.wire.openai._usage import usage_from_wire, usage_to_wire

name = "openai_responses"
provider = "openai"

_REQUEST = (
    *("system", "messages", "model", "thinking", "tools", "tool_choice", "max_output_tokens", "sampling"),
    *("output_format", "logprobs", *SAME_NAMES),
)
_RESPONSE = (
    *("content", "finish_reason", "alternatives", "usage", "model"),
    *("response_id", "created_at", "service_tier"),
)
_MADE_UP_ID = "resp_0"
_FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
_INCOMPLETE_REASONS = {reason: word for word, reason in _FINISH_REASONS.items()}


@takes_payload
def request_from_wire(payload: JsonObject) -> JsonObject:
    request: JsonObject = {}
    given = payload.get("input")
    has_system = not isinstance(payload.get("instructions"), str) and isinstance(payload.get("system"), str)
    dialect: Dialect = "seed" if has_system or (isinstance(given, list) and has_seed_parts(given)) else "api"
    match given:
        case str():
            system, turns = [], [{"role": "user", "content": [{"type": "text", "text": given}]}]
        case list():
            system, turns = turns_from_wire(given, dialect)
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
    initial = settings_from_wire(payload, request)
    is_input = isinstance(given, str | list)
    form = {"input": "list"} if isinstance(given, list) and _is_single_text(request) else {}
    initial = merge_notes(initial, {"shape": form}) if form else initial
    has_tools = isinstance(payload.get("tools"), list) and bool(payload["tools"])
    separate = {"input": is_input, "tools": has_tools}
    rest = {key: value for key, value in payload.items() if not separate.get(key)}
    known, defaults = settings_fields(request, initial, Writer(name, "seed" if has_system else "api"))
    notes = difference(rest, known, defaults if is_input else {**defaults, "input": []})
    return attach_notes(request, name, merge_notes(initial, notes))


@takes_request
def request_to_wire(request: JsonObject, dialect: Dialect = "api") -> Written:
    writer = Writer(name, dialect)
    notes = writer.notes(request)
    writer.report_unwritten(request, _REQUEST, "", carried_notes(request, writer))
    if dialect == "api":
        request = _with_developer_items(request, writer)
    known, defaults = settings_fields(request, notes, writer)
    items = ItemWriter(writer)
    items.add_system(located_system(request)[len(instruction_blocks(request, writer)) :])
    for index, message in enumerate(request["messages"]):
        items.add_turn(message, f"/messages/{index}")
    given: Any = items.items
    if dialect == "api" and shape(notes).get("input") != "list" and _is_single_text(request):
        given = request["messages"][0]["content"][0]["text"]
    if given or isinstance(given, str):
        known = {**known, "input": given}
    else:
        defaults = {**defaults, "input": []}
    return Written(apply_notes(known, defaults, other_notes(notes)), writer.unique_losses())


def _with_developer_items(request: JsonObject, writer: Writer) -> JsonObject:
    """Return a request whose system prompt goes to the input from the first message of the developer in Chat on."""
    system: list[JsonObject] = []
    is_input = False
    for block in request.get("system") or ():
        message = writer.sibling_notes(block).get("message")
        role = message.get("role", "system") if isinstance(message, dict) else None
        is_input = is_input or role == "developer"
        if is_input and role is not None and not writer.owns(block):
            block = {**block, "provider_data": {**block["provider_data"], name: {"item": {"role": role}}}}
        system.append(block)
    return {**request, "system": system} if is_input else request


def _is_single_text(request: JsonObject) -> bool:
    """Return whether the input is nothing but a single text of the user."""
    match request["messages"]:
        case [{"role": "user", "content": [block], **rest}] if not rest:
            return is_plain(block) and not any(
                "item" in _own_notes(system_block) for system_block in request.get("system") or ()
            )
        case _:
            return False


def _own_notes(block: JsonObject) -> JsonObject:
    return (block.get("provider_data") or {}).get(name) or {}


@takes_payload
def response_from_wire(payload: JsonObject) -> JsonObject:
    output = payload.get("output")
    response: JsonObject = {"content": blocks_from_wire(output) if isinstance(output, list) else []}
    response["finish_reason"] = _finish_reason(payload, response["content"])
    if (usage := usage_from_wire(payload.get("usage"), name)) is not None:
        response["usage"] = usage
    if isinstance(payload.get("model"), str) and payload["model"]:
        response["model"] = payload["model"]
    if isinstance(payload.get("id"), str) and payload["id"] not in {"", _MADE_UP_ID}:
        response["response_id"] = payload["id"]
    form: JsonObject = {}
    if (created_at := time_of_unix(payload.get("created_at"))) is not None:
        response["created_at"] = created_at
        form |= {"created_at": payload["created_at"]} if payload["created_at"] != unix_of_time(created_at) else {}
    response |= tier_from_wire(payload, name)
    rest = {key: value for key, value in payload.items() if key != "output" or not isinstance(value, list)}
    ended: JsonObject = {key: payload[key] for key in ("status", "incomplete_details") if key in payload}
    form |= {} if "status" in ended else {"absent": ["status"]}
    known, defaults = _response_fields(response, {**ended, "shape": form}, Writer(name, is_response=True))
    notes = difference(rest, known, defaults if isinstance(output, list) else {**defaults, "output": []})
    form.pop("absent", None)
    return attach_notes(response, name, merge_notes({"shape": form}, notes) if form else notes)


@takes_response
def response_to_wire(response: JsonObject, dialect: Dialect = "api") -> Written:
    writer = Writer(name, dialect, is_response=True)
    notes = writer.notes(response)
    probabilities = _probabilities(response, writer)
    carried = ("metadata", *(("logprobs",) if probabilities else ()))
    writer.report_unwritten(response, _RESPONSE, "", carried)
    drop_alternatives(response, writer.losses, "a response has only one answer here")
    known, defaults = _response_fields(response, notes, writer)
    items = ItemWriter(writer)
    content = [_with_probabilities(block, probabilities) for block in response["content"]]
    items.add_assistant_blocks([(block, f"/content/{index}") for index, block in enumerate(content)], "")
    if items.items:
        known = {**known, "output": items.items}
    else:
        defaults = {**defaults, "output": []}
    return Written(apply_notes(known, defaults, notes), writer.unique_losses())


def _probabilities(response: JsonObject, writer: Writer) -> list[Any]:
    """Return the probabilities of tokens that Chat noted, if they belong to a single text; else an empty list."""
    match writer.sibling_notes(response).get("choices"):
        case [{"logprobs": {"content": [*entries]}}]:
            texts = [block for block in response["content"] if block["type"] == "text"]
            return entries if len(texts) == 1 and "type" not in writer.sibling_notes(texts[0]) else []
        case _:
            return []


def _with_probabilities(block: JsonObject, probabilities: list[Any]) -> JsonObject:
    if block["type"] != "text" or not probabilities:
        return block
    data = block.get("provider_data") or {}
    return {**block, "provider_data": {**data, name: {**data.get(name, {}), "logprobs": probabilities}}}


def _finish_reason(payload: JsonObject, content: list[JsonObject]) -> str:
    """Return why a response ended, from its status and content."""
    details = payload.get("incomplete_details")
    match payload.get("status", "completed"):
        case "completed":
            return "tool_use" if any(block["type"] == "tool_use" for block in content) else "stop"
        case "incomplete":
            word = details.get("reason") if isinstance(details, dict) else None
            return _FINISH_REASONS.get(word, "unknown") if isinstance(word, str) else "unknown"
        case "failed":
            return "error"
        case _:
            return "unknown"


def _response_fields(response: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    known: JsonObject = {"model": response["model"]} if response.get("model") is not None else {}
    if response.get("usage"):
        known["usage"] = usage_to_wire(response["usage"], "/usage", writer)
    if response.get("response_id") is not None:
        known["id"] = response["response_id"]
    if (created_at := response.get("created_at")) is not None:
        saved = shape(notes).get("created_at")
        known["created_at"] = saved if time_of_unix(saved) == created_at else unix_of_time(created_at)
    known |= tier_to_wire(response, writer)
    sibling = writer.sibling_notes(response)
    known |= {"metadata": sibling["metadata"]} if "metadata" in sibling else {}
    defaults: JsonObject = {"id": _MADE_UP_ID, "object": "response", "created_at": 0, "model": "", "error": None}
    defaults |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    reason, content = response["finish_reason"], response["content"]
    status: JsonObject = {"status": "completed", "incomplete_details": None}
    if reason in _INCOMPLETE_REASONS:
        status = {"status": "incomplete", "incomplete_details": {"reason": _INCOMPLETE_REASONS[reason]}}
    elif reason in {"error", "unknown"}:
        status["status"] = "failed" if reason == "error" else "incomplete"
    if _finish_reason(notes, content) == reason and ("status" in notes or "status" in shape(notes).get("absent", ())):
        return Fields(known, {**defaults, **status})
    if _finish_reason(status, content) != reason:
        writer.losses.change("/finish_reason", "the calls alone show here that a response ended with them")
    known["status"] = status["status"]
    if reason in _INCOMPLETE_REASONS:
        known["incomplete_details"] = status["incomplete_details"]
    else:
        defaults["incomplete_details"] = None
    return Fields(known, defaults)


places = responses_places


@takes_payload
def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    return parse_error(payload, name, status)


def chat_to_responses(messages: list[Any], tools: list[Any] | None = None, dialect: Dialect = "seed") -> Written:
    """Convert messages and tools of a Chat request to `input`, `tools` and the field of the system prompt."""
    payload = {"messages": messages} if tools is None else {"messages": messages, "tools": tools}
    written = request_to_wire(chat.request_from_wire(payload), dialect)
    return Written({**written.payload, "input": _as_items(written.payload["input"])}, written.losses)


def _as_items(given: Any) -> list[Any]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def responses_output_to_chat(output: list[Any]) -> JsonObject:
    """Convert the output of a response to a message of Chat."""
    written = chat.response_to_wire(response_from_wire({"output": output}), "seed")
    message: JsonObject = written.payload["choices"][0]["message"]
    return {key: value for key, value in message.items() if value or key == "content"}
