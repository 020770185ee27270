"""`palaver stats`: what the archive holds, what was used, and what it cost."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.cli import _archive
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.errors import OptionError

if TYPE_CHECKING:
    from palaver.archive.statistics import By, Statistics
    from palaver.archive.usage_statistics import UsageBy

_DAYS = 30


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
    platforms: _archive.Platforms = None,
    projects: _archive.Projects = None,
    models: _archive.Models = None,
    since: _archive.Since = None,
    until: _archive.Until = None,
    has: _archive.Has = None,
    tools: _archive.Tools = None,
    tags: _archive.Tags = None,
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
    from palaver.archive.statistics import BY, last_days, statistics
    from palaver.archive.usage import Scope
    from palaver.archive.usage_statistics import USAGE_BY, usage_statistics
    from palaver.cli._terminal import statistics as _statistics
    from palaver.cli._terminal import usage_explanation
    from palaver.config import config_path, load_config
    from palaver.prices import Prices

    known = USAGE_BY if usage else BY
    if by is not None and by not in known:
        raise OptionError(f"--by {by}: it is counted by {', '.join(known)}")
    if usage and explain:
        raise OptionError("--explain is about messages: leave out --usage")
    wanted = _archive.filters(
        platforms=platforms,
        projects=projects,
        models=models,
        since=since,
        until=until,
        has=has,
        tools=tools,
        tags=tags,
    )
    scope = Scope(wanted, is_utc=utc)
    prices = Prices(load_config(config_path()))
    grouping: By | UsageBy = by or "day"  # pyright: ignore[reportAssignmentType] - one of those that are known
    count: Any = usage_statistics if usage else statistics
    with _archive.reading() as connection:
        found: Statistics = count(connection, scope, grouping, prices)
        is_empty = not (found.total.conversations or found.total.usage_records)
        is_recent = by is None and not since and not until
        if is_recent:
            found.groups = last_days(found.groups, _DAYS)
        if as_json:
            told = _statistics.answer(connection, found, scope, grouping, is_of_records=usage)
            if explain:
                output.answer_json_with(told, "usages", usage_explanation.entries(connection, scope, prices))
            else:
                output.answer_json({**told, "usages": None})
        elif explain and found.total.conversations:
            usage_explanation.show(connection, found, scope, prices)
        elif not is_empty:
            _statistics.show(connection, found, grouping, is_recent=is_recent)
    if is_empty:
        output.tell("There is nothing like that to count.")
        raise typer.Exit(1)
