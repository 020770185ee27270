"""The validation report: a tally in the published shape."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from importlib import metadata

from palaver.model.build import JsonObject
from palaver.model.finding import KINDS
from palaver.model.rules import Rule
from palaver.model.timestamps import normalize_timestamp
from palaver.validation.coverage import OTHERS, CoverageTally, schema_fields
from palaver.validation.judge import Level
from palaver.validation.tally import SEVERITIES, ReportedFinding, ReportTally, SourceTally, Stage

VERSION = "1.0.0"
_MAX_UNMAPPED = 200
_DIGITS = 4


def source_entry(tally: SourceTally, level: Level) -> JsonObject:
    """Return the entry of one source."""
    findings: dict[str, int] = {}
    for key, group in tally.groups.items():
        findings[key.code] = findings.get(key.code, 0) + group.count
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


def build_report(
    tally: ReportTally,
    *,
    subject: str,
    level: Level,
    rules: Iterable[Rule],
    refused: list[str],
    unclaimed: list[str],
    title: Callable[[str], str],
) -> JsonObject:
    """Return the whole report in the shape of `schema/report`; `title` returns the display name of a platform."""
    tally.close()
    total = tally.total
    rules_by_name = {rule.name: rule for rule in rules}
    return {
        "schema_version": VERSION,
        "palaver_version": metadata.version("palaver"),
        "generated_at": normalize_timestamp(datetime.now(UTC)),
        "subject": subject,
        "level": level.value,
        "rules": sorted(rules_by_name),
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
        "findings": _groups(total, rules_by_name),
        "coverage": [_coverage(name, title(name), total.coverage[name]) for name in sorted(total.coverage)],
        "drift": [
            {
                "platform": platform,
                "kind": kind,
                "version": version or None,
                "count": unknown.count,
                "source": unknown.source,
                "conversation_id": unknown.conversation_id,
            }
            for (platform, kind, version), unknown in sorted(
                total.drift.items(), key=lambda entry: (-entry[1].count, entry[0])
            )
        ],
    }


def headline(report: JsonObject) -> str:
    """Return the result in one line: "Valid", or the first reason why it is not."""
    totals = report["totals"]
    invalid, documents = totals["invalid_documents"], totals["documents"]
    cut = sum(source["failure"] is not None for source in report["sources"])
    if report["valid"]:
        return "Valid"
    if invalid:
        has = "has" if invalid == 1 else "have"
        return f"{invalid:,} of {documents:,} document{_s(documents)} {has} an error"
    if errors := totals["severities"]["error"]:
        return f"{errors:,} error{_s(errors)} while reading"
    if cut:
        return f"{cut:,} of {totals['sources']:,} source{_s(totals['sources'])} could not be read to the end"
    if report["refused"]:
        return f"{len(report['refused']):,} path{_s(len(report['refused']))} could not be checked"
    warnings = totals["severities"]["warning"]
    return f"{warnings:,} warning{_s(warnings)} at level {report['level']}"


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def _groups(total: SourceTally, rules_by_name: dict[str, Rule]) -> list[JsonObject]:
    groups = [
        {
            "code": key.code,
            "stage": key.stage,
            "severity": key.severity,
            "meaning": _meaning(key.stage, key.code, rules_by_name),
            "count": group.count,
            "sources": group.sources,
            "examples": [_example(source, finding) for source, finding in group.examples],
        }
        for key, group in total.groups.items()
    ]
    return sorted(
        groups, key=lambda group: (SEVERITIES.index(group["severity"]), -group["count"], group["code"], group["stage"])
    )


def _meaning(stage: Stage, code: str, rules_by_name: dict[str, Rule]) -> str:
    if stage == "reading":
        return KINDS[code].meaning if code in KINDS else "Found while reading the source."
    if code in rules_by_name:
        return rules_by_name[code].meaning
    return f"A value does not match the published schema ({code.removeprefix('schema-').replace('-', ' ')})."


def _example(source: str, finding: ReportedFinding) -> JsonObject:
    return {
        "source": source,
        "line": finding.line,
        "where": finding.where,
        "conversation_id": finding.conversation_id,
        "pointer": finding.pointer,
        "message": finding.message,
        "excerpt": finding.excerpt,
    }


def _coverage(platform: str, title: str, tally: CoverageTally) -> JsonObject:
    def share(conversations: int) -> float:
        return round(conversations / tally.conversations, _DIGITS) if tally.conversations else 0.0

    unmapped = sorted(
        ((name, counts) for name, counts in tally.unmapped.items() if name != OTHERS),
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
            {
                "field": name,
                "conversations": counts.conversations,
                "share": share(counts.conversations),
                "count": counts.count,
            }
            for name, counts in unmapped[:_MAX_UNMAPPED]
        ],
        "unmapped_more": max(0, len(unmapped) - _MAX_UNMAPPED) + (OTHERS in tally.unmapped),
    }
