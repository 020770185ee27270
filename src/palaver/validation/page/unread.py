"""What was not checked: paths that were refused, and files that no importer reads."""

from palaver.model.build import JsonObject
from palaver.validation.page.layout import empty, icon, path, section
from palaver.validation.page.markup import Markup, joined, tag
from palaver.validation.page.words import counted

MOST_UNCLAIMED = 100
_FEW = 20


def unread(report: JsonObject) -> Markup:
    lead = "What was asked for or found, and is not part of this report."
    return section("unread", "Not checked", lead, _refused(report["refused"]), _unclaimed(report["unclaimed"]))


def _refused(sentences: list[str]) -> Markup:
    title = tag("h3", "Refused")
    if not sentences:
        return joined(title, empty("Nothing was refused: every path could be checked."))
    told = (tag("li", icon("error"), tag("span", sentence)) for sentence in sentences)
    return joined(title, tag("ul", *told, class_="refused"))


def _unclaimed(paths: list[str]) -> Markup:
    title = tag("h3", "Unclaimed")
    if not paths:
        return joined(title, empty("No file was left over: an importer reads each of them."))
    drawn, left = paths[:MOST_UNCLAIMED], paths[MOST_UNCLAIMED:]
    return joined(
        title,
        tag(
            "details",
            tag("summary", f"{counted(len(paths), 'file')} that no importer reads"),
            tag("ul", *(tag("li", path(whole)) for whole in drawn), class_="unclaimed"),
            tag("p", f"and {counted(len(left), 'more file')}", class_="hint") if left else None,
            open=len(paths) <= _FEW,
        ),
    )
