"""Calls built from rows: the request, the response or the error, and everything else that the log records.

The results of content filters stay in the payload; objections are also summarized in the metadata of the answer. Chat
has results for the prompt and for each choice, Responses has them in one list, and a refused request in its error.
"""

import json
from collections.abc import Iterator
from typing import Any

from palaver.importers.azure_openai.call_metadata import CallMetadata, collect_metadata
from palaver.importers.azure_openai.extra_columns import extra_columns
from palaver.importers.azure_openai.payload_formats import (
    Kind,
    chat_request,
    chat_response,
    convert_response,
    has_messages,
    is_other_service,
    is_text_endpoint,
    response_kind,
    wrap_unknown_response,
)
from palaver.importers.azure_openai.payloads import Payload, Payloads
from palaver.importers.azure_openai.row_groups import CallRows
from palaver.model.build import JsonObject
from palaver.redact.logs import mask_request
from palaver.redact.text import mask_tokens
from palaver.sources.run import Run
from palaver.streams import assemble_events
from palaver.streams.event_parsers import events_of
from palaver.threads.answers import stated_tokens
from palaver.threads.call import Call
from palaver.wire import wire_format

_FIRST_ERROR_STATUS = 400
_FILTER_FIELDS = frozenset({"prompt_filter_results", "prompt_annotations", "content_filters"})
_FILTER_RESULTS = ("content_filter_results", "content_filter_result")


class NoConversationError(Exception):
    """The call does not ask a model for text."""


class UnknownFormatError(Exception):
    """The call contains messages, but in no known format."""


class NoContentError(Exception):
    """The call contains no messages."""


def build_call(call_rows: CallRows, run: Run) -> Call:
    """Build the call that these rows describe.

    Raises:
        NoConversationError: The call is for embeddings, images, or no model at all.
        UnknownFormatError: The call is in no known format.
        NoContentError: There is no message, no answer, and no error in place of an answer.
    """
    payloads = Payloads(call_rows)
    if isinstance(payloads.request.value, dict):
        mask_request(payloads.request.value)
    metadata = collect_metadata(call_rows, run)
    kind, request, response = _match_formats(payloads, metadata.endpoint)
    call = Call(metadata.call_id, _wire_name(kind), request)
    call.response, call.error = _response_and_error(kind, response, payloads.response, metadata)
    if call.response is None and not has_messages(request) and (call.error is None or not request):
        raise UnknownFormatError if payloads.request.is_cut else NoContentError
    payloads.note_findings(run)
    call.is_request_cut = payloads.request.is_cut or not request
    call.is_answer_cut = payloads.response.is_cut
    call.started_at, call.ended_at, call.duration_ms = metadata.started_at, metadata.ended_at, metadata.duration_ms
    call.where = metadata.rows[0].where
    call.caller = metadata.caller
    call.version = metadata.version
    call.model = metadata.text("modelname") or None
    call.usage = metadata.tokens or None
    call.platform = _platform_metadata(metadata, request)
    call.answer = _answer_metadata(call, metadata) | payloads.request.extra_fields | payloads.response.extra_fields
    return call


def _wire_name(kind: Kind) -> str:
    return "openai-chat" if kind == "completions" else kind


def _match_formats(payloads: Payloads, endpoint: str) -> tuple[Kind, JsonObject, Any]:
    """Return the format of the call, and both payloads in that format."""
    request, response = payloads.request.value, _join_chunks(payloads.response)
    request_kind, answer_kind = payloads.request_kind, _answer_kind(response)
    if is_other_service(request, response, endpoint):
        raise NoConversationError
    kind = request_kind or answer_kind
    if kind is None:
        has_message = payloads.request.contains_message() or payloads.response.contains_message()
        if has_message or (payloads.request.is_cut and is_text_endpoint(endpoint)):
            raise UnknownFormatError
        raise NoConversationError
    if kind == "openai-chat" and answer_kind == "anthropic":
        kind = answer_kind
    if request_kind is None:
        payloads.request.preserve_body()
        request = {}
    elif request_kind == "completions":
        request = chat_request(request)
    if answer_kind == "completions":
        response, answer_kind = chat_response(response), "openai-chat"
    wanted: Any = _wire_name(kind)
    if answer_kind is not None and answer_kind != wanted:
        payloads.response.preserve_body()
        response = convert_response(answer_kind, wanted, response)
    return kind, request, response


