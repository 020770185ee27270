"""Calls out of rows: both payloads of a request, what went wrong, and all that the log says beside them."""

import json
from typing import Any

from palaver.importers.azure_openai.about import about
from palaver.importers.azure_openai.facts import Facts, facts_of
from palaver.importers.azure_openai.filters import filters_of
from palaver.importers.azure_openai.formats import (
    Kind,
    chat_request,
    chat_response,
    has_messages,
    in_format,
    is_for_words,
    is_other_service,
    response_kind,
    unread_response,
)
from palaver.importers.azure_openai.groups import Parts
from palaver.importers.azure_openai.secrets import masked_prose
from palaver.importers.azure_openai.sides import Side, Sides
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.streams import assemble_events
from palaver.streams.sse import events_of
from palaver.threads.call import Call
from palaver.threads.tokens import stated_tokens
from palaver.wire import wire_format

_FAILED = 400


class NoConversationError(Exception):
    """The call is for something else than words."""


class UnreadableError(Exception):
    """Somebody speaks in it, but in no format that is known."""


class NoContentError(Exception):
    """Nobody says anything in it."""


def call_of(parts: Parts, run: Run) -> Call:
    """The call that some rows tell of.

    Raises:
        NoConversationError: It is for embeddings, images, or no model at all.
        UnreadableError: It is in no format that is known.
        NoContentError: There is neither a message nor an answer, nor an error in place of one.
    """
    sides = Sides(parts)
    facts = facts_of(parts, run)
    kind, request, response = _payloads(sides, facts.place)
    call = Call(facts.call_id, _wire(kind), request)
    call.response, call.error = _outcome(kind, response, sides.response, facts)
    if call.response is None and not has_messages(request) and (call.error is None or not request):
        raise UnreadableError if sides.request.is_cut else NoContentError
    sides.tell(run)
    call.is_request_cut = sides.request.is_cut or not request
    call.is_answer_cut = sides.response.is_cut
    call.started_at, call.ended_at, call.duration_ms = facts.started_at, facts.ended_at, facts.duration_ms
    call.where = facts.rows[0].where
    call.caller = facts.caller
    call.version = facts.version
    call.model = facts.text("modelname") or None
    call.usage = facts.tokens or None
    call.platform = _platform(facts, request)
    call.answer = _answer(call, facts) | sides.request.kept | sides.response.kept
    return call


def _wire(kind: Kind) -> str:
    return "openai-chat" if kind == "completions" else kind


def _payloads(sides: Sides, place: str) -> tuple[Kind, JsonObject, Any]:
    """Both payloads, in one format."""
    request, response = sides.request.value, _whole(sides.response.value)
    asked, answered = sides.asked, _answered(response)
    if is_other_service(request, response, place):
        raise NoConversationError
    kind = asked or answered
    if kind is None:
        is_lost = sides.request.is_spoken() or sides.response.is_spoken()
        raise UnreadableError if is_lost or (sides.request.is_cut and is_for_words(place)) else NoConversationError
    if kind == "openai-chat" and answered == "anthropic":
        kind = answered
    if asked is None:
        sides.request.keep_unread()
        request = {}
    elif asked == "completions":
        request = chat_request(request)
    if answered == "completions":
        response, answered = chat_response(response), "openai-chat"
    wanted: Any = _wire(kind)
    if answered is not None and answered != wanted:
        sides.response.keep_unread()
        response = in_format(answered, wanted, response)
    return kind, request, response


def _whole(response: Any) -> Any:
    """An answer that came as an array of its pieces, in one."""
    if isinstance(response, list) and response and response_kind(response[0]) == "gemini":
        return assemble_events("gemini", events_of(json.dumps(response).encode())).payload
    return response


def _answered(response: Any) -> Kind | None:
    found = response_kind(response)
    return None if found == "openai-chat" and isinstance(response, dict) and "choices" not in response else found


def _outcome(kind: Kind, response: Any, side: Side, facts: Facts) -> tuple[JsonObject | None, JsonObject | None]:
    """What came back, and what went wrong."""
    is_answer = response_kind(response) is not None
    error: JsonObject | None = None
    if isinstance(response, dict) and (not is_answer or response.get("error")):
        error = wire_format(_wire(kind)).error_from_wire(response, facts.status)
    if error is None and not is_answer and facts.status is not None and facts.status >= _FAILED:
        words, reason = facts.text("lasterrormessage"), facts.text("lasterrorreason")
        if words or side.value:
            side.keep_unread()
        stated = {"message": words or side.body_text()} | ({"code": reason} if reason else {})
        error = wire_format(_wire(kind)).error_from_wire({"error": stated}, facts.status)
    if error is not None:
        error["message"] = masked_prose(error["message"])
    elif not is_answer and (unread := side.value or side.body_text()):
        return unread_response(kind, unread), None
    return response if is_answer else None, error


def _platform(facts: Facts, request: JsonObject) -> JsonObject:
    deployment, model = facts.deployment, request.get("model")
    if not deployment and "/openai/" in facts.path and isinstance(model, str):
        deployment = model  # where the address has no deployment, the request names it as its model
    return {"deployment": deployment} if deployment else {}


def _answer(call: Call, facts: Facts) -> JsonObject:
    answer = dict(call.platform)
    if facts.status is not None:
        answer["status_code"] = facts.status
    answer |= about(facts.parts)
    if filters := filters_of(call):
        answer["filters"] = filters
    if call.usage:
        stated = stated_tokens(call)
        if any(stated.get(name, count) != count for name, count in call.usage.items()):
            answer["logged_tokens"] = call.usage
    return answer
