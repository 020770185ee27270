"""What a log says about a call beside its payloads: columns under clear names, the others under their own.

Of headers, only those that are known to be harmless are kept; addresses lose what lets in; a column that may hold a
secret is left out.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from palaver.importers.azure_openai.groups import Parts
from palaver.importers.azure_openai.numbers import number_of, time_of, time_of_ticks
from palaver.importers.azure_openai.row import BODIES, MESSAGES, TABLE_NAMES, TIMES, Row, Table, is_category
from palaver.importers.azure_openai.secrets import headers_of, kept_value
from palaver.model.build import JsonObject
from palaver.redact import masked_url

_NAMES = {
    "apiid": "api_id",
    "apirevision": "api_revision",
    "apimsubscriptionid": "subscription_id",
    "backendid": "backend_id",
    "callerip": "caller_ip",
    "calleripaddress": "caller_ip",
    "clientip": "caller_ip",
    "deploymentname": "deployment",
    "location": "region",
    "method": "method",
    "modelname": "model_name",
    "operationid": "operation_id",
    "operationname": "operation_name",
    "productid": "product_id",
    "region": "region",
    "requestip": "caller_ip",
    "resourceid": "resource_id",
    "userid": "user_id",
}
_NUMBERS = {
    "backendresponsecode": "backend_status_code",
    "backendtime": "backend_time_ms",
    "cachetime": "cache_time_ms",
    "clienttime": "client_time_ms",
    "requestsize": "request_size_bytes",
    "responsesize": "response_size_bytes",
}
_ADDRESSES = {"url": "url", "backendurl": "backend_url"}
_HEADERS = {
    "requestheaders": "request_headers",
    "responseheaders": "response_headers",
    "backendrequestheaders": "backend_request_headers",
    "backendresponseheaders": "backend_response_headers",
}
_TICKS = {"requesttime": "request_time", "responsetime": "response_time"}
_LONGEST_WORD = 500
_COUNTED = ("sequencenumber", "prompttokens", "completiontokens", "totaltokens", "responsecode", "statuscode")
_NAMED = (*TABLE_NAMES, "apiversion")

OWN_NAMES = frozenset(
    {*_NAMES.values(), *_NUMBERS.values(), *_ADDRESSES.values(), *_HEADERS.values(), *_TICKS.values()}
    | {"deployment", "status_code", "filters", "resource_log", "other_rows", "apim_request_id", "unread_events"}
    | {"request_body", "response_body", "backend_request_body", "backend_response_body", "llm_request_messages"}
    | {"llm_response_messages", "api_message_id", "other_values", "logged_tokens"}
)
"""Names in metadata that are ours."""


def about(parts: Parts) -> JsonObject:
    """All that the rows of a call say beside what the call has a place for."""
    told: JsonObject = {}
    before: JsonObject = {}
    for row in (*parts.heads, *parts.llm):
        for name, value in _columns(row, before).items():
            _add(told, name, value)
        before = row.columns
    for word, rows in (
        ("resource_log", [row for row in parts.others if row.table == "resource"]),
        ("other_rows", [row for row in parts.others if row.table != "resource"]),
    ):
        if found := [columns for row in rows if (columns := _columns(row))]:
            told[word] = found if len(found) > 1 or word == "other_rows" else found[0]
    headers: JsonObject = told.get("response_headers") or told.get("backend_response_headers") or {}
    if found := headers.get("apim-request-id"):
        told["apim_request_id"] = found
    if "region" not in told and (found := headers.get("x-ms-region")):
        told["region"] = found
    return told


def _add(told: JsonObject, name: str, value: Any) -> None:
    """Of several rows, each says its own; what they agree on stands once."""
    if name not in told:
        told[name] = value
    elif told[name] != value:
        others = told.setdefault("other_values", {}).setdefault(name, [])
        if value not in others:
            others.append(value)


def _columns(row: Row, before: JsonObject | None = None) -> JsonObject:
    """What the columns of a row say; those that say what another row said before are left out."""
    told: JsonObject = {}
    for name, own, value in zip(row.names.plain, row.columns, row.columns.values(), strict=True):
        if before and before.get(own) == value:
            continue
        is_elsewhere = _ELSEWHERE.get(name)
        if is_elsewhere and row.get(name) is value and is_elsewhere(row, value):
            continue
        is_word = isinstance(value, bool) or (isinstance(value, str) and len(value) < _LONGEST_WORD)
        ours, item = (_told_before if is_word else _told)(row.table, name, own, value)
        if item is not None:
            told[ours if ours not in told else own] = dict(item) if isinstance(item, dict) else item
    return told


def _told(table: Table, name: str, own: str, value: Any) -> tuple[str, Any]:
    """One column under our name for it, or its own."""
    if name in _NAMES and isinstance(value, str | int):
        return _NAMES[name], kept_value(own, value)
    if name in _NUMBERS and (number := number_of(value)) is not None:
        return _NUMBERS[name], number
    if name in _ADDRESSES and isinstance(value, str):
        return _ADDRESSES[name], masked_url(value)
    if name in _HEADERS:
        return _HEADERS[name], headers_of(value) or None
    if name in _TICKS and (time := time_of_ticks(value)):
        return _TICKS[name], time
    if name == "requestid" and table == "llm" and isinstance(value, str):
        return "api_message_id", value
    return own, kept_value(own, value)


_told_before = lru_cache(1 << 12)(_told)
"""Thousands of rows say the same in a few words: the region, the operation, the address."""


def _is_the_id(row: Row, value: Any) -> bool:
    return row.call_id == value


def _is_duration(row: Row, value: Any) -> bool:
    return (number_of(value) or -1) >= 0 and row.table != "resource"


def _is_time(row: Row, value: Any) -> bool:
    return bool(time_of(value)) and row.table != "resource"


_ELSEWHERE: dict[str, Callable[[Row, Any], bool]] = {
    **dict.fromkeys(("correlationid", "requestid", "traceid"), _is_the_id),
    **dict.fromkeys(("durationms", "totaltime"), _is_duration),
    **dict.fromkeys(TIMES, _is_time),
    **dict.fromkeys(_COUNTED, lambda _, value: number_of(value) is not None),
    **dict.fromkeys(_NAMED, lambda _, value: isinstance(value, str)),
    **dict.fromkeys((*BODIES, *MESSAGES), lambda _, __: True),
    "operationname": lambda _, value: is_category(value),
}
"""Whether a call has a place for what a column says, or it only tells of which table its row is."""
