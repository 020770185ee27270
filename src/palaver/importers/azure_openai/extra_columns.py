"""Columns of a call that no field of the call holds: well-known ones under clear names, others under their own.

Only headers known to be harmless are kept; URLs lose their credentials; a column that may hold a secret is left out.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from palaver.importers.azure_openai.column_values import (
    column_headers,
    mask_column,
    parse_number,
    parse_ticks,
    parse_time,
)
from palaver.importers.azure_openai.row import (
    BODY_COLUMNS,
    MESSAGE_COLUMNS,
    TABLE_COLUMNS,
    TIME_COLUMNS,
    Row,
    Table,
    is_category_name,
)
from palaver.importers.azure_openai.row_groups import CallRows
from palaver.model.build import JsonObject
from palaver.redact.policy import mask_url

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
_URLS = {"url": "url", "backendurl": "backend_url"}
_HEADERS = {
    "requestheaders": "request_headers",
    "responseheaders": "response_headers",
    "backendrequestheaders": "backend_request_headers",
    "backendresponseheaders": "backend_response_headers",
}
_TICKS = {"requesttime": "request_time", "responsetime": "response_time"}
_MAX_CACHED_LENGTH = 500
_NUMBER_COLUMNS = ("sequencenumber", "prompttokens", "completiontokens", "totaltokens", "responsecode", "statuscode")
_TEXT_COLUMNS = (*TABLE_COLUMNS, "apiversion")

OWN_NAMES = frozenset(
    {*_NAMES.values(), *_NUMBERS.values(), *_URLS.values(), *_HEADERS.values(), *_TICKS.values()}
    | {"deployment", "status_code", "filters", "resource_log", "other_rows", "apim_request_id", "unread_events"}
    | {"request_body", "response_body", "backend_request_body", "backend_response_body", "llm_request_messages"}
    | {"llm_response_messages", "api_message_id", "other_values", "logged_tokens"}
)
"""Names in metadata that this importer chose."""


def extra_columns(call_rows: CallRows) -> JsonObject:
    """Return the columns of a call's rows that are not mapped elsewhere."""
    columns: JsonObject = {}
    previous: JsonObject = {}
    for row in (*call_rows.heads, *call_rows.llm):
        for name, value in _row_columns(row, previous).items():
            _add(columns, name, value)
        previous = row.columns
    for field, rows in (
        ("resource_log", [row for row in call_rows.others if row.table == "resource"]),
        ("other_rows", [row for row in call_rows.others if row.table != "resource"]),
    ):
        if found := [of_row for row in rows if (of_row := _row_columns(row))]:
            columns[field] = found if len(found) > 1 or field == "other_rows" else found[0]
    headers: JsonObject = columns.get("response_headers") or columns.get("backend_response_headers") or {}
    if found := headers.get("apim-request-id"):
        columns["apim_request_id"] = found
    if "region" not in columns and (found := headers.get("x-ms-region")):
        columns["region"] = found
    return columns


def _add(columns: JsonObject, name: str, value: Any) -> None:
    """Add a column of a further row; a value that differs goes to `other_values`."""
    if name not in columns:
        columns[name] = value
    elif columns[name] != value:
        others = columns.setdefault("other_values", {}).setdefault(name, [])
        if value not in others:
            others.append(value)


def _row_columns(row: Row, previous: JsonObject | None = None) -> JsonObject:
    """Return the extra columns of a row, without those that only repeat the previous row."""
    columns: JsonObject = {}
    for name, own, value in zip(row.names.plain, row.columns, row.columns.values(), strict=True):
        if previous and previous.get(own) == value:
            continue
        is_mapped = _MAPPED_ELSEWHERE.get(name)
        if is_mapped and row.get(name) is value and is_mapped(row, value):
            continue
        is_short = isinstance(value, bool) or (isinstance(value, str) and len(value) < _MAX_CACHED_LENGTH)
        new_name, item = (_rename_cached if is_short else _rename)(row.table, name, own, value)
        if item is not None:
            columns[new_name if new_name not in columns else own] = dict(item) if isinstance(item, dict) else item
    return columns


def _rename(table: Table, name: str, own: str, value: Any) -> tuple[str, Any]:
    """Return the name of a column in our metadata, and its value without secrets."""
    if name in _NAMES and isinstance(value, str | int):
        return _NAMES[name], mask_column(own, value)
    if name in _NUMBERS and (number := parse_number(value)) is not None:
        return _NUMBERS[name], number
    if name in _URLS and isinstance(value, str):
        return _URLS[name], mask_url(value)
    if name in _HEADERS:
        return _HEADERS[name], column_headers(value) or None
    if name in _TICKS and (time := parse_ticks(value)):
        return _TICKS[name], time
    if name == "requestid" and table == "llm" and isinstance(value, str):
        return "api_message_id", value
    return own, mask_column(own, value)


_rename_cached = lru_cache(1 << 12)(_rename)
"""Cached because thousands of rows share a few short values: the region, the operation, the URL."""


def _is_call_id(row: Row, value: Any) -> bool:
    return row.call_id == value


def _is_duration(row: Row, value: Any) -> bool:
    return (parse_number(value) or -1) >= 0 and row.table != "resource"


def _is_time(row: Row, value: Any) -> bool:
    return bool(parse_time(value)) and row.table != "resource"


_MAPPED_ELSEWHERE: dict[str, Callable[[Row, Any], bool]] = {
    **dict.fromkeys(("correlationid", "requestid", "traceid"), _is_call_id),
    **dict.fromkeys(("durationms", "totaltime"), _is_duration),
    **dict.fromkeys(TIME_COLUMNS, _is_time),
    **dict.fromkeys(_NUMBER_COLUMNS, lambda _, value: parse_number(value) is not None),
    **dict.fromkeys(_TEXT_COLUMNS, lambda _, value: isinstance(value, str)),
    **dict.fromkeys((*BODY_COLUMNS, *MESSAGE_COLUMNS), lambda _, __: True),
    "operationname": lambda _, value: is_category_name(value),
}
"""Tests by plain name: whether a field of the call holds the value, or it only names the row's table."""
