import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from archiving import exported
from homes import FIXTURES, write_zip
from palaver.cli._terminal import empty_machine
from palaver.importers import importer, platforms


@pytest.fixture
def used_home(home, case):
    """A home with sessions, one of them with agents and one damaged, and with prompts of deleted sessions."""
    shutil.copytree(case("history_purged") / ".claude", home / ".claude")
    for name in ("subagents_folder", "sessions_index"):
        shutil.copytree(case(name) / "projects", home / ".claude" / "projects", dirs_exist_ok=True)
    shutil.copytree(case("damage_bad_line_middle"), home / ".claude" / "projects" / "-home-ada-damaged")
    return home


@pytest.mark.usefixtures("used_home")
def test_everything_is_found_and_kept(run, kept):
    result = run("scan")
    assert result.exit_code == 1, "the damaged session has records that were refused"
    assert result.stdout == ""
    _, row, *_ = result.stderr.splitlines()
    totals = json.loads(run("scan", "--again", "--json").stdout)["totals"]
    assert row.split() == ["Claude", "Code", str(totals["conversations"]), str(totals["messages"]), "6", "2", "places"]
    assert f"Archive: {kept / 'archive.db'}" in result.stderr
    assert "Conversations stay even if their source files are deleted." in result.stderr
    assert "3 records could not be read: `palaver quarantine list`" in result.stderr
    assert (
        len(exported(kept / "archive.db"))
        == json.loads(run("scan", "--again", "--json").stdout)["totals"]["conversations"]
    )


@pytest.mark.usefixtures("used_home")
def test_scanning_again_reads_nothing_and_changes_nothing(run, kept):
    run("scan")
    before = exported(kept / "archive.db")
    result = run("scan")
    assert result.exit_code == 0
    assert result.stderr == "Nothing new (6 sources unchanged)\n"
    assert exported(kept / "archive.db") == before


def test_only_what_changed_is_read(run, used_home):
    run("scan")
    session = next((used_home / ".claude" / "projects" / "-home-ada-damaged").glob("*.jsonl"))
    line = session.read_bytes().splitlines()[0]
    with session.open("ab") as stream:
        stream.write(line.replace(b'"uuid":"', b'"uuid":"later-') + b"\n")
    report = json.loads(run("scan", "--json").stdout)
    assert [source["source"] for source in report["sources"]] == [str(session)]
    assert report["totals"]["records"]["read"] == 1
    assert report["totals"]["archive"] == {"added": 0, "updated": 1, "unchanged": 0, "forgotten": 0, "removed": 0}
    assert report["totals"]["unchanged_sources"] == 5


def test_a_new_side_file_makes_its_session_new(run, used_home):
    run("scan")
    agents = next((used_home / ".claude" / "projects").rglob("agent-*.jsonl"))
    shutil.copy(agents, agents.with_name("agent-new.jsonl"))
    report = json.loads(run("scan", "--json").stdout)
    assert report["totals"]["sources"] == 1
    assert report["totals"]["archive"]["added"] == 1


def test_only_files_that_changed_since_then(run, used_home):
    for path in used_home.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    result = run("scan", "--since", "7d")
    assert (result.exit_code, "No file has changed since" in result.stderr) == (0, True)
    session = next((used_home / ".claude" / "projects" / "-home-ada-damaged").glob("*.jsonl"))
    os.utime(session)
    report = json.loads(run("scan", "--since", "7d", "--json").stdout)
    assert [source["source"] for source in report["sources"]] == [str(session)]
    assert run("scan", "--since", "soon").exit_code == 2


def test_what_was_found_stays_when_its_source_goes(run, used_home, kept):
    run("scan")
    before = exported(kept / "archive.db")
    shutil.rmtree(used_home / ".claude" / "projects")
    run("scan")
    assert exported(kept / "archive.db") == before


def test_the_report_as_json(run, used_home):
    (used_home / ".claude" / "projects" / "notes.txt").write_text("no conversation")
    result = run("scan", "--json", "--dry-run")
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert report["totals"]["sources"] == 6
    assert report["totals"]["conversations"] == sum(source["conversations"] for source in report["sources"])
    assert report["unclaimed"] == [str(used_home / ".claude" / "projects" / "notes.txt")]


@pytest.mark.usefixtures("used_home")
def test_a_dry_run_writes_nothing(run, kept):
    result = run("scan", "--dry-run")
    assert "A dry run: nothing was written." in result.stderr
    assert not kept.exists()


