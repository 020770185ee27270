"""How cost grows: the same work on 1x, 4x and 16x as much, and what one part of it costs each time.

Time is the processors', since it is the cost that shall not grow, net of start-up. What measures in this process is
imported where it is needed: on Linux a child's peak memory starts at its parent's.
"""

from dataclasses import dataclass, replace

from datasets import Asked, of_size
from imports import ARCHIVE, JSON_LINES, costs_of
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
    data_sets = [of_size(platform, asked.growth_megabytes * times, asked) for times in TIMES]
    points: list[Point] = []
    for data_set, cost in zip(data_sets, costs_of(data_sets, target, asked.runs, asked.data), strict=True):
        row = Row(name=name, work=f"{platform} → {target.work}", size=f"{data_set.size_mb:,.0f} MB", unit="s CPU")
        row.ours, row.yardstick, row.peak, row.problem = cost.ours_s, cost.yardstick_s, cost.peak, cost.problem
        points.append(Point(data_set.size_mb, cost.ours_s, row))
    return _grown(name, points)


def of_cooking(name: str, asked: Asked) -> list[Row]:
    import cook

    took = {max(asked.requests) * times // TIMES[-1]: float("inf") for times in TIMES}
    for _ in range(asked.runs):  # in turns, as everywhere: a busy moment then falls on all sizes
        for requests, before in took.items():
            took[requests] = min(before, cook.seconds(requests, asked.request_messages))
    return _grown(
        name,
        [
            Point(
                requests,
                seconds,
                Row(name=name, work="cook", size=f"{requests:,} requests", ours=seconds, unit="s CPU"),
            )
            for requests, seconds in took.items()
        ],
    )


def of_searching(name: str, asked: Asked) -> list[Row]:
    import search

    def searched(times: int) -> Point:
        messages = asked.messages * times // TIMES[-1]
        ms = search.slowest_ms(messages, asked)
        return Point(
            messages, ms, Row(name=name, work="search, the slowest", size=f"{messages:,} messages", ours=ms, unit="ms")
        )

    return _grown(name, [searched(times) for times in TIMES])


def _grown(name: str, points: list[Point]) -> list[Row]:
    for number, (times, point) in enumerate(zip(TIMES, points, strict=True)):
        row, smaller = point.row, points[:number]
        row.name, row.work = f"{name}-{times}x", f"{row.work}, {times}x"
        each = [one.cost / one.amount for one in (*smaller, point)]
        if smaller and min(each) > 0:
            row.work += ": time a part, over the smaller"
            row.ratio, row.limit = max(each[-1] / before for before in each[:-1]), GROWTH_LIMIT
    return [point.row for point in points]
