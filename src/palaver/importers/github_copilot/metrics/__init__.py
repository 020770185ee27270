"""Reports of Copilot usage: daily figures, seats and bills, which become usage records and never conversations.

Where the files are
    Wherever a response of GitHub's API was saved: the older `/copilot/usage` (a list of days with `breakdown`), the
    `/copilot/metrics` after it (a list of days with `copilot_ide_chat` and others), the usage metrics reports (a row
    per line, a list of rows, or `{"day_totals": […]}`; for users, organizations, enterprises or repositories), the
    seats (`{"total_seats": …, "seats": […]}`), the settings of a subscription (`seat_breakdown`), and bills
    (`{"timePeriod": …, "usageItems": […]}`). The reports behind `download_links` must have been fetched: a file of
    links is recognized, but has no figures.

What comes out
    For each day, one record with the figures of the day itself, and one for every row of every table in it, so that
    `palaver stats --usage --by model` has something to group by. Its `subject` is the user, else the organization, else
    the enterprise that it names. A figure is named by its path (`totals_by_ide.loc_added_sum`,
    `copilot_ide_chat.editors.models.total_chats`): figures of different tables are never added up, because the tables
    repeat the same data and omit rows. What distinguishes a row from others (`ide`, `editor`, `feature`, `language`,
    `model`) is in `metadata`, with the `table` it is from; the model is also the record's own.
    Figures that cannot be added up are metadata as well: averages, prices, phases, and users active over a week or a
    month, which every day repeats. Tokens of the command line and of the app are `tokens`.
    The id is derived from the scope, the day, the user and what distinguishes the row, so that importing a report
    again, or a longer one with the same days, changes nothing. Days of the two older APIs do not name their owner:
    there the figures themselves are the scope, so that those of two teams stay separate.

    A seat is a record with the count `seats`, from its assignment to the last activity; a user with seats through
    several teams has one record, and the other seats are in `other_seats`. An item of a bill is a record with the
    quantities by unit (`ai-credits.netQuantity`), and the net amount as its cost, in US dollars. `report` has the
    fields around the rows.

What is left out, and counted under these rules
    `other-product` (items of a bill that are not Copilot's), `download-links` (links to reports). Not preserved,
    because they only lead to pages of a person or a team: URLs (`avatar_url` and all others), `node_id`, `gravatar_id`.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.sources.run import Run
from palaver.sources.source import Source

OWN_NAMES: frozenset[str] = frozenset({"other_seats", "report", "table", "timestamp_inferred"})
KNOWN_KINDS: frozenset[str] = frozenset()


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.metrics.recognition import recognize as recognize_file

    return recognize_file(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    """Yield no documents: usage records go to `run.used`."""
    from palaver.importers.github_copilot.metrics.reader import read_report

    read_report(source, run)
    yield from ()
