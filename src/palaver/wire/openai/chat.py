"""OpenAI's Chat Completions, as OpenAI, Azure and many compatible servers have it.

The choice with the least index is the answer, the others are its alternatives. `max_tokens`, `functions`,
`function_call` and the role `function` are legacy forms: they are read, and written only where they were read.
"""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire import _errors
from palaver.wire._answers import answer_order, in_payload_order, is_count, time_of_unix, unix_of_time
from palaver.wire._contract import DEFAULT_LIMIT, Written
from palaver.wire.openai._chat_assistant import assistant_fields, assistant_from_wire
from palaver.wire.openai._chat_turns import system_to_wire, turns_from_wire, turns_to_wire
from palaver.wire.openai._provider_data import (
    NO_ANSWER,
    Dialect,
    Fields,
    Writer,
    apply_notes,
    attach_notes,
    difference,
    merge_notes,
    opaque_block,
    shape,
)
from palaver.wire.openai._settings import (
    CARRIED_NOTES,
    SAME_NAMES,
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
    CallIds,
    choice_from_wire,
    choice_to_wire,
    function_from_wire,
    function_to_wire,
    is_allowed_tools,
    tools_from_wire,
    tools_to_wire,
)
from palaver.wire.openai._usage import usage_from_wire, usage_to_wire

name = "openai_chat"
provider = "openai"

_SAMPLING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "stop": "stop_sequences",
}
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
_ANSWER_SETTINGS = {"n": "answer_count", "logprobs": "logprobs"}
_LIMITS = ("max_completion_tokens", "max_tokens")
_FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "content_filter",
    "error": "error",
}
_WIRE_FINISH_REASONS = {
    "stop": "stop",
    "length": "length",
    "tool_use": "tool_calls",
    "content_filter": "content_filter",
}


def request_from_wire(payload: JsonObject) -> JsonObject:
    request: JsonObject = {}
    messages = payload.get("messages")
    system, turns = turns_from_wire(messages) if isinstance(messages, list) else ([], [])
    if system:
        request["system"] = system
    request["messages"] = turns
    if isinstance(payload.get("model"), str) and payload["model"]:
        request["model"] = payload["model"]
    initial = _settings_from_wire(payload, request)
    if not isinstance(messages, list):
        initial["shape"] = {**initial.get("shape", {}), "messages": "none"}
    has_tools = isinstance(payload.get("tools"), list) and bool(payload["tools"])
    separate = {"messages": isinstance(messages, list), "tools": has_tools}
    rest = {key: value for key, value in payload.items() if not separate.get(key)}
    fields = _settings_fields(request, initial, Writer(name))
    return attach_notes(request, name, merge_notes(initial, difference(rest, *fields)))


def request_to_wire(request: JsonObject) -> Written:
    writer = Writer(name)
    notes = writer.notes(request)
    writer.report_unwritten(request, _REQUEST, "", CARRIED_NOTES)
    payload = apply_notes(*_settings_fields(request, notes, writer), other_notes(notes))
    messages = [*system_to_wire(request, writer), *turns_to_wire(request["messages"], writer)]
    if messages or shape(notes).get("messages") != "none":
        payload = {"messages": messages} | {key: value for key, value in payload.items() if key != "messages"}
    return Written(payload, writer.unique_losses())


def _settings_from_wire(payload: JsonObject, request: JsonObject) -> JsonObject:
    """Copy the settings of a payload to a request, and return the notes that decide how they are written."""
    form: JsonObject = {}
    initial: JsonObject = {}
    if (level := parse_level(payload.get("reasoning_effort"))) is not None:
        request["thinking"] = {"level": level, "include_summary": False}
        initial |= effort_spelling("reasoning_effort", payload["reasoning_effort"], level)
    initial |= _tools_from_wire(payload, request, form)
    for field in _LIMITS:
        if "limit" not in form and (limit := parse_limit(payload.get(field))) is not None:
            form["limit"] = field
            if limit == DEFAULT_LIMIT:
                form["default_limit"] = True
            else:
                request["max_output_tokens"] = limit
    if form.get("limit") == _LIMITS[0] and "default_limit" not in form:
        del form["limit"]
    sampling = sampling_from_wire(payload, {theirs: ours for theirs, ours in _SAMPLING.items() if theirs != "stop"})
    if stop := _stop_from_wire(payload.get("stop")):
        sampling["stop_sequences"] = stop
        form |= {"stop": payload["stop"]} if isinstance(payload["stop"], str) else {}
    if sampling:
        request["sampling"] = sampling
    if (output_format := output_format_from_wire(_flat_format(payload.get("response_format")))) is not None:
        request["output_format"] = output_format
    if is_count(payload.get("n")):
        request["answer_count"] = payload["n"]
    if isinstance(payload.get("logprobs"), bool):
        request["logprobs"] = payload["logprobs"]
    request |= shared_from_wire(payload, name)
    return {**initial, "shape": form} if form else initial


