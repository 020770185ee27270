"""The results as a table: on the terminal, as Markdown, or between two markers of a page.

python benchmarks/tables.py RESULTS.json                         print Markdown to standard output
python benchmarks/tables.py RESULTS.json benchmarks/README.md    write it between the markers of that page
"""

import argparse
import json
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
COLUMNS = ("work", "size", "ours", "yardstick", "ratio", "limit", "goal", "own MB", "worker", "tree", "limit MB")
WIDTH, WORK_WIDTH = 175, 52
LEGEND = """\
ratio: ours over the yardstick, each less its own start; where there is none, the limit is about ours. s CPU: of all
processes; s: wall time. Best of the runs, in turns with the yardstick; memory: the worst of them.
own, worker, tree: peak memory of the coordinating process, of the largest worker, of all at one moment; the limit is
that of the first / the second. verdict: holds, or NO; stretch: the goal is reached as well, in the lines about memory
100 MB a process. MB: 1,000,000 bytes; of a ZIP, the JSON inside."""

Results = dict[str, Any]
Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description="Print results as Markdown, or write them into a page.")
    parser.add_argument("results", type=Path)
    parser.add_argument("page", type=Path, nargs="?")
    asked = parser.parse_args()
    text = "\n".join(markdown(json.loads(asked.results.read_text())))
    if asked.page is None:
        print(text)
        return 0
    before, begin, rest = asked.page.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        print(f"{asked.page} has no place for the table: a line {BEGIN} and a line {END}", file=sys.stderr)
        return 2
    asked.page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    return 0


def show(results: Results) -> None:
    """On the terminal."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"palaver, {_place(results)}", caption=LEGEND, caption_justify="left")
    for column in (*COLUMNS, "verdict"):
        is_text = column in {"work", "size"}
        table.add_column(
            column,
            justify="left" if is_text else "right",
            no_wrap=column != "work",
            min_width=WORK_WIDTH if column == "work" else None,
        )
    for section, rows in groupby(results["rows"], lambda row: row["section"]):
        table.add_section()
        table.add_row(f"[bold]{section}[/]")
        for row in rows:
            table.add_row(*_cells(row), _VERDICTS[row["verdict"]])
    console = Console()
    console = console if console.width >= WIDTH else Console(width=WIDTH)
    console.print(table)
    for row in results["rows"]:
        if row["problem"]:
            console.print(f"{row['name']}: {row['problem']}", style="red", markup=False)


_VERDICTS = {"": "", "holds": "[green]holds[/]", "stretch": "[bold green]stretch[/]"}
_VERDICTS |= {"NO": "[bold red]NO[/]", "failed": "[bold red]failed[/]"}


def markdown(results: Results) -> Iterator[str]:
    """Rows that have no limit are left out."""
    yield f"Measured on {_place(results)}.\n"
    yield f"| {' | '.join((*COLUMNS, 'verdict'))} |"
    yield "|---|---|" + "--:|" * (len(COLUMNS) - 2) + "---|"
    judged = (row for row in results["rows"] if row["verdict"])
    for section, rows in groupby(judged, lambda row: row["section"]):
        yield f"| **{section}** |{' |' * len(COLUMNS)}"
        for row in rows:
            yield f"| {' | '.join((*_cells(row), row['verdict']))} |"
    yield f"\n{LEGEND}"


def _place(results: Results) -> str:
    there = results["machine"]
    packages = ", ".join(f"{name} {version}" for name, version in there["packages"].items())
    memory = f", {there['memory_gb']:.0f} GB" if there["memory_gb"] else ""
    where = f"{there['processor']}, {there['cores']} cores{memory}, {there['system']}, Python {there['python']}"
    return f"{where}, SQLite {there['sqlite']}, {packages}; {results['date']}"


def _cells(row: Row) -> tuple[str, ...]:
    is_ratio = row["ratio"] is not None
    limits = (_limit(row, row[key], is_ratio=is_ratio) for key in ("limit", "stretch"))
    peaks = ("" if peak is None else f"{peak:.0f}" for peak in row["peak"].values())
    allowed = " / ".join(f"{peak:.0f}" for peak in row["peak_limit"].values() if peak is not None)
    note = f" ({row['note']})" if row["note"] else ""
    figures = (_figure(row[key], row["unit"]) for key in ("ours", "yardstick"))
    return (
        row["work"] + note,
        row["size"],
        *figures,
        f"{row['ratio']:.2f}" if is_ratio else "",
        *limits,
        *peaks,
        allowed,
    )


def _limit(row: Row, limit: float | None, *, is_ratio: bool) -> str:
    if limit is None:
        return ""
    sign = "≥" if row["is_floor"] else "≤"
    return f"{sign} {limit:g}" if is_ratio else f"{sign} {_figure(limit)}"


def _figure(value: float | None, unit: str = "") -> str:
    if value is None:
        return ""
    digits = (
        0 if value == int(value) or abs(value) >= 1_000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 1 else 3
    )
    return f"{value:,.{digits}f} {unit}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
