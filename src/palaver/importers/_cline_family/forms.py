"""The forms in which these products keep conversations: task folders, indexes of tasks, exports as Markdown."""

from collections.abc import Iterator
from typing import Any

from palaver.importers._cline_family.index import FORM as INDEX
from palaver.importers._cline_family.index import read_index, recognize_index
from palaver.importers._cline_family.markdown import export_product, read_export
from palaver.importers._cline_family.product import Product
from palaver.importers._cline_family.reading import read_task
from palaver.importers._cline_family.recognize import recognize_task
from palaver.importers._shared.contract import Match
from palaver.sources.run import Run
from palaver.sources.source import Source

MARKDOWN = "markdown"


def recognize(source: Source, product: Product) -> Match:
    found = recognize_task(source, product)
    if found.verdict == "no" and not found.reason and not source.is_folder:
        found = recognize_index(source, product)
        if found.verdict == "no" and not found.reason and _is_export(source, product):
            return Match.yes(f"a task that {product.title} exported", form=MARKDOWN)
    return found


def read(source: Source, run: Run, product: Product) -> Iterator[dict[str, Any]]:
    match run.form or recognize(source, product).form:
        case form if form == INDEX:
            yield from read_index(source, run, product)
        case form if form == MARKDOWN or (not form and source.suffix == ".md"):
            yield from read_export(source, run, product.platform)
        case _ if source.file_name in _INDEXES:
            yield from read_index(source, run, product)
        case _:
            yield from read_task(source, run, product)


_INDEXES = ("_index.json", "taskHistory.json")


def _is_export(source: Source, product: Product) -> bool:
    return source.suffix == ".md" and export_product(source.file_name, source.head()) == product.platform
