"""Continuing from a cursor gives what reading the whole file gives."""

import orjson
import pytest

from importing import FIXTURES
from palaver.importers import importer
from palaver.sources.run import Cursor, Run
from palaver.sources.source import Source

CASES = [
    "plain_session",
    "split_message",
    "split_message_interleaved",
    "tool_use_results",
    "titles",
    "session_metadata",
]


def read(path, cursors=None):
    claude_code = importer("claude_code")
    run = Run("source", claude_code.options(), cursors=cursors, keeps_cursors=True)
    return list(claude_code.read(Source.at(path), run)), run


def stored(cursors):
    """Cursors as they come back from wherever they were kept: as JSON."""
    return {
        name: Cursor(**orjson.loads(orjson.dumps({"offset": c.offset, "tail_hash": c.tail_hash, "state": c.state})))
        for name, c in cursors.items()
    }


def merged(made):
    return {message["message_id"]: message for document in made for message in document["messages"]}


@pytest.mark.parametrize("case", CASES)
def test_a_file_that_grew_is_continued(tmp_path, case):
    (source,) = (FIXTURES / "claude_code" / case / "source").rglob("*.jsonl")
    data = source.read_bytes()
    path = tmp_path / source.name
    path.write_bytes(data)
    whole, _ = read(path)
    for cut in range(0, len(data) + 1, max(1, len(data) // 25)):
        path.write_bytes(data[:cut])
        before, first = read(path)
        path.write_bytes(data)
        after, _ = read(path, stored(first.next_cursors))
        assert merged([*before, *after]) == merged(whole), cut
        assert after[-1]["title"] == whole[-1]["title"]
        assert after[-1]["updated_at"] == whole[-1]["updated_at"]


def test_only_what_is_new_is_read(tmp_path):
    (source,) = (FIXTURES / "claude_code" / "plain_session" / "source").glob("*.jsonl")
    *lines, last = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / source.name
    path.write_bytes(b"".join(lines))
    _, first = read(path)
    path.write_bytes(b"".join([*lines, last]))
    _, second = read(path, stored(first.next_cursors))
    assert second.ledger.read == 1


def test_a_file_that_changed_before_the_cursor_is_read_whole(tmp_path):
    (source,) = (FIXTURES / "claude_code" / "plain_session" / "source").glob("*.jsonl")
    data = source.read_bytes()
    path = tmp_path / source.name
    path.write_bytes(data)
    _, first = read(path)
    path.write_bytes(data.replace(b"2026", b"2025", 1))
    _, second = read(path, stored(first.next_cursors))
    assert second.ledger.read == first.ledger.read


def test_a_file_with_several_conversations_gives_no_cursor(tmp_path):
    (source,) = (FIXTURES / "claude_code" / "inline_sidechains" / "source").glob("*.jsonl")
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes())
    _, run = read(path)
    assert run.next_cursors == {}


def test_a_second_result_of_an_answered_call_has_the_whole_file_read_again(tmp_path):
    (source,) = (FIXTURES / "claude_code" / "tool_use_results" / "source").rglob("*.jsonl")
    lines = source.read_bytes().splitlines(keepends=True)
    [answer, *_] = [line for line in lines if b'"tool_result"' in line]
    path = tmp_path / source.name
    path.write_bytes(b"".join(lines))
    _, first = read(path)
    assert first.next_cursors[path.name].state["calls"] == {}
    again = orjson.loads(answer) | {"uuid": "late-result", "parentUuid": orjson.loads(lines[-1])["uuid"]}
    with path.open("ab") as file:
        file.write(orjson.dumps(again) + b"\n")
    whole, _ = read(path)
    after, second = read(path, stored(first.next_cursors))
    assert not second.is_continued
    assert merged(after) == merged(whole)
