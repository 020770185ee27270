"""Gemini: bodies of `generateContent`, as the Gemini API and Vertex AI have them.

Both spellings are read, camelCase and the snake_case of the SDK's dumps; camelCase is written, unless the payload was
read in snake_case. The model is in the URL and not in the body: the caller may pass it, and otherwise it is `unknown`.
A written payload names it in `model`.

Role `model` is the assistant and `function` is `tool`; function responses from `user` stay with the user. Thought
signatures can be on any part and only Gemini understands them: they are kept in the `provider_data` of the block. The
`signature` of a thinking block comes from another provider.

A content is an object with a role and parts. SDKs also accept a string or a single part; anything else is kept whole.
"""

import re
from itertools import pairwise
from typing import Any, Literal

from palaver.model.build import JsonObject
from palaver.model.timestamps import timestamp_or_empty
from palaver.wire import _errors
from palaver.wire._answers import answer_order, in_payload_order
from palaver.wire._checks import takes_payload, takes_request, takes_response
from palaver.wire._contract import Losses, Written
from palaver.wire._tool_calls import are_results, join_results
from palaver.wire.gemini._call_ids import CallPairs, pair_calls
from palaver.wire.gemini._candidates import (
    alternative_from_wire,
    alternative_to_wire,
    call_names,
    candidate_from_wire,
    candidate_to_wire,
    finish_without_answer,
)
from palaver.wire.gemini._parts import PartWriter, blocks_from_wire, part_kind
from palaver.wire.gemini._places import payload_places
from palaver.wire.gemini._provider_data import (
    NAME,
    FieldReader,
    ProviderData,
    is_count,
    is_list,
    is_object,
    is_text,
    report_unwritten,
)
from palaver.wire.gemini._settings import (
    generation_from_wire,
    generation_to_wire,
    service_from_wire,
    service_to_wire,
)
from palaver.wire.gemini._tools import choice_from_wire, choice_to_wire, tools_from_wire, tools_to_wire
from palaver.wire.gemini._usage import usage_from_wire, usage_to_wire

_ROLES = {"user": "user", "model": "assistant", "function": "tool", "assistant": "assistant", "tool": "tool"}
_WIRE_ROLES = {"user": "user", "assistant": "model", "tool": "function"}


def content_parts(content: Any) -> list[Any]:
    match _content_shape(content):
        case "text":
            return [{"text": content}]
        case "part":
            return [{key: value for key, value in content.items() if key != "role"}]
        case "unknown":
            return [content]
        case None:
            return content["parts"] if is_list(content.get("parts")) else []


def content_from_wire(content: Any, turn: int, pairs: CallPairs) -> JsonObject:
    made: JsonObject = {"role": "user", "content": blocks_from_wire(content_parts(content), turn, pairs)}
    shape = _content_shape(content)
    fields = FieldReader(_fields_beside_parts(content, shape))
    if isinstance(content, dict):
        wire_role = fields.expect("role", is_text)
        made["role"] = _role(wire_role)
        if wire_role not in {None, _WIRE_ROLES[made["role"]]}:
            fields.remember("role", wire_role)
    if shape is None:
        fields.expect("parts", is_list)
    else:
        fields.remember("shape", shape)
    return made | fields.provider_data()


def content_to_wire(message: JsonObject, pointer: str, writer: PartWriter) -> Any:
    report_unwritten(message, frozenset({"role", "content"}), pointer, writer.losses)
    saved = ProviderData(message)
    parts = writer.parts(message["content"], f"{pointer}/content")
    made: JsonObject = {}
    wire_role = saved.original("role")
    if wire_role is not None and _role(wire_role) == message["role"]:
        made["role"] = wire_role
    elif message["role"] != "user" or not saved.lacks("role"):
        made["role"] = _WIRE_ROLES[message["role"]]
    match saved.original("shape"), parts:
        case "text", [{"text": text}] if parts == [{"text": text}]:
            return text
        case "unknown", [part]:
            return part
        case "part", [dict() as part]:
            return saved.complete(part | made)
        case _:
            if parts or not saved.lacks("parts"):
                made["parts"] = parts
            return saved.complete(made)


def _fields_beside_parts(content: Any, shape: str | None) -> JsonObject:
    if shape is None:
        return content
    return {"role": content["role"]} if shape == "part" and "role" in content else {}


