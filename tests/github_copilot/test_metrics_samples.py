"""Reports and telemetry kept outside of the repository: every figure is found, and `palaver stats` shows them."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from importing import CHECKOUT, check, containers, import_folder, strings
from palaver.cli import app
from palaver.model.json_output.statistics import StatsAnswer

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "copilot"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")

METRICS = sorted((SAMPLES / "metrics").glob("*.json")) if SAMPLES.is_dir() else []
REPORTS = [path for path in METRICS if "download-links" not in path.name]
TELEMETRY = SAMPLES / "synthetic-ghosttext-telemetry"


def numbers(value):
    """Every number in a JSON value, with how often it stands there."""
    found = {}
    for holder in containers([value]):
        for item in holder.values() if isinstance(holder, dict) else holder:
            if type(item) in (int, float):
                found[item] = found.get(item, 0) + 1
    return found


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name)
def test_every_number_of_a_report_is_in_some_record(path):
    imported = import_folder(path)
    check(imported)
    assert not imported.documents
    assert not imported.quarantined
    told = numbers(imported.used)
    stated = numbers(json.loads(path.read_text("utf-8")))
    if "billing" in path.name:
        stated.pop(2026)  # of the period, which every record repeats
    assert {number for number, count in stated.items() if told.get(number, 0) < count} == set()


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.name)
def test_no_address_is_kept(path):
    assert not [text for text in strings(import_folder(path).used) if "://" in text]


def test_links_to_reports_are_known_to_be_none():
    imported = import_folder(SAMPLES / "metrics")
    assert {Path(unit.source.label) for unit in imported.units} == set(METRICS)
    assert not imported.found.unclaimed
    skipped = [report.ledger.skipped.get("download-links", 0) for report in imported.reports]
    assert sum(skipped) == len(METRICS) - len(REPORTS)


def test_seats_are_as_many_as_the_report_says():
    for path in REPORTS:
        if "seats" in path.name:
            total = json.loads(path.read_text("utf-8"))["total_seats"]
            assert sum(record["counts"]["seats"] for record in import_folder(path).used) == total, path.name


def test_telemetry_is_what_the_index_says_of_it():
    imported = import_folder(TELEMETRY)
    check(imported)
    (document,) = imported.documents
    told = [message["metadata"] for message in document["messages"]]
    assert [one["outcome"] for one in told] == ["accepted", "rejected", "canceled", "accepted"]
    assert [one.get("accepted") for one in told] == [True, False, None, True]
    assert ["ghostText.shown" in [event["event"] for event in one["events"]] for one in told] == [
        *(True, True, False, True)
    ]
    accepted = [event for event in told[-1]["events"] if event["event"] == "ghostText.accepted"]
    assert [event["acceptedLength"] for event in accepted] == [36, 12]
    assert document["platform"]["model"] == "gpt-41-copilot"
    assert "000000000000" not in json.dumps(imported.documents)
    texts = [message["content"][0]["code"] for message in document["messages"]]
    assert texts == [f"    return sorted(index, key=len)[:{number}]" for number in (1, 2, 3, 4)]


def test_stats_show_what_was_used(tmp_path, monkeypatch):
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path / "kept"))
    run = CliRunner().invoke
    for _ in range(2):
        assert run(app, ["import", "--again", str(SAMPLES / "metrics")], catch_exceptions=False).exit_code == 0
        told = StatsAnswer.model_validate_json(
            run(app, ["stats", "--usage", "--by", "model", "--exact", "--utc", "--json"], catch_exceptions=False).stdout
        )
        assert told.totals.usage_records == len(
            {record["usage_id"] for path in REPORTS for record in import_folder(path).used}
        )
        assert told.periods == told.totals.usage_records
        assert {"default", "claude-sonnet-4.6", "GPT-5 mini"} <= {group.group for group in told.groups}
    shown = run(app, ["stats", "--usage", "--by", "subject"], catch_exceptions=False).stdout
    for word in ("user:hubot", "organization:100000001", "seats", "ai credits used", "ai-credits.netQuantity"):
        assert word in shown
