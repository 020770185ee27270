"""`palaver export` as a user meets it: what goes where, what is said about it, and what it refuses."""

import csv
import gzip
import io
import json
import os
import re
import sys

import pytest
import zstandard

from importing import FIXTURES
from palaver.cli._terminal import output
from palaver.cli._terminal.words import escaped_text
from palaver.exporters import formats


def unzst(path):
    return zstandard.open(path, "rb")


@pytest.fixture
def archive(run, kept, case):
    """An archive with three agents, and what their session said."""
    assert run("import", case("subagents_folder")).exit_code == 0
    return kept / "archive.db"


def lines(result) -> list[dict]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_everything_goes_to_standard_output_as_documents(run, archive):
    result = run("export")
    documents = lines(result)
    assert (result.exit_code, len(documents)) == (0, 4)
    assert archive.exists()
    messages = sum(len(document["messages"]) for document in documents)
    assert result.stderr.startswith(f"4 conversations and {messages} messages\n")


def test_it_goes_to_a_file_and_what_was_there_is_replaced(run, archive, tmp_path):
    expected = run("export").stdout
    target = tmp_path / "out.jsonl"
    target.write_text("an older export\n" * 100)
    result = run("export", "--output", target)
    assert (result.exit_code, result.stdout) == (0, "")
    assert target.read_text("utf-8") == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "kept", "out.jsonl"]
    assert "Written to" in result.stderr
    assert archive.exists()


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("x.md", "# "),
        ("X.Markdown", "# "),
        ("x.csv", "conversation_id,"),
        ("x.jsonl", '{"schema'),
        ("x.y.NDJSON", '{"schema'),
        ("x", '{"schema'),
    ],
)
def test_the_ending_of_the_file_chooses_the_format(run, tmp_path, name, begins):
    assert run("export", "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / name).read_text("utf-8").startswith(begins)


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(("name", "opened"), [("x.jsonl.gz", gzip.open), ("x.csv.GZ", gzip.open), ("x.md.zst", unzst)])
def test_a_file_is_compressed_if_its_name_says_so(run, tmp_path, name, opened):
    result = run("export", "-o", tmp_path / name, "--json")
    plain = name.rpartition(".")[0]
    assert run("export", "-o", tmp_path / plain).exit_code == 0
    with opened(tmp_path / name) as stream:
        assert stream.read() == (tmp_path / plain).read_bytes()
    answer = json.loads(result.stdout)
    assert answer["bytes"] == answer["files"][0]["bytes"] == (tmp_path / name).stat().st_size
    first = (tmp_path / name).read_bytes()
    assert run("export", "-o", tmp_path / name).exit_code == 0
    assert (tmp_path / name).read_bytes() == first


def test_a_compressed_export_can_be_imported(run, archive, tmp_path, monkeypatch):
    before = run("export").stdout
    assert archive.exists()
    for name in ("a.jsonl.gz", "a.jsonl.zst"):
        assert run("export", "-o", tmp_path / name).exit_code == 0
        monkeypatch.setenv("PALAVER_HOME", str(tmp_path / f"home of {name}"))
        assert run("import", tmp_path / name).exit_code == 0
        assert run("export").stdout == before


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize("name", ["x.html", "x.zip", "foo.txt", "x.json", "x.gz", "x.html.gz", "notes.2026"])
def test_an_unknown_ending_is_refused_with_the_known_ones(run, tmp_path, name):
    before = sorted(tmp_path.iterdir())
    result = run("export", "-o", tmp_path / name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert ".csv, .jsonl, .markdown, .md or .ndjson, optionally followed by .gz or .zst" in result.stderr
    assert sorted(tmp_path.iterdir()) == before
    assert run("export", "-o", tmp_path / name, "--format", "csv").exit_code == 0
    assert (tmp_path / name).exists()


@pytest.mark.usefixtures("archive")
def test_an_output_without_a_name_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = run("export", "-o", "")
    assert (result.exit_code, result.stderr) == (2, "palaver: --output needs the name of a file\n")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(("name", "format_name"), [("x.md", "csv"), ("x.csv.gz", "jsonl"), ("x.ndjson", "markdown")])
def test_a_format_that_contradicts_the_ending_is_refused(run, tmp_path, name, format_name):
    result = run("export", "-o", tmp_path / name, "--format", format_name)
    assert result.exit_code == 2
    assert f", not {format_name}; change one of them" in result.stderr
    assert not (tmp_path / name).exists()


def test_conversations_are_in_time_order_in_every_format(run, archive, case, tmp_path):
    assert run("import", case("plain_session"), FIXTURES / "chatgpt" / "branches" / "source").exit_code == 0
    assert archive.exists()
    documents = lines(run("export"))
    assert len({document["platform"]["name"] for document in documents}) == 2
    assert [one["created_at"] for one in documents] == sorted(one["created_at"] for one in documents)
    expected = [document["conversation_id"] for document in documents]
    rows = csv.DictReader(io.StringIO(run("export", "-f", "csv").stdout))
    assert list(dict.fromkeys(row["conversation_id"] for row in rows)) == expected
    assert run("export", "-o", tmp_path / "all.md").exit_code == 0
    told = re.findall(r"^- Conversation: `(.*)`$", (tmp_path / "all.md").read_text("utf-8"), re.MULTILINE)
    assert told == expected


@pytest.mark.usefixtures("archive")
def test_markdown_of_several_conversations_goes_into_a_folder_that_has_no_ending(run, tmp_path):
    result = run("export", "--format", "markdown", "--output", tmp_path / "notes")
    assert result.exit_code == 0
    assert "Written to 5 files in" in result.stderr
    names = sorted(path.name for path in (tmp_path / "notes").iterdir())
    assert names[-1] == "index.md"
    index = (tmp_path / "notes" / "index.md").read_text("utf-8")
    assert sorted(re.findall(r"\(<(.*)>\)", index)) == names[:-1]
    assert run("export", "latest", "--no-agents", "-f", "markdown", "-o", tmp_path / "one").exit_code == 0
    assert (tmp_path / "one").read_text("utf-8").startswith("# ")
    assert run("export", "-f", "csv", "-o", tmp_path / "table").exit_code == 0
    assert (tmp_path / "table").is_file()


@pytest.mark.usefixtures("archive")
def test_a_folder_does_not_replace_a_file(run, tmp_path):
    (tmp_path / "notes").write_text("mine")
    result = run("export", "--format", "markdown", "--output", tmp_path / "notes")
    assert result.exit_code == 2
    assert "notes is a file, and markdown of 4 conversations goes into a folder" in result.stderr
    assert (tmp_path / "notes").read_text() == "mine"


@pytest.mark.usefixtures("archive")
def test_an_index_of_the_users_own_stays(run, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "index.md").write_text("# Mine\n")
    result = run("export", "-f", "markdown", "-o", notes)
    assert result.exit_code == 0
    assert "was not written by palaver: left unchanged" in result.stderr
    assert (notes / "index.md").read_text() == "# Mine\n"
    assert len(list(notes.iterdir())) == 5


def test_an_index_keeps_what_earlier_exports_wrote(run, archive, case, tmp_path):
    assert archive.exists()
    notes = tmp_path / "notes"
    assert run("export", "-f", "markdown", "-o", f"{notes}/").exit_code == 0
    first = (notes / "index.md").read_text("utf-8")
    assert run("import", case("plain_session")).exit_code == 0
    [session] = case("plain_session").glob("*.jsonl")
    assert run("export", session.stem, "-f", "markdown", "-o", notes).exit_code == 0
    second = (notes / "index.md").read_text("utf-8")
    assert len(set(second.splitlines()) - set(first.splitlines())) == 2, "one month and one conversation"
    assert set(first.splitlines()) < set(second.splitlines())
    gone = next(notes.glob("2026-07-10-*"))
    gone.unlink()
    assert run("export", session.stem, "-f", "markdown", "-o", notes).exit_code == 0
    assert gone.name not in (notes / "index.md").read_text("utf-8")


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="only where streams have names")  # noqa: PTH110
def test_a_stream_is_written_to_whatever_its_name(finish, case):
    finish("import", case("subagents_folder"))
    expected = finish("export", "-f", "markdown")
    found = finish("export", "-f", "markdown", "-o", "/dev/stdout")
    assert (found.returncode, found.stdout) == (0, expected.stdout)


@pytest.mark.usefixtures("archive")
def test_a_folder_gets_a_file_for_each_conversation_and_keeps_its_others(run, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "mine.md").write_text("mine")
    result = run("export", "-f", "markdown", "-o", notes)
    assert result.exit_code == 0
    assert "Written to 5 files in " in result.stderr
    made = sorted(path.name for path in notes.iterdir())
    assert len(made) == 6
    assert (notes / "mine.md").read_text() == "mine"
    assert run("export", "-f", "markdown", "-o", f"{notes}/").exit_code == 0
    assert sorted(path.name for path in notes.iterdir()) == made


@pytest.mark.usefixtures("archive")
def test_the_answer_says_what_is_where(run, tmp_path):
    result = run("export", "-f", "markdown", "-o", f"{tmp_path}/notes/", "--json")
    answer = json.loads(result.stdout)
    assert (answer["format"], answer["conversations"], len(answer["files"])) == ("markdown", 4, 5)
    assert answer["output"] == str(tmp_path / "notes")
    sizes = [os.path.getsize(file["path"]) for file in answer["files"]]  # noqa: PTH202 - as a program would
    assert sizes == [file["bytes"] for file in answer["files"]]
    assert sum(sizes) == answer["bytes"]


@pytest.mark.usefixtures("archive")
def test_a_dry_run_tells_as_much_and_writes_nothing(run, tmp_path):
    written = json.loads(run("export", "-o", tmp_path / "out.jsonl", "--json").stdout)
    (tmp_path / "out.jsonl").unlink()
    told = json.loads(run("export", "-o", tmp_path / "out.jsonl", "--dry-run", "--json").stdout)
    assert told == written | {"output": None, "files": []}
    assert not (tmp_path / "out.jsonl").exists()
    assert "nothing was written" in run("export", "--dry-run").stderr


@pytest.mark.usefixtures("archive")
def test_agents_can_be_left_out(run):
    [main] = lines(run("export", "--no-agents"))
    assert "session" not in main or not main["session"].get("is_sidechain")
    named = run("export", main["conversation_id"])
    assert len(lines(named)) == 4
    assert len(lines(run("export", main["conversation_id"], "--no-agents"))) == 1


@pytest.mark.usefixtures("archive")
def test_costs_are_added_when_they_are_asked_for(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PALAVER_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text('[prices."*"]\ninput = 1\noutput = 1000000\n')
    without = list(csv.DictReader(io.StringIO(run("export", "-f", "csv").stdout)))
    rows = list(csv.DictReader(io.StringIO(run("export", "-f", "csv", "--with-cost").stdout)))
    assert {row["computed_cost"] for row in without} == {""}
    costs = [float(row["computed_cost"]) for row in rows if row["output_tokens"]]
    outputs = [int(row["output_tokens"]) for row in rows if row["output_tokens"]]
    assert costs == pytest.approx(outputs, rel=0.01)


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize("words", [["--platform", "chatgpt"], ["--until", "1999-01-01"]])
def test_nothing_is_written_when_nothing_fits(run, tmp_path, words):
    (tmp_path / "out.jsonl").write_text("mine")
    result = run("export", *words, "-o", tmp_path / "out.jsonl")
    assert (result.exit_code, result.stderr) == (1, "No conversation matches these filters.\n")
    assert (tmp_path / "out.jsonl").read_text() == "mine"


def test_an_unknown_word_is_refused(run, archive):
    result = run("export", "nobody")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no conversation matches 'nobody'" in result.stderr
    assert archive.exists()


def test_the_archive_itself_is_not_overwritten(run, archive):
    before = archive.read_bytes()
    result = run("export", "--output", archive)
    assert result.exit_code == 2
    assert "the archive itself" in result.stderr
    assert archive.read_bytes() == before


@pytest.mark.usefixtures("archive")
def test_what_cannot_be_written_is_told_and_leaves_nothing_behind(run, tmp_path, monkeypatch):
    from palaver.exporters import exporter

    def breaks(_documents, **_):
        yield b"a beginning"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exporter("jsonl"), "write", breaks, raising=False)
    (tmp_path / "out.jsonl").write_text("mine")
    result = run("export", "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 2
    assert "cannot write" in result.stderr
    assert "No space left" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "kept", "out.jsonl"]
    assert (tmp_path / "out.jsonl").read_text() == "mine"


def test_help_names_every_format(run):
    told = run("export", "--help").stdout
    assert [name for name in formats() if name not in told] == []


def test_another_archive_comes_in_by_its_file_and_its_own_is_refused(run, archive, tmp_path, monkeypatch):
    before = run("export").stdout
    result = run("import", archive)
    assert result.exit_code == 2
    assert "is this archive: nothing to import" in result.stderr
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path / "elsewhere"))
    assert run("import", archive).exit_code == 0
    assert run("export").stdout == before
    assert sorted(path.name for path in archive.parent.iterdir()) == ["archive.db"]


def test_text_in_a_terminal_cannot_steer_it(monkeypatch):
    class Terminal(io.TextIOWrapper):
        def isatty(self):
            return True

    stream = Terminal(io.BytesIO(), "utf-8")
    monkeypatch.setattr(sys, "stdout", stream)
    output.answer_bytes(["# \x1b]0;mine\x07 \u202eevil\n\tbeans\n".encode()])
    assert stream.buffer.getvalue().decode() == "# \\x1b]0;mine\\x07 \\u202eevil\n\tbeans\n"
    assert escaped_text("a\r\nb\rc") == "a\nb\\x0dc"
