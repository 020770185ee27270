"""What becomes of a run when one of its processes is taken from it."""

import subprocess
import sys

PROGRAM = """
import os
import signal
from pathlib import Path
from palaver.errors import SourceError
from palaver.workflows.parallel import run_as_completed

def refuse(path, content):
    raise OSError(28, "No space left on device")

def work(tasks, advance):
    for number, task in tasks:
        if task == "fatal":
            os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
        if task == "disk full":
            Path.write_bytes = refuse
        advance(1)
        yield number, task * LENGTH

if __name__ == "__main__":
    told = 0
    def advance(size_bytes):
        global told
        told += size_bytes
    if TASKS.count("fatal"):
        try:
            list(run_as_completed(work, TASKS, jobs=2, advance=advance))
        except SourceError as error:
            print(error)
    else:
        print(sorted(run_as_completed(work, TASKS, jobs=2, advance=advance)), told, TASKS)
"""


def outcome(tmp_path, tasks, length=1):
    program = tmp_path / "program.py"
    program.write_text(f"TASKS = {tasks!r}\nLENGTH = {length}\n{PROGRAM}")
    done = subprocess.run([sys.executable, program], capture_output=True, timeout=120, check=True, text=True)
    return done.stdout.strip()


def test_every_task_is_done_once_and_told_and_none_is_kept(tmp_path):
    assert outcome(tmp_path, ["a", "b", "c"]) == "[(0, 'a'), (1, 'b'), (2, 'c')] 3 []"


def test_a_process_that_is_killed_ends_the_run_with_a_sentence(tmp_path):
    assert outcome(tmp_path, ["a", "fatal", "c"]).startswith("a worker process was killed")


def test_what_is_large_arrives_whole(tmp_path):
    assert outcome(tmp_path, ["a", "b"] * 20, length=300_000).count("a" * 300_000) == 20


def test_a_full_disk_for_temporary_files_stops_nothing(tmp_path):
    told = outcome(tmp_path, ["a", "disk full", "c", "d"], length=300_000)
    assert [told.count(task * 300_000) for task in ("disk full", "c", "d")] == [1, 1, 1]
