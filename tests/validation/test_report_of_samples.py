"""The report on everything at once: all samples, judged, and shown by a real browser."""

import os
from pathlib import Path

import jsonschema
import pytest

from browsing import opened
from importing import CHECKOUT
from palaver.model.json_output.checks import Report
from palaver.model.schemas import published_schema
from palaver.validation.html_report import render_html
from palaver.workflows.validate import ValidationSettings, find_sources, report_on_paths

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples")

pytestmark = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES} (PALAVER_SAMPLES names another folder)"
)


@pytest.fixture(scope="module")
def report():
    return report_on_paths(find_sources([SAMPLES]), ValidationSettings())


def test_it_is_what_its_schema_says(report):
    jsonschema.Draft202012Validator(published_schema("report")).validate(report)
    assert Report.model_validate(report).model_dump(mode="json") == report


def test_every_record_is_accounted_for(report):
    for one in (report["totals"], *report["sources"]):
        records = one["records"]
        set_apart = sum(records["skipped"].values()) + sum(records["quarantined"].values())
        assert records["read"] == records["mapped"] + records["folded"] + set_apart, one.get("source")


def test_its_sums_are_those_of_its_sources(report):
    totals = report["totals"]
    for name in ("bytes", "documents", "conversations", "messages"):
        assert totals[name] == sum(source[name] for source in report["sources"])
    assert sum(totals["severities"].values()) == sum(group["count"] for group in report["findings"])
    by_source = sum(sum(source["findings"].values()) for source in report["sources"])
    assert sum(totals["severities"].values()) == by_source
    assert totals["conversations"] == sum(coverage["conversations"] for coverage in report["coverage"])
    assert totals["messages"] == sum(sum(coverage["roles"].values()) for coverage in report["coverage"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_a_browser_shows_it_without_complaint(browser, report, tmp_path, scheme, width):
    file = tmp_path / "report.html"
    file.write_text(render_html(report), "utf-8")
    with opened(browser, file, color_scheme=scheme, viewport={"width": width, "height": 800}) as shown:
        assert shown.complaints == []
        assert shown.requests == [file.as_uri()]
        assert shown.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        text = shown.page.inner_text("body")
        assert f"{report['totals']['messages']:,}" in text
        for group in report["findings"]:
            assert group["code"] in text
