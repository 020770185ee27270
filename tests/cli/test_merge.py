import gzip
import json

import pytest

from importing import FIXTURES

TRACES = FIXTURES / "traces"


@pytest.fixture
def merged(run, tmp_path):
    def merge(*words, exit_code=0):
        out = tmp_path / "merged.jsonl"
        result = run("merge", *words, "--output", out)
        assert result.exit_code == exit_code, result.stderr
        return [json.loads(line) for line in out.read_bytes().splitlines()], result.stderr

    return merge


def test_chunks_beside_the_log_are_found(merged, tmp_path):
    found, told = merged(TRACES / "tide.jsonl")
    assert "4 entries: 2 streams from 13 chunks, 1 from recorded bodies" in told
    named, _ = merged(TRACES / "tide.jsonl", "--chunks", TRACES / "tide.stream.jsonl")
    assert named == found
    (tmp_path / "alone.jsonl").write_bytes((TRACES / "tide.jsonl").read_bytes())
    alone, told = merged(tmp_path / "alone.jsonl")
    assert "0 streams from 0 chunks, 2 from recorded bodies" in told
    assert [entry["request"] for entry in alone] == [entry["request"] for entry in found]


def test_chunks_in_several_files_and_packed(merged, tmp_path):
    whole, _ = merged(TRACES / "tide.jsonl")
    lines = (TRACES / "tide.stream.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines[:5]))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[5:])))
    parts, _ = merged(TRACES / "tide.jsonl", "--chunks", tmp_path / "a.jsonl", "--chunks", tmp_path / "b.jsonl.gz")
    assert parts == whole


def test_what_went_wrong_is_told(merged):
    lines, told = merged(TRACES / "knots.jsonl", exit_code=1)
    assert sum("error" in line for line in lines) == 5
    for words in (
        "entry 2, chunk 4: corrupted_data",
        "entry 2, chunk 6: malformed_sse: a rope across the line",
        "body_mismatch",
        "Failed to parse chunk 2 of 9",
        "request req_knot_lost: orphaned_chunks",
        "entries 3 and 4",
        "line 30",
    ):
        assert words in told


def test_standard_input_and_output(finish):
    log = (TRACES / "tide.jsonl").read_bytes()
    result = finish("merge", "-", "--chunks", TRACES / "tide.stream.jsonl", stdin=log)
    assert result.returncode == 0, result.stderr
    assert [bool(json.loads(line).get("request")) for line in result.stdout.splitlines()] == [True] * 4
    alone = finish("merge", "-", stdin=log)
    assert b"2 from recorded bodies" in alone.stderr


def test_a_dry_run_writes_nothing(run, tmp_path):
    out = tmp_path / "merged.jsonl"
    result = run("merge", TRACES / "knots.jsonl", "--output", out, "--dry-run")
    assert result.exit_code == 1
    assert "nothing was written" in result.stderr
    assert not result.stdout
    assert not out.exists()


def test_a_log_or_its_chunks_are_never_overwritten(run, tmp_path):
    for name in ("tide.jsonl", "tide.stream.jsonl"):
        (tmp_path / name).write_bytes((TRACES / name).read_bytes())
    for name in ("tide.jsonl", "tide.stream.jsonl"):
        result = run("merge", tmp_path / "tide.jsonl", "--output", tmp_path / name)
        assert result.exit_code == 2
        assert (tmp_path / name).read_bytes() == (TRACES / name).read_bytes()


def test_an_array_is_read_as_well(merged, tmp_path):
    whole, _ = merged(TRACES / "tide.jsonl")
    for name in ("tide.jsonl", "tide.stream.jsonl"):
        lines = (TRACES / name).read_text("utf-8").splitlines()
        (tmp_path / name).write_text(json.dumps([json.loads(line) for line in lines], indent=1))
    assert merged(tmp_path / "tide.jsonl")[0] == whole
