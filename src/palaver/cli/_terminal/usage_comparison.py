"""`palaver stats --against`: the usage of ccusage beside ours, with the reason of each difference."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from palaver.archive.usage_comparison import DATED, NOTHING, Comparison, Difference, Figures, Tokens, Way
from palaver.cli._terminal import output
from palaver.cli._terminal.layout import wrapped
from palaver.cli._terminal.statistics import show_line
from palaver.cli._terminal.words import counted, escaped_line, money

if TYPE_CHECKING:
    from rich.text import Text

_REASONS: dict[Way, str] = {
    "copies": "counts copies of answers as well",
    "other_copy": "counts answers at a later copy, palaver at the first",
    "agents": "leaves out agents",
    "deleted_files": "cannot see sessions whose files were deleted; the archive keeps them",
    "other_folders": "reads ~/.claude/projects only; palaver imported these from elsewhere",
    "undated": "skips lines without a time",
    "records": "leaves out calls whose conversation is not kept, such as warm-ups",
    "later": "was run before the last answers",
    "early_lines": "counts lines that were logged before the answers finished; input and cache are equal",
}
_INDENT = "    "
_COST_REASONS = {
    "tokens": "the tokens differ",
    "prices": "same tokens, other prices",
    "our_price": "palaver knows no price for some answers",
    "their_price": "ccusage has no price for the model",
}


def answer(comparison: Comparison) -> dict[str, Any]:
    return {
        "period": comparison.period,
        "time_zone": "UTC" if comparison.is_utc else "local",
        "is_explained": comparison.is_explained(),
        "rows": [
            {
                "name": difference.key[0],
                "model": difference.key[1] or None,
                "theirs": _figures(difference.theirs),
                "ours": _figures(difference.ours),
                "reasons": [
                    {
                        "reason": way,
                        "sentence": f"ccusage {_REASONS[way]}",
                        "answers": number,
                        "tokens": tokens._asdict(),
                    }
                    for way, tokens, number in difference.reasons
                ],
                "unexplained": difference.unexplained._asdict(),
                "cost_reason": difference.cost_reason or None,
            }
            for difference in comparison.differences
        ],
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {"tokens": figures.tokens._asdict(), "cost": {"amount": float(figures.cost), "currency": "USD"}}


def show(comparison: Comparison, *, is_utc: bool) -> None:
    """Print each period that differs, then the sums by reason."""
    differing = [each for each in comparison.differences if each.tokens() != NOTHING or each.cost_reason]
    equal = len(comparison.differences) - len(differing)
    total = len(comparison.differences)
    unit = f"{comparison.period}s" + (" and models" if any(each.key[1] for each in comparison.differences) else "")
    show_line(f"{equal:,} of {total:,} {unit} are equal", "bold")
    if comparison.period in DATED and comparison.is_utc is not is_utc:
        zone = "UTC" if comparison.is_utc else "this machine's time zone"
        show_line(f"ccusage's days are those of {zone}: compared in these.")
    if differing:
        output.answer("")
    for line in _table(differing, comparison):
        output.answer(line)
    output.answer("")
    for line in _summary(comparison.differences):
        show_line(line)


def _table(differing: list[Difference], comparison: Comparison) -> "Iterator[Text]":
    from rich.text import Text

    width = output.terminal_width()
    rows = [
        (
            escaped_line(each.key[0])[: 10 if comparison.period != "block" else 16],
            escaped_line(each.key[1]).removeprefix("claude-") or "no model",
            f"{sum(each.theirs.tokens):,}",
            f"{sum(each.ours.tokens):,}",
            f"{sum(each.tokens()):+,}",
            money(each.theirs.cost),
            money(each.ours.cost),
        )
        for each in differing
    ]
    if not rows:
        return
    heads = (comparison.period, "model", "ccusage", "palaver", "tokens +/-", "ccusage $", "palaver $")
    widths = [max(len(head), *(len(row[index]) for row in rows)) for index, head in enumerate(heads)]
    shown = list(range(len(heads)))
    if not any(each.key[1] for each in comparison.differences):
        shown.remove(1)
    if not any(each.theirs.is_priced for each in differing):
        shown = shown[:-2]
    for index in (5, 6, 3, 2, 1):
        if index in shown and width is not None and sum(widths[column] + 2 for column in shown) - 2 > width:
            shown.remove(index)

    def line(cells: tuple[str, ...]) -> str:
        return "  ".join(
            f"{cells[index]:<{widths[index]}}" if index < 2 else f"{cells[index]:>{widths[index]}}" for index in shown
        ).rstrip()

    yield Text(line(heads), "dim")
    for row, difference in zip(rows, differing, strict=True):
        yield Text(line(row), "" if difference.unexplained == NOTHING else "bold")
        for reason in _reasons(difference):
            for piece in wrapped(reason, None if width is None else width - len(_INDENT)):
                yield Text(f"{_INDENT}{piece}", "dim" if difference.unexplained == NOTHING else "yellow")


def _reasons(difference: Difference) -> Iterator[str]:
    for way, tokens, number in difference.reasons:
        yield f"{_amount(tokens)}: {_REASONS[way]}{_answers(number)}"
    if difference.unexplained != NOTHING:
        yield f"{_amount(difference.unexplained)}: unexplained ({_kinds(difference.unexplained)})"


def _summary(differences: list[Difference]) -> Iterator[str]:
    sums: dict[Way, tuple[Tokens, int]] = {}
    unexplained = NOTHING
    for difference in differences:
        for way, tokens, number in difference.reasons:
            before, answers = sums.get(way, (NOTHING, 0))
            sums[way] = before.plus(tokens), answers + number
        unexplained = Tokens(*[a + abs(b) for a, b in zip(unexplained, difference.unexplained, strict=True)])
    for way, (tokens, number) in sums.items():
        yield f"{_amount(tokens)}: ccusage {_REASONS[way]}{_answers(number)}."
    for reason, sentence in _COST_REASONS.items():
        rows = [each for each in differences if each.cost_reason == reason]
        if rows and reason != "tokens":
            theirs, ours = sum(each.theirs.cost for each in rows), sum(each.ours.cost for each in rows)
            yield f"Cost {money(theirs)} at ccusage, {money(ours)} at palaver: {sentence}."
    if not any(difference.theirs.is_priced for difference in differences if difference.theirs.tokens != NOTHING):
        yield "The report has no costs."
    if unexplained != NOTHING:
        yield f"{counted(sum(unexplained), 'token')} unexplained ({_kinds(unexplained)})."
    else:
        yield "Every difference of tokens is explained." if sums else "The tokens are equal."


def _amount(tokens: Tokens) -> str:
    number = sum(tokens)
    return f"{number:+,} token{'' if abs(number) == 1 else 's'}"


def _answers(number: int) -> str:
    return f" ({counted(number, 'answer')})" if number else ""


def _kinds(tokens: Tokens) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:+,}" for name, count in tokens._asdict().items() if count)
