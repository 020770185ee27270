"""A row: what one record of a log says, whatever the envelope, its columns found by their plain names.

Resource logs spell names `backendResponseBody`, tables `BackendResponseBody`, AzureDiagnostics `backendResponseBody_s`,
and the portal's CSV `TimeGenerated [UTC]`. `properties` is an object, or the text of one: its fields are columns too.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from hashlib import sha256
from typing import Any, Literal

from palaver.importers.azure_openai.bodies import decoded
from palaver.model.build import JsonObject

Table = Literal["gateway", "llm", "resource", "custom", "other"]

BODIES = ("requestbody", "responsebody", "backendrequestbody", "backendresponsebody")
MESSAGES = ("requestmessages", "responsemessages")
TIMES = ("timegenerated", "time", "eventtime", "timestamp", "enqueuedtimeutc")
TABLE_NAMES = ("category", "type", "tablename")
_SUFFIX = re.compile(r"_[sdbgt]$| ?\[UTC\]$", re.IGNORECASE)
_IDS = ("correlationid", "requestid", "traceid")
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
_OF_LLM = {*MESSAGES, "sequencenumber"}
_OF_GATEWAYS = {"apiid", "backendurl", "responsecode", "backendresponsecode", "totaltime"}
_OF_RESOURCES = {"modeldeploymentname", "streamtype", "modelversion"}
_OF_POLICIES = {"eventtime", "servicename", "requestip", *BODIES}
KNOWN = frozenset(
    {*BODIES, *MESSAGES, *TIMES, *TABLE_NAMES, *_IDS, *_OF_GATEWAYS, *_OF_RESOURCES, *_OF_POLICIES, "properties"}
    | {"sequencenumber", "operationname", "operationid", "resourceid", "durationms", "deploymentname", "prompttokens"}
    | {"callerip", "calleripaddress", "apimsubscriptionid", "url", "method", "region", "location", "completiontokens"}
)


@cache
def plain(name: str) -> str:
    """A column's name without what the envelope made of it."""
    return _SUFFIX.sub("", name).lower().replace("_", "").replace("-", "").replace(" ", "")


@dataclass(frozen=True, slots=True)
class Names:
    """What the names of columns tell, the same for all rows that have these."""

    own: dict[str, str]
    """Of every plain name, how it is spelled; of several spellings, the last."""
    plain: tuple[str, ...]
    """The plain name of each."""
    table: Table
    """To which table they point, where no column states it."""
    is_row: bool
    has_properties: bool
    has_bodies: bool
    has_messages: bool


@lru_cache(1 << 10)
def names_of(columns: tuple[str, ...]) -> Names:
    """A log has thousands of rows and few sets of columns."""
    own = {plain(name): name for name in columns}
    return Names(
        own,
        plain=tuple(map(plain, columns)),
        table=_pointed_to(own),
        is_row=not KNOWN.isdisjoint(own),
        has_properties="properties" in own,
        has_bodies=not own.keys().isdisjoint(BODIES),
        has_messages=not own.keys().isdisjoint(MESSAGES),
    )


@dataclass(slots=True)
class Row:
    columns: JsonObject
    """By their own names, those of `properties` among them; without what is empty."""
    where: str
    table: Table = "other"
    size_bytes: int = 0
    is_cut: bool = False
    """Whether the record ends before it is whole."""
    names: Names = field(init=False)

    def __post_init__(self) -> None:
        self.names = names_of(tuple(self.columns))

    def get(self, *wanted: str) -> Any:
        """The first of these columns that the row has."""
        own = self.names.own
        for one in wanted:
            if one in own:
                return self.columns[own[one]]
        return None

    def text(self, *wanted: str) -> str:
        """The first of these that is a text, or a number; empty where none is."""
        own = self.names.own
        for one in wanted:
            if one in own:
                value = self.columns[own[one]]
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
        """The request's id, as the row states it."""
        return self.text(*_IDS)

    @property
    def group(self) -> str:
        """What all rows of one request have in common; a row without an id is alone."""
        return self.call_id.lower() or self.own_id()

    def own_id(self) -> str:
        """An id made of what the row says, the same in every file that holds it."""
        return f"row-{sha256(self.content()).hexdigest()[:32]}"

    def pack(self) -> None:
        """Turn the texts of messages into the bytes that will be parsed: they are held long, and may go to a file."""
        if not self.has_messages:
            return
        for plainly in MESSAGES:
            name = self.names.own.get(plainly, "")
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


def row_of(record: JsonObject, where: str, size_bytes: int) -> Row:
    """A record as a row; nothing in it is looked at more closely than its names."""
    if names_of(tuple(record)).has_properties:
        columns = dict(_with_properties(record))
    else:
        columns = {name: value for name, value in record.items() if value is not None and value != ""}
    row = Row(columns, where, size_bytes=size_bytes)
    row.table = _table(row)
    return row


def is_row(record: JsonObject) -> bool:
    """Whether an object has the names of a row, and not those of something around rows."""
    return names_of(tuple(record)).is_row


def _with_properties(record: JsonObject) -> Iterator[tuple[str, Any]]:
    """The columns that say something, those of `properties` among them."""
    inner: JsonObject = {}
    for name, value in record.items():
        if plain(name) == "properties":
            found = decoded(value) if isinstance(value, str) else None
            stated: Any = found.value if found is not None and not found.is_stream else value
            if isinstance(stated, dict):
                inner |= stated
                continue
        elif _is_empty(value):
            continue
        yield name, value
    outer = {plain(name): value for name, value in record.items()} if inner else {}
    for name, value in inner.items():
        if not _is_empty(value):
            stated = outer.get(plain(name))
            if not _is_empty(stated) and stated != value and name in record and not is_category(stated):
                yield f"record_{name}", stated
            yield name, value


def is_category(operation: Any) -> bool:
    """Whether the name of an operation is only that of the log, as it is in every record of the gateway."""
    return isinstance(operation, str) and operation.startswith("Microsoft.ApiManagement/Gateway")


def _is_empty(value: Any) -> bool:
    return value is None or value == ""


def _table(row: Row) -> Table:
    for one in TABLE_NAMES:
        if isinstance(value := row.get(one), str) and (table := _TABLES.get(value.lower())):
            return table
    return row.names.table


def _pointed_to(names: dict[str, str]) -> Table:
    if not _OF_LLM.isdisjoint(names):
        return "llm"
    if not _OF_RESOURCES.isdisjoint(names):
        return "resource"
    if not _OF_GATEWAYS.isdisjoint(names):
        return "gateway"
    return "other" if _OF_POLICIES.isdisjoint(names) else "custom"
