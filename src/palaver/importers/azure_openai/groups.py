"""Groups: all rows with one correlation id, parted into the calls that they tell of.

One call has at most one row of the gateway with its bodies, or two messages of a policy; a set of rows of the log for
language models; and any number of rows without content. The same id may come again with something else: that is
another call.
"""

from dataclasses import dataclass, field

from palaver.importers.azure_openai.chunks import sets_of
from palaver.importers.azure_openai.numbers import time_of
from palaver.importers.azure_openai.row import BODIES, Row

_REQUEST, _RESPONSE = (BODIES[0], BODIES[2]), (BODIES[1], BODIES[3])


@dataclass(slots=True)
class Parts:
    """The rows of one call."""

    heads: list[Row] = field(default_factory=list[Row])
    """Of the gateway or of a policy: with the bodies, or with what is said around them."""
    llm: list[Row] = field(default_factory=list[Row])
    others: list[Row] = field(default_factory=list[Row])
    """Rows without content."""

    @property
    def rows(self) -> list[Row]:
        return [*self.heads, *self.llm, *self.others]

    @property
    def has_content(self) -> bool:
        return any(row.has_bodies for row in self.heads) or any(row.has_messages for row in self.llm)


def distinct(rows: list[Row]) -> list[Row]:
    """The rows without those that say exactly what another one says."""
    if len(rows) == 1:
        return rows
    found: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        alike = found.setdefault((row.table, row.text("sequencenumber"), len(row.columns)), [])
        if not alike or not any(row.columns == other.columns for other in alike):
            alike.append(row)
    return [row for alike in found.values() for row in alike]


def parted(rows: list[Row]) -> list[Parts]:
    """The calls of a group; one without content if none has any."""
    llm = [row for row in rows if row.table == "llm" and not row.has_bodies]
    if len(llm) == len(rows) and len(sets := sets_of(llm)) == 1:
        return [Parts(llm=sets[0])]
    heads = _paired(sorted((row for row in rows if row.has_bodies), key=_time))
    without = [row for row in rows if row.table != "llm" and not row.has_bodies]
    found = [Parts(heads=some) for some in heads]
    for at, some in enumerate(sets_of(llm)):
        if at < len(found):
            found[at].llm = some
        elif found and not any(row.has_messages for row in some):
            found[0].llm += some
        else:
            found.append(Parts(llm=some))
    for row in sorted(without, key=_time):
        lacking = next((parts for parts in found if not parts.heads), None) if row.table == "gateway" else None
        if lacking is not None:
            lacking.heads.append(row)
        elif found:
            found[0].others.append(row)
        else:
            found.append(Parts(others=[row]))
    return found


def _paired(rows: list[Row]) -> list[list[Row]]:
    """Rows with bodies, each alone, but a request and its answer together where they are in two."""
    found: list[list[Row]] = []
    for row in rows:
        wanted = (_RESPONSE, _REQUEST) if not row.has(_REQUEST) else (_REQUEST, _RESPONSE)
        is_half = not row.has(_REQUEST) or not row.has(_RESPONSE)
        other = next((some for some in found if is_half and _is_other_half(some, *wanted)), None)
        if other is None:
            found.append([row])
        else:
            other.append(row)
    return [sorted(some, key=lambda row: not row.has(_REQUEST)) for some in found]


def _is_other_half(rows: list[Row], has: tuple[str, ...], lacks: tuple[str, ...]) -> bool:
    """Whether a row that has one side belongs to these, which have the other side alone."""
    return len(rows) == 1 and rows[0].has(lacks) and not rows[0].has(has)


def _time(row: Row) -> str:
    return time_of(row.get("timegenerated", "time", "eventtime"))
