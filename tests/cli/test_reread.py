"""What `scan`, `import` and `doctor` say of sources that an earlier revision of their importer read."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from archiving import exported
from importing import FIXTURES
from palaver.archive.connection import open_to_read, open_to_write
from palaver.importers import importer
from scripted import Scripted, document, install, message, scripted, write  # noqa: F401 - a fixture


@pytest.fixture
def archive(kept):
    return kept / "archive.db"


@pytest.fixture
def sources(home, tmp_path, scripted):  # noqa: ARG001, F811 - the importer must be there
    """One source where `scan` looks, two elsewhere, one of which no importer claims later."""
    old, new = ({"documents": [document("a", message("m1", text))]} for text in ("old", "new"))
    write(home / ".scripted" / "one.script", old, new)
    other = {"documents": [document("b", message("m1", "b"))]}
    write(tmp_path / "elsewhere" / "two.script", other)
    write(tmp_path / "elsewhere" / "three.left.script", {"documents": [document("c", message("m1", "c"))]})
    return home, tmp_path / "elsewhere"


def test_a_scan_reads_again_what_was_read_worse_wherever_it_is(run, archive, sources):
    run("import", *sources)
    install(2)
    result = run("scan", "--json")
    assert result.exit_code == 0
    assert "Reading 2 sources again: palaver reads Scripted better than when they were imported." in result.stderr
    assert "1 source is no longer read as Scripted: " in result.stderr
    report = json.loads(result.stdout)
    assert report["totals"]["reread"] == report["totals"]["sources"] == 2
    assert report["released"] == [str(sources[1] / "three.left.script")]
    assert report["totals"]["archive"] == {"added": 0, "updated": 1, "unchanged": 1, "forgotten": 0, "removed": 1}
    assert len(exported(archive)) == 2
    again = run("scan", "--json")
    assert "again" not in again.stderr
    assert json.loads(again.stdout)["totals"]["reread"] == 0


def test_a_source_that_is_read_again_keeps_its_files(run, archive, tmp_path):
    """Some have files beside the one that names them: agents of a session, chunks of a stream, a manifest."""
    folder = tmp_path / "sources"
    for platform in ("claude_code", "api_trace", "cline", "github_copilot"):
        shutil.copytree(FIXTURES / platform, folder / platform)
    run("import", folder)
    before = known_files(archive)
    with closing(open_to_write(archive)) as connection:
        connection.execute("update source set revision = 0")
    run("scan")
    assert known_files(archive) == before
    assert json.loads(run("scan", "--json").stdout)["sources"] == []
    assert json.loads(run("import", folder, "--json").stdout)["sources"] == []


def known_files(archive: Path) -> dict[str, list]:
    with closing(open_to_read(archive)) as connection:
        return {
            "of sources": connection.execute(
                "select platform, label, path from source_file join source on source = source_key order by 1, 2, 3"
            ).fetchall(),
            "of none": connection.execute("select path from unclaimed_file order by 1").fetchall(),
        }


def test_a_file_that_has_become_a_source_is_not_remembered_as_unclaimed(run, archive, tmp_path):
    path = tmp_path / "sources" / "later.jsonl"
    path.parent.mkdir()
    path.write_text("Not yet.\n")
    run("import", path.parent)
    assert known_files(archive) == {"of sources": [], "of none": [(str(path),)]}
    shutil.copy(next((FIXTURES / "claude_code" / "plain_session" / "source").rglob("*.jsonl")), path)
    run("import", path.parent)
    assert known_files(archive) == {"of sources": [("claude_code", str(path), str(path))], "of none": []}


@pytest.mark.usefixtures("scripted")
@pytest.mark.parametrize("words", [("import",), ("import", "scripted")], ids=["all", "one"])
def test_a_scan_asks_again_about_files_that_no_importer_could_read(run, archive, home, tmp_path, words):
    """In the third revision an importer has come that reads one of them; what was never imported is left alone."""
    install(2)
    folder = tmp_path / "elsewhere"
    for name in ("a.script", "b.later.script"):
        write(folder / name, {"documents": [document(name, message("m1", name))]})
    (folder / "notes.txt").write_text("Buy flour.")
    write(home / ".scripted" / "c.script", {"documents": [document("c", message("m1", "c"))]})
    run(*words, folder)
    assert len(exported(archive)) == 1
    write(folder / "new.script", {"documents": [document("new", message("m1", "new"))]})
    install(3)
    result = run("scan", "--json")
    assert result.exit_code == 0
    labels = {Path(source["source"]).name for source in json.loads(result.stdout)["sources"]}
    assert labels == {"a.script", "c.script", *(["b.later.script"] if words == ("import",) else [])}
    again = json.loads(run("scan", "--json").stdout)
    assert again["sources"] == []


@pytest.mark.usefixtures("scripted")
def test_a_scan_does_not_look_around_where_single_files_came_from(run, tmp_path, monkeypatch):
    """Somebody imported two files of a folder that holds much else."""
    install(2)
    folder = tmp_path / "documents"
    names = ("a.script", "b.later.script")
    for name in (*names, "letters/private.script"):
        write(folder / name, {"documents": [document(name, message("m1", name))]})
    run("import", *(folder / name for name in names))
    install(3)
    looked_at = []
    judge = Scripted.recognizes

    def look_at(self, source):
        looked_at.append(source.name)
        return judge(self, source)

    monkeypatch.setattr(Scripted, "recognizes", look_at)
    report = json.loads(run("scan", "--json").stdout)
    assert {Path(source["source"]).name for source in report["sources"]} == set(names)
    assert set(looked_at) == set(names)


def test_the_message_counts_by_platform(run, sources, tmp_path):
    shutil.copytree(FIXTURES / "claude_code" / "plain_session" / "source", tmp_path / "session")
    run("import", *sources, tmp_path / "session")
    with closing(open_to_write(tmp_path / "kept" / "archive.db")) as connection:
        connection.execute("update source set revision = 0")
    result = run("import", *sources, tmp_path / "session")
    assert "Reading 4 sources again: palaver reads Scripted (3) and Claude Code (1) better" in result.stderr
    assert result.exit_code == 0


@pytest.mark.parametrize("words", [("scan",), ("import", "HOME", "ELSEWHERE")], ids=["scan", "import"])
def test_reading_much_again_may_be_interrupted(run, sources, words, monkeypatch):
    run("import", *sources)
    install(2)
    monkeypatch.setattr("palaver.cli._import_run._LONG_BYTES", 100)
    words = [{"HOME": sources[0], "ELSEWHERE": sources[1]}.get(word, word) for word in words]
    said = " ".join(run(*words).stderr.split())
    assert "868 bytes to read. You can interrupt this: the next run reads what is left." in said


def test_the_table_of_a_scan_counts_what_was_read_again_elsewhere(run, sources):
    run("import", *sources)
    install(2)
    lines = [line.split() for line in run("scan").stderr.splitlines()]
    assert ["Scripted", "2", "2", "2", "2", "places"] in lines
    assert run("scan").stderr == "Nothing new (1 source unchanged)\n"


@pytest.mark.parametrize("words", [("scan",), ("import", "HOME", "ELSEWHERE")], ids=["scan", "import"])
def test_a_dry_run_says_what_it_would_read_again(run, archive, sources, words):
    run("import", *sources)
    before = exported(archive)
    install(2)
    words = [{"HOME": sources[0], "ELSEWHERE": sources[1]}.get(word, word) for word in words]
    result = run(*words, "--dry-run", "--json")
    assert "Reading 2 sources again" in result.stderr
    assert json.loads(result.stdout)["totals"]["reread"] == 2
    assert exported(archive) == before


def test_the_doctor_counts_what_is_gone(run, sources):
    run("import", *sources)
    install(2)
    shutil.rmtree(sources[1])
    said = " ".join(run("doctor").stdout.split())
    assert "1 source was read by earlier importers; 2 read by earlier importers are gone" in said
    run("scan")
    result = run("doctor", "--json")
    (check,) = [check for check in json.loads(result.stdout)["checks"] if check["name"] == "importers"]
    assert (check["verdict"], len(check["details"])) == ("ok", 2)
    assert "2 read by earlier importers are gone" in check["told"]
    assert result.exit_code == 0


def test_a_scan_reads_again_with_the_options_of_that_time(run, archive, tmp_path, monkeypatch):
    folder = tmp_path / "logs"
    shutil.copytree(FIXTURES / "azure_openai", folder)
    run("import", "azure_openai", folder, "-O", "thread=no")
    before = exported(archive)
    monkeypatch.setattr(type(importer("azure_openai")), "revision", importer("azure_openai").revision + 1)
    report = json.loads(run("scan", "--json").stdout)
    assert report["totals"]["reread"] == report["totals"]["sources"] > 10
    assert exported(archive) == before


def test_a_file_given_to_an_importer_that_does_not_recognize_it_stays_there(run, archive, tmp_path, monkeypatch):
    path = tmp_path / "notes.txt"
    shutil.copy(next((FIXTURES / "claude_code" / "plain_session" / "source").rglob("*.jsonl")), path)
    path.write_bytes(b"\n" * 70_000 + path.read_bytes())
    run("import", "claude_code", path)
    before = exported(archive)
    assert before
    monkeypatch.setattr(type(importer("claude_code")), "revision", importer("claude_code").revision + 1)
    report = json.loads(run("scan", "--json").stdout)
    assert (report["totals"]["reread"], report["released"]) == (1, [])
    assert exported(archive) == before
