"""Which tools a body calls, and how often: one row each, whatever the number of messages with that body."""

from contextlib import closing

from palaver.archive.connection import open_to_write
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.model import build


def call(tool, call_id):
    return {"type": "tool_use", "id": call_id, "name": tool, "input": {}}


def test_calls_are_counted_by_tool(tmp_path):
    message = build.message(
        message_id="m1",
        role="assistant",
        timestamp="2026-03-01T10:00:00.000Z",
        content=[call("Read", "t1"), call("Bash", "t2"), call("Read", "t3")],
    )
    document = {
        "schema_version": "1.0.0",
        "conversation_id": "c1",
        "platform": {"name": "claude_code"},
        "created_at": "2026-03-01T10:00:00.000Z",
        "messages": [message],
    }
    with closing(open_to_write(tmp_path / "archive.db")) as connection:
        ingest = Ingest(connection)
        ingest.add([(conversation_rows(document), None)])
        ingest.add([(conversation_rows({**document, "conversation_id": "c2"}), None)])
        assert connection.execute("select tool, calls from tool_call order by tool").fetchall() == [
            ("Bash", 1),
            ("Read", 2),
        ]
