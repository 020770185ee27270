"""The page: its head, summary, navigation and footer around the sections.

The page makes no requests: its content security policy forbids them all, and allows its one style sheet and one script
by their hashes.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from palaver.model.build import JsonObject
from palaver.validation.html_report.components import Tone, badge, counted, icon, icons, moment, patterns, size
from palaver.validation.html_report.content_sections import coverage_section, drift_section, findings_section
from palaver.validation.html_report.markup import Markup, inlined, joined, tag
from palaver.validation.html_report.source_sections import ledger_section, sources_section, unread_section
from palaver.validation.report import headline

_LEVELS = {
    "strict": "Errors and warnings fail.",
    "standard": "Errors fail.",
    "lenient": "Checks the schema only, after safe conversions.",
}
_SUBJECTS = {"paths": "Files and folders", "archive": "The archive"}


def render_html(report: JsonObject) -> str:
    """Return the HTML document for a report of `palaver validate`."""
    body = tag(
        "body",
        tag("a", "Skip to the report", href="#summary", class_="skip"),
        tag("svg", tag("defs", patterns(), *icons()), class_="sprite", aria_hidden="true"),
        _navigation(report),
        tag(
            "main",
            _verdict(report),
            _totals(report),
            ledger_section(report),
            sources_section(report),
            findings_section(report),
            coverage_section(report),
            drift_section(report),
            unread_section(report),
        ),
        _foot(report),
        inlined("script", _resource("page.js")),
    )
    return f"<!doctype html>\n{tag('html', _head(report), body, lang='en')}\n"


def _verdict(report: JsonObject) -> Markup:
    tone: Tone = "valid" if report["valid"] else "error"
    return tag(
        "header",
        tag("p", "Validation report", class_="eyebrow"),
        tag("h1", icon(tone), headline(report), class_=f"verdict is-{tone}"),
        tag("p", _sentence(report), class_="lead"),
        tag(
            "dl",
            _detail("Checked", _SUBJECTS[report["subject"]]),
            _detail("Level", report["level"].capitalize(), more=_LEVELS[report["level"]]),
            _detail("When", tag("time", moment(report["generated_at"]), datetime=report["generated_at"])),
            _detail("palaver", report["palaver_version"]),
            class_="facts",
        ),
        _rules(report["rules"]),
        id="summary",
    )


def _totals(report: JsonObject) -> Markup:
    sums = report["totals"]
    severities = sums["severities"]
    invalid = sums["invalid_documents"]
    failed = sum(1 for source in report["sources"] if not source["valid"])
    valid = "all valid" if report["sources"] else None
    found = sum(severities.values())
    shown = [badge(tone, counted(severities[tone], tone)) for tone in ("error", "warning", "note") if severities[tone]]
    return tag(
        "dl",
        _figure("Sources", sums["sources"], f"{counted(failed, 'is', 'are')} not valid" if failed else valid),
        _figure("Conversations", sums["conversations"]),
        _figure("Messages", sums["messages"]),
        _figure("Documents", sums["documents"], f"{invalid:,} with an error" if invalid else "no errors"),
        _figure("Size", size(sums["bytes"]), counted(sums["bytes"], "byte")),
        _figure("Findings", found, joined(*shown) if found else "no problems found"),
        class_="figures",
        aria_label="Totals",
    )


def _sentence(report: JsonObject) -> str:
    sums = report["totals"]
    if report["valid"]:
        return (
            f"Checked {counted(sums['messages'], 'message')} in {counted(sums['conversations'], 'conversation')}. "
            "Nothing failed."
        )
    severities = sums["severities"]
    cut = sum(1 for source in report["sources"] if source["failure"] is not None)
    failed = sum(1 for source in report["sources"] if not source["valid"])
    reasons = [
        counted(severities["error"], "error") if severities["error"] else "",
        counted(severities["warning"], "warning") if severities["warning"] and report["level"] == "strict" else "",
        f"{counted(cut, 'source')} that could not be read to the end" if cut else "",
        f"{counted(len(report['refused']), 'path')} that could not be checked" if report["refused"] else "",
    ]
    sentence = _join_words([reason for reason in reasons if reason]) or "Some sources failed"
    if failed and sums["sources"] > 1:
        sentence += f". {failed:,} of {sums['sources']:,} sources {'is' if failed == 1 else 'are'} not valid"
    return f"{sentence}."


def _join_words(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _rules(names: list[str]) -> Markup:
    if not names:
        return tag("p", "No rules were checked, only the published schema.", class_="rules-none")
    listed = tag("ul", *(tag("li", tag("code", name)) for name in names), class_="chips")
    return tag("details", tag("summary", f"{counted(len(names), 'rule')} checked"), listed, class_="rules")


def _detail(name: str, value: str | Markup, *, more: str | None = None) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value, more and tag("small", more)))


def _figure(name: str, value: str | int, more: str | Markup | None = None) -> Markup:
    return tag("div", tag("dt", name), tag("dd", tag("b", value), more and tag("small", more)))


def _head(report: JsonObject) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"palaver {report['palaver_version']}"),
        tag("title", f"{headline(report)} · validation report · palaver"),
        tag("link", rel="icon", href="data:,"),
        inlined("style", _resource("style.css")),
    )


def _policy() -> str:
    return (
        f"default-src 'none'; style-src {_hash(_resource('style.css'))}; script-src {_hash(_resource('page.js'))}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _navigation(report: JsonObject) -> Markup:
    left_out = len(report["refused"]) + len(report["unclaimed"])
    links = (
        _link("summary", "Summary"),
        _link("ledger", "Ledger"),
        _link("sources", "Sources", len(report["sources"])),
        _link("findings", "Findings", sum(group["count"] for group in report["findings"])),
        _link("coverage", "Coverage"),
        _link("drift", "Drift", len(report["drift"])),
        _link("unread", "Not checked", left_out),
    )
    switch = tag(
        "button", icon("theme"), tag("span", "Theme"), type="button", id="theme", data_script=True, hidden=True
    )
    return tag(
        "nav",
        tag("div", tag("b", "palaver"), tag("ul", *links), switch, class_="bar-inner"),
        aria_label="Sections",
    )


def _link(name: str, title: str, count: int = 0) -> Markup:
    return tag("li", tag("a", title, tag("span", count, class_="count") if count else None, href=f"#{name}"))


def _foot(report: JsonObject) -> Markup:
    when = tag("time", moment(report["generated_at"]), datetime=report["generated_at"])
    origin = joined(f"Made by palaver {report['palaver_version']}, ", when, f". Report {report['schema_version']}.")
    privacy = "This page is self-contained: it loads nothing from the network, and nothing leaves your machine."
    return tag("footer", tag("p", origin), tag("p", privacy))


@cache
def _resource(name: str) -> str:
    return files("palaver.validation.html_report").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
