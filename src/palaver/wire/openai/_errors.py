"""Errors in payloads of OpenAI, Azure and compatible servers."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire import _errors


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
