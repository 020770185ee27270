"""Our usage beside that of another program, and which facts of the archive account for each difference.

A difference is explained only by a recount: the answers of the archive are counted again in the ways in which another
program may count (every copy, days of UTC, no agents, only sessions whose files still exist, …). The smallest set of
ways that yields exactly the other program's tokens is the explanation; what no recount yields is unexplained.

Output alone may also be less than ours: where input and cache tokens are equal to the token, the same answers were
counted, by log lines that were written before the answers finished.
"""

import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import chain, combinations
from typing import Literal, NamedTuple

from palaver.archive.statistics import price_answer
from palaver.archive.usage import Counts, Scope, Usage, counted_answers, counted_record_answers
from palaver.archive.usage_blocks import BlockIndex, usage_blocks
from palaver.prices import Prices

Period = Literal["day", "week", "month", "session", "block"]
DATED: tuple[Period, ...] = ("day", "week", "month")
"""Periods that depend on a time zone."""
Way = Literal[
    "copies", "other_copy", "agents", "deleted_files", "other_folders", "undated", "records", "later", "early_lines"
]
CostReason = Literal["", "tokens", "prices", "our_price", "their_price"]


class Tokens(NamedTuple):
    input: int = 0
    output: int = 0
    cache_write: int = 0
    cache_read: int = 0

    def plus(self, other: "Tokens") -> "Tokens":
        return Tokens(*[a + b for a, b in zip(self, other, strict=True)])

    def minus(self, other: "Tokens") -> "Tokens":
        return Tokens(*[a - b for a, b in zip(self, other, strict=True)])


NOTHING = Tokens()
Key = tuple[str, str]
"""A period and a model; the model is "" where models are not distinguished."""


class Figures(NamedTuple):
    tokens: Tokens = NOTHING
    cost: Decimal = Decimal(0)
    is_priced: bool = True
    """Whether every answer has a known price, or the report has costs."""


class Report(NamedTuple):
    """What another program counted."""

    period: Period
    figures: dict[Key, Figures]
    folders: tuple[str, ...]
    """The folders whose files it reads."""


@dataclass(slots=True)
class Difference:
    """One period and model, on both sides."""

    key: Key
    theirs: Figures
    ours: Figures
    reasons: list[tuple[Way, Tokens, int]] = field(default_factory=list[tuple[Way, Tokens, int]])
    """What accounts for the difference of tokens: a way to count, what it adds to ours, and for how many answers."""
    unexplained: Tokens = NOTHING
    cost_reason: CostReason = ""
    """Why the costs differ: since the tokens do, by other prices, or since one side has no price."""

    def tokens(self) -> Tokens:
        return self.theirs.tokens.minus(self.ours.tokens)


@dataclass(slots=True)
class Comparison:
    period: Period
    is_utc: bool
    """Whether their days are those of UTC."""
    differences: list[Difference]
    """All periods and models that one of the sides has, in order."""

    def is_explained(self) -> bool:
        return all(difference.unexplained == NOTHING for difference in self.differences)


class _Atom(NamedTuple):
    """What an answer adds to a cell, in one way to count."""

    usage: Usage
    tokens: Tokens


def compare(connection: sqlite3.Connection, scope: Scope, prices: Prices, report: Report) -> Comparison:
    """Compare their figures with ours in the same periods; days are those of the zone in which more of them agree."""
    # So that `day` is the local one: that of UTC is the beginning of the time.
    answers = _Answers(connection, replace(scope, is_utc=False), prices, report.folders)
    period, theirs = report.period, report.figures
    zones = [scope.is_utc, not scope.is_utc] if period in DATED else [True]
    found = [_compared(answers, period, theirs, is_utc=is_utc) for is_utc in zones]
    return min(found, key=lambda one: sum(abs(count) for each in one.differences for count in each.tokens()))


