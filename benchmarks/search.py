"""Measures searching in an archive of a million messages, and prints one table.

    python benchmarks/search.py [--messages 1000000] [--runs 7] [--only NAME]

The archive is made once, which takes minutes, and kept in `benchmarks/data/`. A search is all that `palaver search`
does but for starting and printing: the query is understood, a page of 20 is found, counted and told with its passages.
"""

import argparse
import hashlib
import random
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import search_archive
from datasets import DATA
from palaver.archive.connection import open_to_read
from palaver.archive.filters import Filters
from palaver.archive.hits import Wanted
from palaver.archive.query import parse
from palaver.archive.scratch import Scratch
from palaver.archive.search import Found, search

LIMIT_MS = 50
SEED = 1
CAPTION = """\
CPU time of the whole search in this process, the best of the runs, everything in the cache: on an idle machine that is
the time it takes.
newest: the first 20, newest first; ranked: the best 20 of the newest 2,000.
The limit is for both; where there is none, the figure is told for what it is."""


@dataclass
class Case:
    name: str
    typed: str
    settings: dict[str, Any] = field(default_factory=dict)
    has_limit: bool = True
    has_ranked_limit: bool = True


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


def main() -> int:
    arguments = _arguments()
    archive = DATA / f"search-{arguments.messages}-{_fingerprint()}.db"
    DATA.mkdir(exist_ok=True)
    if not archive.exists():
        print(f"making {archive.name} with {arguments.messages:,} messages")
        search_archive.make(archive, arguments.messages, SEED)
    table = Table(title=f"palaver search, {arguments.messages:,} messages", caption=CAPTION, caption_justify="left")
    table.add_column("search", no_wrap=True)
    for heading in ("found", "newest\nms", "holds", "ranked\nms", "holds"):
        table.add_column(heading, justify="right", no_wrap=True)
    words = search_archive.vocabulary(random.Random(SEED))
    with closing(open_to_read(archive)) as connection:
        for case in cases(words):
            if arguments.only and arguments.only not in case.name:
                continue
            newest_ms, found = _measured(connection, case, arguments.runs, is_ranked=False)
            ranked_ms, _ = _measured(connection, case, arguments.runs, is_ranked=True)
            table.add_row(
                case.name,
                f"{'' if found.is_total_exact else '> '}{found.total:,}",
                f"{newest_ms:.1f}",
                _holds(newest_ms, has_limit=case.has_limit),
                f"{ranked_ms:.1f}",
                _holds(ranked_ms, has_limit=case.has_ranked_limit),
            )
    Console(width=120).print(table)
    _tell_memory()
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure searching in a large archive.")
    parser.add_argument("--messages", type=int, default=1_000_000, help="how many messages the archive holds")
    parser.add_argument("--runs", type=int, default=7, help="runs of each search; the best counts")
    parser.add_argument("--only", metavar="NAME", help="only searches with this in their name")
    return parser.parse_args()


def _fingerprint() -> str:
    return hashlib.blake2b(Path(search_archive.__file__).read_bytes(), digest_size=4).hexdigest()


def _measured(connection: Any, case: Case, runs: int, *, is_ranked: bool) -> tuple[float, Found]:
    best_ms = float("inf")
    while True:
        started = time.process_time()
        with closing(Scratch()) as scratch:
            wanted = Wanted(parse(case.typed, scratch), **case.settings)
        found = search(connection, wanted, is_ranked=is_ranked)
        took_ms = 1_000 * (time.process_time() - started)
        best_ms = min(best_ms, took_ms)
        runs -= 1
        if runs < 1 or took_ms > 2_000:
            return best_ms, found


def _holds(took_ms: float, *, has_limit: bool) -> str:
    if not has_limit:
        return ""
    return "[green]yes[/]" if took_ms < LIMIT_MS else "[red]NO[/]"


def _tell_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)
    print(
        f"peak memory of this process, vocabulary included: {peak / 1_000_000:.0f} MB; limit per search {LIMIT_MS} ms"
    )


if __name__ == "__main__":
    sys.exit(main())
