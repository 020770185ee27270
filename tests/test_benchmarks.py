"""The benchmarks run: every line of the table gives its rows, and nothing in them is wrong. Nothing is timed here."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"
IN_BENCHMARKS = f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r})"


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PALAVER_SAMPLES": os.devnull}
    return subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False, env=environment
    )


def names():
    done = run("-c", f"{IN_BENCHMARKS}; import lines; print(*lines.NAMES)")
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def gives_its_rows(*, is_growth: bool, tmp_path: Path) -> None:
    lines = [name for name in names() if name.startswith("growth-") == is_growth]
    done = run(BENCHMARKS / "run.py", "--tiny", "--data", tmp_path, *(f"--only={line}" for line in lines))
    results = json.loads((tmp_path / "results.json").read_text())
    problems = {row["name"]: row["problem"] for row in results["rows"] if row["problem"]}
    assert (done.returncode, problems) == (0, {}), done.stderr
    rows = [row["name"] for row in results["rows"]]
    assert len(rows) == len(set(rows))
    assert [line for line in lines if not any(row == line or row.startswith(f"{line}-") for row in rows)] == []
    assert {"palaver", "orjson", "msgspec", "jsonschema-rs"} <= set(results["machine"]["packages"])
    shutil.rmtree(tmp_path)


def test_every_line_gives_its_rows(tmp_path):
    gives_its_rows(is_growth=False, tmp_path=tmp_path)


def test_the_shares_of_the_time_are_told(tmp_path):
    done = run(BENCHMARKS / "shares.py", "--megabytes", "0.3", "--runs", "1", "--data", tmp_path)
    assert done.returncode == 0, done.stderr
    tables = [line.split("|")[1].strip() for line in done.stdout.splitlines() if "share |" in line]
    assert tables == [f"{name} → {into}" for into in ("JSON Lines", "archive") for name in ("claude_code", "chatgpt")]


def test_what_fails_is_told_and_the_rest_goes_on(tmp_path):
    (tmp_path / "claude_code-ascii").mkdir()
    (tmp_path / "claude_code-ascii" / "notes.txt").write_text("not made by the generator, which leaves it alone")
    done = run(BENCHMARKS / "run.py", "--tiny", "--data", tmp_path, "--only", "claude_code-ascii", "--only", "append")
    verdicts = {row["name"]: row["verdict"] for row in json.loads((tmp_path / "results.json").read_text())["rows"]}
    assert done.returncode == 1
    assert verdicts["claude_code-ascii"] == "failed"
    assert verdicts["append"] != "failed"


@pytest.fixture
def results(tmp_path):
    """A file of results with one row."""
    where = "'processor': 'P', 'cores': 2, 'memory_gb': None, 'system': 'S', 'python': '3', 'sqlite': '3'"
    row = "{'section': 'Start', **Row(name='help', work='palaver --help', ours=0.1, unit='s', limit=0.2).to_json()}"
    results = f"{{'machine': {{{where}, 'packages': {{}}}}, 'date': '2026-01-01', 'rows': [{row}]}}"
    done = run("-c", f"{IN_BENCHMARKS}; import json; from rows import Row; print(json.dumps({results}))")
    (tmp_path / "results.json").write_text(done.stdout)
    return tmp_path / "results.json"


def test_the_results_go_between_the_markers_of_a_page(results, tmp_path):
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- benchmarks: begin -->\nearlier\n<!-- benchmarks: end -->\nafter\n")
    for _ in range(2):
        assert run(BENCHMARKS / "tables.py", results, page).returncode == 0
        text = page.read_text()
        assert text.startswith("before\n<!-- benchmarks: begin -->\nMeasured on P, 2 cores, S, ")
        assert text.endswith("<!-- benchmarks: end -->\nafter\n")
        assert "earlier" not in text
        assert text.count("| palaver --help |  | 0.100 s |") == 1


def test_the_page_of_the_benchmarks_has_a_place_for_the_results():
    page = (BENCHMARKS / "README.md").read_text("utf-8")
    assert page.count("<!-- benchmarks: begin -->") == page.count("<!-- benchmarks: end -->") == 1
    target = "benchmarks/tables.py benchmarks/data/results.json benchmarks/README.md"
    assert target in (ROOT / "Makefile").read_text("utf-8")


def test_a_page_without_a_place_is_left_alone(results, tmp_path):
    page = tmp_path / "README.md"
    page.write_text("no place\n")
    done = run(BENCHMARKS / "tables.py", results, page)
    assert (done.returncode, page.read_text()) == (2, "no place\n")
    assert "has no place" in done.stderr


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ("ratio=2.0, limit=2.5, stretch=2.0", "stretch"),
        ("ratio=2.1, limit=2.5, stretch=2.0", "holds"),
        ("ratio=2.6, limit=2.5, stretch=2.0", "NO"),
        ("ours=2, limit=3, is_floor=True", "NO"),
        ("ours=4, limit=3, is_floor=True", "holds"),
        ("ratio=2, limit=3, peak=Peak(200, 50), peak_limit=Peak(150, 100)", "NO"),
        ("ratio=2, limit=3, peak=Peak(100, 120), peak_limit=Peak(150, 100)", "NO"),
        ("peak=Peak(90, 90), peak_limit=Peak(150, 100), peak_stretch_mb=100", "stretch"),
        ("peak=Peak(120, 90), peak_limit=Peak(150, 100), peak_stretch_mb=100", "holds"),
        ("ours=1, limit=3, problem='wrong'", "failed"),
        ("ours=1", ""),
    ],
)
def test_a_verdict(figures, verdict):
    done = run("-c", f"{IN_BENCHMARKS}; from rows import Peak, Row; print(Row(name='', work='', {figures}).verdict)")
    assert done.stdout.strip() == verdict, done.stderr


def test_every_line_about_growth_gives_its_rows(tmp_path):
    """Apart from the others, and far from them in this file, so that they run beside each other."""
    gives_its_rows(is_growth=True, tmp_path=tmp_path)
