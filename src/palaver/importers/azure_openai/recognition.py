"""Recognition of logs of Azure OpenAI and API Management, and of their form, by a file's name and its first bytes."""

import re
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO, StringIO
from itertools import islice
from typing import Any, Literal

from palaver.importers._shared.contract import Match
from palaver.importers.azure_openai.avro import AvroRecords
from palaver.importers.azure_openai.row import plain_name
from palaver.importers.azure_openai.text_rows import first_cells, headerless_record, is_header
from palaver.model.build import JsonObject
from palaver.sources.damage import BOM, SPACE
from palaver.sources.parse import NOT_JSON, parse, parses
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.source_head import parse_head

Form = Literal["lines", "records", "tables", "array", "cells", "messages", "avro"]

AVRO = b"Obj\x01"
_PADDING = BOM + SPACE + b"\0"
_HTTP_MESSAGE = re.compile(
    rb"^(?:request|response):[^\s{}\"]{1,100}\r?\n(?:[A-Z]{3,10} \S+ HTTP/|HTTP/[0-9.]+ )", re.MULTILINE
)
_OBJECT_START = re.compile(rb'^[ \t]*[\[{]\s*["{]', re.MULTILINE)
_LOG_FOLDER = re.compile(r"(?:^|/)(?:insights-logs-[a-z]+|am-ApiManagement\w+|am-AzureDiagnostics)/", re.IGNORECASE)
_MAX_LINES = 30
_CATEGORIES = {
    *("gatewaylogs", "gatewayllmlogs", "websocketconnectionlogs", "developerportalauditlogs", "requestresponse"),
    *("audit", "trace", "azureopenairequestusage"),
}
_TABLES = {"apimanagementgatewaylogs", "apimanagementgatewayllmlog", "azurediagnostics"}
_PROVIDERS = ("MICROSOFT.APIMANAGEMENT", "MICROSOFT.COGNITIVESERVICES")
_GATEWAY_COLUMNS = {"correlationid", "apimsubscriptionid", "operationid", "apiid", "backendtime", "responsecode"}
_LLM_COLUMNS = {"correlationid", "sequencenumber", "requestmessages", "responsemessages", "prompttokens"}
_POLICY_COLUMNS = {"eventtime", "servicename", "requestid", "requestip", "operationname"}
_BODY_COLUMNS = {"requestbody", "responsebody"}
_MIN_POLICY_CELLS = 5


def recognize(source: Source) -> Match:
    if source.is_folder:
        return Match.no()
    head = source.head()
    form = detect_form(source)
    match form:
        case "avro":
            return _match_capture(head)
        case "messages":
            return Match.maybe("HTTP messages with their ids before them", form=form)
        case "cells":
            return _match_cells(head)
        case _:
            return _match_objects(source, form)


def detect_form(source: Source) -> Form:
    """Return the form in which to read a file, assuming that it is a log."""
    head = source.head()
    if head.startswith(AVRO):
        return "avro"
    start = head.lstrip(_PADDING)
    if start.startswith(b"["):
        first, _, rest = start.partition(b"\n")
        return "lines" if rest.strip(_PADDING) and parses(first) else "array"
    if start.startswith(b"{"):
        return _form_of_object(source.parsed_head())
    if start.startswith(b'"') and parses(start.partition(b"\n")[0].rstrip()):
        return "lines"
    if _HTTP_MESSAGE.search(head):
        return "messages"
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    if is_header(first_cells(StringIO(text, newline=""))):
        return "cells"
    return "lines" if _OBJECT_START.search(head) or not start or b"," not in start else "cells"


def _form_of_object(value: Any) -> Form:
    match value:
        case {"records": list()}:
            return "records"
        case {"tables": list()}:
            return "tables"
        case _:
            return "lines"