def test_an_empty_machine_is_answered_in_ten_lines(run, kept):
    result = run("scan")
    assert (result.exit_code, result.stdout) == (0, "")
    lines = result.stderr.splitlines()
    number = sum(len(importer(platform).locations()) for platform in platforms())
    assert lines[0] == (
        f"No AI conversations found on this machine (looked in {number} places: `palaver sources --all`)."
    )
    assert len(lines) <= 12
    assert "  Claude Code   keeps them in ~/.claude (or where CLAUDE_CONFIG_DIR points)" in lines
    for platform in platforms():
        product = importer(platform)
        is_mentioned = bool(product.locations()) or hasattr(product, "export_menu")
        assert (product.title in result.stderr) == is_mentioned, platform
    assert not kept.exists()
    assert json.loads(run("scan", "--json").stdout)["totals"]["sources"] == 0


def test_the_answer_to_an_empty_machine_does_not_grow_with_the_platforms(run, monkeypatch):
    class Another:
        title = "Another"

        def __init__(self, number):
            self.platform = f"another_{number}"

        def locations(self):
            return [Path.home() / f".{self.platform}"]

    known = [importer(platform) for platform in platforms()] + [Another(number) for number in range(40)]
    monkeypatch.setattr(empty_machine, "platforms", lambda: range(len(known)))
    monkeypatch.setattr(empty_machine, "importer", known.__getitem__)
    assert len(run("scan").stderr.splitlines()) <= 12


@pytest.mark.skipif(os.name != "posix", reason="paths are quoted for a POSIX shell")
def test_exports_in_the_downloads_folder_are_named_until_they_are_imported(run, home):
    downloads = home / "Downloads"
    downloads.mkdir()
    write_zip(downloads / "my chats.zip", FIXTURES / "chatgpt" / "branches" / "source")
    advice = "~/Downloads has what looks like a ChatGPT export:\n    palaver import ~/Downloads/'my chats.zip'\n"
    assert run("scan").stderr.endswith(f"\n\n{advice}")
    assert run("scan", "--dry-run").stderr.endswith(advice)
    assert json.loads(run("scan", "--json").stdout)["sources"] == []
    pasted = advice.splitlines()[1].strip()
    done = subprocess.run(["sh", "-c", f"set -- {pasted}; printf '%s\n' \"$@\""], capture_output=True, check=True)
    words = done.stdout.decode().splitlines()
    assert words == ["palaver", "import", str(downloads / "my chats.zip")]
    assert run(*words[1:]).exit_code == 0
    assert "my chats" not in run("scan").stderr


@pytest.mark.skipif(sys.platform != "linux", reason="user-dirs.dirs is read on Linux")
def test_the_downloads_folder_is_the_one_that_the_desktop_names(run, home):
    (home / ".config").mkdir()
    (home / ".config" / "user-dirs.dirs").write_text('XDG_DOWNLOAD_DIR="$HOME/Geladen"\n')
    (home / "Geladen").mkdir()
    write_zip(home / "Geladen" / "x.zip", FIXTURES / "chatgpt" / "branches" / "source")
    assert "    palaver import ~/Geladen/x.zip\n" in run("scan").stderr


def test_places_are_taken_from_the_platforms_own_setting(run, used_home, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    (used_home / ".claude").rename(elsewhere)
    assert json.loads(run("scan", "--json", "--dry-run").stdout)["totals"]["sources"] == 0
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
    assert json.loads(run("scan", "--json", "--dry-run").stdout)["totals"]["sources"] == 6


def test_a_place_that_links_to_another_is_read_once(run, used_home):
    (used_home / ".config").mkdir()
    (used_home / ".config" / "claude").symlink_to(used_home / ".claude", target_is_directory=True)
    assert json.loads(run("scan", "--json", "--dry-run").stdout)["totals"]["sources"] == 6


@pytest.mark.usefixtures("used_home")
def test_options_are_for_a_platform(run):
    assert run("scan", "--dry-run", "-O", "claude_code.original_files=yes").exit_code == 1
    result = run("scan", "--dry-run", "-O", "claude_code.nope=1")
    assert result.exit_code == 2
    assert "there is no option 'nope'" in result.stderr


def test_what_changes_is_taken_in_while_watching(start, used_home, kept):
    session = next((used_home / ".claude" / "projects" / "-home-ada-damaged").glob("*.jsonl"))
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start("scan", "--watch", "--json", **streams) as process:
        # Reads below end when the process does: one that never says anything fails the test instead of holding it up.
        patience = threading.Timer(60, process.kill)
        patience.start()
        try:
            first = b""
            for line in iter(process.stdout.readline, b""):
                first += line
                if line == b"}\n":
                    break
            assert json.loads(first)["totals"]["sources"] == 6
            assert any(b"Watching 2 places" in line for line in iter(process.stderr.readline, b""))
            opening = session.read_bytes().splitlines()[0]
            with session.open("ab") as stream:
                stream.write(opening.replace(b'"uuid":"', b'"uuid":"later-') + b"\n")
            told = json.loads(process.stdout.readline())
            assert [source["source"] for source in told["sources"]] == [str(session)]
            assert told["totals"]["messages"] == 1
        finally:
            patience.cancel()
            process.kill()
    assert any(b"later-" in document for document in exported(kept / "archive.db"))
