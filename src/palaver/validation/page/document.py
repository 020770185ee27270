"""The page around the sections: its policy, its style and script, its navigation and its foot.

The page asks for nothing: its policy forbids every request, and allows the one style sheet and the one script that are
in it by their hashes.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from palaver.model.build import JsonObject
from palaver.validation.page.charts import patterns
from palaver.validation.page.coverage import coverage
from palaver.validation.page.drift import drift
from palaver.validation.page.findings import findings
from palaver.validation.page.layout import icon, icons
from palaver.validation.page.ledger import ledger
from palaver.validation.page.markup import Markup, inlined, joined, tag
from palaver.validation.page.sources import sources
from palaver.validation.page.summary import totals, verdict
from palaver.validation.page.unread import unread
from palaver.validation.page.words import moment


def page(report: JsonObject) -> str:
    """The whole HTML document for a report of `palaver validate`, as a JSON object."""
    body = tag(
        "body",
        tag("a", "Skip to the report", href="#summary", class_="skip"),
        tag("svg", tag("defs", patterns(), *icons()), class_="sprite", aria_hidden="true"),
        _navigation(report),
        tag(
            "main",
            verdict(report),
            totals(report),
            ledger(report),
            sources(report),
            findings(report),
            coverage(report),
            drift(report),
            unread(report),
        ),
        _foot(report),
        inlined("script", _own("page.js")),
    )
    return f"<!doctype html>\n{tag('html', _head(report), body, lang='en')}\n"


def _head(report: JsonObject) -> Markup:
    verdict_word = "Valid" if report["valid"] else "Not valid"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy()),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=f"palaver {report['palaver_version']}"),
        tag("title", f"{verdict_word} · validation report · palaver"),
        tag("link", rel="icon", href="data:,"),
        inlined("style", _own("style.css")),
    )


def _policy() -> str:
    return (
        f"default-src 'none'; style-src {_hash(_own('style.css'))}; script-src {_hash(_own('page.js'))}; "
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
    made = joined(f"Made by palaver {report['palaver_version']}, ", when, f". Report {report['schema_version']}.")
    kept = "This page is whole in itself: it asks for nothing from anywhere, and nothing leaves your machine."
    return tag("footer", tag("p", made), tag("p", kept))


@cache
def _own(name: str) -> str:
    return files("palaver.validation.page").joinpath(name).read_text("utf-8").replace("\r\n", "\n")


def _hash(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
