"""The report: what was added up, in the published shape."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import metadata

from palaver.model.build import JsonObject
from palaver.model.finding import KINDS
from palaver.model.rules import Rule
from palaver.model.timestamps import normalize_timestamp
from palaver.validation.coverage import OTHERS, CoverageTally, schema_fields
from palaver.validation.levels import Level
from palaver.validation.tally import SEVERITIES, Found, ReportTally, SourceTally, Stage

VERSION = "1.0.0"
_UNMAPPED_SHOWN = 200
_DIGITS = 4


def told_source(tally: SourceTally, level: Level) -> JsonObject:
    """What is said of one source."""
    findings: dict[str, int] = {}
    for (_, code), group in tally.groups.items():
        findings[code] = findings.get(code, 0) + group.count
    return {
        "source": tally.source,
        "read_as": tally.read_as,
        "valid": not tally.fails(level),
        "bytes": tally.size_bytes,
        "documents": tally.documents,
        "conversations": tally.conversations,
        "messages": tally.messages,
        "records": tally.ledger.to_json(),
        "severities": tally.severities(),
        "findings": dict(sorted(findings.items())),
        "failure": tally.failure or None,
    }


def report(
    tally: ReportTally,
    *,
    subject: str,
    level: Level,
    rules: Iterable[Rule],
    refused: list[str],
    unclaimed: list[str],
    title: Callable[[str], str],
) -> JsonObject:
    """Everything in the shape of `schema/report`; `title` knows what platforms are called."""
    tally.close()
    total = tally.total
    asked = {rule.name: rule for rule in rules}
    return {
        "schema_version": VERSION,
        "palaver_version": metadata.version("palaver"),
        "generated_at": normalize_timestamp(datetime.now(UTC)),
        "subject": subject,
        "level": level.value,
        "rules": sorted(asked),
        "valid": not refused and all(source["valid"] for source in tally.sources),
        "refused": refused,
        "unclaimed": unclaimed,
        "totals": {
            "sources": len(tally.sources),
            "bytes": total.size_bytes,
            "documents": total.documents,
            "invalid_documents": total.invalid_documents,
            "conversations": total.conversations,
            "messages": total.messages,
            "records": total.ledger.to_json(),
            "severities": total.severities(),
        },
        "sources": tally.sources,
        "findings": _groups(total, asked),
        "coverage": [_coverage(name, title(name), total.coverage[name]) for name in sorted(total.coverage)],
        "drift": [
            {
                "platform": platform,
                "kind": kind,
                "version": version or None,
                "count": met.count,
                "source": met.source,
                "conversation_id": met.conversation_id,
            }
            for (platform, kind, version), met in sorted(
                total.drift.items(), key=lambda entry: (-entry[1].count, entry[0])
            )
        ],
    }


def _groups(total: SourceTally, asked: dict[str, Rule]) -> list[JsonObject]:
    told = [
        {
            "code": code,
            "stage": stage,
            "severity": group.severity,
            "meaning": _meaning(stage, code, asked),
            "count": group.count,
            "sources": group.sources,
            "examples": [_example(source, found) for source, found in group.examples],
        }
        for (stage, code), group in total.groups.items()
    ]
    return sorted(told, key=lambda one: (SEVERITIES.index(one["severity"]), -one["count"], one["code"], one["stage"]))


def _meaning(stage: Stage, code: str, asked: dict[str, Rule]) -> str:
    if stage == "reading":
        return KINDS[code].meaning if code in KINDS else "Noticed while the source was read."
    if code in asked:
        return asked[code].meaning
    return f"The published schema refuses a value ({code.removeprefix('schema-').replace('-', ' ')})."


def _example(source: str, found: Found) -> JsonObject:
    return {
        "source": source,
        "line": found.line,
        "where": found.where,
        "conversation_id": found.conversation_id,
        "pointer": found.pointer,
        "message": found.message,
        "excerpt": found.excerpt,
    }


def _coverage(platform: str, title: str, tally: CoverageTally) -> JsonObject:
    def share(conversations: int) -> float:
        return round(conversations / tally.conversations, _DIGITS) if tally.conversations else 0.0

    unmapped = sorted(
        ((name, one) for name, one in tally.unmapped.items() if name != OTHERS),
        key=lambda entry: (-entry[1].conversations, -entry[1].count, entry[0]),
    )
    return {
        "platform": platform,
        "title": title,
        "conversations": tally.conversations,
        "messages": tally.messages,
        "roles": dict(sorted(tally.roles.items())),
        "blocks": dict(sorted(tally.blocks.items())),
        "versions": dict(sorted(tally.versions.items())),
        "fields": [
            {"field": name, "conversations": tally.fields[name], "share": share(tally.fields[name])}
            for name in schema_fields()
        ],
        "unmapped": [
            {"field": name, "conversations": one.conversations, "share": share(one.conversations), "count": one.count}
            for name, one in unmapped[:_UNMAPPED_SHOWN]
        ],
        "unmapped_more": max(0, len(unmapped) - _UNMAPPED_SHOWN) + (OTHERS in tally.unmapped),
    }
