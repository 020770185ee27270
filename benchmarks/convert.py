"""The conversion alone against the yardstick, in turns in one process: no start-up, no discovery, nothing written.

    python benchmarks/convert.py DIR|EXPORT.zip [--platform roo_code] [--rounds 5]

This is the measure that limits of conversion are set by; `run.py` measures the whole command, as a user feels it.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson

from cut import cut
from datasets import WITHIN_STRINGS
from palaver.model.report import SourceReport
from palaver.sources.discovery import Unit
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines
from palaver.workflows.parallel import collect_rarely
from yardstick import Within, parse_all, parse_elements


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the conversion against the yardstick in one process.")
    parser.add_argument("source", type=Path, help="a folder of sessions or tasks, or a ChatGPT export")
    parser.add_argument("--platform", default="", help="whose they are: Claude Code's unless something else is said")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    source: Path = arguments.source
    is_export = source.suffix == ".zip"
    elements = cut(source) if is_export else None
    collect_rarely()
    units, _ = find_units([source], arguments.platform or ("chatgpt" if is_export else "claude_code"))
    parsing: list[float] = []
    converting: list[float] = []
    for _ in range(arguments.rounds):
        loads = Within() if arguments.platform in WITHIN_STRINGS else orjson.loads
        parsing.append(parse_elements(str(elements)) if elements else _cpu_s(partial(parse_all, str(source), loads)))
        converting.append(_cpu_s(partial(_convert, units)))
    ratio = min(converting) / min(parsing)
    print(f"yardstick {min(parsing):.3f} s, conversion {min(converting):.3f} s, ratio {ratio:.2f}")


def _convert(units: list[Unit]) -> None:
    """Read, map, validate and serialise; drop the bytes."""
    for unit in units:
        report = SourceReport(unit.source.label, unit.platform)
        for _ in document_lines(unit, report, {}):
            pass
        if report.failure:
            raise SystemExit(f"{unit.source.label}: {report.failure}")


def _cpu_s(work: Callable[[], None]) -> float:
    before = time.process_time()
    work()
    return time.process_time() - before


if __name__ == "__main__":
    main()
