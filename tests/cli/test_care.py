"""What people see and say when they look after the archive: findings, quarantine, marks, forgetting, health."""

import json

import pytest

from palaver.cli._terminal import output

SECRET = "quixotryzzle"  # noqa: S105 - what a test looks for


@pytest.fixture
def line():
    def made(session, uuid, text):
        message = {"role": "user", "content": text}
        at = "2025-03-01T10:00:00.000Z"
        record = {"type": "user", "uuid": uuid, "sessionId": session, "timestamp": at, "message": message}
        return json.dumps(record) + "\n"

    return made


@pytest.fixture
def projects(home, line):
    """Two sessions where Claude Code has them."""
    folder = home / ".claude" / "projects" / "garden"
    folder.mkdir(parents=True)
    (folder / "5ec2e7.jsonl").write_text(line("5ec2e7", "u1", f"The password is {SECRET}."))
    (folder / "0bea45.jsonl").write_text(line("0bea45", "u2", "When do I sow the beans?"))
    return folder


@pytest.fixture
def scanned(run, projects):
    assert run("scan").exit_code == 0
    return projects


def answer(run, *words):
    return json.loads(run(*words, "--json").stdout)


def ids(run):
    told = answer(run, "tag", "seen", "--platform", "claude_code", "--dry-run")
    return [one["conversation_id"] for one in told["conversations"]]


def test_what_was_forgotten_stays_so_until_it_is_undone(run, scanned, kept, line):
    assert ids(run) == ["0bea45", "5ec2e7"]
    assert run("forget", "5ec2", "--yes", "--reason", "private").stdout == "forgotten  claude_code:5ec2e7\n"
    assert not any(SECRET.encode() in file.read_bytes() for file in kept.iterdir())
    run("scan")
    run("import", scanned, "--again")
    assert ids(run) == ["0bea45"]
    with (scanned / "5ec2e7.jsonl").open("a") as stream:
        stream.write(line("5ec2e7", "u3", f"Still {SECRET}?"))
    scan = answer(run, "scan")
    assert scan["totals"]["archive"]["forgotten"] == 1
    assert not any(SECRET.encode() in file.read_bytes() for file in kept.iterdir())
    [stone] = answer(run, "forget", "--list")["tombstones"]
    assert (stone["conversation_id"], stone["reason"]) == ("5ec2e7", "private")
    undone = run("forget", "--undo", "5ec2e7")
    assert "5ec2e7.jsonl" in undone.stderr
    assert ids(run) == ["0bea45"]
    run("scan")
    assert ids(run) == ["0bea45", "5ec2e7"]


def test_undo_says_when_no_source_is_left(run, scanned):
    run("forget", "5ec2", "--yes")
    (scanned / "5ec2e7.jsonl").unlink()
    assert "only another copy" in run("forget", "--undo", "5ec2e7").stderr


@pytest.mark.parametrize(("said", "code"), [("y\n", 0), ("n\n", 1), ("\n", 1), ("", 1)])
def test_whoever_can_be_asked_is_asked(run, scanned, monkeypatch, said, code):
    monkeypatch.setattr(output, "can_prompt", lambda: True)
    result = run("forget", "5ec2", input=said)
    assert result.exit_code == code
    assert "Forget it for good? [y/N]" in result.stderr
    assert len(ids(run)) == 1 + code
    assert scanned


def test_nobody_is_asked_in_a_pipe(run, scanned):
    result = run("forget", "5ec2", input="y\n")
    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert scanned


def test_a_dry_run_tells_what_would_go(run, case):
    run("import", case("subagents_folder"))
    everything = answer(run, "forget", "--platform", "claude_code", "--dry-run")["conversations"]
    parent = next(one for one in everything if one["agents_kept"] or ":agent-" not in one["conversation_id"])
    told = answer(run, "forget", parent["conversation_id"], "--dry-run")
    assert told["is_dry_run"]
    [alone] = told["conversations"]
    assert alone["agents_kept"]
    together = answer(run, "forget", parent["conversation_id"], "--agents", "--dry-run")["conversations"]
    assert len(together) == 1 + len(alone["agents_kept"])
    assert not together[0]["agents_kept"]
    assert len(answer(run, "forget", "--platform", "claude_code", "--dry-run")["conversations"]) == len(everything)
    shown = run("forget", parent["conversation_id"], "--dry-run")
    assert "unless you pass --agents" in shown.stdout


def test_words_and_filters_narrow_each_other(run, scanned):
    assert run("forget", "5ec2", "--platform", "chatgpt", "--yes").exit_code == 1
    assert run("forget", "5ec2", "0bea45", "--platform", "claude_code", "--yes").exit_code == 0
    assert ids(run) == []
    assert scanned


