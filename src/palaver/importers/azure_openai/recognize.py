"""Telling logs of Azure OpenAI and API Management from files of others, by a file's name and its first bytes."""

import re
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO, StringIO
from itertools import islice
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers.azure_openai.avro import AvroRecords
from palaver.importers.azure_openai.cells import first_cells, is_header, record_of
from palaver.importers.azure_openai.forms import AVRO, form_of
from palaver.importers.azure_openai.row import plain
from palaver.model.build import JsonObject
from palaver.sources.damage import BOM
from palaver.sources.glimpse import glimpse
from palaver.sources.parse import NOT_JSON, parse
from palaver.sources.run import Run
from palaver.sources.source import Source

_LOG_FOLDER = re.compile(r"(?:^|/)(?:insights-logs-[a-z]+|am-ApiManagement\w+|am-AzureDiagnostics)/", re.IGNORECASE)
_LINES_LOOKED_AT = 30
_CATEGORIES = {
    *("gatewaylogs", "gatewayllmlogs", "websocketconnectionlogs", "developerportalauditlogs", "requestresponse"),
    *("audit", "trace", "azureopenairequestusage"),
}
_TABLES = {"apimanagementgatewaylogs", "apimanagementgatewayllmlog", "azurediagnostics"}
_PROVIDERS = ("MICROSOFT.APIMANAGEMENT", "MICROSOFT.COGNITIVESERVICES")
_OF_GATEWAYS = {"correlationid", "apimsubscriptionid", "operationid", "apiid", "backendtime", "responsecode"}
_OF_LLM = {"correlationid", "sequencenumber", "requestmessages", "responsemessages", "prompttokens"}
_OF_POLICIES = {"eventtime", "servicename", "requestid", "requestip", "operationname"}
_BODIES = {"requestbody", "responsebody"}
_CELLS_OF_POLICIES = 5


def recognize(source: Source) -> Match:
    if source.is_folder:
        return Match.no()
    head = source.head()
    form = form_of(source)
    match form:
        case "avro":
            return _of_capture(head)
        case "messages":
            return Match.maybe("HTTP messages with their ids before them", form=form)
        case "cells":
            return _of_cells(head)
        case _:
            return _of_objects(source, form)


def _of_objects(source: Source, form: str) -> Match:
    verdicts = [_judged(record) for record in islice(_records(source), _LINES_LOOKED_AT)]
    for sure, make in ((True, Match.yes), (False, Match.maybe)):
        for is_sure, reason in verdicts:
            if reason and is_sure == sure:
                return make(reason, form=form)
    if not verdicts and not source.head().strip() and _LOG_FOLDER.search(source.label):
        return Match.maybe("an empty file in a folder of logs", form=form)
    return Match.no()


def _records(source: Source) -> Iterator[JsonObject]:
    """The records at the beginning of a file, as far as they can be read."""
    first = source.glimpse()
    yield from _within(first)
    for line in islice(BytesIO(source.head()), 1, _LINES_LOOKED_AT):
        with suppress(*NOT_JSON):
            yield from _within(parse(line))


def _within(value: Any) -> Iterator[JsonObject]:
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


def _judged(record: JsonObject) -> tuple[bool, str]:
    """Whether it is sure that a record is a row, and why; no reason where it is none."""
    names = {plain(name): value for name, value in record.items()}
    properties = names.get("properties")
    inside = {plain(name) for name in properties} if isinstance(properties, dict) else set[str]()
    category, table, resource = (_lower(names.get(name)) for name in ("category", "type", "resourceid"))
    if table in _TABLES:
        return True, f"rows of the table {names['type']}"
    if category in _CATEGORIES and ("correlationid" in names or "resourceid" in names):
        return True, f"records of the category {names['category']}"
    if category and any(provider.lower() in resource for provider in _PROVIDERS):
        return True, f"records of the category {names['category']}"
    found = {*names, *inside}
    for wanted, words in ((_OF_LLM, "messages of a gateway's log"), (_OF_GATEWAYS, "requests of a gateway's log")):
        if "correlationid" in found and len(wanted & found) >= 3:
            return True, words
    if len(_OF_POLICIES & found) >= 2 and _BODIES & found:
        return True, "bodies of requests that a policy wrote"
    if found >= _BODIES and ("requestid" in found or "correlationid" in found):
        return False, "bodies of requests with an id"
    if names.get("type") == "stream_completion" and isinstance(names.get("content"), str):
        return False, "answers that a proxy wrote down"
    return False, ""


def _lower(value: Any) -> str:
    return value.lower() if isinstance(value, str) else ""


def _of_cells(head: bytes) -> Match:
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    cells = first_cells(StringIO(text, newline=""))
    names = {plain(cell) for cell in cells}
    if is_header(cells) and "timegenerated" in names | {plain(cell.partition(" ")[0]) for cell in cells}:
        if len(names & (_OF_LLM | _OF_GATEWAYS | {"requestbody", "category"})) >= 2:
            return Match.yes("a table of the portal", form="cells")
        return Match.no()
    record = record_of(text.partition("\n")[0])
    if record is not None and {"EventTime", "RequestId"} <= record.keys() and len(record) >= _CELLS_OF_POLICIES:
        return Match.maybe("lines that a policy wrote", form="cells")
    return Match.no()


def _of_capture(head: bytes) -> Match:
    if not head.startswith(AVRO) or b"EnqueuedTimeUtc" not in head:
        return Match.no()
    for record in islice(AvroRecords(BytesIO(head), Run("")), _LINES_LOOKED_AT):
        body = record.get("Body") if isinstance(record, dict) else None
        if isinstance(body, bytes) and any(reason for _, reason in map(_judged, _within(glimpse(body)))):
            return Match.yes("messages of a gateway in a capture of an Event Hub", form="avro")
    return Match.maybe("a capture of an Event Hub", form="avro")
