"""What cannot be imported: each case has a sentence of its own, once, that says what to do, and exit code 2."""

import gzip
import io
import json
import random
import sqlite3
import zipfile

import pytest

from palaver.sources.zip import limits

LIST = "`palaver sources` lists what palaver reads"
CODEX_LINE = '{"timestamp": "2026-02-03T10:00:00Z", "type": "session_meta", "payload": {"id": "s1", "cwd": "/work"}}\n'
CHATGPT = [
    {
        "id": "c1",
        "title": "Tides",
        "create_time": 1680426400.0,
        "current_node": "q",
        "mapping": {
            "q": {"id": "q", "parent": None, "message": {"author": {"role": "user"}, "content": {"parts": ["When?"]}}}
        },
    }
]
NOISE = random.Random(7).randbytes(3_000)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


def zipped(members, method=zipfile.ZIP_DEFLATED):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return raw.getvalue()


def locked(archive):
    """Mark every member as encrypted, as programs do that ask for a password."""
    raw = bytearray(archive)
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        position = raw.find(magic)
        while position >= 0:
            raw[position + flags] |= 1
            position = raw.find(magic, position + 4)
    return bytes(raw)


def database(folder, *tables):
    path = folder / "some.db"
    connection = sqlite3.connect(path)
    for table in tables:
        connection.execute(f"create table {table} (a)")
    connection.close()
    return path.read_bytes()


EXPORT = zipped({"conversations.json": json.dumps(CHATGPT), "user.json": "{}"})
FILES = {
    "empty.json": (b"", "is empty: download or copy it again"),
    "empty.zip": (b"", "is empty: download or copy it again"),
    "noise.bin": (NOISE, f"is a binary file of a kind that palaver does not know: {LIST}"),
    "noise.zip": (NOISE, "is not a ZIP, although its name ends in .zip: download it again"),
    "login.ZIP": (
        b"<!DOCTYPE html>\n<html><body>Log in first</body></html>",
        "is not a ZIP, although its name ends in .zip (what is there is a web page): download it again",
    ),
    "picture.png": (PNG, f"looks like a PNG picture, not a conversation: {LIST}"),
    "picture.json": (b"\xff\xd8\xff\xe0" + bytes(20), f"looks like a JPEG picture, not a conversation: {LIST}"),
    "paper.pdf": (b"%PDF-1.7\n", f"looks like a PDF document, not a conversation: {LIST}"),
    "clip.m4a": (b"\0\0\0\x20ftypM4A ", f"looks like an M4A sound file, not a conversation: {LIST}"),
    "package.json": (
        b'{"name": "tides", "version": "1.0"}',
        f"is JSON, but not a conversation format that palaver knows: {LIST}",
    ),
    "rows.jsonl": (
        b'{"a": 1}\n{"a": 2}\n',
        f"is JSON Lines, but not a conversation format that palaver knows: {LIST}",
    ),
    "page.html": (
        b"<html><body>Tides</body></html>",
        f"is a web page, but not in a conversation format that palaver knows: {LIST}",
    ),
    "notes.txt": (b"Buy flour.\n", f"is a text file, but not in a conversation format that palaver knows: {LIST}"),
    "older.txt": (
        "Die Flut kommt später, Grüße an alle am Ufer".encode("latin-1"),
        f"is a text file, but not in a conversation format that palaver knows: {LIST}",
    ),
    "powershell.json": ('{"a": 1}'.encode("utf-16"), "is a text file in UTF-16: save it again in UTF-8"),
    "feed.xml": (
        b"<?xml version='1.0'?><a/>",
        f"is an XML file, but not in a conversation format that palaver knows: {LIST}",
    ),
    "backup.7z": (b"7z\xbc\xaf\x27\x1c" + bytes(30), "is a 7-Zip archive: unpack it, then import the folder"),
    "backup.tar.gz": (
        gzip.compress(bytes(257) + b"ustar" + bytes(250)),
        "is a tar archive: unpack it, then import the folder",
    ),
    "cut.jsonl.gz": (
        gzip.compress(b"")[:12],
        f"looks like a compressed file that is empty or damaged, not a conversation: {LIST}",
    ),
    "locked.zip": (
        locked(EXPORT),
        (
            "is protected by a password: unpack it with its password (for example `7z x locked.zip`), "
            "then import the folder"
        ),
    ),
    "stub.zip": (EXPORT[:20], None),
    "hollow.zip": (zipped({}), "is an empty ZIP"),
    "other.zip": (
        zipped({"a.txt": "a", "b/c.txt": "c"}),
        f"is a ZIP of 2 files, but none is a conversation: {LIST}",
    ),
    "lone.zip": (zipped({"a.txt": "a"}), f"is a ZIP of 1 file, but it is not a conversation: {LIST}"),
    "report.docx": (
        zipped({"[Content_Types].xml": "<x/>", "word/document.xml": "<x/>"}),
        f"looks like an Office document, not a conversation: {LIST}",
    ),
    "nested.zip": (
        zipped({"inner.zip": EXPORT}),
        "holds another ZIP (inner.zip): unpack it, then import the folder",
    ),
    "two.zip": (
        zipped({"a.zip": EXPORT, "b.zip": EXPORT}),
        "holds another ZIP (a.zip and 1 more): unpack it, then import the folder",
    ),
    "rollout.jsonl": (CODEX_LINE.encode(), "is a Codex CLI session; palaver does not read Codex yet"),
    "journal.jsonl": (b'{"type":"started"}\n', "holds no conversation: it is a workflow's journal"),
}
DAMAGED = (
    "cannot open {path} as a ZIP: its directory, at the end, is missing, and no file could be found in it: "
    "download it again"
)
SENTENCES = {name: f"{{path}} {sentence}" if sentence else DAMAGED for name, (_, sentence) in FILES.items()}


