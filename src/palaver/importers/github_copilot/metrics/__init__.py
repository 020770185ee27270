"""Reports of Copilot's use: figures by day, seats and bills, which become usage records and never conversations.

Where the files are
    Where somebody saved an answer of GitHub's API: the older `/copilot/usage` (a list of days with `breakdown`), the
    `/copilot/metrics` after it (a list of days with `copilot_ide_chat` and others), the reports of usage metrics (a row
    a line, a list of rows, or `{"day_totals": […]}`; of users, organizations, enterprises or repositories), the seats
    (`{"total_seats": …, "seats": […]}`), the settings of a subscription (`seat_breakdown`), and bills
    (`{"timePeriod": …, "usageItems": […]}`). What a report's links lead to must have been fetched: a file of
    `download_links` is known, and holds no figures.

What comes out
    Of a day, one record with the figures of the day itself; and one for every row of every table in it, so that
    `palaver stats --usage --by model` has something to go by. Its `subject` is the user, else the organization, else
    the enterprise that it names. A figure is named by the way that leads to it (`totals_by_ide.loc_added_sum`,
    `copilot_ide_chat.editors.models.total_chats`): what one table says is never added to what another one says, since
    the tables tell the same things again, and leave rows out. What tells a row from others (`ide`, `editor`, `feature`,
    `language`, `model`) stands in `metadata`, with the `table` it is from; the model is also the record's own.
    Figures that add up to nothing are metadata as well: averages, prices, phases, and users that were active over a
    week or a month, which each day tells again. Tokens of the command line and of the app are `tokens`.
    The id is made of the scope, the day, the user and what tells the row from others, so that a report that is read
    again, or a longer one that holds the same days, changes nothing. Days of the two older interfaces do not say whose
    they are: there the figures themselves are the scope, so that those of two teams stay two.

    A seat is a record with the count `seats`, from its assignment to the last activity; a user who has it through
    several teams has one, and the others stand in `other_seats`. An item of a bill is one with the quantities by unit
    (`ai-credits.netQuantity`), and the net amount as its cost, in US dollars. `report` has what is said around rows.

What is left out, and counted under these rules
    `other-product` (items of a bill that are not Copilot's), `download-links` (links to reports). Not kept, since they
    only lead to a person's or a team's pages: addresses (`avatar_url` and all the others), `node_id`, `gravatar_id`.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.sources.run import Run
from palaver.sources.source import Source

OWN_NAMES: frozenset[str] = frozenset({"other_seats", "report", "table", "timestamp_inferred"})
KNOWN_KINDS: frozenset[str] = frozenset()


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.metrics.shapes import recognize as judge

    return judge(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    """No documents: all that is here goes to `run.used`."""
    from palaver.importers.github_copilot.metrics.reading import take_in

    take_in(source, run)
    yield from ()
