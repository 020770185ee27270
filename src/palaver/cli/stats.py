"""`palaver stats`: messages, tokens and costs of the archive."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.filters import Filters
from palaver.archive.statistics import GROUPINGS, GroupBy, Statistics
from palaver.archive.statistics import statistics as message_statistics
from palaver.archive.time_ranges import all_time, in_range, named_range, recent_range
from palaver.archive.usage import Scope
from palaver.archive.usage_comparison import compare
from palaver.archive.usage_record_statistics import USAGE_GROUPINGS, UsageGroupBy, usage_record_statistics
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output, statistics, usage_comparison, usage_explanation
from palaver.config import config_path, load_config
from palaver.errors import OptionError
from palaver.prices import Prices

if TYPE_CHECKING:
    from palaver.cli._budget import Budget


@takes_filters
def stats(
    context: typer.Context,
    *,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="day, week, month, block, project, model, platform, tool, conversation; with --usage also subject.",
            show_default="day, the last 30",
        ),
    ] = None,
    filters: Filters,
    is_everything: Annotated[bool, typer.Option("--all", help="All time, also without --by.")] = False,
    is_exact: Annotated[
        bool, typer.Option("--exact", help="A row for each spelling of a model's name, not for each model.")
    ] = False,
    utc: Annotated[bool, typer.Option("--utc", help="Days of UTC instead of this machine's.")] = False,
    budget: Annotated[
        float | None, typer.Option(min=0.01, metavar="USD", help="Compare the cost with a budget: `--since month`.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Compare with the output of `ccusage daily --json`, and say why it differs."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Every message with usage: whether it counts, where, at what price.")
    ] = False,
    usage: Annotated[
        bool, typer.Option("--usage", help="Usage records instead: what was used without a conversation.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count messages, tokens and what they cost.

    Without dates and without --by, the last 30 days; with --by, --usage or --all, all time. A block is five hours, as
    plans with a limit every five hours count them. A budget is for the current month, unless --since is given.

    Usage counts once per answer of an API, however many sessions it was copied into, with the greatest figures that any
    copy states; it belongs to the day, project, model and conversation of the first copy. --since and --until look at
    messages, --model at the model that answered. Calls known only from usage records, such as those that a gateway
    logged without their text, count as well; --usage counts these records alone, including sums over a time.

    Cost is what the provider's public API would have charged. Costs reported by the tools themselves are listed apart.
    Models without a known price have no cost, and are named. Spellings of one model are one row.

    --against compares tokens and costs with a report of ccusage (daily, weekly, monthly, session or blocks) in the same
    range, Claude Code only unless --platform is given. A difference counts as explained if counting the archive another
    way yields exactly the other number.

    Exit codes: 0 something was counted, within the budget and without an unexplained difference, 1 nothing matches, or
    the budget is exceeded, or a difference is not explained, 2 the archive or the report could not be read.
    """
    _check_options(by, filters, is_everything=is_everything, budget=budget, explain=explain, usage=usage)
    if against is not None and (usage or explain or budget is not None or is_everything):
        raise OptionError("--against compares costs and tokens: leave out --usage, --explain, --budget and --all")
    typed_since: str = context.params.get("since") or ""
    if budget is not None and not (filters.since or filters.until):
        from dataclasses import replace

        from palaver.archive.filter_times import parse_time

        typed_since = "month"
        filters = replace(filters, since=parse_time(typed_since))
    scope = Scope(filters, is_utc=utc)
    report = None
    if against is not None:
        from palaver.workflows.compare_usage import comparison_scope, read_ccusage

        report = read_ccusage(Path(against).expanduser())
        scope = comparison_scope(scope, report)
    prices = Prices(load_config(config_path()))
    grouping: GroupBy | UsageGroupBy = by or "day"  # pyright: ignore[reportAssignmentType] - checked above
    count: Any = usage_record_statistics if usage else message_statistics
    with _archive.open_for_reading() as connection:
        is_recent = not (scope.is_timed() or by or usage or is_everything or report)
        chosen = recent_range(connection, scope, datetime.now(UTC)) if is_recent else named_range(scope)
        chosen_scope = in_range(scope, chosen)
        found: Statistics = count(connection, chosen_scope, grouping, prices, folds_models=not is_exact)
        is_empty = not (found.total.conversations or found.total.usage_records)
        compared = None if budget is None else _budget(budget, found, chosen, typed_since)
        counting = statistics.Counting(
            chosen_scope,
            chosen,
            grouping,
            all_time(connection, scope, prices) if is_recent and not is_empty else None,
            compared,
            is_of_records=usage,
            is_exact=is_exact,
        )
        comparison = compare(connection, scope, prices, report) if report else None
        if as_json:
            answer = statistics.answer(connection, found, counting)
            answer["comparison"] = None if comparison is None else usage_comparison.answer(comparison)
            if explain:
                entries = usage_explanation.entries(connection, chosen_scope, prices)
                output.answer_json_with_list(answer, "usages", entries)
            else:
                output.answer_json({**answer, "usages": None})
        elif comparison is not None:
            usage_comparison.show(comparison, is_utc=utc)
        elif is_empty and compared is not None:
            statistics.show_notes(found, counting)
        elif explain and not is_empty:
            usage_explanation.show(connection, found, counting, prices)
        elif not is_empty:
            statistics.show(connection, found, counting)
    if comparison is not None:
        raise typer.Exit(int(not comparison.is_explained()))
    if compared is not None:
        raise typer.Exit(int(compared.is_over))
    if is_empty:
        output.notify("Nothing matches these filters.")
        raise typer.Exit(1)


def _check_options(
    by: str | None, filters: Filters, *, is_everything: bool, budget: float | None, explain: bool, usage: bool
) -> None:
    known = USAGE_GROUPINGS if usage else GROUPINGS
    if by is not None and by not in known:
        raise OptionError(f"--by {by}: choose from {', '.join(known)}")
    if usage and explain:
        raise OptionError("--explain is about messages: leave out --usage")
    if is_everything and (filters.since or filters.until):
        raise OptionError("--all is all time: leave out --since and --until")
    if is_everything and budget is not None:
        raise OptionError("--budget needs a period, such as --since month: leave out --all")


def _budget(amount: float, found: Statistics, chosen: Any, typed_since: str) -> "Budget":
    from palaver.cli._budget import budget

    return budget(amount, found.total.cost, chosen, typed_since, found.unpriced.total())
