"""`palaver stats --explain`: every message and record with usage, whether it is counted, and at what price."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from palaver.archive.statistics import PricedAnswer, price_answer
from palaver.archive.tally import Statistics
from palaver.archive.usage import CountedAnswer, Counts, Scope, Usage, counted_answers, counted_record_answers
from palaver.cli._terminal import output
from palaver.cli._terminal.layout import can_draw_blocks
from palaver.cli._terminal.statistics import Counting, heading, show_line, show_notes
from palaver.cli._terminal.words import counted, escaped_line, short_number

if TYPE_CHECKING:
    import sqlite3

    from rich.text import Text

    from palaver.prices import PriceRow, Prices

_SHORT = 8
_USAGE_RECORD = "(record)"
_NOTABLE = 1.005
"""The ratio from which a difference is mentioned."""


def entries(connection: "sqlite3.Connection", scope: Scope, prices: "Prices") -> Iterator[dict[str, Any]]:
    """Yield as JSON every counted message followed by its copies, and every selected copy counted elsewhere.

    Usage records that count come last; they have no conversation.
    """
    for answer in _answers(connection, scope):
        if answer.owner.is_chosen:
            yield _entry(answer.owner, answer, price_answer(answer, prices))
        for copy in answer.copies:
            if copy.is_chosen or answer.owner.is_chosen:
                yield _entry(copy, answer, None)


def _answers(connection: "sqlite3.Connection", scope: Scope) -> Iterator[CountedAnswer]:
    yield from counted_answers(connection, scope, in_time_order=True)
    for answer in counted_record_answers(connection, scope):
        yield answer._replace(copies=[])


def _entry(usage: Usage, answer: CountedAnswer, cost: PricedAnswer | None) -> dict[str, Any]:
    is_counted = usage is answer.owner
    return {
        **_message_ref(usage),
        "timestamp": usage.timestamp,
        "day": answer.owner.day,
        "project": usage.project,
        "model": usage.model,
        "api_message_id": usage.api_message_id,
        "is_counted": is_counted,
        "counted_at": None if is_counted else _message_ref(answer.owner),
        "own_tokens": _tokens(usage.counts),
        "tokens": _tokens(answer.counts) if is_counted else None,
        "cost": None if cost is None else {"amount": float(cost.amount), "currency": "USD"},
        "price_source": None if cost is None else cost.row.source,
        "price_model": None if cost is None else _name(cost.row),
    }


def _tokens(counts: Counts) -> dict[str, int]:
    sent, answered, read, written, _, thought = counts
    return {
        "input": sent or 0,
        "output": answered or 0,
        "cache_read": read or 0,
        "cache_write": written or 0,
        "thinking": thought or 0,
    }


def _message_ref(usage: Usage) -> dict[str, str]:
    return {
        "platform": usage.platform,
        "conversation_id": usage.conversation_id,
        "message_id": usage.message_id,
    }


def _name(row: "PriceRow") -> str:
    return f"{row.provider}/{row.model}" if row.provider else row.model


def show(connection: "sqlite3.Connection", found: Statistics, counting: Counting, prices: "Prices") -> None:
    """Print line by line, so that memory stays small for any archive; then the prices and the sums."""
    from rich.text import Text

    scope = counting.scope
    show_line(heading(counting), "bold")

    used: dict[PriceRow, int] = {}
    is_wide = output.terminal_width() is None
    output.answer(Text(_head(is_wide=is_wide), "dim"))
    lines = _lines(_answers(connection, scope), prices, used, is_wide=is_wide)
    if is_wide:
        for line, _ in lines:
            output.answer_text(line)
    else:
        output.answer_texts(_cropped(lines, output.terminal_width()))
    for line in (*_prices(used), *_sums(found)):
        output.answer(line)
    show_notes(found, counting)


def _cropped(lines: Iterable[tuple[str, str]], width: int | None) -> "Iterator[Text]":
    from rich.text import Text

    overflow = "ellipsis" if can_draw_blocks() else "crop"
    for line, style in lines:
        text = Text(line, style)
        if width is not None:
            text.truncate(width, overflow=overflow)
        yield text


def _head(*, is_wide: bool) -> str:
    figures = "".join(f"{head:>{9 if is_wide else 7}}" for head in ("input", "output", "cache r", "cache w"))
    names = _names("conversation", "message", is_wide=is_wide)
    return f"{'day':<10}  {names}{figures}{'USD':>{10 if is_wide else 9}}  model"


def _lines(
    found: Iterable[CountedAnswer], prices: "Prices", used: "dict[PriceRow, int]", *, is_wide: bool
) -> Iterator[tuple[str, str]]:
    """Yield lines with their styles, and count the price rows in `used`."""
    for answer in found:
        owner = answer.owner
        if owner.is_chosen:
            cost = price_answer(answer, prices)
            if cost is not None:
                used[cost.row] = used.get(cost.row, 0) + 1
            spent = "unknown" if cost is None else f"{cost.amount:.6f}"
            model = escaped_line(owner.model or "no model")
            if not is_wide:
                model = model.removeprefix("claude-")
            elif cost is not None:
                model = f"{model}  {_name(cost.row)} of {cost.row.source}"
            figures = _figures(answer.counts, is_wide=is_wide)
            spent = f"{spent:>{10 if is_wide else 9}}"
            yield f"{owner.day or 'no date':<10}  {_ids(owner, is_wide=is_wide)}{figures}{spent}  {model}", ""
        for copy in answer.copies:
            if copy.is_chosen or owner.is_chosen:
                figures = f"{_figures(copy.counts, is_wide=True)}{'-':>10}" if is_wide else ""
                at = _ids(owner, is_wide=is_wide).rstrip()
                yield f"{'  copy':<10}  {_ids(copy, is_wide=is_wide)}{figures}  counted at {at}", "dim"


def _figures(counts: Counts, *, is_wide: bool) -> str:
    return "".join([f"{count or 0:>9}" if is_wide else f"{short_number(count or 0):>7}" for count in counts[:4]])


def _ids(usage: Usage, *, is_wide: bool) -> str:
    conversation = usage.conversation_id if usage.conversation_key is not None else _USAGE_RECORD
    return _names(escaped_line(conversation), escaped_line(usage.message_id), is_wide=is_wide)


def _names(conversation: str, message: str, *, is_wide: bool) -> str:
    if is_wide:
        return f"{conversation:<36}  {message:<36}"
    return f"{conversation[:_SHORT]:<{_SHORT}} {message[:_SHORT]:<{_SHORT}}"


def _prices(used: "dict[PriceRow, int]") -> "Iterator[Text]":
    from rich.text import Text

    if used:
        yield Text("")
        yield Text("Prices used, in USD per million tokens", "bold")
    for row, count in sorted(used.items(), key=lambda entry: -entry[1]):
        rates = row.rates
        figures = (
            f"input {rates.input.normalize():f}, output {rates.output.normalize():f}, "
            f"read {rates.cache_read.normalize():f}, written {rates.cache_write_5m.normalize():f}"
        )
        longer = "".join(
            f"; above {tier.above_tokens:,} tokens input {tier.rates.input.normalize():f}" for tier in row.tiers
        )
        yield Text.assemble(
            f"{_name(row)}  ", (f"{figures}{longer}  ({row.source}, {counted(count, 'answer')})", "dim")
        )


def _sums(found: Statistics) -> "Iterator[Text]":
    """Yield the totals, beside those of counting every message."""
    from rich.text import Text

    ours, naive = asdict(found.total.tokens), asdict(found.naive)
    width = max(len(f"{count:,}") for count in (*ours.values(), *naive.values(), 1_000_000))
    yield Text("")
    yield Text(f"{'':<12}{'counted':>{width}}  {'every message':>{max(width, 13)}}", "dim")
    for name, count in ours.items():
        if count or naive[name]:
            times = f"  {naive[name] / count:.2f} times" if count and naive[name] > _NOTABLE * count else ""
            yield Text.assemble(
                (f"{name.replace('_', ' '):<12}", "dim"),
                f"{count:>{width},}",
                (f"  {naive[name]:>{max(width, 13)},}{times}", "dim"),
            )
