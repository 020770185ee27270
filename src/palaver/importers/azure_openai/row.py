"""A row: one record of a log, with its columns found by their plain names in any envelope.

Resource logs spell names `backendResponseBody`, tables `BackendResponseBody`, AzureDiagnostics `backendResponseBody_s`,
and the portal's CSV `TimeGenerated [UTC]`. The fields of `properties`, an object or the text of
one, are columns too.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, Literal

from palaver.importers.azure_openai.bodies import decode_body
from palaver.model.build import JsonObject

Table = Literal["gateway", "llm", "resource", "custom", "other"]

BODY_COLUMNS = ("requestbody", "responsebody", "backendrequestbody", "backendresponsebody")
MESSAGE_COLUMNS = ("requestmessages", "responsemessages")
TIME_COLUMNS = ("timegenerated", "time", "eventtime", "timestamp", "enqueuedtimeutc")
TABLE_COLUMNS = ("category", "type", "tablename")
_SUFFIX = re.compile(r"_[sdbgt]$| ?\[UTC\]$", re.IGNORECASE)
_ID_COLUMNS = ("correlationid", "requestid", "traceid")
_TABLES: dict[str, Table] = {
    "gatewaylogs": "gateway",
    "apimanagementgatewaylogs": "gateway",
    "gatewayllmlogs": "llm",
    "gatewayllmlog": "llm",
    "apimanagementgatewayllmlog": "llm",
    "requestresponse": "resource",
    "audit": "resource",
    "trace": "resource",
    "azureopenairequestusage": "resource",
}
_LLM_COLUMNS = {*MESSAGE_COLUMNS, "sequencenumber"}
_GATEWAY_COLUMNS = {"apiid", "backendurl", "responsecode", "backendresponsecode", "totaltime"}
_RESOURCE_COLUMNS = {"modeldeploymentname", "streamtype", "modelversion"}
_POLICY_COLUMNS = {"eventtime", "servicename", "requestip", *BODY_COLUMNS}
KNOWN_COLUMNS = frozenset(
    {
        *BODY_COLUMNS,
        *MESSAGE_COLUMNS,
        *TIME_COLUMNS,
        *TABLE_COLUMNS,
        *_ID_COLUMNS,
        *_GATEWAY_COLUMNS,
        *_RESOURCE_COLUMNS,
        *_POLICY_COLUMNS,
        "properties",
    }
    | {"sequencenumber", "operationname", "operationid", "resourceid", "durationms", "deploymentname", "prompttokens"}
    | {"callerip", "calleripaddress", "apimsubscriptionid", "url", "method", "region", "location", "completiontokens"}
)


@cache
def plain_name(name: str) -> str:
    """Return a column's name in lower case, without separators and without the envelope's suffix."""
    return _SUFFIX.sub("", name).lower().replace("_", "").replace("-", "").replace(" ", "")


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """What can be derived from the names of columns alone, shared by all rows that have the same columns."""

    own: dict[str, str]
    """The spelling of every plain name; the last of several spellings."""
    plain: tuple[str, ...]
    """The plain name of each column."""
    table: Table
    """The table that has such columns; used if no column names the table."""
    is_row: bool
    has_properties: bool
    has_bodies: bool
    has_messages: bool


@lru_cache(1 << 10)
def column_names(columns: tuple[str, ...]) -> ColumnNames:
    """Analyze the names of columns; cached because a log has thousands of rows and few sets of columns."""
    own = {plain_name(name): name for name in columns}
    return ColumnNames(
        own,
        plain=tuple(map(plain_name, columns)),
        table=_table_from_columns(own),
        is_row=not KNOWN_COLUMNS.isdisjoint(own),
        has_properties="properties" in own,
        has_bodies=not own.keys().isdisjoint(BODY_COLUMNS),
        has_messages=not own.keys().isdisjoint(MESSAGE_COLUMNS),
    )


@dataclass(slots=True)
class Row:
    columns: JsonObject
    """Values by their original names, including those of `properties`; without empty ones."""
    where: str
    table: Table = "other"
    size_bytes: int = 0
    is_cut: bool = False
    """Whether the record is truncated."""
    names: ColumnNames = field(init=False)

    def __post_init__(self) -> None:
        self.names = column_names(tuple(self.columns))

    def get(self, *wanted: str) -> Any:
        """Return the first of these columns that the row has."""
        own = self.names.own
        for name in wanted:
            if name in own:
                return self.columns[own[name]]
        return None

    def text(self, *wanted: str) -> str:
        """Return the first of these columns that is a non-empty text or an integer, as text; else empty."""
        own = self.names.own
        for name in wanted:
            if name in own:
                value = self.columns[own[name]]
                if isinstance(value, str):
                    if value:
                        return value
                elif type(value) is int:
                    return str(value)
        return ""

    def has(self, wanted: Iterable[str]) -> bool:
        return not self.names.own.keys().isdisjoint(wanted)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.columns, self.where, self.table, self.size_bytes, self.is_cut

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.columns, self.where, self.table, self.size_bytes, self.is_cut = state
        self.__post_init__()

    @property
    def has_bodies(self) -> bool:
        return self.names.has_bodies

    @property
    def has_messages(self) -> bool:
        return self.names.has_messages

    @property
    def call_id(self) -> str:
        """The id of the request; empty if the row has none."""
        return self.text(*_ID_COLUMNS)

    @property
    def group(self) -> str:
        """The key that all rows of one request share; unique for a row without an id."""
        return self.call_id.lower() or self.content_id()

    def content_id(self) -> str:
        """Return an id derived from the row's content, the same in every file that holds the row."""
        return f"row-{sha256(self.content()).hexdigest()[:32]}"

    def pack_messages(self) -> None:
        """Encode the texts of messages: they are held for long, may spill to disk, and are parsed from bytes."""
        if not self.has_messages:
            return
        for column in MESSAGE_COLUMNS:
            name = self.names.own.get(column, "")
            if isinstance(text := self.columns.get(name), str):
                try:
                    self.columns[name] = text.encode()
                except UnicodeEncodeError:  # half of a surrogate pair
                    continue

    def content(self) -> bytes:
        try:
            return json.dumps(self.columns, sort_keys=True, default=bytes.decode).encode()
        except (RecursionError, ValueError):
            return self.where.encode("utf-8", "surrogatepass")


