"""Memory has a ceiling: 300 MB go through a process that may not have half as much, to JSON Lines and into the archive.

Sessions are generated. Of an export a few megabytes are, and repeated under other ids, every third conversation with
other words as well: what is the same, the archive keeps only once.
"""

import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from importing import FIXTURES
from palaver.archive.connection import open_to_read
from palaver.archive.documents import documents

GENERATE = Path(__file__).parents[1] / "benchmarks" / "generate.py"
SOURCE_BYTES = 300_000_000
CEILING_BYTES = 150_000_000
"""What a process may take up; the records here are too small to count."""
IMPORT = """
import runpy
sys.argv = ["palaver", "import", *sys.argv[1:], "--jobs", "1", "--json"]
runpy.run_module("palaver", run_name="__main__", alter_sys=True)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit, and tells no peak")


def run_under_ceiling(code: str, *words: str | Path, folder: Path) -> tuple[bool, str]:
    """Whether a process got by with what it may have, and its complaints.

    Linux refuses it more. Elsewhere the peak is looked at afterwards; on Linux that would be at least our own.
    """
    head = "import sys\n"
    if sys.platform == "linux":
        limits = CEILING_BYTES, CEILING_BYTES
        head += f"import resource\nresource.setrlimit(resource.RLIMIT_DATA, {limits})\n"
    with (folder / "answer").open("wb") as answer, (folder / "complaint").open("wb") as complaint:
        process = subprocess.Popen(
            [sys.executable, "-c", head + code, *map(str, words)],
            stdout=answer,
            stderr=complaint,
            env={**os.environ, "PALAVER_HOME": str(folder / "home")},
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1_024)
    is_within = sys.platform == "linux" or peak_bytes <= CEILING_BYTES
    return process.returncode == 0 and is_within, (folder / "complaint").read_text()


def generated(platform: str, folder: Path, megabytes: float, *options: str) -> dict[str, int]:
    command = [sys.executable, str(GENERATE), platform, str(folder), "--megabytes", str(megabytes), *options]
    return orjson.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def sessions(folder: Path) -> tuple[list[Path], int, int]:
    """One large session, and many others: where they are, their bytes, how many conversations they are."""
    truths = [
        generated("claude_code", folder / "one", SOURCE_BYTES * 2 / 3e6, "--single-file"),
        generated("claude_code", folder / "many", SOURCE_BYTES / 3e6, "--seed", "2"),
    ]
    return (
        [folder / "one", folder / "many"],
        sum(truth["bytes"] for truth in truths),
        sum(truth["conversations"] for truth in truths),
    )


def export(folder: Path) -> tuple[list[Path], int, int]:
    generated("chatgpt", folder / "few", 5)
    with zipfile.ZipFile(folder / "few" / "export.zip") as few:
        conversations = [
            (conversation["conversation_id"].encode(), orjson.dumps(conversation))
            for conversation in orjson.loads(few.read("conversations.json"))
        ]
    size_bytes = number = 0
    target = folder / "export.zip"
    with (
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as many,
        many.open("conversations.json", "w", force_zip64=True) as member,
    ):
        while size_bytes < SOURCE_BYTES:
            name, raw = conversations[number % len(conversations)]
            raw = raw.replace(name, b"%08x" % number + name[8:])
            if number % 3 == 0:  # no space stands between values here, so whatever follows one is text
                raw = raw.replace(b" t", b" t%x" % number)
            size_bytes += member.write((b",\n" if number else b"[") + raw)
            number += 1
        member.write(b"]")
    return [target], size_bytes, number


def short_messages(folder: Path) -> tuple[list[Path], int]:
    """Sessions of messages of two words: what is kept about each is many times as large."""
    folder.mkdir()
    for session in range(_SESSIONS):
        name = f"00000000-0000-4000-a000-{session:012}"
        lines = [
            {
                "type": "user",
                "sessionId": name,
                "timestamp": f"2026-01-01T00:{number // 60 % 60:02}:00.000Z",
                "uuid": f"{session:08x}-0000-4000-a000-{number:012}",
                "parentUuid": f"{session:08x}-0000-4000-a000-{number - 1:012}" if number else None,
                "message": {"role": "user", "content": f"go {session * _MESSAGES + number}"},
            }
            for number in range(_MESSAGES)
        ]
        (folder / f"{name}.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return [folder], _SESSIONS


_SESSIONS, _MESSAGES = 16, 6_250


def goes_through(platform: str, sources: list[Path], conversations: int, folder: Path) -> None:
    for output in (["--output", folder / "documents.jsonl"], []):
        is_done, complaint = run_under_ceiling(IMPORT, platform, *sources, *output, folder=folder)
        assert is_done, complaint + (folder / "answer").read_text()[:2_000]
        assert orjson.loads((folder / "answer").read_bytes())["totals"]["conversations"] == conversations
    shutil.rmtree(folder)


def test_300_mb_of_sessions_go_through_under_the_ceiling(tmp_path):
    sources, size_bytes, conversations = sessions(tmp_path / "source")
    assert size_bytes > SOURCE_BYTES * 0.99
    goes_through("claude_code", sources, conversations, tmp_path)


def test_100_000_short_messages_go_through_under_the_ceiling(tmp_path):
    sources, conversations = short_messages(tmp_path / "source")
    goes_through("claude_code", sources, conversations, tmp_path)


@pytest.mark.parametrize("size_bytes", [SOURCE_BYTES, CEILING_BYTES // 2])
def test_the_ceiling_is_one(size_bytes, tmp_path):
    is_done, complaint = run_under_ceiling(f"kept = b'x' * {size_bytes}", folder=tmp_path)
    assert is_done == (size_bytes < CEILING_BYTES), complaint


def test_an_export_of_300_mb_goes_through_under_the_ceiling(tmp_path):
    sources, size_bytes, conversations = export(tmp_path / "source")
    assert size_bytes > SOURCE_BYTES * 0.99
    goes_through("chatgpt", sources, conversations, tmp_path)


def reads_again(platform: str, sources: list[Path], folder: Path) -> None:
    """Import, then read all sources again as if by a later revision: within the ceiling, and without a change."""
    is_done, complaint = run_under_ceiling(IMPORT, platform, *sources, folder=folder)
    assert is_done, complaint
    archive = folder / "home" / "archive.db"
    before = exported_hash(archive)
    with closing(sqlite3.connect(archive, isolation_level=None)) as connection:
        connection.execute("update source set revision = 0")
    is_done, complaint = run_under_ceiling(IMPORT, platform, *sources, folder=folder)
    assert is_done, complaint
    totals = orjson.loads((folder / "answer").read_bytes())["totals"]
    assert totals["reread"] == totals["sources"] > 0
    assert [totals["archive"][name] for name in ("added", "updated", "removed")] == [0, 0, 0]
    assert exported_hash(archive) == before
    shutil.rmtree(folder)


def exported_hash(archive: Path) -> str:
    digest = hashlib.sha256()
    with closing(open_to_read(archive)) as connection:
        for document in documents(connection):
            digest.update(orjson.dumps(document))
    return digest.hexdigest()


@pytest.mark.large
def test_300_mb_of_sessions_are_read_again_under_the_ceiling(tmp_path):
    reads_again("claude_code", sessions(tmp_path / "source")[0], tmp_path)


@pytest.mark.large
def test_an_export_of_300_mb_is_read_again_under_the_ceiling(tmp_path):
    reads_again("chatgpt", export(tmp_path / "source")[0], tmp_path)


@pytest.mark.large
def test_10_000_sources_are_read_again_under_the_ceiling(tmp_path):
    folder = tmp_path / "source"
    folder.mkdir()
    (session,) = (FIXTURES / "claude_code" / "plain_session" / "source").rglob("*.jsonl")
    for number in range(10_000):
        name = f"00000000-0000-4000-a000-{number:012}"
        (folder / f"{name}.jsonl").write_text(session.read_text("utf-8").replace(session.stem, name), "utf-8")
    reads_again("claude_code", [folder], tmp_path)