def _join_chunks(payload: Payload) -> Any:
    """Assemble a Gemini answer that was logged as an array of chunks; several answers are preserved as they are."""
    response = payload.value
    if isinstance(response, list) and response and response_kind(response[0]) == "gemini":
        assembled = assemble_events("gemini", events_of(json.dumps(response).encode()))
        if assembled.following:
            payload.preserve_body()
        return assembled.payload
    return response


def _answer_kind(response: Any) -> Kind | None:
    found = response_kind(response)
    return None if found == "openai-chat" and isinstance(response, dict) and "choices" not in response else found


def _response_and_error(
    kind: Kind, response: Any, payload: Payload, metadata: CallMetadata
) -> tuple[JsonObject | None, JsonObject | None]:
    is_answer = response_kind(response) is not None
    error: JsonObject | None = None
    if isinstance(response, dict) and (not is_answer or response.get("error")):
        error = wire_format(_wire_name(kind)).error_from_wire(response, metadata.status)
    if error is None and not is_answer and metadata.status is not None and metadata.status >= _FIRST_ERROR_STATUS:
        message, reason = metadata.text("lasterrormessage"), metadata.text("lasterrorreason")
        if message or payload.value:
            payload.preserve_body()
        logged = {"message": message or payload.body_text()} | ({"code": reason} if reason else {})
        error = wire_format(_wire_name(kind)).error_from_wire({"error": logged}, metadata.status)
    if error is not None:
        error["message"] = mask_tokens(error["message"])
    elif not is_answer and (unread := payload.value or payload.body_text()):
        return wrap_unknown_response(kind, unread), None
    return response if is_answer else None, error


def _platform_metadata(metadata: CallMetadata, request: JsonObject) -> JsonObject:
    deployment, model = metadata.deployment, request.get("model")
    if not deployment and "/openai/" in metadata.path and isinstance(model, str):
        deployment = model  # a URL without a deployment: the request names it as its model
    return {"deployment": deployment} if deployment else {}


def _answer_metadata(call: Call, metadata: CallMetadata) -> JsonObject:
    answer = dict(call.platform)
    if metadata.status is not None:
        answer["status_code"] = metadata.status
    answer |= extra_columns(metadata.call_rows)
    if filters := filter_objections(call):
        answer["filters"] = filters
    if call.usage:
        stated = stated_tokens(call)
        if any(stated.get(name, count) != count for name, count in call.usage.items()):
            answer["logged_tokens"] = call.usage
    return answer


def filter_objections(call: Call) -> JsonObject:
    """Return the categories that were detected or filtered, by `prompt` and `completion`; empty if all is safe."""
    found: JsonObject = {}
    if call.error is None and not _is_filtered(call.response or {}):
        return found
    for subject, results in (*_response_filters(call.response or {}), *_error_filters(call.error or {})):
        for category, result in results.items():
            if _is_objection(result):
                found.setdefault(subject, {}).setdefault(category, result)
    return found


def _is_filtered(response: JsonObject) -> bool:
    """Whether an answer has results of a filter at all: most do not."""
    choices = response.get("choices")
    return not _FILTER_FIELDS.isdisjoint(response) or (
        isinstance(choices, list)
        and any(not isinstance(choice, dict) or any(name in choice for name in _FILTER_RESULTS) for choice in choices)
    )


def _response_filters(response: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for name in ("prompt_filter_results", "prompt_annotations"):
        for holder in _objects(response.get(name)):
            yield from _results("prompt", holder)
    for choice in _objects(response.get("choices")):
        yield from _results("completion", choice)
    for holder in _objects(response.get("content_filters")):
        subject = holder.get("source_type")
        yield from _results(subject if isinstance(subject, str) else "completion", holder)


def _error_filters(error: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for data in _objects(list((error.get("provider_data") or {}).values())):
        inner = data.get("innererror")
        if isinstance(inner, dict):
            yield from _results("prompt", inner)


def _results(subject: str, holder: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    for name in _FILTER_RESULTS:
        if isinstance(found := holder.get(name), dict):
            yield subject, found


def _objects(value: Any) -> Iterator[JsonObject]:
    yield from (item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def _is_objection(result: Any) -> bool:
    match result:
        case {"filtered": True} | {"detected": True}:
            return True
        case {"severity": str(severity)}:
            return severity != "safe"
        case list():
            return any(map(_is_objection, result))
        case _:
            return False
