"""OpenAI's Responses API, in two dialects.

`api` is what the API and its SDK accept. `seed` is a specification of the conversion from Chat with forms of its own:
all tool results of a turn in one user message, a `system` field, assistant images, calls among the parts of a message.
Both are read; a payload that could be either is taken for `api`.

Reasoning requires an id that only the provider can assign: reasoning from elsewhere gets a made-up one. What a request
only refers to (a previous response, a conversation, an item by its id) is kept in `provider_data`, or in order as an
opaque block.
"""

from itertools import takewhile
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._answers import drop_alternatives, time_of_unix, unix_of_time
from palaver.wire._contract import DEFAULT_LIMIT, Written
from palaver.wire.openai import chat
from palaver.wire.openai._parts import LocatedBlock, fenced_code
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
from palaver.wire.openai._responses_turns import ItemWriter, blocks_from_wire, turns_from_wire
from palaver.wire.openai._settings import (
    CARRIED_NOTES,
    SAME_NAMES,
    SUMMARY_FIELDS,
    SUMMARY_WORDS,
    effort_spelling,
    effort_to_wire,
    other_notes,
    output_format_from_wire,
    output_format_to_wire,
    parse_level,
    parse_limit,
    sampling_from_wire,
    sampling_to_wire,
    shared_from_wire,
    shared_to_wire,
    tier_from_wire,
    tier_to_wire,
)
from palaver.wire.openai._tools import (
    choice_from_wire,
    choice_to_wire,
    is_allowed_tools,
    tools_from_wire,
    tools_to_wire,
)
from palaver.wire.openai._usage import usage_from_wire, usage_to_wire
from palaver.wire.openai.chat import parse_error

name = "openai_responses"
provider = "openai"

_SAMPLING = {"temperature": "temperature", "top_p": "top_p"}
_REQUEST = (
    *("system", "messages", "model", "thinking", "tools", "tool_choice", "max_output_tokens", "sampling"),
    *("output_format", "logprobs", *SAME_NAMES),
)
_RESPONSE = (
    *("content", "finish_reason", "alternatives", "usage", "model"),
    *("response_id", "created_at", "service_tier"),
)
_MADE_UP_ID = "resp_0"
_PROBABILITIES = "message.output_text.logprobs"
"""The entry of `include` that asks for the probability of each token."""
_DEFAULT_SUMMARY = {"summary": "auto"}
_FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}
_INCOMPLETE_REASONS = {reason: word for word, reason in _FINISH_REASONS.items()}


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
    initial = _settings_from_wire(payload, request)
    is_input = isinstance(given, str | list)
    form = {"input": "list"} if isinstance(given, list) and _is_single_text(request) else {}
    initial = merge_notes(initial, {"shape": form}) if form else initial
    has_tools = isinstance(payload.get("tools"), list) and bool(payload["tools"])
    separate = {"input": is_input, "tools": has_tools}
    rest = {key: value for key, value in payload.items() if not separate.get(key)}
    known, defaults = _settings_fields(request, initial, Writer(name, "seed" if has_system else "api"))
    notes = difference(rest, known, defaults if is_input else {**defaults, "input": []})
    return attach_notes(request, name, merge_notes(initial, notes))


def request_to_wire(request: JsonObject, dialect: Dialect = "api") -> Written:
    writer = Writer(name, dialect)
    notes = writer.notes(request)
    writer.report_unwritten(request, _REQUEST, "", CARRIED_NOTES)
    known, defaults = _settings_fields(request, notes, writer)
    items = ItemWriter(writer)
    items.add_system(_located_system(request)[len(_instruction_blocks(request, writer)) :])
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


def _located_system(request: JsonObject) -> list[LocatedBlock]:
    return [(block, f"/system/{index}") for index, block in enumerate(request.get("system") or ())]


def _instruction_blocks(request: JsonObject, writer: Writer) -> list[LocatedBlock]:
    """Return the blocks of the system prompt up to the first that was read from the input."""
    return list(takewhile(lambda located: "item" not in writer.notes(located[0]), _located_system(request)))


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


def _settings_from_wire(payload: JsonObject, request: JsonObject) -> JsonObject:
    """Copy the settings of a payload to a request, and return the notes that decide how they are written."""
    form: JsonObject = {}
    initial: JsonObject = {}
    reasoning = payload.get("reasoning")
    if isinstance(reasoning, dict) and (level := parse_level(reasoning.get("effort"))) is not None:
        summary_field = next((field for field in SUMMARY_FIELDS if reasoning.get(field) in SUMMARY_WORDS), None)
        request["thinking"] = {"level": level, "include_summary": summary_field is not None}
        spellings = effort_spelling("effort", reasoning["effort"], level)
        summary = {summary_field: reasoning[summary_field]} if summary_field is not None else {}
        if summary and summary != _DEFAULT_SUMMARY:
            spellings |= summary
            form["summary"] = summary_field
        if spellings:
            initial["reasoning"] = spellings
    if isinstance(payload.get("tools"), list):
        tools, others = tools_from_wire(payload["tools"], name)
        initial |= {"tools": others} if others else {}
        if tools:
            request["tools"] = tools
    if (chosen := choice_from_wire(choice := payload.get("tool_choice"))) is not None:
        request["tool_choice"] = chosen
        if is_allowed_tools(choice):
            initial["tool_choice"] = choice
        elif choice != choice_to_wire(request, Writer(name)):
            form["tool_choice"] = choice
    if (limit := parse_limit(payload.get("max_output_tokens"))) == DEFAULT_LIMIT:
        form["default_limit"] = True
    elif limit is not None:
        request["max_output_tokens"] = limit
    if sampling := sampling_from_wire(payload, _SAMPLING):
        request["sampling"] = sampling
    text = payload.get("text")
    if isinstance(text, dict) and (output_format := output_format_from_wire(text.get("format"))) is not None:
        request["output_format"] = output_format
    included = payload.get("include")
    if isinstance(included, list) and included.count(_PROBABILITIES) == 1:
        request["logprobs"] = True
        form |= {"include": included.index(_PROBABILITIES)} if included != [_PROBABILITIES] else {}
        initial["include"] = [entry for entry in included if entry != _PROBABILITIES]
    request |= shared_from_wire(payload, name)
    initial = {key: value for key, value in initial.items() if value != []}
    return {**initial, "shape": form} if form else initial


