"""JSON Lines: exactly the documents; what was computed stands apart from what was stated."""

import json

import orjson
import pytest

from exporting import CASES, a_document, a_message, documents_of, export, ten_cents
from importing import first_error


@pytest.mark.parametrize("case", CASES)
def test_the_lines_are_the_documents(case):
    documents = documents_of(case)
    assert [orjson.loads(line) for line in export("jsonl", documents).splitlines()] == documents


@pytest.mark.parametrize("case", CASES)
def test_documents_with_costs_are_valid(case):
    for line in export("jsonl", documents_of(case), cost=ten_cents).splitlines():
        assert not first_error(orjson.loads(line))


def test_a_computed_cost_stands_beside_a_stated_one_never_in_its_place():
    stated = a_message(role="assistant", cost={"amount": 7, "currency": "EUR"})
    unstated = a_message(role="assistant", message_id="m2", metadata=None)
    prompt = a_message(message_id="m3")
    [line] = export("jsonl", [a_document(stated, unstated, prompt)], cost=ten_cents).splitlines()
    first, second, third = orjson.loads(line)["messages"]
    assert first == stated
    assert "cost" not in second
    assert second["metadata"]["computed_cost"] == {"amount": 0.1, "currency": "USD", "source": "list_prices"}
    assert third == prompt


def test_sums_past_64_bits_are_written():
    document = a_document(metrics={"total_tokens": {"input": 1 << 70}})
    assert json.loads(export("jsonl", [document])) == document
