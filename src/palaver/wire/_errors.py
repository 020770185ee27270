"""What went wrong with a request, in the same words for every provider, and when to try again."""

import re
from collections.abc import Mapping

from palaver.model.build import JsonObject

_BY_STATUS = {
    **dict.fromkeys((401, 403), "auth"),
    402: "billing",
    404: "not_found",
    **dict.fromkeys((408, 504), "timeout"),
    **dict.fromkeys((400, 409, 413, 422), "invalid_arg"),
    429: "rate_limit",
    **dict.fromkeys((500, 502), "server"),
    **dict.fromkeys((503, 529), "overloaded"),
}
_BY_WORD = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "invalid_api_key": "auth",
    "permission_denied": "auth",
    "unauthenticated": "auth",
    "billing_error": "billing",
    "insufficient_quota": "billing",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "resource_exhausted": "rate_limit",
    "invalid_request_error": "invalid_arg",
    "invalid_argument": "invalid_arg",
    "failed_precondition": "invalid_arg",
    "request_too_large": "invalid_arg",
    "context_length_exceeded": "context_length",
    "not_found_error": "not_found",
    "model_not_found": "not_found",
    "not_found": "not_found",
    "overloaded_error": "overloaded",
    "unavailable": "overloaded",
    "timeout_error": "timeout",
    "deadline_exceeded": "timeout",
    "api_error": "server",
    "server_error": "server",
    "internal": "server",
    "content_filter": "content_filter",
    "content_policy_violation": "content_filter",
}
_PARTS = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def error(
    message: str,
    words: tuple[str, ...] = (),
    status: int | None = None,
    *,
    retry_after_ms: float | None = None,
    provider_data: JsonObject | None = None,
) -> JsonObject:
    """An exchange's error; `words` are the provider's own, the most telling first."""
    made: JsonObject = {"category": category(words, status), "message": message}
    for name, value in (("status", status), ("retry_after_ms", retry_after_ms), ("provider_data", provider_data)):
        if value is not None:
            made[name] = value
    return made


def category(words: tuple[str, ...], status: int | None) -> str:
    for word in words:
        if known := _BY_WORD.get(word.lower()):
            return known
    return _BY_STATUS.get(status or 0, "server" if status and status >= 500 else "unknown")


def is_retryable(error: JsonObject) -> bool:
    """Whether the same request may succeed later."""
    return error["category"] in {"rate_limit", "server", "timeout", "overloaded", "network"}


def wait_ms(headers: Mapping[str, str]) -> float | None:
    """How long a provider asks to wait, from the headers of its answer; None where it does not say."""
    lower = {name.lower(): value for name, value in headers.items()}
    if (wait := lower.get("retry-after-ms")) is not None:
        return _duration_ms(f"{wait}ms")
    for name in ("retry-after", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"):
        if (wait := lower.get(name)) is not None:
            return _duration_ms(f"{wait}s" if wait[-1:].isdigit() else wait)
    return None


def _duration_ms(text: str) -> float | None:
    """`60s`, `6m0s`, `1.5s` in milliseconds."""
    parts = _PARTS.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    total = sum(float(number) * _MS[unit] for number, unit in parts)
    return int(total) if total == int(total) else total