class _Answers:
    """The answers of the archive, with the facts that recounts need; the other program reads files in `folders`."""

    def __init__(self, connection: sqlite3.Connection, scope: Scope, prices: Prices, folders: Collection[str]) -> None:
        found = chain(counted_answers(connection, scope), counted_record_answers(connection, scope))
        self.all = [(answer, price_answer(answer, prices)) for answer in found if answer.owner.is_chosen]
        agents = connection.execute("select conversation_key from conversation where is_sidechain")
        self.agents = {key for (key,) in agents}
        inferred = "select conversation, message_id from message where instr(rest, '\"timestamp_inferred\":true') > 0"
        self._undated = set(connection.execute(f"{inferred} and tokens is not null"))
        self._kept = set[int | None]()
        self._read = set[int | None]()
        exists: dict[str, bool] = {}
        files = "select o.conversation, f.path from origin o join source_file f on f.source = o.source"
        for key, path in connection.execute(files):
            if path not in exists:
                exists[path] = os.path.exists(path)  # noqa: PTH110 - thousands of files
            if exists[path]:
                self._kept.add(key)
                if any(path.startswith(folder + os.sep) for folder in folders):
                    self._read.add(key)

    def missing(self, usages: Collection[Usage]) -> Way | None:
        """Return why a program that reads files can see none of these copies; None if it can see one."""
        keys = {usage.conversation_key for usage in usages}
        if None in keys or keys & self._read:
            return None
        return "other_folders" if keys & self._kept else "deleted_files"

    def is_undated(self, usages: Collection[Usage]) -> bool:
        return all((usage.conversation_key, usage.message_id) in self._undated for usage in usages)


def _compared(answers: _Answers, period: Period, theirs: dict[Key, Figures], *, is_utc: bool) -> Comparison:
    key_of = _key_function(answers, period, theirs, is_utc=is_utc)
    ours: dict[Key, Figures] = defaultdict(Figures)
    atoms: dict[Key, list[_Atom]] = defaultdict(list)
    for answer, cost in answers.all:
        key = key_of(answer.owner)
        tokens = _tokens(answer.counts)
        before = ours[key]
        ours[key] = Figures(
            before.tokens.plus(tokens),
            before.cost + (cost.amount if cost else 0),
            before.is_priced and (cost is not None or tokens == NOTHING),
        )
        atoms[key].append(_Atom(answer.owner, tokens))
    ways, moved = _recounts(answers, key_of)
    first, last = min(theirs)[0], max(theirs)[0]
    keys = {key for key, figures in ours.items() if figures.tokens != NOTHING and _is_between(key, first, last, period)}
    found: list[Difference] = []
    for key in sorted(keys | theirs.keys()):
        difference = Difference(key, theirs.get(key, Figures()), ours.get(key, Figures()))
        _explain(difference, ways.get(key, {}), atoms.get(key, []) if key[0] == last else [])
        found.append(difference)
    _withdraw_half_moves(found, ways, moved)
    return Comparison(period, is_utc, found)


def _withdraw_half_moves(found: list[Difference], ways: dict[Key, "_Ways"], moved: list[tuple[Key, Key]]) -> None:
    """Explain differences without `other_copy` where answers would leave one cell and arrive in no other."""
    by_key = {difference.key: difference for difference in found}
    is_settled = False
    while not is_settled:
        is_settled = True
        for key, other in moved:
            difference, partner = by_key.get(key), by_key.get(other)
            if difference and partner and _uses_moves(difference) and not _uses_moves(partner):
                ways[key].pop("other_copy")
                difference.reasons, difference.unexplained = [], NOTHING
                _explain(difference, ways[key], [])
                is_settled = False


def _uses_moves(difference: Difference) -> bool:
    return any(way == "other_copy" for way, _, _ in difference.reasons)


def _is_between(key: Key, first: str, last: str, period: Period) -> bool:
    return period == "session" or first <= key[0] <= last


def _key_function(
    answers: _Answers, period: Period, theirs: dict[Key, Figures], *, is_utc: bool
) -> Callable[[Usage], Key]:
    has_models = any(model for _, model in theirs)
    blocks = BlockIndex(usage_blocks(answer.owner.timestamp for answer, _ in answers.all) if period == "block" else [])
    first_weekday = _first_weekday(theirs) if period == "week" else 0

    def key_of(usage: Usage) -> Key:
        day = usage.timestamp[:10] if is_utc else usage.day or ""
        match period:
            case "day":
                name = day
            case "week":
                name = _week(day, first_weekday)
            case "month":
                name = day[:7]
            case "session":
                name = usage.conversation_id.partition(":agent-")[0]
            case "block":
                name = blocks.block_start(usage.timestamp) or ""
        return name, (usage.model or "") if has_models else ""

    return key_of


def _first_weekday(theirs: dict[Key, Figures]) -> int:
    """Return the day on which their weeks begin; Monday is 0."""
    for name, _ in theirs:
        try:
            return date.fromisoformat(name).weekday()
        except ValueError:
            continue
    return 0


def _week(day: str, first_weekday: int) -> str:
    try:
        when = date.fromisoformat(day)
        return (when - timedelta(days=(when.weekday() - first_weekday) % 7)).isoformat()
    except (ValueError, OverflowError):
        return day


