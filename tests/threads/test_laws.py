"""Laws of threading: neither the order of calls nor how they are spread over files changes a conversation."""

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from archiving import exported, keep_documents
from calling import TIME, many_calls
from palaver.archive.connection import open_to_read
from palaver.archive.usage import Scope, counted_answers
from palaver.threads.call import Call
from palaver.threads.conversations import Threads
from palaver.validation.schema import is_valid

WIRES = ["openai-chat", "anthropic", "openai-responses"]
LAW = settings(max_examples=60, deadline=None, derandomize=True, database=None)


def threaded(calls: list[Call], **settings: Any) -> list[dict[str, Any]]:
    with Threads("azure_openai", lambda *_, **__: None, TIME, **settings) as threads:
        for one in calls:
            threads.add(one)
        return list(threads.documents())


def archived(files: list[list[Call]]) -> tuple[list[bytes], dict[str | None, Any]]:
    """What an archive holds after reading the files one by one: its conversations, and the usage of every answer."""
    with TemporaryDirectory() as folder:
        archive = Path(folder) / "archive.db"
        documents = [document for calls in files for document in threaded(calls)]
        keep_documents(archive, *documents)
        with closing(open_to_read(archive)) as connection:
            used = {one.owner.api_message_id: one.counts for one in counted_answers(connection, Scope())}
        return sorted(exported(archive)), used


@LAW
@given(many_calls(WIRES), st.data())
def test_order_and_files_do_not_matter(calls, data):
    expected, used = archived([calls])
    shuffled = data.draw(st.permutations(calls))
    assert archived([shuffled]) == (expected, used)
    files: list[list[Call]] = [[], [], []]
    for one in shuffled:
        files[data.draw(st.integers(0, 2))].append(one)
    assert archived(files) == (expected, used)


@LAW
@given(many_calls(WIRES))
def test_every_answer_is_counted_once(calls):
    _, used = archived([calls])
    assert used.keys() == {one.response["id"] for one in calls if one.response}


@LAW
@given(many_calls(WIRES))
def test_every_document_is_valid_and_says_all_words(calls):
    documents = threaded(calls)
    assert all(map(is_valid, documents))
    told = orjson.dumps(documents)
    for one in calls:
        assert f'"{one.call_id}"'.encode() in told


@LAW
@given(many_calls(WIRES))
def test_what_does_not_fit_into_memory_is_told_the_same(calls):
    def ordered(documents: list[dict[str, Any]]) -> list[bytes]:
        return sorted(map(orjson.dumps, documents))

    assert ordered(threaded(calls, limit_bytes=1)) == ordered(threaded(calls))
