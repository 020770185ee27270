"""Sessions are found though their first line is long, and files of others are left alone."""

import orjson
import pytest

from palaver.importers import importer
from palaver.sources.source import Source

SESSION = "0b9c8d7e-6f5a-4b3c-9d2e-1f0a9b8c7d6e.jsonl"
LONG = "a picture as text " * 10_000


def verdict(tmp_path, name, *lines):
    path = tmp_path / name
    path.write_bytes(b"".join(line if isinstance(line, bytes) else orjson.dumps(line) + b"\n" for line in lines))
    return importer("claude_code").recognizes(Source.at(path)).verdict


def prompt(**more):
    return {"type": "user", **more, "message": {"role": "user", "content": LONG}}


def test_a_first_line_longer_than_the_head(tmp_path):
    assert verdict(tmp_path, SESSION, prompt()) == "yes"
    assert verdict(tmp_path, "copy.jsonl", prompt(sessionId="s")) == "yes"
    assert verdict(tmp_path, "agent.jsonl", prompt(sessionId="s", todos={"done": 1})) == "yes"
    assert verdict(tmp_path, "other.jsonl", {"text": LONG}) == "no"


def test_a_long_line_of_an_editors_chat(tmp_path):
    chat = {"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": [{"message": {"text": LONG}}]}}
    assert verdict(tmp_path, SESSION, chat) == "no"
    assert verdict(tmp_path, "copy.json", orjson.dumps(chat["v"])) == "no"
    item = {"message": {"role": "user", "content": LONG}, "contextItems": []}
    assert verdict(tmp_path, "other.json", orjson.dumps({"sessionId": "s", "history": [item]})) == "no"


def test_a_short_object_is_no_long_first_line(tmp_path):
    running = {"pid": 4711, "sessionId": "0b9c8d7e-6f5a-4b3c-9d2e-1f0a9b8c7d6e", "cwd": "/home/ada", "startedAt": 1}
    assert verdict(tmp_path, "4711.json", orjson.dumps(running)) == "no"
    assert verdict(tmp_path, "stats-cache.json", orjson.dumps({"version": 1, "longest": {"sessionId": "s"}})) == "no"


def test_an_empty_session(tmp_path):
    assert verdict(tmp_path, SESSION) == "yes"
    assert verdict(tmp_path, "agent-a1.jsonl", b"\n") == "yes"
    assert verdict(tmp_path, "notes.jsonl") == "no"


@pytest.mark.parametrize(
    "line",
    [
        {"type": "session_meta", "payload": {"id": "x"}, "timestamp": "2026-01-01T00:00:00Z"},
        {"type": "user", "uuid": "a", "sessionId": "s", "message": {"role": "user", "parts": [{"text": "hi"}]}},
        {"type": "session.start", "data": {"sessionId": "s"}},
        {"kind": 0, "v": {"version": 3, "sessionId": "s", "requests": []}},
        {"request": {"url": "x"}, "response": {"status": 200}},
        b'data: {"type":"message_start","message":{"id":"m","content":[]}}\n\n',
        [],
        {"type": ["user"], "session_id": []},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "hi", "usage": {}}},
        {"role": "user", "message": {"content": [{"type": "text", "text": "hi"}]}},
        {"message": {"role": "assistant", "content": [], "usage": {"input_tokens": 1}}},
        {"type": "made-up", "uuid": "a", "parentUuid": None, "sessionId": "s", "message": {"content": "hi"}},
        {"type": "system", "uuid": "a", "sessionId": "s", "subtype": "rewind", "systemPayload": {"truncatedCount": 2}},
    ],
)
def test_lines_of_others(tmp_path, line):
    assert verdict(tmp_path, "lines.jsonl", line) == "no"


def test_a_session_of_a_gemini_fork(tmp_path):
    """Qwen Code names its fields as Claude Code does, but keeps `parts` in a message."""
    common = {"uuid": "a", "parentUuid": None, "sessionId": "s"}
    system = {**common, "type": "system", "subtype": "local_command"}
    reply = {**common, "type": "assistant", "message": {"role": "model", "parts": [{"text": "hi"}]}}
    long = {**common, "type": "user", "message": {"role": "user", "parts": [{"text": LONG}]}}
    assert verdict(tmp_path, "chat.jsonl", reply, system) == "no"
    assert verdict(tmp_path, SESSION, long) == "no"


def test_lines_without_a_mark_of_their_own(tmp_path):
    line = {"type": "user", "message": {"role": "user", "content": "hi"}}
    assert verdict(tmp_path, "lines.jsonl", line) == "maybe"
    assert verdict(tmp_path, "lines.jsonl", line, {**line, "isSidechain": False}) == "yes"


def test_usage_of_the_oldest_versions(tmp_path):
    message = {"role": "assistant", "usage": {"input_tokens": 1}}
    assert verdict(tmp_path, "chat.jsonl", {"message": message, "costUSD": 0.1}) == "yes"
    assert verdict(tmp_path, "chat.jsonl", {"message": message}) == "no"


def test_an_index_of_another_product(tmp_path):
    entry = {"sessionId": "s", "title": "A slow query", "messagesCount": 12}
    assert verdict(tmp_path, "sessions-index.json", {"version": 1, "entries": [entry]}) == "no"
    assert (
        verdict(tmp_path, "sessions-index.json", {"version": 1, "entries": [{**entry, "firstPrompt": "Why?"}]}) == "yes"
    )