def _content_shape(content: Any) -> Literal["text", "part", "unknown"] | None:
    """Return what was given instead of a content object; None for a content object."""
    match content:
        case str():
            return "text"
        case dict():
            return "part" if "parts" not in content and part_kind(content) is not None else None
        case _:
            return "unknown"


def _role(wire_role: Any) -> str:
    return _ROLES.get(wire_role, "user") if isinstance(wire_role, str) else "user"


name = NAME
provider = "google"

UNKNOWN_MODEL = "unknown"
_REQUEST = frozenset(
    {
        *("system", "messages", "model", "thinking", "tools", "tool_choice", "max_output_tokens", "sampling"),
        *("output_format", "answer_count", "logprobs", "top_logprobs", "store", "service_tier", "stream"),
    }
)
_WIRE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_RESPONSE = frozenset({"content", "finish_reason", "alternatives", "usage", "model", "response_id", "created_at"})


@takes_payload
def request_from_wire(payload: JsonObject, model: str = "") -> JsonObject:
    """Return the request of a payload; `model` is the one in the URL, used if the payload names none."""
    fields = FieldReader(payload)
    request: JsonObject = {"model": fields.expect("model", lambda value: is_text(value) and bool(value)) or model}
    request["model"] = request["model"] or UNKNOWN_MODEL
    system = _system_parts(fields)
    contents = _contents(fields)
    pairs = pair_calls([system, *map(content_parts, contents)], part_kind)
    if system:
        request["system"] = blocks_from_wire(system, 0, pairs)
    request["messages"] = [content_from_wire(content, turn, pairs) for turn, content in enumerate(contents, 1)]
    _note_separate_results(request["messages"])
    request |= tools_from_wire(fields) | choice_from_wire(fields) | generation_from_wire(fields, request["model"])
    request |= service_from_wire(fields)
    return request | fields.provider_data()


@takes_request
def request_to_wire(request: JsonObject) -> Written:
    losses = Losses()
    saved = ProviderData(request)
    report_unwritten(request, _REQUEST, "", losses)
    system, messages = request.get("system") or [], request["messages"]
    writer = PartWriter(call_names([system, *(message["content"] for message in messages)]), losses)
    payload: JsonObject = {} if saved.lacks("model") or "model" not in request else {"model": request["model"]}
    if system:
        payload["systemInstruction"] = _system_instruction(writer.parts(system, "/system"), saved)
    turns = [
        (message, [content_to_wire(message, f"/messages/{position}", writer)])
        for position, message in enumerate(messages)
    ]
    contents = join_results(turns, "parts") if not _has_separate_results(messages) else [made for _, [made] in turns]
    if contents or not saved.lacks("contents"):
        payload["contents"] = contents[0] if saved.original("single") and len(contents) == 1 else contents
    if tools := tools_to_wire(request.get("tools") or [], saved, losses):
        payload["tools"] = tools
    if (choice := choice_to_wire(request, saved, losses)) is not None:
        payload["toolConfig"] = choice
    if config := generation_to_wire(request, saved, losses):
        payload["generationConfig"] = config
    payload |= service_to_wire(request, losses)
    return Written(saved.complete(saved.spell(payload)), losses.found)


@takes_payload
def response_from_wire(payload: JsonObject) -> JsonObject:
    """Return the response of a payload: the candidate with the least index, with the others as alternatives."""
    fields = FieldReader(payload)
    candidates: list[Any] = payload["candidates"] if is_list(payload.get("candidates")) else []
    order = answer_order(candidates, "index")
    if not order:
        fields.expect("candidates", lambda _: False)
        response: JsonObject = {"content": [], "finish_reason": finish_without_answer(payload)}
    else:
        first, *others = order
        response = candidate_from_wire(fields.only_item("candidates", first), 0)
        if others:
            response["alternatives"] = [alternative_from_wire(candidates[position], position) for position in others]
        if order != sorted(order):
            fields.remember("order", order)
    stated = fields.take("usageMetadata", lambda value: is_object(value) and bool(value))
    if stated is not None:
        response["usage"] = usage_from_wire(FieldReader(stated))
    if (model := fields.take("modelVersion", is_text)) is not None:
        response["model"] = model
    if (response_id := fields.take("responseId", lambda value: is_text(value) and bool(value))) is not None:
        response["response_id"] = response_id
    if (created_at := _timestamp(time := fields.look("createTime", is_text))) is not None:
        response["created_at"] = created_at
        fields.take("createTime", is_text)
        if time != _wire_time(created_at):
            fields.remember("createTime", time)
    return response | fields.provider_data()