def test_tags_and_ratings_outlive_a_new_import(run, scanned):
    run("tag", "0bea45", "garden", "  to   read ")
    run("rate", "0bea45", "4", "--feedback", "It\x1b[31m knew.")
    run("import", scanned, "--again")
    assert answer(run, "tag", "0bea45")["conversations"][0]["tags"] == ["garden", "to read"]
    assert answer(run, "rate", "0bea45")["rating"]["score"] == 4
    assert "\x1b[31m" not in run("rate", "0bea45").stdout
    assert run("tag").stdout == "1  garden\n1  to read\n"


def test_a_tag_for_all_that_pass(run, scanned):
    assert "2 conversations changed" in run("tag", "work", "--platform", "claude_code").stderr
    assert "0 conversations changed" in run("tag", "work", "--platform", "claude_code").stderr
    assert "1 conversation would be changed" in run("tag", "0bea45", "work", "--remove", "--dry-run").stderr
    assert answer(run, "tag")["tags"] == [{"tag": "work", "conversations": 2}]
    assert scanned


@pytest.mark.parametrize(
    "words", [["tag", "5ec2", "--remove"], ["rate", "5ec2", "nan"], ["rate", "5ec2", "3", "--clear"]]
)
def test_what_makes_no_sense_is_refused(run, scanned, words):
    assert run(*words).exit_code == 2
    assert scanned


def test_a_pipe_gets_exactly_the_bytes(finish, run, tmp_path, line):
    raw = b"\x1b[31m\xff no JSON\r"
    (tmp_path / "one.jsonl").write_bytes(line("5ec2e7", "u1", "When?").encode() + raw + b"\n")
    assert run("import", tmp_path / "one.jsonl").exit_code == 1
    [entry] = answer(run, "quarantine", "list")["entries"]
    shown = finish("quarantine", "show", entry["number"])
    assert shown.stdout in {raw, raw.removesuffix(b"\r")}
    assert len(shown.stdout) == entry["size_bytes"]
    told = answer(run, "quarantine", "show", entry["number"])
    assert told["text"] is None
    assert told["base64"]


def test_a_terminal_is_not_steered(run, tmp_path, line, monkeypatch):
    (tmp_path / "one.jsonl").write_bytes(line("5ec2e7", "u1", "When?").encode() + b"\x1b[31m no JSON\xe2\x80\xae\n")
    run("import", tmp_path / "one.jsonl")
    monkeypatch.setattr(output, "is_terminal", lambda: True)
    shown = run("quarantine", "show", 1).stdout
    assert "\x1b" not in shown
    assert "\\x1b[31m no JSON" in shown


def test_what_was_mended_is_read_and_told(run, damaged, tmp_path):
    copy = tmp_path / damaged.name
    copy.write_bytes(damaged.read_bytes())
    run("import", copy)
    assert len(answer(run, "quarantine", "list")["entries"]) == 3
    lines = copy.read_bytes().splitlines(keepends=True)
    copy.write_bytes(b"".join(line for number, line in enumerate(lines, 1) if number not in {2, 5, 6}))
    retried = run("quarantine", "retry")
    assert retried.exit_code == 0, retried.stdout
    assert retried.stdout.count("read now") == 3
    assert run("quarantine", "list").stderr == "Nothing is quarantined.\n"


def test_findings_tell_their_places(run, damaged):
    run("import", damaged)
    assert "line 2, byte 376" not in run("findings").stdout
    assert "line 2, byte 376" in run("findings", "--code", "bad-json").stdout
    assert run("findings", "--severity", "note", "--code", "bad-json").stderr == "No finding matches these filters.\n"


def test_a_damaged_archive_is_told_in_one_line(run, scanned, kept):
    (kept / "archive.db").write_bytes(b"SQLite format 3\0" + bytes(4096))
    for words in (["findings"], ["quarantine", "list"], ["tag"], ["rate", "5ec2"], ["forget", "5ec2", "--yes"]):
        result = run(*words)
        assert result.exit_code == 2, words
        assert "Traceback" not in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert run("doctor").exit_code == 1
    assert scanned


def test_a_file_that_is_about_to_be_deleted_is_told(run, scanned):
    import os

    assert run("doctor").exit_code == 0
    os.utime(scanned / "5ec2e7.jsonl", (0, 0))
    result = run("doctor")
    assert result.exit_code == 1
    assert "~" in result.stdout
    assert "5ec2e7.jsonl" in result.stdout
    run("scan")
    assert run("doctor").exit_code == 0
