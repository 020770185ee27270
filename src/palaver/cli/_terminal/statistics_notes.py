"""The footnotes of `palaver stats`: what the totals leave out or do not know, why, and what to do about it."""

from collections.abc import Iterator

from palaver.archive.tally import Statistics
from palaver.cli import _archive
from palaver.cli._terminal.words import counted, escaped_line, listed, usage_records
from palaver.importers import importer, platforms
from palaver.importers._shared.contract import HasMissingUsage

_MODELS_NAMED = 5


def footnotes(found: Statistics) -> Iterator[str]:
    if found.without_messages:
        are = "is" if found.without_messages == 1 else "are"
        yield f"{counted(found.without_messages, 'conversation')} without messages {are} not counted."
    if found.copies:
        more = max(found.naive.total() - found.total.tokens.total(), 0)
        answers = "answer" if found.copies == 1 else "answers"
        yield (
            f"{found.copies:,} duplicate {answers} not counted ({counted(more, 'token')}); "
            "`--explain` shows where each is counted."
        )
    if found.unpriced:
        names = [
            escaped_line(model) if model else "one without a name"
            for model, _ in found.unpriced_models()[:_MODELS_NAMED]
        ]
        others = len(found.unpriced) - len(names)
        models = ", ".join(names) + (f" and {counted(others, 'other')}" if others else "")
        yield f"{counted(found.unpriced.total(), 'answer')} by models without a known price: {models}."
    for platform in sorted(found.uncounted):
        yield no_tokens_reason(platform)
    if found.total.usage_records and found.total.conversations:
        answers = counted(found.total.usage_records, "answer")
        yield f"{answers} known only from usage records; `--usage` counts these alone."
    if found.periods:
        are = "is a sum" if found.periods == 1 else "are sums"
        yield f"{counted(found.periods, 'record')} {are} over a time, and may include calls that other records list."
    if found.total.estimated:
        yield "≈ tokens are estimates of the tools themselves; they have no cost."
    if found.undated:
        yield f"{usage_records(found.undated)} without a date not included; `--all` includes them."
    if partial := found.partial.total():
        of = f" of {found.total.answers:,}" if found.total.answers > partial else ""
        tools = listed([_archive.platform_title(platform) for platform in sorted(found.partial)])
        logs = "logs" if len(found.partial) == 1 else "log"
        answers, they = ("answer", "it before it finishes") if partial == 1 else ("answers", "them before they finish")
        yield (
            f"Output of {partial:,}{of} {'answers' if of else answers} is a lower bound ({tools} {logs} {they}). "
            "Why: docs/prices.md#lower-bounds"
        )


def no_tokens_reason(platform: str) -> str:
    """Return why the answers of a platform have no token counts: as its importer says, or in general."""
    if platform in platforms():
        known = importer(platform)
        if isinstance(known, HasMissingUsage):
            return known.missing_usage
    return f"{escaped_line(_archive.platform_title(platform))}: no token counts in the files that were imported."
