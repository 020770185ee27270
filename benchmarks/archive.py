"""The archive, when nearly nothing changed: 10,000 files as they were, one more line in a long session."""

import json
import os
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any, TextIO

from datasets import Asked
from processes import Measurement, measured, palaver
from rows import Row, peak_limit

RESCAN_RATIO, RESCAN_EXTRA_S = 2.0, 0.3
RESCAN_RATIO_GOAL, RESCAN_EXTRA_GOAL_S = 1.5, 0.15
APPEND_LIMIT_BYTES = 64 << 10


def rescan(name: str, asked: Asked) -> list[Row]:
    """All files are as they were: the whole command against looking at every file once."""
    with tempfile.TemporaryDirectory(dir=asked.data, prefix="rescan-") as folder:
        home = Path(folder) / "home"
        projects = home / ".claude" / "projects"
        _write_sessions(projects, asked.files)
        _scanned(home, 0)
        yardsticks, scans = [], []
        for _ in range(asked.runs * 3):
            began = time.perf_counter()
            _look(projects)
            yardsticks.append(time.perf_counter() - began)
            scans.append(_scanned(home, asked.files))
    yardstick_s = min(yardsticks)
    best = min(scans, key=lambda scan: scan.wall_s)
    return [
        Row(
            name=name,
            work="rescan of unchanged files, limit 2 times + 0.3 s",
            size=f"{asked.files:,} files",
            ours=best.wall_s,
            yardstick=yardstick_s,
            unit="s",
            limit=RESCAN_RATIO * yardstick_s + RESCAN_EXTRA_S,
            stretch=RESCAN_RATIO_GOAL * yardstick_s + RESCAN_EXTRA_GOAL_S,
            peak=best.peak,
            peak_limit=peak_limit(0),
        )
    ]


def _write_sessions(projects: Path, files: int) -> None:
    for number in range(files):
        session = str(uuid.UUID(int=number, version=4))
        folder = projects / f"-home-dev-{number % 100}"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{session}.jsonl").open("w") as stream:
            _write(stream, session, number, None, f"prompt {number}")


def _scanned(home: Path, unchanged: int) -> Measurement:
    done = measured(palaver("scan", "--json"), home / "kept", HOME=str(home), USERPROFILE=str(home))
    if done.exit_code:
        raise RuntimeError(f"palaver scan: exit code {done.exit_code}\n{done.complaint}")
    if (found := json.loads(done.answer)["totals"]["unchanged_sources"]) != unchanged:
        raise RuntimeError(f"palaver scan: {unchanged:,} files are unchanged, {found:,} were told so")
    return done


def _look(folder: Path) -> None:
    folders = [str(folder)]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    folders.append(entry.path)
                else:
                    entry.stat()


def append(name: str, asked: Asked) -> list[Row]:
    """One line more in a long session: how many bytes of it are read."""
    with tempfile.TemporaryDirectory(dir=asked.data, prefix="append-") as workspace:
        session = Path(workspace) / "growing" / "00000000-0000-4000-8000-000000000000.jsonl"
        session.parent.mkdir()
        archive = Path(workspace) / "growing.db"
        parent = None
        with session.open("w") as stream:
            for number in range(asked.lines):
                parent = _write(stream, session.stem, number, parent)
        size_bytes = session.stat().st_size
        if _bytes_read(session.parent, archive) < size_bytes:
            raise RuntimeError("the first import did not read the whole session")
        with session.open("a") as stream:
            _write(stream, session.stem, asked.lines, parent)
        added = session.stat().st_size - size_bytes
        read = _bytes_read(session.parent, archive)
    work = f"a line of {added:,} bytes appended: bytes read, limit those + 64 KB"
    size = f"{size_bytes / 1e6:,.0f} MB"
    limit = added + APPEND_LIMIT_BYTES
    problem = "" if read >= added else "the appended line was not read"
    return [Row(name=name, work=work, size=size, ours=read, unit="bytes", limit=limit, problem=problem)]


def _bytes_read(folder: Path, archive: Path) -> int:
    """Take in what is new, and count what is read of it on the way."""
    from palaver.sources.folders import DiskFolder
    from palaver.workflows.archive_import import import_into_archive
    from palaver.workflows.plan import Planner

    read = 0
    opened = DiskFolder.open

    def counting(folder: DiskFolder, name: str) -> Any:
        stream: Any = opened(folder, name)
        before = stream.read

        def count(*size: int) -> bytes:
            nonlocal read
            piece = before(*size)
            read += len(piece)
            return piece

        stream.read = count
        return stream

    DiskFolder.open = counting
    try:
        plan = Planner(archive, {}).plan([folder])
        import_into_archive(plan.tasks, plan.report, archive)
    finally:
        DiskFolder.open = opened
    return read


def _write(stream: TextIO, session: str, number: int, parent: str | None, content: str = "") -> str:
    name = str(uuid.UUID(int=number + 1, version=4))
    role = "user" if number % 2 == 0 or content else "assistant"
    line = {"type": role, "uuid": name, "parentUuid": parent, "sessionId": session, "cwd": "/home/dev"}
    line |= {"timestamp": f"2026-01-01T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}.000Z"}
    message = {"role": role, "content": content or f"message {number} of a long session " * 20}
    stream.write(json.dumps(line | {"message": message}) + "\n")
    return name
