"""`palaver stats`: messages, tokens and costs of the archive."""

from typing import Annotated, Any

import typer

from palaver.archive.filters import Filters
from palaver.archive.statistics import GROUPINGS, GroupBy, Statistics, last_days
from palaver.archive.statistics import statistics as message_statistics
from palaver.archive.usage import Scope
from palaver.archive.usage_record_statistics import USAGE_GROUPINGS, UsageGroupBy, usage_record_statistics
from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output, statistics, usage_explanation
from palaver.config import config_path, load_config
from palaver.errors import OptionError
from palaver.prices import Prices

_DAYS = 30


@takes_filters
def stats(
    *,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="day, week, month, project, model, platform, tool, conversation; with --usage also subject.",
            show_default="day, the last 30",
        ),
    ] = None,
    filters: Filters,
    utc: Annotated[bool, typer.Option("--utc", help="Days of UTC instead of this machine's.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Every message with usage: whether it counts, where, at what price.")
    ] = False,
    usage: Annotated[
        bool, typer.Option("--usage", help="Usage records instead: what was used without a conversation.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Count messages, tokens and what they cost.

    Usage counts once per answer of an API, however many sessions it was copied into, with the greatest figures that any
    copy states; it belongs to the day, project, model and conversation of the first copy. --since and --until look at
    messages, --model at the model that answered. Calls that only a usage record tells of, such as those that a gateway
    logged without their words, count as well; --usage counts such records alone, sums over a time included.

    Cost is what the provider's public API would have charged. What a source itself states stands apart. Models without
    a known price have no cost, and are named.

    Exit codes: 0 something was counted, 1 nothing is like that, 2 the archive could not be read.
    """
    known = USAGE_GROUPINGS if usage else GROUPINGS
    if by is not None and by not in known:
        raise OptionError(f"--by {by}: it is counted by {', '.join(known)}")
    if usage and explain:
        raise OptionError("--explain is about messages: leave out --usage")
    scope = Scope(filters, is_utc=utc)
    prices = Prices(load_config(config_path()))
    grouping: GroupBy | UsageGroupBy = by or "day"  # pyright: ignore[reportAssignmentType] - checked above
    count: Any = usage_record_statistics if usage else message_statistics
    with _archive.open_for_reading() as connection:
        found: Statistics = count(connection, scope, grouping, prices)
        is_empty = not (found.total.conversations or found.total.usage_records)
        is_recent = by is None and not filters.since and not filters.until
        if is_recent:
            found.groups = last_days(found.groups, _DAYS)
        if as_json:
            answer = statistics.answer(connection, found, scope, grouping, is_of_records=usage)
            if explain:
                output.answer_json_with_list(answer, "usages", usage_explanation.entries(connection, scope, prices))
            else:
                output.answer_json({**answer, "usages": None})
        elif explain and not is_empty:
            usage_explanation.show(connection, found, scope, prices)
        elif not is_empty:
            statistics.show(connection, found, grouping, is_recent=is_recent)
    if is_empty:
        output.notify("There is nothing like that to count.")
        raise typer.Exit(1)
