"""The times at which answers were complete: read where they can be, kept where they cannot."""

import orjson

from importing import import_folder

SESSION = "6f1d9f0a-1c52-4c39-8f1e-0d4a5f6b7c8d"


def answer(number, timestamp):
    return {
        "type": "assistant",
        "uuid": f"line-{number}",
        "parentUuid": None,
        "sessionId": SESSION,
        "timestamp": timestamp,
        "message": {"id": "msg_1", "role": "assistant", "content": [{"type": "text", "text": f"part {number}"}]},
    }


def metadata_of(tmp_path, *times):
    lines = [orjson.dumps(answer(number, time)) + b"\n" for number, time in enumerate(times)]
    (tmp_path / f"{SESSION}.jsonl").write_bytes(b"".join(lines))
    imported = import_folder(tmp_path, "claude_code")
    return imported.documents[0]["messages"][0]["metadata"], imported.reports[0].findings.counts


def test_the_last_line_tells_when_an_answer_was_complete(tmp_path):
    times = ("2026-01-01T00:00:01.000Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03.000Z")
    metadata, findings = metadata_of(tmp_path, *times)
    assert metadata["completed_at"] == "2026-01-01T00:00:03.000Z"
    assert not findings


def test_a_time_that_cannot_be_read_is_kept_and_told(tmp_path):
    metadata, findings = metadata_of(tmp_path, "2026-01-01T00:00:01.000Z", "half past nine")
    assert "completed_at" not in metadata
    assert metadata["source_fields"] == {"timestamp": "half past nine"}
    assert findings == {"bad-timestamp": 1}


def test_a_file_named_on_the_command_line_has_its_size(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_bytes(b"nothing to see here\n")
    imported = import_folder(path, "claude_code")
    assert [unit.size_bytes for unit in imported.units] == [20]
