"""Searching in an archive of a million messages: the slowest of many searches, newest first and ranked.

The archive is made once, which takes minutes, and kept. A search is all that `palaver search` does but for starting and
printing: the query is understood, a page of 20 is found, counted and told with its passages. CPU time, the best of the
runs, everything in the cache: on an idle machine that is the time it takes.
"""

import hashlib
import random
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import search_archive
from datasets import Asked
from palaver.archive.connection import open_to_read
from palaver.archive.filters import Filters
from palaver.archive.hits import SearchRequest
from palaver.archive.query import ScratchIndex, parse
from palaver.archive.search import SearchResult, search
from rows import Row

LIMIT_MS = 50
SEED = 1
MANY_RUNS = 3
"""Searches take milliseconds: as many times the runs of the other rows."""


@dataclass
class Case:
    name: str
    typed: str
    settings: dict[str, Any] = field(default_factory=dict)
    has_limit: bool = True
    has_ranked_limit: bool = True

    def is_limited(self, *, is_ranked: bool) -> bool:
        return self.has_ranked_limit if is_ranked else self.has_limit


def cases(words: list[str]) -> list[Case]:
    common, frequent, usual, rare = words[0], words[20], words[400], words[8_000]
    no_limit = {"has_limit": False, "has_ranked_limit": False}
    phrase = f'"{words[0]} {words[1]}"'
    return [
        Case("the most common word", common),
        Case("a frequent word", frequent),
        Case("a word", usual),
        Case("a rare word", rare),
        Case("no such word", "xyzzyx"),
        Case("two words", f"{frequent} {words[60]}"),
        Case("five words", " ".join(words[30:35])),
        Case("either word, without another", f"{usual} OR {words[410]} -{common}"),
        Case("a phrase", f'"{frequent} {words[30]}"'),
        Case("the most common phrase", phrase, has_ranked_limit=False),
        Case("beginning, 4 letters", f"{words[3_000][:4]}*"),
        Case("beginning, 3 letters", f"{words[3_000][:3]}*"),
        Case("beginning, 2 letters", f"{words[3_000][:2]}*", **no_limit),
        *(
            Case(f"{name}, {told}", typed, settings)
            for told, typed in (("common", common), ("usual", usual))
            for name, settings in FILTERS.items()
        ),
        Case("a model that is not there, common", common, {"filters": Filters(models=("gpt-3",))}, **no_limit),
        Case("a role that is not there, common", common, {"roles": ("system",)}, **no_limit),
        Case("an emoji that is not there", "\N{PARTY POPPER}", **no_limit),
    ]


FILTERS: dict[str, dict[str, Any]] = {
    "platform, 90 %": {"filters": Filters(platforms=("claude_code",))},
    "platform, 9 %": {"filters": Filters(platforms=("chatgpt",))},
    "platform, 1 %": {"filters": Filters(platforms=("claude_ai",))},
    "platform, none": {"filters": Filters(platforms=("deepseek",))},
    "project, 0.1 %": {"filters": Filters(projects=("project-290",))},
    "since the last day": {"filters": Filters(since="2026-04-14T00:00:00.000Z")},
    "since tomorrow": {"filters": Filters(since="2027-01-01T00:00:00.000Z")},
    "until two years ago": {"filters": Filters(until="2024-04-15T00:00:00.000Z")},
    "by a person": {"authors": ("human",)},
    "failed results": {"only_errors": True, "columns": ("tool",)},
    "in thinking": {"columns": ("thinking",)},
    "where a tool was called": {"filters": Filters(tools=("Bash",))},
}


def measure(name: str, asked: Asked) -> list[Row]:
    """One row for each way to order, over all searches that have a limit; one for the phrase that only shall have."""
    figures = _figures(asked.messages, asked)
    size = f"{asked.messages:,} messages"
    rows: list[Row] = []
    for order, is_ranked in (("newest first", False), ("ranked", True)):
        limited = {case.name: ms[order] for case, ms in figures if case.is_limited(is_ranked=is_ranked)}
        slowest = max(limited, key=lambda name: limited[name])
        rows.append(
            Row(
                name=f"{name}-{order.split()[0]}",
                work=f"search, {order}: the slowest of {len(limited)} ({slowest})",
                size=size,
                ours=limited[slowest],
                unit="ms CPU",
                limit=LIMIT_MS,
                details={case.name: ms for case, ms in figures},
            )
        )
    phrases = [ms["ranked"] for case, ms in figures if case.has_limit and not case.has_ranked_limit]
    # No limit, a goal only: what holds is the goal.
    work = "search, ranked: the most common phrase (stretch goal)"
    rows.append(Row(name=f"{name}-phrase", work=work, size=size, ours=max(phrases), unit="ms CPU", stretch=LIMIT_MS))
    return rows


def slowest_ms(messages: int, asked: Asked) -> float:
    """Of the searches that have a limit."""
    figures = _figures(messages, asked)
    orders = (("newest first", False), ("ranked", True))
    return max(ms[name] for case, ms in figures for name, is_ranked in orders if case.is_limited(is_ranked=is_ranked))


def archive_of(messages: int, asked: Asked) -> Path:
    """Return the archive of so many invented messages, made on first use."""
    archive = asked.data / f"search-{messages}-{_fingerprint()}.db"
    if not archive.exists():
        print(f"making {archive.name} with {messages:,} messages", file=sys.stderr)
        search_archive.make(archive, messages, SEED)
    return archive


def _figures(messages: int, asked: Asked) -> list[tuple[Case, dict[str, float]]]:
    archive = archive_of(messages, asked)
    words = search_archive.vocabulary(random.Random(SEED))
    figures: list[tuple[Case, dict[str, float]]] = []
    with closing(open_to_read(archive)) as connection:
        for case in cases(words):
            newest_ms, found = _measured(connection, case, asked.runs * MANY_RUNS, is_ranked=False)
            ranked_ms, _ = _measured(connection, case, asked.runs * MANY_RUNS, is_ranked=True)
            figures.append((case, {"found": found.total, "newest first": newest_ms, "ranked": ranked_ms}))
    return figures


def _fingerprint() -> str:
    return hashlib.blake2b(Path(search_archive.__file__).read_bytes(), digest_size=4).hexdigest()


def _measured(connection: Any, case: Case, runs: int, *, is_ranked: bool) -> tuple[float, SearchResult]:
    best_ms = float("inf")
    while True:
        started = time.process_time()
        with closing(ScratchIndex()) as scratch:
            wanted = SearchRequest(parse(case.typed, scratch), **case.settings)
        found = search(connection, wanted, is_ranked=is_ranked)
        took_ms = 1_000 * (time.process_time() - started)
        best_ms = min(best_ms, took_ms)
        runs -= 1
        if runs < 1 or took_ms > 2_000:
            return best_ms, found