def row_from_record(record: JsonObject, where: str, size_bytes: int) -> Row:
    """Make a row of a record. Only the names of its columns are examined."""
    if column_names(tuple(record)).has_properties:
        columns = dict(_columns_with_properties(record))
    else:
        columns = {name: value for name, value in record.items() if value is not None and value != ""}
    row = Row(columns, where, size_bytes=size_bytes)
    row.table = _table_of(row)
    return row


def is_row(record: JsonObject) -> bool:
    """Whether an object has columns of a row, as opposed to a wrapper around rows."""
    return column_names(tuple(record)).is_row


def _columns_with_properties(record: JsonObject) -> Iterator[tuple[str, Any]]:
    """Yield the columns that are not empty, including those of `properties`."""
    inner: JsonObject = {}
    for name, value in record.items():
        if plain_name(name) == "properties":
            found = decode_body(value) if isinstance(value, str) else None
            stated: Any = found.value if found is not None and not found.is_stream else value
            if isinstance(stated, dict):
                inner |= stated
                continue
        elif _is_empty(value):
            continue
        yield name, value
    outer = {plain_name(name): value for name, value in record.items()} if inner else {}
    for name, value in inner.items():
        if not _is_empty(value):
            stated = outer.get(plain_name(name))
            if not _is_empty(stated) and stated != value and name in record and not is_category_name(stated):
                yield f"record_{name}", stated
            yield name, value


def is_category_name(operation: Any) -> bool:
    """Whether the name of an operation only repeats the name of the log, as in every record of the gateway."""
    return isinstance(operation, str) and operation.startswith("Microsoft.ApiManagement/Gateway")


def _is_empty(value: Any) -> bool:
    return value is None or value == ""


def _table_of(row: Row) -> Table:
    for column in TABLE_COLUMNS:
        if isinstance(value := row.get(column), str) and (table := _TABLES.get(value.lower())):
            return table
    return row.names.table


def _table_from_columns(names: dict[str, str]) -> Table:
    if not _LLM_COLUMNS.isdisjoint(names):
        return "llm"
    if not _RESOURCE_COLUMNS.isdisjoint(names):
        return "resource"
    if not _GATEWAY_COLUMNS.isdisjoint(names):
        return "gateway"
    return "other" if _POLICY_COLUMNS.isdisjoint(names) else "custom"