def _settings_fields(request: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    known: JsonObject = {"model": request["model"]} if "model" in request else {}
    if (prompt := _instructions_text(request, writer)) is not None:
        known["system" if writer.dialect == "seed" else "instructions"] = prompt
    if request.get("thinking"):
        known["reasoning"] = _reasoning_to_wire(request, notes, writer)
    if tools := tools_to_wire(request, notes.get("tools"), writer):
        known["tools"] = tools
    if request.get("tool_choice"):
        saved = notes.get("tool_choice") or shape(notes).get("tool_choice")
        known["tool_choice"] = choice_to_wire(request, writer, saved)
    if shape(notes).get("default_limit") and request.get("max_output_tokens") is None:
        known["max_output_tokens"] = DEFAULT_LIMIT
    elif request.get("max_output_tokens") not in {None, DEFAULT_LIMIT}:
        known["max_output_tokens"] = request["max_output_tokens"]
    known |= sampling_to_wire(request, _SAMPLING, writer) | shared_to_wire(request, writer)
    if (included := _included(request, notes)) is not None:
        known["include"] = included
    if text := _text_settings(request, notes, writer):
        known["text"] = text
    return Fields(known, {})


def _included(request: JsonObject, notes: JsonObject) -> Any:
    """Return `include`: what was noted, and the probabilities if they are asked for; None if there is nothing."""
    others = notes.get("include")
    if not request.get("logprobs"):
        return others
    entries = list(others) if isinstance(others, list) else []
    entries.insert(shape(notes).get("include", len(entries)), _PROBABILITIES)
    return entries


def _text_settings(request: JsonObject, notes: JsonObject, writer: Writer) -> JsonObject:
    made: JsonObject = {}
    if output_format := request.get("output_format"):
        made["format"] = output_format_to_wire(output_format, writer)
    own = notes.get("text")
    verbosity = writer.sibling_notes(request).get("verbosity")
    if verbosity is not None and not (isinstance(own, dict) and "verbosity" in own):
        made["verbosity"] = verbosity
    return made


def _instructions_text(request: JsonObject, writer: Writer) -> str | None:
    """Return the system prompt as one text, without the part that goes to the input; None if there is none."""
    texts: list[str] = []
    for block, pointer in _instruction_blocks(request, writer):
        if block["type"] == "text":
            writer.report_unwritten(block, ("type", "text"), pointer)
            texts.append(block["text"])
        elif block["type"] == "code":
            writer.losses.change(pointer, "code is written as text")
            texts.append(fenced_code(block))
        else:
            writer.drop(block, pointer, "the instructions are text")
    if len(texts) > 1:
        writer.losses.change("/system", "the instructions are one text; several are joined")
    return "\n\n".join(texts) if texts else None


def _reasoning_to_wire(request: JsonObject, notes: JsonObject, writer: Writer) -> JsonObject:
    thinking = request["thinking"]
    writer.report_unwritten(thinking, ("level", "include_summary"), "/thinking")
    known: JsonObject = {"effort": effort_to_wire(request, notes, writer)}
    if thinking.get("include_summary"):
        saved = notes.get("reasoning")
        stated = {key: saved[key] for key in SUMMARY_FIELDS if key in saved} if isinstance(saved, dict) else {}
        known |= stated or _DEFAULT_SUMMARY
    return known


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


def response_to_wire(response: JsonObject, dialect: Dialect = "api") -> Written:
    writer = Writer(name, dialect, is_response=True)
    notes = writer.notes(response)
    probabilities = _probabilities(response, writer)
    carried = ("metadata", *(("logprobs",) if probabilities else ()))
    writer.report_unwritten(response, _RESPONSE, "", carried)
    drop_alternatives(response, writer.losses, "a response has one answer here, and no place for another")
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
        writer.losses.change("/finish_reason", "calls alone decide here whether a response ended for them")
    known["status"] = status["status"]
    if reason in _INCOMPLETE_REASONS:
        known["incomplete_details"] = status["incomplete_details"]
    else:
        defaults["incomplete_details"] = None
    return Fields(known, defaults)


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
