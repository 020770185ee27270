"""The benchmarks run: every line of the table gives its rows, and nothing in them is wrong. Nothing is timed here."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "benchmarks"


def run(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PALAVER_SAMPLES": os.devnull}
    return subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, check=False, env=environment
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    data = tmp_path_factory.mktemp("benchmarks")
    done = run(BENCHMARKS / "run.py", "--tiny", "--data", data)
    told = data / "results.json"
    assert told.exists(), done.stderr
    results = json.loads(told.read_text())
    problems = {row["name"]: row["problem"] for row in results["rows"] if row["problem"]}
    assert (done.returncode, problems) == (0, {}), done.stdout + done.stderr
    return results


def test_every_line_has_its_rows(results):
    names = [row["name"] for row in results["rows"]]
    assert len(names) == len(set(names))
    listed = run("-c", f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); import lines; print(*lines.NAMES)")
    lines = listed.stdout.split()
    assert len(lines) > 40, listed.stderr
    without = [line for line in lines if not any(name == line or name.startswith(f"{line}-") for name in names)]
    assert without == []


def test_the_results_say_where_they_were_measured(results):
    there = results["machine"]
    assert there["cores"] >= 1
    assert {"palaver", "orjson", "msgspec", "jsonschema-rs"} <= set(there["packages"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", results["date"])


def test_the_results_go_between_the_markers_of_a_readme(results, tmp_path):
    told, readme = tmp_path / "results.json", tmp_path / "README.md"
    told.write_text(json.dumps(results))
    readme.write_text("before\n<!-- benchmarks: begin -->\nearlier\n<!-- benchmarks: end -->\nafter\n")
    for _ in range(2):
        assert run(BENCHMARKS / "tables.py", told, readme).returncode == 0
        text = readme.read_text()
        assert text.startswith("before\n<!-- benchmarks: begin -->\nMeasured on ")
        assert text.endswith("<!-- benchmarks: end -->\nafter\n")
        assert "earlier" not in text
        assert text.count("palaver --help") == 1


def test_a_readme_without_a_place_is_left_alone(results, tmp_path):
    told, readme = tmp_path / "results.json", tmp_path / "README.md"
    told.write_text(json.dumps(results))
    readme.write_text("no place\n")
    done = run(BENCHMARKS / "tables.py", told, readme)
    assert (done.returncode, readme.read_text()) == (2, "no place\n")
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
    code = f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); from rows import Peak, Row"
    done = run("-c", f"{code}; print(Row(name='', work='', {figures}).verdict)")
    assert done.stdout.strip() == verdict, done.stderr


def test_what_fails_is_told_and_the_rest_goes_on(tmp_path):
    (tmp_path / "claude_code-ascii").mkdir()
    (tmp_path / "claude_code-ascii" / "notes.txt").write_text("not made by the generator, which leaves it alone")
    done = run(BENCHMARKS / "run.py", "--tiny", "--data", tmp_path, "--only", "claude_code-ascii", "--only", "append")
    verdicts = {row["name"]: row["verdict"] for row in json.loads((tmp_path / "results.json").read_text())["rows"]}
    assert done.returncode == 1
    assert verdicts["claude_code-ascii"] == "failed"
    assert verdicts["append"] != "failed"
