"""Settings of a Responses request, with its tools and its instructions."""

from itertools import takewhile
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import DEFAULT_LIMIT
from palaver.wire.openai._parts import LocatedBlock, fenced_code
from palaver.wire.openai._provider_data import (
    RESPONSES,
    Fields,
    Writer,
    shape,
)
from palaver.wire.openai._settings import (
    SUMMARY_FIELDS,
    SUMMARY_WORDS,
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
    is_allowed_tools,
    tools_from_wire,
    tools_to_wire,
)

_SAMPLING = {"temperature": "temperature", "top_p": "top_p"}
_DEFAULT_SUMMARY = {"summary": "auto"}
_PROBABILITIES = "message.output_text.logprobs"
"""The entry of `include` that asks for the probability of each token."""


def settings_from_wire(payload: JsonObject, request: JsonObject) -> JsonObject:
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
        tools, others = tools_from_wire(payload["tools"], RESPONSES)
        initial |= {"tools": others} if others else {}
        if tools:
            request["tools"] = tools
    if (chosen := choice_from_wire(choice := payload.get("tool_choice"))) is not None:
        request["tool_choice"] = chosen
        if is_allowed_tools(choice):
            initial["tool_choice"] = choice
        elif choice != choice_to_wire(request, Writer(RESPONSES)):
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
    request |= shared_from_wire(payload, RESPONSES)
    initial = {key: value for key, value in initial.items() if value != []}
    return {**initial, "shape": form} if form else initial


def settings_fields(request: JsonObject, notes: JsonObject, writer: Writer) -> Fields:
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
    for block, pointer in instruction_blocks(request, writer):
        if block["type"] == "text":
            writer.report_unwritten(block, ("type", "text"), pointer)
            texts.append(block["text"])
        elif block["type"] == "code":
            writer.losses.change(pointer, "code is written as text")
            texts.append(fenced_code(block))
        else:
            writer.drop(block, pointer, "the instructions must be text")
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


def located_system(request: JsonObject) -> list[LocatedBlock]:
    return [(block, f"/system/{index}") for index, block in enumerate(request.get("system") or ())]


def instruction_blocks(request: JsonObject, writer: Writer) -> list[LocatedBlock]:
    """Return the blocks of the system prompt up to the first that was read from the input."""
    return list(takewhile(lambda located: "item" not in writer.notes(located[0]), located_system(request)))
