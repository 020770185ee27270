"""Settings of a Chat request, with its tools and the choice among them."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._answers import is_count
from palaver.wire._contract import DEFAULT_LIMIT
from palaver.wire.openai._provider_data import (
    CHAT,
    Fields,
    Writer,
    shape,
)
from palaver.wire.openai._settings import (
    effort_spelling,
    effort_to_wire,
    output_format_from_wire,
    output_format_to_wire,
    parse_level,
    parse_limit,
    sampling_from_wire,
    sampling_to_wire,
    shared_from_wire,
    shared_to_wire,
)
from palaver.wire.openai._tools import (
    choice_from_wire,
    choice_to_wire,
    function_from_wire,
    function_to_wire,
    is_allowed_tools,
    tools_from_wire,
    tools_to_wire,
)

_SAMPLING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "stop": "stop_sequences",
}
_ANSWER_SETTINGS = {"n": "answer_count", "logprobs": "logprobs"}
_LIMITS = ("max_completion_tokens", "max_tokens")


def settings_from_wire(payload: JsonObject, request: JsonObject) -> JsonObject:
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
    request |= shared_from_wire(payload, CHAT)
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
        tools, others = tools_from_wire(payload["tools"], CHAT)
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
        elif form.get("functions") or choice != choice_to_wire(request, Writer(CHAT)):
            form["tool_choice"] = choice
    return notes


def settings_fields(request: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
    form = shape(notes)
    known: JsonObject = {"model": request["model"]} if "model" in request else {}
    if thinking := request.get("thinking"):
        known["reasoning_effort"] = effort_to_wire(request, notes, writer)
        writer.report_unwritten(thinking, ("level", "include_summary"), "/thinking")
        if thinking.get("include_summary"):
            writer.losses.drop("/thinking/include_summary", "a reasoning summary cannot be requested here")
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
    return {"type": "json_schema", "json_schema": {key: value for key, value in flat.items() if key != "type"}}


def _stop_from_wire(stop: Any) -> list[str] | None:
    match stop:
        case str() if stop:
            return [stop]
        case [*texts] if texts and all(isinstance(text, str) for text in texts):
            return texts
        case _:
            return None
