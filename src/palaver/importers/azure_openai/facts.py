"""Facts of a call that its rows have beside the payloads: when it was, how long it took, who asked which deployment."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from urllib.parse import parse_qs, unquote, urlsplit

from palaver.importers._shared.findings import BAD_TIMESTAMP
from palaver.importers.azure_openai.groups import Parts
from palaver.importers.azure_openai.numbers import number_of, time_of, time_of_ticks, whole_number
from palaver.importers.azure_openai.row import TIMES, Row
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.run import Run

NEGATIVE_DURATION = finding_kind(
    "negative-duration", "note", "A request is said to have taken less than no time; that is no duration."
)


_VERSION = "API version "


@dataclass(slots=True)
class Facts:
    """What the rows of one call say of it."""

    parts: Parts
    rows: list[Row]
    started_at: str | None = None
    ended_at: str | None = None
    duration_ms: float | None = None
    path: str = ""
    """Of the address."""
    version: str | None = None

    @property
    def call_id(self) -> str:
        return next((row.call_id for row in self.rows if row.call_id), "") or self.rows[0].own_id()

    @property
    def place(self) -> str:
        """Where the call went, in whatever words there are."""
        return self.text("url", "backendurl") or self.text("operationid", "operationname")

    @property
    def status(self) -> int | None:
        found = (row.get("responsecode", "statuscode", "resultsignature") for row in self.rows)
        return next((status for one in found if (status := whole_number(one)) is not None), None)

    @property
    def caller(self) -> str:
        named = [row for row in self.parts.heads if row.table == "custom"]
        return self.text("apimsubscriptionid") or _text(named, "subscriptionid") or self.text("userid")

    @property
    def deployment(self) -> str:
        _, found, rest = self.path.partition("/deployments/")
        stated = unquote(rest.partition("/")[0]) if found else ""
        return stated or self.text("deploymentname", "modeldeploymentname")

    @property
    def tokens(self) -> JsonObject:
        """The greatest counts that are stated beside the payload; zero stands where nothing was counted."""
        tokens: JsonObject = {}
        for ours, theirs in (("input_tokens", "prompttokens"), ("output_tokens", "completiontokens")):
            counts = [count for row in self.rows if (count := whole_number(row.get(theirs))) is not None]
            if max(counts, default=0) > 0:
                tokens[ours] = max(counts)
        return tokens

    def text(self, *names: str) -> str:
        """The first text under one of these names."""
        return _text(self.rows, *names)


def facts_of(parts: Parts, run: Run) -> Facts:
    facts = Facts(parts, parts.rows)
    facts.path, stated = _address(facts.text("url", "backendurl"))
    facts.version = stated or facts.text("apiversion") or facts.text("apiname").partition(_VERSION)[2] or None
    for row in facts.rows:
        duration_ms = number_of(row.get("durationms", "totaltime"))
        if duration_ms is not None and duration_ms < 0:
            run.note(NEGATIVE_DURATION, row.where, f"{duration_ms} ms")
        elif duration_ms is not None and facts.duration_ms is None:
            facts.duration_ms = duration_ms
    _set_times(facts, run)
    return facts


def _set_times(facts: Facts, run: Run) -> None:
    """A gateway's row tells when a request came; those of the other logs, when they were written."""
    stated: list[str] = []
    for row in (*facts.parts.heads, *facts.parts.others, *facts.parts.llm):
        value = row.get(*TIMES)
        time = time_of(value)
        if value is not None and not time:
            run.note(BAD_TIMESTAMP, row.where, f"{value!r:.60}")
        stated += filter(None, (time_of_ticks(row.get("requesttime")), time))
    if not stated:
        return
    facts.started_at = stated[0]
    facts.ended_at = _after(stated[0], facts.duration_ms or 0)
    if facts.duration_ms is None:
        ended = (time_of_ticks(row.get("responsetime")) for row in facts.parts.others)
        facts.ended_at = max(facts.ended_at, *ended, "")


def _after(start: str, duration_ms: float) -> str:
    if not duration_ms:
        return start
    try:
        return normalize_timestamp(datetime.fromisoformat(start) + timedelta(milliseconds=duration_ms))
    except (OverflowError, ValueError):
        return start


@lru_cache(1 << 10)
def _address(url: str) -> tuple[str, str]:
    """The path, and the version of the API that is asked for."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "", ""
    return parts.path, parse_qs(parts.query).get("api-version", [""])[0]


def _text(rows: list[Row], *names: str) -> str:
    for row in rows:
        if text := row.text(*names):
            return text
    return ""
