import gzip
import json
import os
import shutil
import zipfile
from contextlib import closing
from pathlib import Path

import platformdirs
import pytest
import zstandard

from archiving import exported
from palaver.archive.connection import open_to_read
from palaver.importers import platforms
from palaver.workflows import archive_import, import_files
from palaver.workflows.find_units import find_units


def documents(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def files_below(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out.jsonl"


def test_a_session_is_kept_in_the_archive(run, session, kept):
    result = run("import", session)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert files_below(kept) == [kept / "archive.db"]
    [document] = map(json.loads, exported(kept / "archive.db"))
    assert "1 conversation read, new" in result.stderr
    assert f"{len(document['messages'])} messages from 1 source" in result.stderr
    assert "No problems found while reading; `palaver validate` checks the rules" in result.stderr
    assert f"Archive: {kept / 'archive.db'}" in result.stderr


def test_the_archive_is_in_the_systems_own_place_when_none_is_named(run, session, monkeypatch):
    monkeypatch.delenv("PALAVER_HOME")
    assert run("import", session).exit_code == 0
    folder = platformdirs.user_data_path("palaver", appauthor=False)
    assert folder.is_relative_to(os.environ["HOME"])
    assert len(exported(folder / "archive.db")) == 1
    if os.name == "posix":
        assert folder.stat().st_mode & 0o077 == 0, "nobody else may read conversations"
        assert (folder / "archive.db").stat().st_mode & 0o777 == 0o600


def test_a_source_is_known_by_any_name(run, session, monkeypatch):
    run("import", session)
    monkeypatch.chdir(session.parent)
    result = run("import", session.name)
    assert "Nothing new (1 source unchanged)" in result.stderr


def test_what_did_not_change_is_read_again_when_asked(run, session):
    run("import", session)
    report = json.loads(run("import", session, "--again", "--json").stdout)
    assert report["totals"]["archive"] == {"added": 0, "updated": 0, "unchanged": 1, "forgotten": 0, "removed": 0}


def test_other_options_make_a_source_new(run, session):
    run("import", session)
    report = json.loads(run("import", session, "-O", "original_files=yes", "--json").stdout)
    assert report["totals"]["unchanged_sources"] == 0


def test_files_of_the_same_name_in_different_folders_are_kept_apart(run, case, tmp_path, kept, monkeypatch):
    for name in ("plain_session", "parallel_tool_calls"):
        shutil.copytree(case(name), tmp_path / name)
        monkeypatch.chdir(tmp_path / name)
        [file] = Path().glob("*.jsonl")
        run("import", file.rename("session.jsonl"))
    assert len(exported(kept / "archive.db")) == 2


def test_an_output_file_holds_every_document(run, case, out, kept):
    result = run("import", case("resumed_pair"), "--output", out)
    assert result.exit_code == 0
    assert {document["platform"]["name"] for document in documents(out)} == {"claude_code"}
    assert f"Written to {out}." in result.stderr
    assert f"palaver validate {out}" in result.stderr
    assert files_below(out.parent) == [out]
    assert not kept.exists()


def test_a_dash_sends_documents_to_standard_output_and_the_summary_to_standard_error(run, session, out):
    run("import", session, "-o", out)
    result = run("import", session, "-o", "-")
    assert result.stdout_bytes == out.read_bytes()
    assert "1 conversation" in result.stderr
    assert "Written to standard output." in result.stderr


def test_the_platform_may_be_named_or_left_out(run, session, tmp_path):
    assert run("import", "claude_code", session, "-o", tmp_path / "named.jsonl").exit_code == 0
    assert run("import", session, "-o", tmp_path / "detected.jsonl").exit_code == 0
    assert (tmp_path / "named.jsonl").read_bytes() == (tmp_path / "detected.jsonl").read_bytes()


def test_a_lone_word_that_exists_is_a_path_even_if_it_names_a_platform(run, session, tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    Path("claude_code").mkdir()
    shutil.copy(session, "claude_code")
    assert run("import", "claude_code", "-o", out).exit_code == 0
    assert len(documents(out)) == 1


@pytest.mark.parametrize("typed", ["Claude Code", "claude-code", "CLAUDE_CODE"])
def test_a_platform_may_be_typed_as_it_is_displayed_and_in_any_case(run, session, typed):
    report = json.loads(run("import", typed, session, "--dry-run", "--json").stdout)
    assert [source["platform"] for source in report["sources"]] == ["claude_code"]


def test_a_typo_in_the_platform_imports_nothing(run, session, out):
    result = run("import", "claude_cod", session, "-o", out)
    assert result.exit_code == 2
    assert result.stderr == "palaver: unknown platform 'claude_cod': did you mean claude_code?\n"
    assert not out.exists()


def test_a_missing_path_before_others_is_not_taken_for_a_platform(run, session, out):
    result = run("import", "chatgpt.zip", session, "-o", out)
    assert result.exit_code == 2
    assert "palaver: chatgpt.zip does not exist" in result.stderr
    assert len(documents(out)) == 1


def test_a_path_is_not_taken_for_the_platform_that_it_resembles(run, session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ChatGPT").mkdir()
    report = json.loads(run("import", "ChatGPT", session, "--dry-run", "--json").stdout)
    assert [source["platform"] for source in report["sources"]] == ["claude_code"]


def test_a_platform_without_a_path_is_told_what_is_missing(run):
    result = run("import", platforms()[0])
    assert result.exit_code == 2
    assert f"name what to read, `palaver import {platforms()[0]} PATH`" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_named_platform_reads_what_it_would_not_recognise(run, tmp_path, out):
    (tmp_path / "notes.txt").write_text("no session at all\n")
    result = run("import", "claude_code", tmp_path / "notes.txt", "-o", out)
    assert result.exit_code == 1
    assert "1 line read = 0 mapped + 0 folded + 0 skipped + 1 quarantined (bad-json 1)" in result.stderr


def test_what_palaver_wrote_can_be_piped_into_it(finish, session):
    first = finish("import", session, "--output", "-")
    again = finish("import", "-", "--output", "-", stdin=first.stdout)
    assert again.returncode == 0
    assert again.stdout == first.stdout != b""


def test_standard_input(finish, session, out):
    result = finish("import", "-", "-o", out, stdin=session.read_bytes())
    assert result.returncode == 0, result.stderr
    [document] = documents(out)
    assert document["conversation_id"] == session.stem


def test_standard_input_of_a_named_platform_loses_no_byte(finish):
    result = finish("import", "claude_code", "-", "--dry-run", "--json", stdin=b"not a session\n")
    assert result.returncode == 1
    report = json.loads(result.stdout)
    assert report["totals"]["records"]["quarantined"] == {"bad-json": 1}
    assert report["totals"]["bytes"] == 14


def test_different_standard_inputs_are_different_sources(finish, session, damaged, kept):
    for file in (session, damaged, session):
        finish("import", "-", stdin=file.read_bytes())
    assert len(exported(kept / "archive.db")) == 2
    assert count(kept, "source") == 2


def test_standard_input_can_be_named_once(run):
    result = run("import", "-", "-")
    assert result.exit_code == 2
    assert "can be read once only" in result.stderr


def zipped(target, folder):
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files_below(folder):
            archive.write(path, path.relative_to(folder))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_files_read_like_plain_ones(run, session, tmp_path, suffix):
    compress = gzip.compress if suffix == ".gz" else zstandard.ZstdCompressor().compress
    packed = tmp_path / f"{session.name}{suffix}"
    packed.write_bytes(compress(session.read_bytes()))
    result = run("import", packed, "-o", "-")
    assert result.exit_code == 0
    assert result.stdout_bytes == run("import", session, "-o", "-").stdout_bytes


def test_a_zip_reads_like_the_folder_in_it(run, case, tmp_path):
    folder = case("subagents_folder")
    zipped(tmp_path / "export.zip", folder)
    result = run("import", tmp_path / "export.zip", "-o", "-")
    assert result.exit_code == 0
    ids = [json.loads(line)["conversation_id"] for line in result.stdout.splitlines()]
    plain = run("import", folder, "-o", "-").stdout.splitlines()
    assert ids == [json.loads(line)["conversation_id"] for line in plain]


def test_a_damaged_zip_in_a_folder_does_not_end_the_run(run, session, tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    shutil.copy(session, folder)
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 and nothing more")
    result = run("import", folder, "--dry-run")
    assert result.exit_code == 2
    assert "broken.zip" in result.stderr
    assert "1 conversation read" in result.stderr


def test_files_nobody_reads_are_listed_five_of_them_by_name(run, session, tmp_path):
    folder = tmp_path / "mixed"
    folder.mkdir()
    shutil.copy(session, folder)
    for number in range(7):
        (folder / f"note{number}.txt").write_text("a note")
    result = run("import", folder, "--dry-run")
    assert result.exit_code == 0
    assert "7 files skipped: not conversations" in result.stderr
    assert "note4.txt" in result.stderr
    assert "note5.txt" not in result.stderr
    assert "and 2 more" in result.stderr
    unclaimed = json.loads(run("import", folder, "--dry-run", "--json").stdout)["unclaimed"]
    assert unclaimed == [str(folder / f"note{number}.txt") for number in range(7)]


def test_a_dry_run_writes_nothing(run, damaged, tmp_path, out):
    before = files_below(tmp_path)
    result = run("import", damaged, "--dry-run", "--output", out, "--quarantine", tmp_path / "aside.jsonl")
    assert result.exit_code == 1
    assert "A dry run: nothing was written." in result.stderr
    assert files_below(tmp_path) == before


def test_refused_records_go_beside_the_output(run, damaged, out):
    result = run("import", damaged, "-o", out)
    assert result.exit_code == 1
    aside = documents(out.with_name("out.jsonl.quarantine.jsonl"))
    assert [entry["code"] for entry in aside] == ["bad-json"] * 3
    lines = damaged.read_text().splitlines()
    for entry in aside:
        assert entry["source"] == str(damaged)
        assert entry["raw"] in lines
    assert "The quarantined records are in" in result.stderr
    assert "+ 3 quarantined (bad-json 3)" in result.stderr
    assert "error  3  bad-json: " in result.stderr
    assert f"{damaged}, line 2, byte " in result.stderr


def test_refused_records_go_where_the_user_says(run, damaged, out, tmp_path):
    aside = tmp_path / "aside.jsonl"
    run("import", damaged, "-o", out, "--quarantine", aside)
    assert len(documents(aside)) == 3
    assert files_below(tmp_path) == [aside, out]
    aside.unlink()
    result = run("import", damaged, "-o", "-", "--quarantine", aside)
    assert len(documents(aside)) == 3
    assert f"The quarantined records are in {aside}." in result.stderr


def test_refused_records_without_a_place_are_counted_and_named(run, damaged, tmp_path):
    before = files_below(tmp_path)
    result = run("import", damaged, "-o", "-")
    assert "with --quarantine FILE their bytes are kept" in result.stderr
    assert files_below(tmp_path) == before


def test_refused_records_of_an_earlier_import_stay(run, damaged, case, kept):
    [torn] = case("damage_torn_line").glob("*.jsonl")
    run("import", damaged)
    run("import", torn)
    run("import", torn, "--again")
    assert count(kept, "quarantine") == 4


def count(kept, table):
    with closing(open_to_read(kept / "archive.db")) as connection:
        return len(connection.execute(f"select 1 from {table}").fetchall())


def test_a_file_name_that_is_not_utf8(finish, damaged, tmp_path, out):
    source = os.fsencode(tmp_path) + b"/\xff.jsonl"
    try:
        Path(os.fsdecode(source)).write_bytes(damaged.read_bytes())
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    result = finish("import", os.fsdecode(source), "-o", out)
    assert result.returncode == 1, result.stderr
    assert b"\\udcff.jsonl" in result.stderr
    assert len(documents(out.with_name("out.jsonl.quarantine.jsonl"))) == 3
    for again in (False, True):
        report = finish("import", os.fsdecode(source), "--json").stdout
        assert json.loads(report)["totals"]["unchanged_sources"] == again
    report = finish("import", os.fsdecode(source), "--json", "--dry-run", "--again").stdout
    assert os.fsencode(json.loads(report)["sources"][0]["source"]) == source


def test_the_report_as_json(run, damaged, case, out):
    result = run("import", damaged, case("parallel_tool_calls"), "-o", out, "--json")
    assert result.exit_code == 1
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert report.keys() == {"sources", "unclaimed", "refused", "released", "totals"}
    first = report["sources"][0]
    counted = {"bytes", "conversations", "messages", "usage_records", "records", "findings"}
    assert first.keys() == {"source", "platform", *counted}
    assert (first["source"], first["platform"]) == (str(damaged), "claude_code")
    assert first["bytes"] == damaged.stat().st_size
    assert first["findings"]["bad-json"] == 3
    for record in (*(source["records"] for source in report["sources"]), report["totals"]["records"]):
        quarantined, skipped = sum(record["quarantined"].values()), sum(record["skipped"].values())
        assert record["read"] == record["mapped"] + record["folded"] + skipped + quarantined
    assert report["totals"]["sources"] == 2


def test_json_and_documents_cannot_share_standard_output(run, session):
    result = run("import", session, "-o", "-", "--json")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "both want standard output" in result.stderr


def test_a_missing_path_is_told_and_the_others_are_imported(run, session, out, tmp_path):
    result = run("import", tmp_path / "nowhere.jsonl", session, "-o", out)
    assert result.exit_code == 2
    assert f"palaver: {tmp_path / 'nowhere.jsonl'} does not exist" in result.stderr
    assert len(documents(out)) == 1


def test_only_missing_paths_write_nothing(run, tmp_path, out):
    result = run("import", tmp_path / "nowhere.jsonl", "-o", out, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["refused"] == [f"{tmp_path / 'nowhere.jsonl'} does not exist"]
    assert not out.exists()


def test_the_same_source_given_twice_is_imported_once(run, session, tmp_path):
    (tmp_path / "link").symlink_to(session.parent, target_is_directory=True)
    paths = (session, session.parent, tmp_path / "link", session.parent)
    report = json.loads(run("import", *paths, "--dry-run", "--json").stdout)
    assert report["totals"]["sources"] == 1


def test_options_reach_the_importer(run, case):
    plain = run("import", case("tool_use_results"), "-o", "-")
    for option in ("original_files=yes", "claude_code.original_files=yes"):
        result = run("import", case("tool_use_results"), "-o", "-", "-O", option)
        assert result.exit_code == 0
        assert len(result.stdout) > len(plain.stdout)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("nope=1", "; claude_code has: original_files"),
        ("claude_code.nope=1", "there is no option 'nope'"),
        ("someone.original_files=yes", "unknown platform 'someone': choose one of "),
        ("original_files", "an option is written as key=value"),
        ("=yes", "an option is written as key=value"),
        ("original_files=perhaps", "option 'original_files' of claude_code"),
    ],
)
def test_a_wrong_option_is_told_before_anything_is_read(run, tmp_path, option, told):
    result = run("import", tmp_path / "does-not-exist", "-O", option)
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_usage_errors_exit_with_2(run, session):
    for words in (["import"], ["import", session, "--jobs", "0"], ["import", session, "--nope"], ["nope"]):
        assert run(*words).exit_code == 2


def test_two_processes_write_the_same_bytes_as_one(run, case, tmp_path, monkeypatch):
    monkeypatch.setattr(import_files, "_PARALLEL_THRESHOLD_BYTES", 0)
    paths = [case(name) for name in ("plain_session", "damage_bad_line_middle", "subagents_folder", "resumed_pair")]
    reports = []
    for jobs in ("1", "2"):
        out, aside = tmp_path / f"{jobs}.jsonl", tmp_path / f"{jobs}.aside.jsonl"
        reports.append(json.loads(run("import", *paths, "-o", out, "--quarantine", aside, "-j", jobs, "--json").stdout))
    assert reports[0] == reports[1]
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()
    assert (tmp_path / "1.aside.jsonl").read_bytes() == (tmp_path / "2.aside.jsonl").read_bytes()


def test_two_processes_fill_the_archive_as_one_does(run, case, tmp_path, monkeypatch):
    monkeypatch.setattr(archive_import, "_PARALLEL_THRESHOLD_BYTES", 0)
    paths = [case(name) for name in ("plain_session", "damage_bad_line_middle", "empty_file", "subagents_folder")]
    held, reports = [], []
    for jobs in ("1", "3"):
        monkeypatch.setenv("PALAVER_HOME", str(tmp_path / jobs))
        reports.append(json.loads(run("import", *paths, "-j", jobs, "--json").stdout))
        held.append(exported(tmp_path / jobs / "archive.db"))
    assert held[0] == held[1]
    assert len(held[0]) > 4
    assert reports[0] == reports[1]


@pytest.mark.parametrize("where", ["folder", "below-a-file"])
def test_an_unwritable_output_is_one_clear_line(run, session, tmp_path, where):
    (tmp_path / "file").write_text("in the way")
    out = tmp_path / "home" if where == "folder" else tmp_path / "file" / "out.jsonl"
    before = files_below(tmp_path)
    result = run("import", session, "-o", out)
    assert result.exit_code == 2
    assert result.stderr.startswith("palaver: cannot ")
    assert len(result.stderr.splitlines()) == 1
    assert files_below(tmp_path) == before


def test_an_unwritable_quarantine_ends_the_run(run, damaged, tmp_path, out):
    (tmp_path / "file").write_text("in the way")
    result = run("import", damaged, "-o", out, "--quarantine", tmp_path / "file" / "aside.jsonl")
    assert result.exit_code == 2
    assert "cannot create the folder" in result.stderr
    assert not out.exists()


def test_a_source_is_never_overwritten(run, session, tmp_path):
    own = tmp_path / "session.jsonl"
    shutil.copy(session, own)
    for words in (["-o", own], ["-o", tmp_path / "out.jsonl", "--quarantine", own]):
        result = run("import", tmp_path, *words)
        assert result.exit_code == 2
        assert "is one of the sources" in result.stderr
    assert own.read_bytes() == session.read_bytes()


def test_output_and_quarantine_are_different_files(run, session, out):
    result = run("import", session, "-o", out, "--quarantine", out)
    assert result.exit_code == 2
    assert "are the same file" in result.stderr


def test_a_link_as_output_stays_a_link(run, session, tmp_path, out):
    (tmp_path / "link.jsonl").symlink_to(out)
    assert run("import", session, "-o", tmp_path / "link.jsonl").exit_code == 0
    assert (tmp_path / "link.jsonl").is_symlink()
    assert len(documents(out)) == 1


def test_a_home_folder_in_an_option_is_found(run, session, home):
    assert run("import", session, "--output=~/out.jsonl").exit_code == 0
    assert (home / "out.jsonl").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["-o", "/dev/full"], ["-o", "-", "--quarantine", "/dev/full"]])
def test_a_full_disk_is_one_clear_line(run, damaged, words):
    result = run("import", damaged, *words)
    assert result.exit_code == 2
    assert result.stderr == "palaver: cannot write /dev/full: No space left on device\n"
    assert Path("/dev/full").is_char_device()


def test_a_failure_in_one_source_is_told_and_the_others_are_imported(run, session, damaged, monkeypatch):
    from palaver.importers import importer

    reader = importer("claude_code")
    read = type(reader).read

    def failing(self, source, run):
        if source.name == session.name:
            raise ZeroDivisionError("as if by a bug")
        return read(self, source, run)

    monkeypatch.setattr(type(reader), "read", failing)
    result = run("import", session, damaged, "--dry-run")
    assert result.exit_code == 1
    assert "failed  ZeroDivisionError: as if by a bug (this is a bug in palaver)" in result.stderr
    assert "1 conversation read" in result.stderr
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("PALAVER_DEBUG", "1")
    assert "Traceback" in run("import", session, damaged, "--dry-run").stderr
    report = json.loads(run("import", session, "--dry-run", "--json").stdout)
    assert "Traceback" in report["sources"][0]["traceback"]


def test_a_source_that_vanishes_is_told(run, session, damaged, tmp_path, monkeypatch):
    vanishing = tmp_path / "vanishing.jsonl"
    shutil.copy(session, vanishing)

    def find_and_remove(*arguments, **settings):
        found = find_units(*arguments, **settings)
        vanishing.unlink(missing_ok=True)
        return found

    monkeypatch.setattr("palaver.workflows.find_units.find_units", find_and_remove)
    result = run("import", vanishing, damaged, "--dry-run")
    assert result.exit_code == 1
    assert "failed  cannot read" in result.stderr
    assert "1 conversation read" in result.stderr


def test_a_zip_that_compresses_nothing_is_read_by_its_members(run, session, tmp_path):
    with zipfile.ZipFile(tmp_path / "stored.zip", "w", zipfile.ZIP_STORED) as archive:
        archive.write(session, session.name)
    result = run("import", tmp_path / "stored.zip", "-o", "-")
    assert result.exit_code == 0
    assert result.stdout_bytes == run("import", session, "-o", "-").stdout_bytes


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_no_side_file_stands_beside_what_is_no_regular_file(run, damaged, tmp_path, kind):
    target = tmp_path / "target"
    if kind == "device":
        target.symlink_to(os.devnull)
    else:
        os.mkfifo(target)
        reader = os.open(target, os.O_RDONLY | os.O_NONBLOCK)
    before = files_below(tmp_path)
    result = run("import", damaged, "-o", target)
    if kind == "pipe":
        os.close(reader)
    assert result.exit_code == 1
    assert files_below(tmp_path) == before
    assert "Records were quarantined; with --quarantine FILE their bytes are kept." in result.stderr
    assert "palaver validate" not in result.stderr


def test_a_quarantine_that_is_named_is_written_beside_a_device_as_well(run, damaged, tmp_path):
    aside = tmp_path / "aside.jsonl"
    result = run("import", damaged, "-o", os.devnull, "--quarantine", aside)
    assert result.exit_code == 1
    assert aside.is_file()
    assert "The quarantined records are in" in result.stderr


@pytest.mark.parametrize("option", ["--quarantine", "--usage"])
def test_side_files_are_files(run, damaged, tmp_path, option):
    result = run("import", damaged, "-o", tmp_path / "out.jsonl", option, "-")
    assert result.exit_code == 2
    assert result.stderr == f"palaver: {option} - is not supported: give it a file\n"
    assert not (tmp_path / "out.jsonl").exists()


def test_costs_are_those_of_an_export(run, case, tmp_path, kept):
    kept.mkdir()
    (kept / "config.toml").write_text('[prices."claude-*"]\ninput = 7\noutput = 70\n')
    imported, exported = tmp_path / "imported.jsonl", tmp_path / "exported.jsonl"
    source = case("plain_session")
    assert run("import", source, "-o", imported, "--with-cost").exit_code == 0
    assert run("import", source).exit_code == 0
    assert run("export", "-o", exported, "--with-cost").exit_code == 0
    costs = [
        [(message["message_id"], message.get("metadata", {}).get("computed_cost")) for message in document["messages"]]
        for document in (documents(imported)[0], documents(exported)[0])
    ]
    assert costs[0] == costs[1]
    assert any(cost for _, cost in costs[0])
    assert run("validate", imported).exit_code == 0


def test_costs_are_the_same_with_several_processes(run, case, tmp_path, monkeypatch):
    monkeypatch.setattr("palaver.workflows.import_files._PARALLEL_THRESHOLD_BYTES", 0)
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    sources = [case("plain_session"), case("subagents_folder")]
    assert run("import", *sources, "-o", one, "--with-cost", "--jobs", "1").exit_code == 0
    assert run("import", *sources, "-o", two, "--with-cost", "--jobs", "2").exit_code == 0
    assert one.read_bytes() == two.read_bytes()
    assert b'"computed_cost"' in one.read_bytes()


def test_the_archive_takes_no_costs(run, session, kept):
    result = run("import", session, "--with-cost")
    assert result.exit_code == 2
    assert result.stderr == (
        "palaver: --with-cost goes with --output: the archive computes costs whenever it is read\n"
    )
    assert not kept.exists()
