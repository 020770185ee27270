"""Errors of a request in the same categories for every provider, and the time to wait before a retry."""

import re
from collections.abc import Mapping

from palaver.model.build import JsonObject

_CATEGORY_BY_STATUS = {
    **dict.fromkeys((401, 403), "auth"),
    402: "billing",
    404: "not_found",
    **dict.fromkeys((408, 504), "timeout"),
    **dict.fromkeys((400, 409, 413, 422), "invalid_arg"),
    429: "rate_limit",
    **dict.fromkeys((500, 502), "server"),
    **dict.fromkeys((503, 529), "overloaded"),
}
_CATEGORY_BY_CODE = {
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
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_MS_PER_UNIT = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def exchange_error(
    message: str,
    codes: tuple[str, ...] = (),
    status: int | None = None,
    *,
    retry_after_ms: float | None = None,
    provider_data: JsonObject | None = None,
) -> JsonObject:
    """Return an exchange's error; `codes` are the provider's own, the most specific first."""
    made: JsonObject = {"category": error_category(codes, status), "message": message}
    for name, value in (("status", status), ("retry_after_ms", retry_after_ms), ("provider_data", provider_data)):
        if value is not None:
            made[name] = value
    return made


def error_category(codes: tuple[str, ...], status: int | None) -> str:
    for code in codes:
        if known := _CATEGORY_BY_CODE.get(code.lower()):
            return known
    return _CATEGORY_BY_STATUS.get(status or 0, "server" if status and status >= 500 else "unknown")


def is_retryable(error: JsonObject) -> bool:
    """Return whether the request may succeed if it is sent again later."""
    return error["category"] in {"rate_limit", "server", "timeout", "overloaded", "network"}


def retry_wait_ms(headers: Mapping[str, str]) -> float | None:
    """Return how long a response's headers ask the client to wait; None if they do not say."""
    lower = {name.lower(): value for name, value in headers.items()}
    if (wait := lower.get("retry-after-ms")) is not None:
        return duration_ms(f"{wait}ms")
    for name in ("retry-after", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"):
        if (wait := lower.get(name)) is not None:
            return duration_ms(f"{wait}s" if wait[-1:].isdigit() else wait)
    return None


def duration_ms(text: str) -> float | None:
    """Parse a duration such as `60s`, `6m0s` or `1.5s`; None if it is malformed."""
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    total = sum(float(number) * _MS_PER_UNIT[unit] for number, unit in parts)
    return int(total) if total == int(total) else total