@pytest.fixture(params=[[], ["-o", "{folder}/out.jsonl"]], ids=["archive", "output"])
def destination(request, tmp_path):
    return [word.format(folder=tmp_path) for word in request.param]


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_cannot_be_imported(run, tmp_path, destination, name):
    path = tmp_path / name
    path.write_bytes(FILES[name][0])
    result = run("import", path, *destination)
    assert result.stderr == f"palaver: {SENTENCES[name].format(path=path)}\n"
    assert result.exit_code == 2
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("name", FILES)
def test_its_sentence_is_the_same_beside_others_and_the_next_time(run, session, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FILES[name][0])
    for _ in range(2):
        report = json.loads(run("import", path, session, "--json").stdout)
        assert report["refused"] == [SENTENCES[name].format(path=path)]


def test_a_database_of_another_program_names_its_tables(run, tmp_path):
    content = database(tmp_path, "tide", "moon", "harbour", "boat")
    for folder in (tmp_path, tmp_path / "a folder with % and ?"):
        folder.mkdir(exist_ok=True)
        path = folder / "tides.db"
        path.write_bytes(content)
        result = run("import", path)
        tables = "tables boat, harbour, moon and 1 more"
        assert result.stderr == f"palaver: {path} is an SQLite database of another program ({tables}): {LIST}\n"
        assert sorted(file.name for file in folder.glob("tides.db*")) == ["tides.db"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "standard input is empty"),
        (PNG, f"standard input looks like a PNG picture, not a conversation: {LIST}"),
        (zipped({"a.txt": "a"}), f"standard input is a ZIP without a conversation that palaver can read: {LIST}"),
        (CODEX_LINE.encode(), "standard input is a Codex CLI session; palaver does not read Codex yet"),
    ],
)
def test_standard_input_that_cannot_be_imported(finish, content, sentence):
    result = finish("import", "-", stdin=content)
    assert result.stderr.decode().splitlines() == [f"palaver: {sentence}"]
    assert result.returncode == 2


