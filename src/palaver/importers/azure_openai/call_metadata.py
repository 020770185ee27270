"""Metadata of a call, gathered from its rows: time, duration, caller, deployment, status and token counts."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from urllib.parse import parse_qs, unquote, urlsplit

from palaver.importers._shared.findings import BAD_TIMESTAMP
from palaver.importers.azure_openai.column_values import parse_int, parse_number, parse_ticks, parse_time
from palaver.importers.azure_openai.row import TIME_COLUMNS, Row
from palaver.importers.azure_openai.row_groups import CallRows
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.run import Run

NEGATIVE_DURATION = finding_kind("negative-duration", "note", "A negative duration was ignored.")

_VERSION_PREFIX = "API version "


@dataclass(slots=True)
class CallMetadata:
    """What the rows of a call record about it, apart from its payloads."""

    call_rows: CallRows
    rows: list[Row]
    started_at: str | None = None
    ended_at: str | None = None
    duration_ms: float | None = None
    path: str = ""
    """The path of the URL."""
    version: str | None = None

    @property
    def call_id(self) -> str:
        return next((row.call_id for row in self.rows if row.call_id), "") or self.rows[0].content_id()

    @property
    def endpoint(self) -> str:
        """The URL, or else the name of the operation."""
        return self.text("url", "backendurl") or self.text("operationid", "operationname")

    @property
    def status(self) -> int | None:
        values = (row.get("responsecode", "statuscode", "resultsignature") for row in self.rows)
        return next((status for value in values if (status := parse_int(value)) is not None), None)

    @property
    def caller(self) -> str:
        custom = [row for row in self.call_rows.heads if row.table == "custom"]
        return self.text("apimsubscriptionid") or _first_text(custom, "subscriptionid") or self.text("userid")

    @property
    def deployment(self) -> str:
        _, found, rest = self.path.partition("/deployments/")
        in_path = unquote(rest.partition("/")[0]) if found else ""
        return in_path or self.text("deploymentname", "modeldeploymentname")

    @property
    def tokens(self) -> JsonObject:
        """The greatest token counts in the columns; logs write zero for what was not counted."""
        tokens: JsonObject = {}
        for ours, theirs in (("input_tokens", "prompttokens"), ("output_tokens", "completiontokens")):
            counts = [count for row in self.rows if (count := parse_int(row.get(theirs))) is not None]
            if max(counts, default=0) > 0:
                tokens[ours] = max(counts)
        return tokens

    def text(self, *names: str) -> str:
        """Return the first text in one of these columns of any row; empty if there is none."""
        return _first_text(self.rows, *names)


def collect_metadata(call_rows: CallRows, run: Run) -> CallMetadata:
    """Gather the metadata of a call; note unusable times and durations."""
    metadata = CallMetadata(call_rows, call_rows.rows)
    metadata.path, version = _path_and_version(metadata.text("url", "backendurl"))
    metadata.version = (
        version or metadata.text("apiversion") or metadata.text("apiname").partition(_VERSION_PREFIX)[2] or None
    )
    for row in metadata.rows:
        duration_ms = parse_number(row.get("durationms", "totaltime"))
        if duration_ms is not None and duration_ms < 0:
            run.note(NEGATIVE_DURATION, row.where, f"{duration_ms} ms")
        elif duration_ms is not None and metadata.duration_ms is None:
            metadata.duration_ms = duration_ms
    _set_times(metadata, run)
    return metadata


def _set_times(metadata: CallMetadata, run: Run) -> None:
    """Set the start and end of a call: gateway rows have the time of the request, other rows the time of logging."""
    times: list[str] = []
    for row in (*metadata.call_rows.heads, *metadata.call_rows.others, *metadata.call_rows.llm):
        value = row.get(*TIME_COLUMNS)
        time = parse_time(value)
        if value is not None and not time:
            run.note(BAD_TIMESTAMP, row.where, f"{value!r:.60}")
        times += filter(None, (parse_ticks(row.get("requesttime")), time))
    if not times:
        return
    metadata.started_at = times[0]
    metadata.ended_at = _end_time(times[0], metadata.duration_ms or 0)
    if metadata.duration_ms is None:
        ended = (parse_ticks(row.get("responsetime")) for row in metadata.call_rows.others)
        metadata.ended_at = max(metadata.ended_at, *ended, "")


def _end_time(start: str, duration_ms: float) -> str:
    if not duration_ms:
        return start
    try:
        return normalize_timestamp(datetime.fromisoformat(start) + timedelta(milliseconds=duration_ms))
    except (OverflowError, ValueError):
        return start


@lru_cache(1 << 10)
def _path_and_version(url: str) -> tuple[str, str]:
    """Return the path of a URL and its `api-version`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.path, parse_qs(parts.query).get("api-version", [""])[0]


def _first_text(rows: list[Row], *names: str) -> str:
    for row in rows:
        if text := row.text(*names):
            return text
    return ""