@takes_response
def response_to_wire(response: JsonObject) -> Written:
    losses = Losses()
    saved = ProviderData(response)
    report_unwritten(response, _RESPONSE, "", losses)
    payload: JsonObject = {}
    reason = response["finish_reason"]
    has_answer = response["content"] or response.get("alternatives")
    if has_answer or not saved.lacks("candidates") or reason != finish_without_answer(saved.extra):
        payload["candidates"] = [candidate_to_wire({"index": 0, **response}, saved, "", losses, path=("candidates",))]
    if usage := usage_to_wire(response.get("usage") or {}, losses):
        payload["usageMetadata"] = usage
    if response.get("model") is not None:
        payload["modelVersion"] = response["model"]
    if response.get("response_id") is not None:
        payload["responseId"] = response["response_id"]
    if (time := response.get("created_at")) is not None:
        original = saved.original("createTime")
        payload["createTime"] = original if _timestamp(original) == time else _wire_time(time)
    payload = saved.complete(saved.spell(payload))
    if alternatives := response.get("alternatives"):
        candidates = [
            *payload["candidates"],
            *(
                alternative_to_wire(answer, f"/alternatives/{number}", losses)
                for number, answer in enumerate(alternatives)
            ),
        ]
        payload["candidates"] = in_payload_order(candidates, saved.original("order"))
    return Written(payload, losses.found)


places = payload_places


@takes_payload
def error_from_wire(payload: JsonObject, status: int | None = None) -> JsonObject | None:
    stated = payload.get("error")
    if not isinstance(stated, dict):
        return None
    listed = stated.get("details")
    details = [detail for detail in listed if isinstance(detail, dict)] if isinstance(listed, list) else []
    codes = [detail["reason"] for detail in details if isinstance(detail.get("reason"), str)]
    if isinstance(stated.get("status"), str):
        codes.append(stated["status"])
    message = stated["message"] if isinstance(stated.get("message"), str) else ""
    if "exceeds the maximum number of tokens" in message:
        codes.insert(0, "context_length_exceeded")
    waits = [detail["retryDelay"] for detail in details if isinstance(detail.get("retryDelay"), str)]
    code = stated.get("code")
    return _errors.exchange_error(
        message,
        tuple("invalid_api_key" if code == "API_KEY_INVALID" else code for code in codes),
        status or (code if is_count(code) else None),
        retry_after_ms=_errors.retry_wait_ms({"retry-after": waits[0]}) if waits else None,
        provider_data={NAME: rest} if (rest := {key: stated[key] for key in stated if key != "message"}) else None,
    )


def _system_parts(fields: FieldReader) -> list[Any]:
    """Return the parts of the system instruction, for which SDKs also accept a string."""
    if (text := fields.take("systemInstruction", is_text)) is not None:
        fields.remember("systemInstruction", "string")
        return [{"text": text}]
    inner = fields.inner("systemInstruction")
    return (inner.take("parts", lambda value: is_list(value) and bool(value)) or []) if inner else []


def _system_instruction(parts: list[Any], saved: ProviderData) -> Any:
    match parts:
        case [{"text": text}] if saved.original("systemInstruction") == "string" and parts == [{"text": text}]:
            return text
        case _:
            return {"parts": parts}


def _contents(fields: FieldReader) -> list[Any]:
    """Return the contents, for which SDKs also accept a single one."""
    single = fields.take("contents", lambda value: is_text(value) or is_object(value))
    if single is not None:
        fields.remember("single", value=True)
        return [single]
    return fields.expect("contents", is_list) or []


def _note_separate_results(messages: list[JsonObject]) -> None:
    """Note at results that follow others in a content of their own, which is unusual, that they do."""
    for first, second in pairwise(messages):
        if are_results(first) and are_results(second):
            data: JsonObject = second.setdefault("provider_data", {}).setdefault(NAME, {})
            data.setdefault("as_written", {})["apart"] = True


def _has_separate_results(messages: list[JsonObject]) -> bool:
    return any(ProviderData(message).original("apart") for message in messages if are_results(message))


def _timestamp(time: Any) -> str | None:
    if not isinstance(time, str) or not _WIRE_TIME.fullmatch(time):
        return None
    return timestamp_or_empty(time) or None


def _wire_time(time: str) -> str:
    return time.replace(".000Z", "Z")
