"""Session files of the Cline SDK's own fixtures, kept outside of the repository: fork, model switch, file blocks."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from importing import CHECKOUT, Said, first_error, texts_of
from palaver.importers.cline.session_files import recognize_session
from palaver.importers.cline.session_reader import read_session
from palaver.sources.run import Run
from palaver.sources.source import Source

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "cline" / "sdk-sessions"
SESSION = SAMPLES / "session" / "session.messages.json"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")


def read(path):
    run = Run(str(path))
    (document,) = read_session(Source.at(path), run)
    assert not first_error(document)
    return document, run


def test_five_files_are_two_sessions():
    verdicts = {path.name: recognize_session(Source.at(path)) for path in sorted(SAMPLES.rglob("*.json"))}
    assert Counter(match.verdict for match in verdicts.values()) == {"yes": 2, "no": 3}
    assert all(match.reason for match in verdicts.values())
    assert set(verdicts["session.messages.json"].members) == verdicts.keys() - {
        "session.messages.json",
        "success.messages.json",
    }


def test_every_text_of_every_file_is_told():
    paths = sorted(SAMPLES.rglob("*.messages.json"))
    said = Said([read(path)[0] for path in paths])
    texts = [text for path in sorted(SAMPLES.rglob("*.json")) for text in texts_of(path.read_bytes())]
    assert len(texts) > 70
    assert [text[:80] for text in texts if text not in said] == []


def test_a_fork_names_the_session_that_it_comes_from():
    document, _ = read(SESSION)
    assert document["conversation_id"] == "1784094124598_rruoq"
    assert document["session"]["parent_conversation_id"] == "1784094053271_p8pzo"
    assert document["title"].endswith("(fork)")
    assert document["status"] == "completed"
    assert document["context"]["workspace"]["path"] == "/Users/example/dev/cline"


def test_a_switch_of_the_model_is_told_by_the_messages():
    document, _ = read(SESSION)
    models = [message["metadata"].get("model_override") for message in document["messages"]]
    switched = [model for model, before in zip(models, [None, *models], strict=False) if model and model != before]
    assert list(dict.fromkeys(switched)) == ["anthropic/claude-opus-4.8-fast", "mistralai/voxtral-small-24b-2507"]
    assert document["platform"]["model"] == "anthropic/claude-opus-4.8-fast"
    assert document["platform"]["metadata"]["model"] == "mistralai/mixtral-8x22b-instruct"


def test_attached_files_are_files():
    document, _ = read(SESSION)
    stated = json.loads(SESSION.read_bytes())
    (wanted,) = [block for message in stated["messages"] for block in message["content"] if block["type"] == "file"]
    (found,) = [block for message in document["messages"] for block in message["content"] if block["type"] == "file"]
    assert (found["name"], found["text"]) == (wanted["path"], wanted["content"])


def test_every_call_has_its_result_and_every_message_its_figures():
    document, run = read(SESSION)
    stated = json.loads(SESSION.read_bytes())["messages"]
    messages = document["messages"][1:]
    assert len(messages) == len(stated) == 32
    blocks = [block for message in messages for block in message["content"]]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert calls == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert sum(message.get("cost", {"amount": 0})["amount"] for message in messages) == pytest.approx(
        sum(message.get("metrics", {"cost": 0})["cost"] for message in stated)
    )
    for told, said in zip(messages, stated, strict=True):
        tokens = told.get("tokens", {})
        wanted = said.get("metrics", {})
        assert sum(tokens.get(name, 0) for name in tokens if name != "output_tokens") == wanted.get("inputTokens", 0)
    assert Counter(message["metadata"]["author_kind"] for message in messages) == {"model": 16, "tool": 11, "human": 5}
    assert run.ledger.quarantined == {}


def test_ids_that_grew_with_every_fork_are_short_again():
    document, run = read(SESSION)
    ids = [message["message_id"] for message in document["messages"]]
    assert len(set(ids)) == len(ids)
    assert not [name for name in ids if "_tool_" in name]
    assert run.findings.counts["made-message-id"] == 11


def test_compacted_views_are_summaries():
    document, run = read(SESSION)
    assert len(document["summaries"]) == 5
    assert document["summaries"][0]["text"].startswith("Context summary:")
    assert all(summary["text"].startswith("<SYSTEM_NOTICE>") for summary in document["summaries"][1:])
    assert run.ledger.folded == {"transcript": 8, "conversation": 1}


def test_messages_without_a_manifest_have_what_they_say_themselves():
    document, _ = read(SAMPLES / "messages" / "success.messages.json")
    assert document["conversation_id"] == "fixture-success-01"
    assert document["created_at"] == document["messages"][0]["timestamp"] == "2025-04-22T17:42:10.123Z"
    inferred = [message["metadata"].get("timestamp_inferred", False) for message in document["messages"]]
    assert inferred == [True, False, True, False]
    assert document["messages"][-1]["tokens"]["input_tokens"] == 17
