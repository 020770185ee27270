"""A scrubbed log of a real session, and one with chunks whose facts are known; both kept outside of the repository."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from importing import CHECKOUT, first_error
from palaver.importers import importer
from palaver.importers.api_trace.reader import calls_in
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.validation.schema import is_valid

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "claude_trace"
SESSION = SAMPLES / "scrubbed-session" / "log-2025-05-29-21-38-24.jsonl"
MERGED = SAMPLES / "synthetic-stream-merge"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")


def read(path):
    run = Run(str(path))
    return list(calls_in(Source.at(path), run)), run


def documents(path):
    return list(importer("api_trace").read(Source.at(path), Run(str(path))))


def test_every_pair_of_the_session_is_a_call():
    calls, run = read(SESSION)
    assert len(calls) == run.ledger.read == run.ledger.mapped == 14
    assert not run.findings.counts
    assert all(call.response is not None and call.call_id.startswith("req_") for call in calls)
    assert {call.wire for call in calls} == {"anthropic"}
    assert len({call.caller for call in calls}) == 1


def test_side_calls_are_told_by_their_shape():
    """Every word of the sample is scrambled: only numbers, models and tools tell."""
    calls, _ = read(SESSION)
    assert Counter(call.helper for call in calls) == {"quota": 6, "side": 4, "": 4}
    assert [len(call.request["messages"]) for call in calls if not call.helper] == [1, 3, 5, 7]


def test_the_session_is_one_conversation():
    made = documents(SESSION)
    assert not [error for document in made if (error := first_error(document))]
    main = [document for document in made if document["platform"]["model"].startswith("claude-sonnet")]
    assert len({document["conversation_id"] for document in main}) == 1
    messages = {message["message_id"]: message for document in main for message in document["messages"]}
    assert [message["role"] for message in messages.values()] == ["system", *("user", "assistant") * 4]
    answers = [message for message in messages.values() if message["role"] == "assistant"]
    stated = [call.response["id"] for call in read(SESSION)[0] if not call.helper]
    assert [message["metadata"]["api_message_id"] for message in answers] == stated
    assert all(message["tokens"]["service_tier"] == "standard" for message in answers)


def test_exchanges_of_the_session_are_valid():
    made = importer("api_trace").calls(Source.at(SESSION), Run("session"))
    assert all(is_valid(call.exchange(), "exchange") for call in made)


def test_chunks_find_their_calls():
    facts = json.loads((MERGED / "facts.json").read_text("utf-8"))
    calls, run = read(next(MERGED.glob("log-*[0-9].jsonl")))
    told = {call.call_id: _said(call) for call in calls}
    for name in "abcdefgh":
        assert told[facts[name]["request_id"]] == facts[name]["text"]
    assert told[facts["orphan"]["request_id"]] == facts["orphan"]["text"]
    assert told[facts["ready"]["request_id"]]
    by_question = {_asked(call): call for call in calls if call.request.get("messages")}
    assert _said(by_question["Legacy question one."]) == facts["legacy_clear"]["text"]
    assert _said(by_question["Legacy question two."]) == facts["legacy_by_message_id"]["text"]
    alone = {_said(call) for call in calls if not call.request}
    assert {facts["legacy_ambiguous"]["text"], facts["legacy_orphan"]["text"], facts["orphan"]["text"]} == alone
    assert run.findings.counts["ambiguous-chunks"] == 1
    assert sum(call.is_answer_cut for call in calls) == 2
    ledger = run.ledger
    assert ledger.read == ledger.mapped + sum(ledger.folded.values())


def _said(call):
    return "".join(block.get("text", "") for block in (call.response or {}).get("content", ()))


def _asked(call):
    return call.request["messages"][0]["content"]
