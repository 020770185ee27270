"""How cost grows: the same work on 1x, 4x and 16x as much, and what one part of it costs each time.

Time is the processors', since it is the cost that shall not grow, net of start-up. What measures in this process is
imported where it is needed: on Linux a child's peak memory starts at its parent's.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from datasets import Asked, of_size
from imports import ARCHIVE, JSON_LINES, Target, cost_of
from rows import Row

TIMES = (1, 4, 16)
GROWTH_LIMIT = 1.15


@dataclass
class Point:
    amount: float
    cost: float
    row: Row


def of_imports(name: str, asked: Asked) -> list[Row]:
    _, platform, into = name.split("-")
    target = replace(JSON_LINES if into == "jsonl" else ARCHIVE, clock="cpu_s")
    return _grown(name, lambda times: _import(name, platform, target, asked.growth_megabytes * times, asked))


def _import(name: str, platform: str, target: Target, megabytes: float, asked: Asked) -> Point:
    data_set = of_size(platform, megabytes, asked)
    cost = cost_of(data_set, target, asked.runs, asked.data)
    row = Row(name=name, work=f"{platform} → {target.work}", size=f"{data_set.size_mb:,.0f} MB", unit="s CPU")
    row.ours, row.yardstick, row.peak, row.problem = cost.ours_s, cost.yardstick_s, cost.peak, cost.problem
    return Point(data_set.size_mb, cost.ours_s, row)


def of_cooking(name: str, asked: Asked) -> list[Row]:
    import cook

    def cooked(times: int) -> Point:
        requests = max(asked.requests) * times // TIMES[-1]
        seconds = min(cook.seconds(requests, asked.request_messages) for _ in range(asked.runs))
        row = Row(name=name, work="cook", size=f"{requests:,} requests", ours=seconds, unit="s CPU")
        return Point(requests, seconds, row)

    return _grown(name, cooked)


def of_searching(name: str, asked: Asked) -> list[Row]:
    import search

    def searched(times: int) -> Point:
        messages = asked.messages * times // TIMES[-1]
        ms = search.slowest_ms(messages, asked)
        return Point(
            messages, ms, Row(name=name, work="search, the slowest", size=f"{messages:,} messages", ours=ms, unit="ms")
        )

    return _grown(name, searched)


def _grown(name: str, measure: Callable[[int], Point]) -> list[Row]:
    done: list[Point] = []
    for times in TIMES:
        point = measure(times)
        each = point.cost / point.amount
        row = point.row
        row.name = f"{name}-{times}x"
        row.work += f", {times}x"
        if done and each > 0 and all(before.cost > 0 for before in done):
            row.work += ", a part of it over that of less"
            row.ratio = max(each / (before.cost / before.amount) for before in done)
            row.limit = GROWTH_LIMIT
        done.append(point)
    return [point.row for point in done]
