"""A run may be killed at any instant, and two may run at once: what the archive holds in the end is the same."""

import multiprocessing
import os
import shutil
import signal
from pathlib import Path
from random import Random

import pytest

from archiving import exported, keep_folder, keep_paths
from importing import FIXTURES, set_time
from palaver.archive import connection as connecting
from palaver.workflows import archive_import

KILLS = 50
SOURCES = [
    "claude_code/plain_session",
    "claude_code/parallel_tool_calls",
    "claude_code/resumed_pair",
    "claude_code/damage_bad_line_middle",
    "chatgpt/plain_classic",
    "claude_ai/branches",
]
# Where processes can be forked off a clean one, fifty of them start in the time that one takes elsewhere.
FORKS = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("forkserver" if FORKS else "spawn")
if FORKS:
    CONTEXT.set_forkserver_preload(
        ["palaver.workflows.plan", "palaver.importers.claude_code", "palaver.importers.chatgpt"]
    )


@pytest.fixture
def sources(tmp_path):
    folder = tmp_path / "sources"
    for name in SOURCES:
        shutil.copytree(FIXTURES / name / "source", folder / name)
    for path in folder.rglob("*"):
        set_time(path)
    return folder


def die() -> None:
    if hasattr(signal, "SIGKILL"):
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(9)


def keep_and_die(folder: str, archive: str, instructions: int) -> None:
    """Import, and be killed by the system after so many steps of the database, wherever that is."""
    archive_import.FRAME_BYTES = archive_import.TRANSACTION_BYTES = 4_000
    connect = connecting._connect

    def doomed(path):
        connection = connect(path)
        connection.set_progress_handler(
            lambda: os._exit(9) if not hasattr(os, "kill") else os.kill(os.getpid(), 9), instructions
        )
        return connection

    connecting._connect = doomed
    keep_folder(Path(folder), Path(archive))


def keep_and_tell(folder: str, archive: str, told) -> None:
    """Import in small transactions, and tell of each step, so that somebody else can choose when to strike."""
    archive_import.FRAME_BYTES = archive_import.TRANSACTION_BYTES = 4_000
    flush = archive_import.ArchiveWriter.flush

    def telling(self):
        told.send_bytes(b"writing")
        flush(self)
        told.send_bytes(b"written")

    archive_import.ArchiveWriter.flush = telling
    keep_folder(Path(folder), Path(archive))
    told.send_bytes(b"done")


@pytest.mark.parametrize("seed", range(5))
def test_killed_inside_any_step_of_the_database(sources, tmp_path, seed):
    keep_folder(sources, tmp_path / "whole.db")
    whole = exported(tmp_path / "whole.db")
    random = Random(seed)
    ends = []
    for number in range(KILLS // 5):
        archive = tmp_path / f"{number}.db"
        process = CONTEXT.Process(
            target=keep_and_die, args=(str(sources), str(archive), int(10 ** random.uniform(1, 4.2)))
        )
        process.start()
        process.join()
        ends.append(process.exitcode)
        keep_folder(sources, archive)
        assert exported(archive) == whole, f"after being killed for the {number + 1}th time"
    assert sum(end != 0 for end in ends) >= KILLS // 10, "most of them died in the middle"


def test_killed_by_somebody_else_between_two_words(sources, tmp_path):
    keep_folder(sources, tmp_path / "whole.db")
    whole = exported(tmp_path / "whole.db")
    random = Random(5)
    killed = 0
    for number in range(10):
        archive = tmp_path / f"{number}.db"
        listening, telling = CONTEXT.Pipe(duplex=False)
        process = CONTEXT.Process(target=keep_and_tell, args=(str(sources), str(archive), telling))
        process.start()
        telling.close()
        for _ in range(random.randint(1, 6)):
            if listening.recv_bytes() == b"done":
                break
        else:
            process.kill()
            killed += 1
        process.join()
        keep_folder(sources, archive)
        assert exported(archive) == whole
    assert killed


def test_two_at_once(sources, tmp_path):
    keep_folder(sources, tmp_path / "whole.db")
    whole = exported(tmp_path / "whole.db")
    pipes = [CONTEXT.Pipe(duplex=False) for _ in range(3)]
    processes = [
        CONTEXT.Process(target=keep_and_tell, args=(str(sources), str(tmp_path / "shared.db"), telling))
        for _, telling in pipes
    ]
    for process in processes:
        process.start()
    for (listening, telling), process in zip(pipes, processes, strict=True):
        telling.close()
        while listening.recv_bytes() != b"done":
            assert exported(tmp_path / "shared.db") is not None, "whoever reads is never held up"
        process.join()
        assert process.exitcode == 0
    assert exported(tmp_path / "shared.db") == whole


def test_any_order_of_sources_gives_the_same(sources, tmp_path):
    keep_folder(sources, tmp_path / "whole.db")
    whole = exported(tmp_path / "whole.db")
    files = sorted(path for path in sources.rglob("*") if path.is_file())
    random = Random(6)
    for number in range(4):
        random.shuffle(files)
        for path in files:
            keep_paths([path], tmp_path / f"{number}.db")
        assert exported(tmp_path / f"{number}.db") == whole
