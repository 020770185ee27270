"""Near-real logs, kept outside of the repository: each folder gives what the index of the samples says of it."""

import json
import os
from pathlib import Path

import pytest

from importing import CHECKOUT, check, import_folder, lost_blocks, lost_texts

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "azure_openai"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")

FOLDERS = sorted(path.name for path in SAMPLES.glob("synthetic-*"))


def read(name):
    imported = import_folder(SAMPLES / name)
    check(imported)
    return imported


def ledger(imported):
    return {
        Path(report.source).name: (report.ledger.read, report.ledger.mapped, dict(report.ledger.folded))
        for report in imported.reports
    }


def roles(imported):
    return sorted("".join(message["role"][0] for message in document["messages"]) for document in imported.documents)


def codes(imported):
    return {code: count for report in imported.reports for code, count in report.findings.counts.items()}


@pytest.mark.parametrize("name", FOLDERS)
def test_every_file_is_claimed_and_nothing_is_lost(name):
    imported = read(name)
    files = {str(path): path.read_bytes() for path in (SAMPLES / name).rglob("*") if path.is_file()}
    assert {Path(label).name for label in imported.found.unclaimed} <= {"facts.json"}
    assert not lost_texts(imported, files)
    assert not lost_blocks(imported, files)
    assert not imported.quarantined


def test_blob_of_lines():
    imported = read("synthetic-blob-jsonl")
    assert roles(imported) == ["suauata", "ua", "ua"]
    assert imported.reports[0].ledger.skipped == {"other-log": 1}
    assert [block["type"] for document in imported.documents for block in document["messages"][0]["content"]].count(
        "image"
    )


def test_records_of_an_event_hub():
    imported = read("synthetic-records-envelope")
    assert ledger(imported) == {"eventhub-batch.json": (6, 2, {"its call": 4})}
    assert roles(imported) == ["sua"]
    (used,) = imported.used
    assert "duration_ms" not in used
    assert codes(imported)["negative-duration"] == 1
    assert (
        imported.documents[0]["messages"][-1]["metadata"]["resource_log"]["request_time"] == "2026-03-14T09:00:12.600Z"
    )


def test_the_same_conversation_out_of_three_envelopes():
    imported = read("synthetic-log-analytics")
    longest = [document for document in imported.documents if len(document["messages"]) == 7]
    assert len(longest) == 3
    assert len({document["conversation_id"] for document in longest}) == 1
    assert len({json.dumps([message["content"] for message in document["messages"]]) for document in longest}) == 1


def test_csv_of_the_portal():
    imported = read("synthetic-portal-csv")
    assert roles(imported) == ["suauata", "suauata", "ua"]
    assert {message["timestamp"][:10] for document in imported.documents for message in document["messages"]} == {
        "2026-03-14"
    }


def test_messages_spread_over_rows():
    imported = read("synthetic-llm-log-chunked")
    facts = json.loads((SAMPLES / "synthetic-llm-log-chunked" / "facts.json").read_text("utf-8"))
    found = {
        document["messages"][-1]["metadata"]["request_id"]: document["messages"] for document in imported.documents
    }
    assert found.keys() == facts.keys()
    for call_id, fact in facts.items():
        tokens = found[call_id][-1].get("tokens")
        assert (tokens and [tokens["input_tokens"], tokens["output_tokens"]]) == fact["tokens"]
        assert len(found[call_id]) - 1 == fact.get("request_messages", 1)
        if "user_text_chars" in fact:
            assert len(found[call_id][1]["content"][0]["text"]) == fact["user_text_chars"]
    folded = imported.reports[0].ledger.folded
    assert folded["the same row"] == sum(fact.get("duplicate_rows", 0) for fact in facts.values())
    assert not codes(imported)


def test_bodies_cut_after_8192_bytes():
    imported = read("synthetic-truncated-8192")
    assert codes(imported)["cut-body"] == 4
    assert len(imported.documents) == 3


def test_streams():
    imported = read("synthetic-sse-bodies")
    answers = [document["messages"][-1] for document in imported.documents]
    assert sum(bool(answer["metadata"].get("answer_cut")) for answer in answers) == 1
    assert [len(answer["content"]) for answer in answers if answer["content"][0]["type"] == "tool_use"] == [2]
    assert codes(imported)["cut-body"] == 1


def test_the_responses_api():
    imported = read("synthetic-responses-api")
    assert codes(imported)["cut-body"] == 1
    blocks = [
        block["type"]
        for document in imported.documents
        for message in document["messages"]
        for block in message["content"]
    ]
    assert {"thinking", "tool_use", "tool_result", "text"} == set(blocks)


def test_payloads_of_policies():
    imported = read("synthetic-eventhub-policy")
    assert ledger(imported) == {
        "http-messages.txt": (2, 1, {"its call": 1}),
        "payloads.csv": (2, 0, {}),
        "payloads.jsonl": (4, 4, {}),
    }
    assert codes(imported)["cut-body"] == 1


def test_what_comes_instead_of_an_answer():
    imported = read("synthetic-content-filter")
    errors = [document["messages"][-1]["metadata"].get("error") for document in imported.documents]
    assert sorted(error["category"] for error in errors if error) == [
        *("content_filter", "content_filter", "rate_limit", "timeout")
    ]
    (used,) = imported.used
    assert used["metadata"]["status_code"] == 401


def test_rows_with_suffixes():
    imported = read("synthetic-azure-diagnostics")
    assert roles(imported) == ["suaua"]
    assert len(imported.used) == 1