def _match_objects(source: Source, form: str) -> Match:
    verdicts = [_judge(record) for record in islice(_records(source), _MAX_LINES)]
    for wants_certain, make in ((True, Match.yes), (False, Match.maybe)):
        for is_certain, reason in verdicts:
            if reason and is_certain == wants_certain:
                return make(reason, form=form)
    if not verdicts and not source.head().strip() and _LOG_FOLDER.search(source.label):
        return Match.maybe("an empty file in a folder of logs", form=form)
    return Match.no()


def _records(source: Source) -> Iterator[JsonObject]:
    """Yield the readable records at the beginning of a file."""
    yield from _records_in(source.parsed_head())
    for line in islice(BytesIO(source.head()), 1, _MAX_LINES):
        with suppress(*NOT_JSON):
            yield from _records_in(parse(line))


def _records_in(value: Any) -> Iterator[JsonObject]:
    match value:
        case {"tables": [{"columns": list() as columns}, *_]}:
            names = [column.get("name") for column in columns if isinstance(column, dict)]
            yield {name: "" for name in names if isinstance(name, str)}
        case {"records": list() as records}:
            yield from (record for record in records if isinstance(record, dict))
        case list():
            yield from (record for record in value if isinstance(record, dict))
        case dict():
            yield value
        case _:
            pass


def _judge(record: JsonObject) -> tuple[bool, str]:
    """Return whether a record is certainly a row, and the reason; the reason is empty if it is not a row."""
    names = {plain_name(name): value for name, value in record.items()}
    properties = names.get("properties")
    inside = {plain_name(name) for name in properties} if isinstance(properties, dict) else set[str]()
    category, table, resource = (_lower(names.get(name)) for name in ("category", "type", "resourceid"))
    if table in _TABLES:
        return True, f"rows of the table {names['type']}"
    if category in _CATEGORIES and ("correlationid" in names or "resourceid" in names):
        return True, f"records of the category {names['category']}"
    if category and any(provider.lower() in resource for provider in _PROVIDERS):
        return True, f"records of the category {names['category']}"
    found = {*names, *inside}
    for columns, reason in (
        (_LLM_COLUMNS, "messages of a gateway's log"),
        (_GATEWAY_COLUMNS, "requests of a gateway's log"),
    ):
        if "correlationid" in found and len(columns & found) >= 3:
            return True, reason
    if len(_POLICY_COLUMNS & found) >= 2 and _BODY_COLUMNS & found:
        return True, "bodies of requests that a policy wrote"
    if found >= _BODY_COLUMNS and ("requestid" in found or "correlationid" in found):
        return False, "bodies of requests with an id"
    if names.get("type") == "stream_completion" and isinstance(names.get("content"), str):
        return False, "answers that a proxy wrote down"
    return False, ""


def _lower(value: Any) -> str:
    return value.lower() if isinstance(value, str) else ""


def _match_cells(head: bytes) -> Match:
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    cells = first_cells(StringIO(text, newline=""))
    names = {plain_name(cell) for cell in cells}
    if is_header(cells) and "timegenerated" in names | {plain_name(cell.partition(" ")[0]) for cell in cells}:
        if len(names & (_LLM_COLUMNS | _GATEWAY_COLUMNS | {"requestbody", "category"})) >= 2:
            return Match.yes("a table of the portal", form="cells")
        return Match.no()
    record = headerless_record(text.partition("\n")[0])
    if record is not None and {"EventTime", "RequestId"} <= record.keys() and len(record) >= _MIN_POLICY_CELLS:
        return Match.maybe("lines that a policy wrote", form="cells")
    return Match.no()


def _match_capture(head: bytes) -> Match:
    if not head.startswith(AVRO) or b"EnqueuedTimeUtc" not in head:
        return Match.no()
    for record in islice(AvroRecords(BytesIO(head), Run("")), _MAX_LINES):
        body = record.get("Body") if isinstance(record, dict) else None
        if isinstance(body, bytes) and any(reason for _, reason in map(_judge, _records_in(parse_head(body)))):
            return Match.yes("messages of a gateway in a capture of an Event Hub", form="avro")
    return Match.maybe("a capture of an Event Hub", form="avro")
