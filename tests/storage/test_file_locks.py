"""Locks that last as long as their process."""

import subprocess
import sys
from pathlib import Path

from palaver.storage.file_locks import try_to_lock

HOLD = """
import sys
from pathlib import Path
from palaver.storage.file_locks import try_to_lock

lock = try_to_lock(Path(sys.argv[1]))
print("held" if lock else "refused", flush=True)
sys.stdin.read()
"""


def test_a_lock_is_free_once_its_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert try_to_lock(path) is None
        holder.kill()
        holder.wait()
    lock = try_to_lock(path)
    assert lock is not None
    lock.close()


def test_a_lock_can_be_taken_again_once_it_is_closed(tmp_path: Path) -> None:
    with try_to_lock(tmp_path / "lock") as first:  # pyright: ignore[reportOptionalContextManager]
        assert first is not None
        assert try_to_lock(tmp_path / "lock") is None
    again = try_to_lock(tmp_path / "lock")
    assert again is not None
    again.close()
