"""The top of the page: the verdict, what was checked and how, and the sums as a few figures."""

from palaver.model.build import JsonObject
from palaver.validation.page.layout import Tone, badge, icon
from palaver.validation.page.markup import Markup, joined, tag
from palaver.validation.page.words import counted, moment, size

_LEVELS = {
    "strict": "Errors and warnings make the whole invalid.",
    "standard": "Errors make the whole invalid.",
    "lenient": "The schema only, after safe conversions.",
}
_SUBJECTS = {"paths": "Files and folders", "archive": "The archive"}


def verdict(report: JsonObject) -> Markup:
    tone: Tone = "valid" if report["valid"] else "error"
    return tag(
        "header",
        tag("p", "Validation report", class_="eyebrow"),
        tag("h1", icon(tone), "Valid" if report["valid"] else "Not valid", class_=f"verdict is-{tone}"),
        tag("p", _sentence(report), class_="lead"),
        tag(
            "dl",
            _fact("Checked", _SUBJECTS[report["subject"]]),
            _fact("Level", report["level"].capitalize(), more=_LEVELS[report["level"]]),
            _fact("When", tag("time", moment(report["generated_at"]), datetime=report["generated_at"])),
            _fact("palaver", report["palaver_version"]),
            class_="facts",
        ),
        _rules(report["rules"]),
        id="summary",
    )


def totals(report: JsonObject) -> Markup:
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
        _figure("Documents", sums["documents"], f"{invalid:,} with an error" if invalid else "none with an error"),
        _figure("Size", size(sums["bytes"]), counted(sums["bytes"], "byte")),
        _figure("Findings", found, joined(*shown) if found else "nothing was found"),
        class_="figures",
        aria_label="Totals",
    )


def _sentence(report: JsonObject) -> str:
    sums = report["totals"]
    if report["valid"]:
        return (
            f"Everything could be checked, and nothing failed: {counted(sums['messages'], 'message')} "
            f"in {counted(sums['conversations'], 'conversation')}."
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
    told = _listed([reason for reason in reasons if reason]) or "Something failed"
    if failed and sums["sources"] > 1:
        told += f". {failed:,} of {sums['sources']:,} sources {'is' if failed == 1 else 'are'} not valid"
    return f"{told}."


def _listed(parts: list[str]) -> str:
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _rules(names: list[str]) -> Markup:
    if not names:
        return tag("p", "No rules were asked: only the published schema.", class_="rules-none")
    listed = tag("ul", *(tag("li", tag("code", name)) for name in names), class_="chips")
    return tag("details", tag("summary", f"{counted(len(names), 'rule')} asked"), listed, class_="rules")


def _fact(name: str, value: str | Markup, *, more: str | None = None) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value, more and tag("small", more)))


def _figure(name: str, value: str | int, more: str | Markup | None = None) -> Markup:
    return tag("div", tag("dt", name), tag("dd", tag("b", value), more and tag("small", more)))
