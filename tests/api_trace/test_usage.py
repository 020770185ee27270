"""A call counts once, whether the client wrote it down, a proxy did, or both."""

import json
from contextlib import closing

import pytest

from api_trace.tracing import asked, events, lines, message, pair, sse
from archiving import keep_paths
from importing import FIXTURES
from palaver.archive.connection import open_to_read
from palaver.archive.statistics import statistics
from palaver.archive.usage import Scope, counted_answers, usage_owner
from palaver.config import Config
from palaver.prices import Prices

SESSION = "3f0c1d2e-5a6b-4c7d-8e9f-0a1b2c3d4e5f"
HASH = "0123456789abcdef" * 4
QUESTION, ANSWER = "Which way does the wind blow on the pier?", "From the west, and rather strongly today."
USAGE = {"input_tokens": 50, "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 7}


def session():
    """What Claude Code writes of one turn."""
    common = {"sessionId": SESSION, "version": "2.1.90", "cwd": "/pier", "isSidechain": False, "userType": "external"}
    said = {**message(ANSWER, "msg_wind"), "usage": USAGE}
    user = {"type": "user", "uuid": "u-1", "parentUuid": None, "timestamp": "2026-01-05T10:00:00.250Z"}
    model = {"type": "assistant", "uuid": "u-2", "parentUuid": "u-1", "timestamp": "2026-01-05T10:00:02.000Z"}
    return lines(
        {**common, **user, "message": {"role": "user", "content": QUESTION}},
        {**common, **model, "requestId": "req_wind", "message": said},
    )


def log(**more):
    """What a proxy writes of the same turn."""
    body = asked(QUESTION, metadata={"user_id": f"user_{HASH}_account__session_{SESSION}"})
    streamed = events(ANSWER, message_id="msg_wind")
    streamed[0]["message"]["usage"] = {**USAGE, "output_tokens": 1}
    streamed[-2]["usage"] = {"output_tokens": 20}
    answer = {"body_raw": sse(streamed), "headers": {"request-id": "req_wind"}}
    return lines(pair(body, answer, **more))


@pytest.mark.parametrize("names", [["session", "log"], ["log", "session"], ["log", "page", "session"]])
def test_a_session_and_the_trace_of_it_count_once(tmp_path, names):
    (tmp_path / "project").mkdir()
    files = {
        "session": (tmp_path / "project" / f"{SESSION}.jsonl", session()),
        "log": (tmp_path / "log-2026-01-05-10-00-00.jsonl", log()),
        "page": (tmp_path / "log-2026-01-05-11-00-00.jsonl", log(note="the same call in another file")),
    }
    archive = tmp_path / "archive.db"
    for name in names:
        path, raw = files[name]
        path.write_bytes(raw)
        report = keep_paths([path], archive)
        assert not report.refused
        assert not [source.failure for source in report.sources if source.failure]
    with closing(open_to_read(archive)) as connection:
        (only,) = counted_answers(connection, Scope())
        assert only.owner.api_message_id == "msg_wind"
        found = statistics(connection, Scope(), "platform", Prices(Config()))
        tokens = found.total.tokens
        assert (tokens.input, tokens.output, tokens.cache_read) == (50, 20, 7)
        assert found.copied_answers == 1
        assert usage_owner(connection, "msg_wind") is not None


def test_both_accounts_of_the_call_are_kept(tmp_path):
    (tmp_path / f"{SESSION}.jsonl").write_bytes(session())
    (tmp_path / "log-2026-01-05-10-00-00.jsonl").write_bytes(log())
    archive = tmp_path / "archive.db"
    keep_paths([tmp_path / f"{SESSION}.jsonl", tmp_path / "log-2026-01-05-10-00-00.jsonl"], archive)
    with closing(open_to_read(archive)) as connection:
        platforms = {row[0] for row in connection.execute("select platform from conversation")}
    assert platforms == {"claude_code", "api_trace"}


def test_a_call_in_a_replay_of_copilot_and_in_a_recording_counts_once(tmp_path):
    """The replay has no id of the answer, but the request id that the server sent back."""
    replay = FIXTURES / "github_copilot" / "replay_entry" / "source" / "ccreq_aa000002.json"
    fields = json.loads(replay.read_bytes())["metadata"]
    choice = {"index": 0, "message": {"role": "assistant", "content": "There are twelve."}, "finish_reason": "stop"}
    answer = {"id": "chatcmpl-replayed", "object": "chat.completion", "choices": [choice], "usage": fields["usage"]}
    log = tmp_path / "log-2026-02-11-09-00-00.jsonl"
    request = {"model": fields["model"], "messages": [{"role": "user", "content": "How many trees are there?"}]}
    response = {"body": answer, "headers": {"x-request-id": fields["serverRequestId"]}}
    log.write_bytes(lines(pair(request, response, url="https://api.githubcopilot.com/chat/completions")))
    archive = tmp_path / "archive.db"
    keep_paths([log, replay], archive)
    with closing(open_to_read(archive)) as connection:
        (only,) = counted_answers(connection, Scope())
    assert (only.owner.api_message_id, only.counts[:2], len(only.copies)) == ("chatcmpl-replayed", (1950, 24), 1)


def test_ollama_draws_the_ids_of_its_answers_from_so_few_that_they_name_none(tmp_path):
    """It gives `chatcmpl-` and a number up to 998, so that of forty calls two have probably the same."""

    def call(words: str, name: str) -> dict:
        choice = {"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": "stop"}
        answer = {"id": "chatcmpl-17", "object": "chat.completion", "model": "llama3.2", "choices": [choice]}
        answer |= {"system_fingerprint": "fp_ollama", "usage": {"prompt_tokens": 5, "completion_tokens": 3}}
        url = "http://localhost:11434/v1/chat/completions"
        return pair(
            {"model": "llama3.2", "messages": [{"role": "user", "content": words}]},
            {"body": answer},
            request_id=name,
            url=url,
        )

    path = tmp_path / "log-2026-01-05-10-00-00.jsonl"
    path.write_bytes(lines(call("one", "req_a"), call("two", "req_b")))
    archive = tmp_path / "archive.db"
    keep_paths([path], archive)
    with closing(open_to_read(archive)) as connection:
        assert [one.counts[1] for one in counted_answers(connection, Scope())] == [3, 3]
        kept = connection.execute(
            "select json_extract(rest, '$.metadata.response.id') from message where role = 'assistant'"
        )
        assert kept.fetchall() == [("chatcmpl-17",)] * 2


def test_ollama_draws_the_ids_of_responses_too(tmp_path):
    """It gives `resp_` and a number below 999,999, so that of a thousand calls two may well have the same."""

    def call(words: str, name: str) -> dict:
        output = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}
        answer = {"id": "resp_70117", "object": "response", "model": "gpt-oss:20b", "output": [output]}
        answer |= {"status": "completed", "usage": {"input_tokens": 5, "output_tokens": 3}}
        request = {"model": "gpt-oss:20b", "input": words}
        return pair(request, {"body": answer}, request_id=name, url="http://localhost:11434/v1/responses")

    path = tmp_path / "log-2026-01-05-10-00-00.jsonl"
    path.write_bytes(lines(call("one", "req_a"), call("two", "req_b")))
    archive = tmp_path / "archive.db"
    keep_paths([path], archive)
    with closing(open_to_read(archive)) as connection:
        assert [one.counts[1] for one in counted_answers(connection, Scope())] == [3, 3]