_Ways = dict[Way, tuple[Tokens, int]]
"""What each way to count adds to a cell, and for how many answers."""


def _recounts(answers: _Answers, key_of: Callable[[Usage], Key]) -> tuple[dict[Key, _Ways], list[tuple[Key, Key]]]:
    """Return the ways to count each cell, and the pairs of cells between which `other_copy` moves answers."""
    found: dict[Key, _Ways] = defaultdict(dict)
    moved: list[tuple[Key, Key]] = []

    def add(way: Way, usage: Usage, tokens: Tokens, number: int = 1) -> None:
        cell = found[key_of(usage)]
        before, answers_before = cell.get(way, (NOTHING, 0))
        cell[way] = before.plus(tokens), answers_before + number

    for answer, _ in answers.all:
        owner, counts, copies = answer
        tokens = _tokens(counts)
        taken_away = NOTHING.minus(tokens)
        if owner.conversation_key is None:
            add("records", owner, taken_away)
            continue
        if copies:
            add("copies", owner, _tokens(owner.counts).minus(tokens), 0)
            for copy in copies:
                add("copies", copy, _tokens(copy.counts))
            last = copies[-1]
            first_key, last_key = key_of(owner), key_of(last)
            if first_key != last_key:
                add("other_copy", last, tokens)
                add("other_copy", owner, taken_away)
                moved += [(first_key, last_key), (last_key, first_key)]
        if owner.conversation_key in answers.agents:
            add("agents", owner, taken_away)
        if answers.is_undated([owner, *copies]):
            add("undated", owner, taken_away)
        elif missing := answers.missing([owner, *copies]):
            add(missing, owner, taken_away)
    return found, moved


def _explain(difference: Difference, ways: _Ways, atoms: list[_Atom]) -> None:
    wanted = difference.tokens()
    if wanted != NOTHING:
        reasons = _smallest_set(wanted, ways) or _earlier_state(difference.theirs.tokens, atoms)
        if reasons is None:
            difference.unexplained = wanted
        else:
            difference.reasons = reasons
    if difference.theirs.is_priced and _costs_differ(difference):
        difference.cost_reason = _cost_reason(difference)


def _smallest_set(wanted: Tokens, ways: _Ways) -> list[tuple[Way, Tokens, int]] | None:
    """Return the fewest ways that together add exactly what is wanted, or all of it but some output."""
    for is_exact in (True, False):
        for chosen in _subsets(ways):
            added = NOTHING
            for way in chosen:
                added = added.plus(ways[way][0])
            left = wanted.minus(added)
            reasons: list[tuple[Way, Tokens, int]] = [(way, *ways[way]) for way in chosen]
            if left == NOTHING:
                return reasons
            if not is_exact and left._replace(output=0) == NOTHING and left.output < 0:
                return [*reasons, ("early_lines", left, 0)]
    return None


def _subsets(ways: _Ways) -> Iterator[tuple[Way, ...]]:
    names: list[Way] = [way for way in _LIKELY_FIRST if ways.get(way, (NOTHING, 0))[0] != NOTHING]
    return chain.from_iterable(combinations(names, size) for size in range(len(names) + 1))


_LIKELY_FIRST: tuple[Way, ...] = (
    "copies",
    "undated",
    "deleted_files",
    "other_folders",
    "records",
    "other_copy",
    "agents",
)
"""Of several ways with the same result, the first is named."""


def _earlier_state(theirs: Tokens, atoms: list[_Atom]) -> list[tuple[Way, Tokens, int]] | None:
    """Return that they counted before the last answers came, if their tokens are those of the answers before."""
    ordered = sorted(atoms, key=lambda atom: atom.usage.timestamp)
    counted = NOTHING
    for number, atom in enumerate(ordered):
        if number and counted == theirs:
            later = NOTHING
            for left in ordered[number:]:
                later = later.minus(left.tokens)
            return [("later", later, len(ordered) - number)]
        counted = counted.plus(atom.tokens)
    return None


_PRECISION = Decimal("0.0001")
"""Sums of floating-point numbers differ by less."""


def _costs_differ(difference: Difference) -> bool:
    return abs(difference.theirs.cost - difference.ours.cost) > _PRECISION


def _cost_reason(difference: Difference) -> CostReason:
    if difference.tokens() != NOTHING:
        return "tokens"
    if not difference.ours.is_priced:
        return "our_price"
    return "prices" if difference.theirs.cost else "their_price"


def _tokens(counts: Counts) -> Tokens:
    sent, answered, read, written, _, _ = counts
    return Tokens(sent or 0, answered or 0, written or 0, read or 0)