def test_a_zip_bomb_is_refused(run, tmp_path, monkeypatch):
    monkeypatch.setenv(limits.MAX_BYTES_VARIABLE, "20000")
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped({"conversations.json": json.dumps(CHATGPT) + " " * 300_000}))
    result = run("import", path, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 1
    assert "is larger than 20000 bytes" in " ".join(result.stderr.split())


# -- folders -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def downloads(tmp_path):
    folder = tmp_path / "downloads"
    folder.mkdir()
    for name in "abcd":
        (folder / f"{name}.txt").write_text(name)
    return folder


def test_an_empty_folder(run, tmp_path, destination):
    folder = tmp_path / "nothing"
    folder.mkdir()
    result = run("import", folder, *destination)
    assert (result.exit_code, result.stderr) == (2, f"palaver: {folder} is an empty folder\n")


def test_a_folder_without_a_conversation(run, downloads, destination):
    sentence = (
        f"palaver: {downloads} holds 4 files, but none is a conversation: "
        f"`palaver identify {downloads}` says what is there\n"
    )
    for _ in range(2):
        result = run("import", downloads, *destination)
        assert (result.exit_code, result.stderr) == (2, sentence)


def test_a_folder_of_one_file(run, tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "note.txt").write_text("a")
    assert run("import", folder).stderr == (
        f"palaver: {folder} holds 1 file, but it is not a conversation: "
        f"`palaver identify {folder}` says what is there\n"
    )


def test_a_folder_of_an_unread_format(run, downloads):
    for number in range(12):
        (downloads / f"rollout-{number}.jsonl").write_text(CODEX_LINE)
    sentence = (
        f"palaver: {downloads}: 12 files are Codex CLI sessions; palaver does not read Codex yet; "
        "4 other files hold no conversation\n"
    )
    for _ in range(2):
        result = run("import", downloads)
        assert (result.exit_code, result.stderr) == (2, sentence)


def test_a_zip_of_an_unread_format(run, tmp_path):
    path = tmp_path / "backup.zip"
    path.write_bytes(zipped({"sessions/rollout-1.jsonl": CODEX_LINE, "a.txt": "a"}))
    result = run("import", path)
    assert result.stderr == f"palaver: {path}: 1 file is a Codex CLI session; palaver does not read Codex yet\n"


def test_a_folder_named_with_the_wrong_platform(run, downloads, destination):
    (downloads / "export.zip").write_bytes(EXPORT)
    result = run("import", "claude_code", downloads, *destination)
    assert result.exit_code == 2
    assert result.stderr == (
        f"palaver: {downloads} holds 5 files, but none is Claude Code; 1 of them is ChatGPT: leave out `claude_code`\n"
    )


def test_a_folder_of_one_file_named_with_the_wrong_platform(run, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "export.zip").write_bytes(EXPORT)
    result = run("import", "claude_code", tmp_path / "one")
    sentence = f"palaver: {tmp_path / 'one'} holds 1 file, which is ChatGPT: leave out `claude_code`\n"
    assert (result.exit_code, result.stderr) == (2, sentence)


@pytest.mark.parametrize("name", ["export.zip", "conversations.json"])
def test_a_file_named_with_the_wrong_platform(run, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(EXPORT if name == "export.zip" else json.dumps(CHATGPT).encode())
    result = run("import", "claude_code", path)
    assert (result.exit_code, result.stderr) == (2, f"palaver: {path} is ChatGPT: leave out `claude_code`\n")


@pytest.mark.parametrize("name", ["picture.png", "empty.json", "noise.zip", "rollout.jsonl", "backup.7z"])
def test_a_file_that_cannot_be_of_any_platform_is_not_read_as_the_named_one(run, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FILES[name][0])
    result = run("import", "chatgpt", path)
    assert (result.exit_code, result.stderr) == (2, f"palaver: {SENTENCES[name].format(path=path)}\n")


def test_what_is_known_in_a_mixed_folder_is_imported_and_the_rest_is_listed(run, downloads):
    (downloads / "export.zip").write_bytes(EXPORT)
    (downloads / "rollout.jsonl").write_text(CODEX_LINE)
    result = run("import", downloads)
    assert result.exit_code == 0
    sentence = "1 file is a Codex CLI session; palaver does not read Codex yet"
    assert f"\n{sentence}:\n  {downloads / 'rollout.jsonl'}\n" in result.stderr
    assert "\n4 files skipped: not conversations\n" in result.stderr
    assert result.stderr.count("rollout.jsonl") == 1
    assert run("import", downloads).exit_code == 0
    unclaimed = json.loads(run("import", downloads, "--again", "--json").stdout)["unclaimed"]
    assert sorted(unclaimed) == [
        str(downloads / name) for name in ("a.txt", "b.txt", "c.txt", "d.txt", "rollout.jsonl")
    ]


def test_a_folder_without_a_conversation_does_not_keep_others_from_being_imported(run, session, downloads):
    result = run("import", downloads, session)
    assert result.exit_code == 2
    assert f"palaver: {downloads} holds 4 files" in result.stderr
    assert "1 conversation read, new" in result.stderr


def test_a_folder_that_was_imported_before_is_not_refused(run, session, downloads):
    (downloads / "session.jsonl").write_bytes(session.read_bytes())
    (downloads / "export.zip").write_bytes(EXPORT)
    assert run("import", downloads).exit_code == 0
    assert run("import", downloads).exit_code == 0
    (downloads / "session.jsonl").unlink()
    (downloads / "e.txt").write_text("e")
    assert run("import", downloads).exit_code == 0  # the ZIP is there, and is as it was


def test_a_scan_does_not_refuse_its_own_places(run, home):
    (home / ".claude" / "projects").mkdir(parents=True)
    (home / ".claude" / "projects" / "note.txt").write_text("a")
    assert run("scan").exit_code == 0


# -- typing ------------------------------------------------------------------------------------------------------------


def test_nothing_is_imported_after_a_typo_in_the_platform(run, tmp_path, kept):
    path = tmp_path / "export.zip"
    path.write_bytes(EXPORT)
    result = run("import", "chatgtp", path)
    assert (result.exit_code, result.stderr) == (2, "palaver: unknown platform 'chatgtp': did you mean chatgpt?\n")
    assert not kept.exists()


def test_a_missing_path_names_the_file_that_was_probably_meant(run, tmp_path):
    (tmp_path / "export.zip").write_bytes(EXPORT)
    result = run("import", tmp_path / "exprot.zip")
    assert (result.exit_code, result.stderr) == (
        2,
        f"palaver: {tmp_path / 'exprot.zip'} does not exist: did you mean export.zip?\n",
    )
    for command in ("identify", "validate", "cook"):
        assert "does not exist: did you mean export.zip?" in run(command, tmp_path / "exprot.zip").stderr


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("import", "{path}", "-o", ""), "--output"),
        (("import", "{path}", "-o", "out.jsonl", "--quarantine", ""), "--quarantine"),
        (("import", "{path}", "-o", "out.jsonl", "--usage", ""), "--usage"),
        (("export", "-o", ""), "--output"),
        (("cook", "{path}", "-o", ""), "--output"),
        (("merge", "{path}", "-o", ""), "--output"),
        (("convert", "--from", "anthropic", "--to", "ucs", "{path}", "-o", ""), "--output"),
        (("convert", "--from", "anthropic", "--to", "ucs", "{path}", "--losses", ""), "--losses"),
        (("validate", "{path}", "--report", ""), "--report"),
    ],
)
def test_an_empty_name_for_an_output_is_an_error(run, session, words, option):
    result = run(*(word.format(path=session) for word in words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"palaver: {option} needs the name of a file\n"


@pytest.mark.parametrize("ending", ["html", "csv", "ZIP", "md", "db", "gz", "txt"])
def test_an_output_that_is_named_like_another_format_is_refused(run, session, tmp_path, ending):
    out = tmp_path / f"out.{ending}"
    result = run("import", session, "-o", out)
    assert result.exit_code == 2
    assert result.stderr == (
        f"palaver: --output {out}: an import writes JSON Lines, so the name must end in .jsonl, .ndjson or .json; "
        "for other formats, import into the archive, then use `palaver export`\n"
    )
    assert not out.exists()


@pytest.mark.parametrize("name", ["out.jsonl", "out.ndjson", "out.json", "out", "out.2026"])
def test_an_output_of_json_lines_may_have_other_names(run, session, tmp_path, name):
    assert run("import", session, "-o", tmp_path / name).exit_code == 0
    assert len((tmp_path / name).read_bytes().splitlines()) == 1