def _tools_from_wire(payload: JsonObject, request: JsonObject, form: JsonObject) -> JsonObject:
    """Copy the tools and the choice among them to a request, and return what the exchange cannot express of them."""
    notes: JsonObject = {}
    legacy_functions = (
        [function_from_wire(function) for function in payload["functions"]]
        if isinstance(payload.get("functions"), list)
        else []
    )
    if isinstance(payload.get("tools"), list):
        tools, others = tools_from_wire(payload["tools"], name)
        notes |= {"tools": others} if others else {}
        if tools:
            request["tools"] = tools
    elif legacy_functions and all(function is not None for function in legacy_functions):
        form["functions"] = True
        request["tools"] = legacy_functions
    choice = payload.get("function_call") if form.get("functions") else payload.get("tool_choice")
    if (chosen := choice_from_wire(choice)) is not None:
        request["tool_choice"] = chosen
        if is_allowed_tools(choice):
            notes["tool_choice"] = choice
        elif form.get("functions") or choice != choice_to_wire(request, Writer(name)):
            form["tool_choice"] = choice
    return notes


def _settings_fields(request: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    form = shape(notes)
    known: JsonObject = {"model": request["model"]} if "model" in request else {}
    if thinking := request.get("thinking"):
        known["reasoning_effort"] = effort_to_wire(request, notes, writer)
        writer.report_unwritten(thinking, ("level", "include_summary"), "/thinking")
        if thinking.get("include_summary"):
            writer.losses.drop("/thinking/include_summary", "a summary of the reasoning cannot be asked for here")
    known |= _tools_fields(request, notes, writer)
    if form.get("default_limit") and request.get("max_output_tokens") is None:
        known[form["limit"]] = DEFAULT_LIMIT
    elif request.get("max_output_tokens") not in {None, DEFAULT_LIMIT}:
        known[form.get("limit", _LIMITS[0])] = request["max_output_tokens"]
    sampling = sampling_to_wire(request, _SAMPLING, writer)
    if "stop" in sampling and _stop_from_wire(form.get("stop")) == sampling["stop"]:
        sampling["stop"] = form["stop"]
    if output_format := request.get("output_format"):
        known["response_format"] = _nested_format(output_format_to_wire(output_format, writer))
    known |= {theirs: request[ours] for theirs, ours in _ANSWER_SETTINGS.items() if request.get(ours) is not None}
    verbosity = writer.sibling_notes(request).get("text")
    if isinstance(verbosity, dict) and "verbosity" in verbosity and "verbosity" not in notes:
        known["verbosity"] = verbosity["verbosity"]
    return Fields({**known, **sampling, **shared_to_wire(request, writer)}, {})


def _tools_fields(request: JsonObject, notes: JsonObject, writer: Writer) -> JsonObject:
    known: JsonObject = {}
    is_legacy = shape(notes).get("functions") is True
    if is_legacy:
        functions = [
            function_to_wire(tool, f"/tools/{index}", writer) for index, tool in enumerate(request.get("tools") or ())
        ]
        known |= {"functions": functions} if functions else {}
    elif tools := tools_to_wire(request, notes.get("tools"), writer):
        known["tools"] = tools
    if request.get("tool_choice"):
        field = "function_call" if is_legacy else "tool_choice"
        saved = notes.get("tool_choice") or shape(notes).get("tool_choice")
        known[field] = choice_to_wire(request, writer, saved)
        if is_legacy and "function" in known[field]:
            known[field] = known[field]["function"]
    return known


def _flat_format(stated: Any) -> Any:
    """Return a `response_format` with its schema as Responses has it, beside the type."""
    match stated:
        case {"type": "json_schema", "json_schema": dict(inner)}:
            return {**inner, "type": "json_schema"}
        case _:
            return stated


def _nested_format(flat: JsonObject) -> JsonObject:
    if flat["type"] != "json_schema":
        return flat
    return {"type": "json_schema", "json_schema": _without_field(flat, "type")}


def _stop_from_wire(stop: Any) -> list[str] | None:
    match stop:
        case str() if stop:
            return [stop]
        case [*texts] if texts and all(isinstance(text, str) for text in texts):
            return texts
        case _:
            return None


def response_from_wire(payload: JsonObject) -> JsonObject:
    choices: list[Any] = payload["choices"] if isinstance(payload.get("choices"), list) else []
    order = answer_order(choices, "index")
    response: JsonObject = {"content": [], "finish_reason": "error" if payload.get("error") else "unknown"}
    initial: JsonObject = {}
    if not order:
        initial["shape"] = {"choices": "none"}
    else:
        answers = [_answer_from_wire(choices[position], position, is_first=position == order[0]) for position in order]
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


def _answer_from_wire(choice: Any, position: int, *, is_first: bool) -> JsonObject:
    """Return the answer in a choice; a choice that is no object becomes an opaque block."""
    if not isinstance(choice, dict):
        block = opaque_block("choice", choice, name, choice=True)
        return {"index": position, "content": [block], "finish_reason": "unknown"}
    message = choice.get("message")
    content: list[JsonObject] = []
    notes: JsonObject | None = None
    if isinstance(message, dict):
        content, notes = assistant_from_wire(message, CallIds(set()), is_response=True)
    if notes is None:
        content = [opaque_block("message", message, name)] if message is not None else []
        initial: JsonObject = {"shape": {"message": "raw" if message is not None else "none"}}
    else:
        initial = {"message": notes} if notes else {}
    reason = choice.get("finish_reason")
    answer: JsonObject = {
        "index": choice["index"] if is_count(choice.get("index")) else position,
        "content": content,
        "finish_reason": _FINISH_REASONS.get(reason, "unknown") if isinstance(reason, str) else "unknown",
    }
    written = {**answer, "index": 0} if is_first else answer
    fields = _choice_fields(written, initial, "", Writer(name, is_response=True))
    rest = _without_field(choice, "message") if message is not None else choice
    return attach_notes(answer, name, merge_notes(initial, difference(rest, *fields)))


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
    answers = [_answer_to_wire({"index": 0, **response}, first_notes, "", writer)]
    for number, alternative in enumerate(alternatives):
        pointer = f"/alternatives/{number}"
        writer.report_unwritten(alternative, _ANSWER, pointer)
        answers.append(_answer_to_wire(alternative, writer.notes(alternative), pointer, writer))
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


def _answer_to_wire(answer: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> Any:
    content: list[JsonObject] = answer["content"]
    if len(content) == 1 and shape(writer.notes(content[0])).get("choice"):
        return content[0]["raw"]
    known, defaults = _choice_fields(answer, notes, pointer, writer)
    if probabilities := _probabilities(content, writer):
        defaults["logprobs"] = {"content": probabilities, "refusal": None}
    made = apply_notes(known, defaults, notes)
    form = shape(notes).get("message")
    if form == "raw" and len(content) == 1 and "raw" in content[0]:
        return {**made, "message": content[0]["raw"]}
    if form == "none" and not content:
        return made
    message_notes: JsonObject = notes.get("message", {})
    message = apply_notes(*assistant_fields(content, message_notes, pointer, writer), message_notes)
    is_empty = not any(message.get(field) for field in ("tool_calls", "refusal", "audio"))
    if writer.dialect == "seed" and message.get("content") is None and is_empty:
        writer.losses.change(f"{pointer}/content", "a sentence stands where there is no answer")
        message["content"] = NO_ANSWER
    return {**made, "message": message}


def _probabilities(content: list[JsonObject], writer: Writer) -> list[Any]:
    """Return the probabilities of tokens that Responses noted with the texts of an answer."""
    noted = [writer.sibling_notes(block).get("logprobs") for block in content if block["type"] == "text"]
    return [entry for entries in noted if isinstance(entries, list) for entry in entries]


def _choice_fields(answer: JsonObject, notes: JsonObject, pointer: str, writer: Writer) -> Fields:
    reason = answer["finish_reason"]
    saved_reason = notes.get("finish_reason")
    known: JsonObject = {}
    defaults: JsonObject = {"index": answer["index"]}
    if reason in _WIRE_FINISH_REASONS:
        is_same = isinstance(saved_reason, str) and _FINISH_REASONS.get(saved_reason) == reason
        known["finish_reason"] = saved_reason if is_same else _WIRE_FINISH_REASONS[reason]
    else:
        if "finish_reason" not in notes and "finish_reason" not in shape(notes).get("absent", ()):
            writer.losses.change(f"{pointer}/finish_reason", f"there is no word for {reason!r} here")
        defaults["finish_reason"] = "stop"
    return Fields(known, defaults)


def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    return parse_error(payload, name, status)


def parse_error(payload: JsonObject, format_name: str, status: int | None = None) -> JsonObject | None:
    """Return the error in a payload of OpenAI, Azure or a compatible server; None if it is not an error."""
    error: Any = payload.get("error")
    if not error and (payload.get("type") == "error" or payload.get("object") == "error"):
        error = payload
    if not error and "message" in payload and "statusCode" in payload:  # an API gateway in front of the provider
        error = {"message": payload["message"], "code": payload["statusCode"]}
        status = status or (payload["statusCode"] if type(payload["statusCode"]) is int else None)
    if isinstance(error, str):
        return _errors.exchange_error(error, (), status)
    if not isinstance(error, dict) or not error:
        return None
    inner = error.get("innererror")
    codes = (inner.get("code") if isinstance(inner, dict) else None, error.get("code"), error.get("type"))
    message = error.get("message")
    rest = {key: value for key, value in error.items() if key != "message"}
    return _errors.exchange_error(
        message if isinstance(message, str) else "",
        tuple(code for code in codes if isinstance(code, str)),
        status,
        provider_data={format_name: rest} if rest else None,
    )


def _without_field(payload: JsonObject, field: str) -> JsonObject:
    return {key: value for key, value in payload.items() if key != field}
