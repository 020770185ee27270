"""Usage records on the command line: kept, written, or told."""

import json
import shutil

import pytest

from palaver.model.json_output.imports import ImportAnswer
from palaver.model.json_output.statistics import StatsAnswer
from palaver.workflows import archive_import, import_files

from .conftest import ROOT

RECORDS = ROOT / "fixtures" / "ucs" / "usage_records" / "source" / "usage.jsonl"


@pytest.fixture
def records(tmp_path):
    """Two files with three good records each, by other ids."""
    folder = tmp_path / "records"
    folder.mkdir()
    lines = RECORDS.read_text("utf-8").splitlines()[:3]
    for name in ("a", "b"):
        text = "".join(line.replace('"usage_id":"', f'"usage_id":"{name}-') + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    return folder


def ids(file):
    return [json.loads(line)["usage_id"] for line in file.read_text("utf-8").splitlines()]


EXPECTED = [f"{name}-{rest}" for name in "ab" for rest in ("c0ffee00-0001", "octo-fishery-2026-02-02", "c0ffee00-0002")]


@pytest.mark.parametrize("jobs", [1, 2])
def test_they_are_written_to_the_file_that_is_named(run, records, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(import_files, "_PARALLEL_THRESHOLD_BYTES", 0)
    out, usage = tmp_path / "out.jsonl", tmp_path / "usage.jsonl"
    result = run("import", records, "--output", out, "--usage", usage, "--jobs", jobs)
    assert result.exit_code == 0, result.stderr
    assert ids(usage) == EXPECTED
    assert out.read_bytes() == b""
    assert "6 usage records without a conversation were written to" in " ".join(result.stderr.split())


def test_usage_of_a_warmup_agent_is_written_beside_the_conversations(run, tmp_path):
    source = ROOT / "fixtures" / "claude_code" / "warmup_inline" / "source"
    out, usage = tmp_path / "out.jsonl", tmp_path / "usage.jsonl"
    result = run("import", source, "--output", out, "--usage", usage)
    assert result.exit_code == 0, result.stderr
    (record,) = map(json.loads, usage.read_text("utf-8").splitlines())
    assert record["api_message_id"] == "msg_01WarmupInlineAnswer"
    assert "Warmup" not in out.read_text("utf-8")


def test_with_standard_output_they_are_written_as_well(finish, records, tmp_path):
    done = finish("import", records, "--output", "-", "--usage", tmp_path / "usage.jsonl")
    assert (done.returncode, done.stdout) == (0, b"")
    assert ids(tmp_path / "usage.jsonl") == EXPECTED


def test_a_file_that_is_named_is_there_even_when_there_are_none(run, session, tmp_path):
    (tmp_path / "usage.jsonl").write_text("of an earlier run")
    assert (
        run("import", session, "--output", tmp_path / "out.jsonl", "--usage", tmp_path / "usage.jsonl").exit_code == 0
    )
    assert (tmp_path / "usage.jsonl").read_bytes() == b""


def test_what_is_not_kept_is_told(run, records, tmp_path):
    result = run("import", records, "--output", tmp_path / "out.jsonl")
    told = " ".join(result.stderr.split())
    assert "6 usage records without a conversation were read but not written; --usage FILE writes them." in told


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_archive_keeps_them_and_the_report_counts_them(run, records, monkeypatch, jobs):
    monkeypatch.setattr(archive_import, "_PARALLEL_THRESHOLD_BYTES", 0)
    report = ImportAnswer.model_validate_json(run("import", records, "--json", "--jobs", jobs).stdout)
    assert report.totals.usage_records == 6
    assert [source.usage_records for source in report.sources] == [3, 3]
    told = StatsAnswer.model_validate_json(run("stats", "--usage", "--json").stdout)
    assert (told.of, told.totals.usage_records, told.periods) == ("usage_records", 6, 2)


def test_they_go_with_output_and_not_into_one_file_with_it(run, records, tmp_path):
    result = run("import", records, "--usage", tmp_path / "usage.jsonl")
    assert (result.exit_code, "the archive keeps usage records itself" in result.stderr) == (2, True)
    result = run("import", records, "--output", tmp_path / "x", "--usage", tmp_path / "x")
    assert (result.exit_code, "--output and --usage are the same file" in result.stderr) == (2, True)
    result = run("import", records, "--output", tmp_path / "x", "--usage", records / "a.jsonl")
    assert (result.exit_code, "is one of the sources" in result.stderr) == (2, True)


def test_what_was_written_is_read_again_as_it_was(run, tmp_path):
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    run("import", RECORDS, "--output", tmp_path / "x", "--usage", first)
    run("import", first, "--output", tmp_path / "x", "--usage", second)
    assert first.read_bytes() == second.read_bytes() != b""


def test_stats_tell_of_records_by_whom_they_are(run, records, session):
    run("import", records, session)
    shown = run("stats", "--usage", "--by", "subject").stdout
    assert "6 usage records" in shown
    assert "organization:octo-fishery" in shown
    assert "suggestions" in shown
    assert "2 records are sums over a time" in shown
    everything = run("stats").stdout
    assert "4 answers known only from usage records" in everything
    totals = StatsAnswer.model_validate_json(run("stats", "--by", "conversation", "--json").stdout)
    assert totals.totals.usage_records == 4
    assert sum(group.tokens.output for group in totals.groups) == totals.totals.tokens.output
    assert "no conversation" in run("stats", "--by", "conversation").stdout
    assert run("stats", "--usage", "--explain").exit_code == 2
    assert run("stats", "--usage", "--by", "tool").exit_code == 2
    assert run("stats", "--usage", "--until", "2000-01-01").exit_code == 1


def test_records_alone_are_something_to_count(run, records):
    run("import", records)
    result = run("stats")
    assert (result.exit_code, "4 usage records" in result.stdout) == (0, True)


def test_files_of_records_are_validated(run, tmp_path):
    shutil.copy(RECORDS, tmp_path / "usage.jsonl")
    result = run("validate", tmp_path / "usage.jsonl", "--json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["sources"][0]["read_as"]) == (1, "usage")
    assert {finding["code"] for finding in told["findings"]} == {"schema-minimum", "schema-required"}
