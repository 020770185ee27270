"""Errors that a log reports: in the payload, in one of its choices, beside it, or by the status alone."""

from typing import Any

from palaver.importers.api_trace.bodies import Body
from palaver.importers.api_trace.masking import dump_json, mask_addresses, mask_value
from palaver.model.build import JsonObject
from palaver.wire import wire_format
from palaver.wire._errors import exchange_error

_RECORDER_CATEGORIES = {
    "client_aborted": "aborted",
    "recorder_stopped": "aborted",
    "recovered": "aborted",
    "timeout": "timeout",
    "upstream_aborted": "network",
    "upstream_unreachable": "network",
}
"""What the errors mean that `palaver record` notes itself."""


def stated_failure(reply: Body, logged_error: Any, wire: str, status: int | None) -> JsonObject | None:
    """Return the error that the API, the log or the status reports; None if there is none."""
    found = _payload_failure(reply.payload, wire, status) if reply.payload is not None else None
    if logged_error:
        message = mask_addresses(_error_message(logged_error))
        if found is None:
            failure = exchange_error(message, _error_types(message), status)
            kind = logged_error.get("type") if isinstance(logged_error, dict) else None
            return {**failure, "category": _RECORDER_CATEGORIES.get(str(kind), failure["category"])}
        return {**found, "message": _joined(found["message"], message)}
    if found is None and status is not None and status >= 400 and not reply.is_answer:
        return exchange_error(reply.as_text or f"status {status}", (), status)
    return found


def _payload_failure(payload: JsonObject, wire: str, status: int | None) -> JsonObject | None:
    stated = payload.get("error") or _choice_error(payload.get("choices"))
    if isinstance(stated, dict | str) and stated:
        payload = {**payload, "error": stated}
        if wire == "anthropic":
            payload = {"type": "error", "error": {"message": stated} if isinstance(stated, str) else stated}
    found = wire_format(wire).error_from_wire(payload, status)
    return {**found, "message": _error_message(stated)} if found and isinstance(stated, dict) else found


def _choice_error(choices: Any) -> Any:
    """Return the first error that stands in a choice, where gateways put those of the provider behind them."""
    found = (choice.get("error") for choice in choices if isinstance(choice, dict)) if isinstance(choices, list) else ()
    return next(filter(None, found), None)


def _error_message(error: Any) -> str:
    """Return the words of an error: its message, that of an error inside it, else all of it as JSON."""
    match error:
        case str():
            return error
        case {"message": str(message)} if message:
            return message
        case {"error": dict() | str() as inner} if inner:
            return _error_message(inner)
        case _:
            return dump_json(mask_value(error)).decode(errors="replace")


def _joined(first: str, second: str) -> str:
    """Return two messages as one, without the one that the other repeats."""
    if first in second:
        return second
    return first if second in first else f"{first}; {second}"


def _error_types(message: str) -> tuple[str, ...]:
    lower = message.lower()
    return ("timeout_error",) if "timeout" in lower or "timed out" in lower else ()
