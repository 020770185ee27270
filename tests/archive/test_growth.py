"""A session taken in while it grows ends up as one that was taken in when it was complete."""

import os

import pytest

from archiving import exported, keep_folder
from importing import Case, cases, set_time

CUTS_A_FILE = 6


def growing(case: Case):
    """Each file of a case that holds lines, with some places where it may have ended at first."""
    for name, data in case.files().items():
        ends = [index + 1 for index, byte in enumerate(data[:-1]) if byte == 0x0A]
        if name.endswith(".jsonl"):
            for end in ends[:: max(1, len(ends) // CUTS_A_FILE)]:
                yield name, end


SESSIONS = [case for case in cases() if case.platform == "claude_code"]
FACTS_THAT_PASS = {
    "queued_prompts",  # a prompt that waited in the queue is withdrawn when it is sent; the archive saw it wait
    "history_purged",  # a prompt that the session did not hold yet was kept beside it
    "history_beside_session",  # likewise
    "session_metadata",  # a tag is replaced by another one; the archive keeps both
    "damage_wrong_types",  # messages without any time get the earliest that is known so far
    "compaction_agent",  # its agent repeats lines that the session does not have yet when it is cut
    "subagents_folder",  # its agents are there before the calls that started them
}


@pytest.mark.parametrize("case", [case for case in SESSIONS if case.folder.name not in FACTS_THAT_PASS], ids=str)
def test_a_file_that_grew_ends_up_as_one_that_was_whole(case, tmp_path):
    root = case.lay_out(tmp_path)
    keep_folder(root, tmp_path / "whole.db")
    whole = exported(tmp_path / "whole.db")
    for number, (name, end) in enumerate(growing(case)):
        path = root / name
        data = path.read_bytes()
        archive = tmp_path / f"{number}.db"
        path.write_bytes(data[:end])
        set_time(path)
        keep_folder(root, archive)
        path.write_bytes(data)
        set_time(path)
        keep_folder(root, archive)
        assert exported(archive) == whole, f"{name} grew from byte {end} on"
        for suffix in ("", "-wal", "-shm"):
            (tmp_path / f"{number}.db{suffix}").unlink(missing_ok=True)


def test_only_the_new_lines_are_read(tmp_path):
    case = next(case for case in SESSIONS if case.folder.name == "subagents_folder")
    root = case.lay_out(tmp_path)
    session = next(path for path in root.rglob("*.jsonl") if "subagents" not in path.parts)
    *lines, last = session.read_bytes().splitlines(keepends=True)
    session.write_bytes(b"".join(lines))
    first = keep_folder(root, tmp_path / "a.db")
    with session.open("ab") as stream:
        stream.write(last)
    second = keep_folder(root, tmp_path / "a.db")
    assert (second.totals()["sources"], second.totals()["records"]["read"]) == (1, 1)
    assert first.totals()["records"]["read"] > 1
    os.utime(session)
    third = keep_folder(root, tmp_path / "a.db")
    assert third.totals()["records"]["read"] == 0
