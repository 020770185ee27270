"""Calls as exchange documents: valid, one each, and what the conversations are made of."""

import pytest

from importing import cases, import_folder
from palaver.importers import importer
from palaver.sources.run import Run
from palaver.validation.schema import is_valid

CASES = [case for case in cases() if case.platform == "api_trace"]


def exchanges(case, folder):
    for unit in import_folder(case.lay_out(folder), "api_trace").units:
        run = Run(unit.source.label, form=unit.match.form)
        yield run, [call.exchange() for call in importer("api_trace").calls(unit.source, run)]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_call_is_a_valid_exchange(case, tmp_path):
    for run, made in exchanges(case, tmp_path):
        assert made
        assert len(made) == run.ledger.mapped + run.findings.counts.get("several-messages", 0)
        assert not [exchange for exchange in made if not is_valid(exchange, "exchange")]
        assert len({exchange["exchange_id"] for exchange in made}) == len(made)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_answer_of_an_exchange_is_in_a_conversation(case, tmp_path):
    messages = [
        message
        for document in import_folder(case.lay_out(tmp_path / "documents"), "api_trace").documents
        for message in document["messages"]
    ]
    told = {text for message in messages for text in _texts(message["content"])}
    for _, made in exchanges(case, tmp_path / "exchanges"):
        for exchange in made:
            assert exchange["response"] is None or _texts(exchange["response"]["content"]) <= told


def _texts(blocks):
    return {block["text"] for block in blocks if block["type"] == "text"}
