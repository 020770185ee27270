"""From a file to conversations and exchanges: with and without threads, in memory and beyond it."""

import json

import jsonschema_rs
import pytest

from azure_logs import ANSWER, QUESTION, Log, answered, asked, gateway, logged
from importing import CHECKOUT, FIXTURES, check, import_units
from palaver.importers import importer
from palaver.importers.azure_openai import conversations
from palaver.model.report import SourceReport
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.storage.spill import GroupSpill
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines

AZURE = importer("azure_openai")
FILES = sorted(path for path in (FIXTURES / "azure_openai").glob("*/source/**/*") if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FIXTURES / "azure_openai")))
def test_every_call_is_a_valid_exchange(path):
    schema = json.loads((CHECKOUT / "schema" / "exchange" / "1.0.0.json").read_text("utf-8"))
    validator = jsonschema_rs.validator_for(schema)
    run = Run(str(path))
    exchanges = [call.exchange() for call in AZURE.calls(Source.at(path), run)]
    assert run.ledger.adds_up
    assert exchanges
    for exchange in exchanges:
        assert not [error.message for error in validator.iter_errors(exchange)]


def rows(count):
    """Two rows a call, far from each other."""
    heads = [
        gateway(f"c-{number}", asked(), answered(), time=f"2026-02-03T10:{number % 60:02}:00Z")
        for number in range(count)
    ]
    return heads + [logged(f"c-{number}", 0, PromptTokens=number + 1) for number in range(count)]


def told(calls):
    return sorted((call.call_id, json.dumps([call.request, call.response, call.usage, call.answer])) for call in calls)


def test_a_log_that_outgrows_memory_gives_the_same_calls(tmp_path, monkeypatch):
    path = tmp_path / "PT1H.json"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows(300)))
    spilled = []
    close = GroupSpill.close
    monkeypatch.setattr(GroupSpill, "close", lambda self: (spilled.append(self.spilled_bytes), close(self))[1])
    few = told(conversations.calls(Source.at(path), Run(""), limit_bytes=20_000))
    assert max(spilled) > 100_000
    spilled.clear()
    many = told(conversations.calls(Source.at(path), Run("")))
    assert max(spilled) == 0
    assert few == many
    assert len(many) == 300
    assert all('"input_tokens"' in text for _, text in many)


def imported(path, **options):
    units, _ = find_units([path], "azure_openai")
    report = SourceReport(units[0].source.label, "azure_openai")
    lines = list(document_lines(units[0], report, options))
    assert not report.failure
    return [json.loads(line) for line in lines], report


def test_without_threads_every_call_is_a_conversation(tmp_path):
    path = tmp_path / "PT1H.json"
    later = asked(QUESTION, ANSWER, {"role": "user", "content": "And on Sundays?"})
    records = [gateway("c-1", asked(), answered()), gateway("c-2", later, answered(id="chatcmpl-2"))]
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    apart, _ = imported(path, thread="no")
    assert {
        document["conversation_id"]: [message["message_id"] for message in document["messages"]] for document in apart
    } == {"c-1": ["c-1-0", "c-1-response"], "c-2": ["c-2-0", "c-2-1", "c-2-2", "c-2-response"]}
    (joined,), report = imported(path)
    assert [message["role"] for message in joined["messages"]] == ["user", "assistant", "user", "assistant"]
    assert report.ledger.mapped == 2


def test_callers_do_not_share_a_conversation(tmp_path):
    path = tmp_path / "PT1H.json"
    records = [gateway(name, asked(), answered(), apimSubscriptionId=name) for name in ("one", "two")]
    path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in records))
    assert len(imported(path)[0]) == 2


@pytest.mark.parametrize(
    ("stated", "caller"),
    [
        ({"apimSubscriptionId": "sub", "userId": "user"}, "sub"),
        ({"apimSubscriptionId": "", "userId": "user"}, "user"),
        ({"apimSubscriptionId": None}, ""),
    ],
)
def test_who_asked(tmp_path, stated, caller):
    assert Log(tmp_path / "PT1H.json", [gateway("c-1", asked(), answered(), **stated)]).call.caller == caller


def test_a_call_in_no_known_format_is_set_aside_and_one_for_no_model_skipped(tmp_path):
    spoken = {"dialogue": [{"role": "user", "content": "Do you hear me?"}]}
    log = Log(
        tmp_path / "PT1H.json",
        [
            gateway("c-1", spoken, {"ok": True}),
            gateway("c-2", {"order": 1}, {"ok": True}, url="https://gate.example.net/x"),
        ],
    )
    assert not log.calls
    assert [entry.code for entry in log.quarantined] == ["bad-conversation"]
    assert b"Do you hear me?" in log.quarantined[0].raw
    assert log.run.ledger.skipped == {"no-conversation": 1}


def test_unmapped_columns_keep_their_names(tmp_path):
    call = Log(tmp_path / "PT1H.json", [gateway("c-1", asked(), answered(), clientTlsVersion="1.3", cache="none")]).call
    assert (call.answer["clientTlsVersion"], call.answer["cache"]) == ("1.3", "none")


def test_options_are_known_by_name():
    assert set(AZURE.options.model_fields) == {"thread", "fields"}
    assert AZURE.locations() == []
    assert AZURE.record == "row"


def test_a_folder_of_fixtures_is_read_without_trouble():
    units, _ = find_units([FIXTURES / "azure_openai"])
    check(import_units(FIXTURES, units))
