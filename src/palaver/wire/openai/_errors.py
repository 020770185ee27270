"""What OpenAI, Azure and servers in their manner answer when a request fails."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire import _errors


def error_from(payload: JsonObject, name: str, status: int | None = None) -> JsonObject | None:
    """An exchange's error; None where the payload is none."""
    found: Any = payload.get("error")
    if not found and (payload.get("type") == "error" or payload.get("object") == "error"):
        found = payload
    if not found and "message" in payload and "statusCode" in payload:  # an API gateway in front of the provider
        found = {"message": payload["message"], "code": payload["statusCode"]}
        status = status or (payload["statusCode"] if type(payload["statusCode"]) is int else None)
    if isinstance(found, str):
        return _errors.error(found, (), status)
    if not isinstance(found, dict) or not found:
        return None
    inner = found.get("innererror")
    words = (inner.get("code") if isinstance(inner, dict) else None, found.get("code"), found.get("type"))
    message = found.get("message")
    rest = {key: value for key, value in found.items() if key != "message"}
    return _errors.error(
        message if isinstance(message, str) else "",
        tuple(word for word in words if isinstance(word, str)),
        status,
        provider_data={name: rest} if rest else None,
    )
