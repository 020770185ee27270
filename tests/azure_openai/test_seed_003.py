"""The mapping specification's own example: a row of API Management, transformed literally with `-O thread=no`."""

import json

from palaver.model.report import SourceReport
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import document_lines

ROW = {
    "requestId": "4f0c",
    "apiVersion": "2024-10-21",
    "deploymentName": "gpt-4o-oven",
    "timestamp": "2026-02-03T10:00:00.000Z",
    "responseTimestamp": "2026-02-03T10:00:01.250Z",
    "durationMs": 1250,
    "requestBody": json.dumps(
        {
            "messages": [
                {"role": "system", "content": "You answer for a bakery."},
                {"role": "user", "content": [{"type": "text", "text": "When is the rye bread ready?"}]},
            ]
        }
    ),
    "responseBody": json.dumps(
        {
            "choices": [{"message": {"role": "assistant", "content": "At six in the morning."}}],
            "usage": {"prompt_tokens": 21, "completion_tokens": 7, "total_tokens": 28},
        }
    ),
}


def test_the_example_transformation_of_a_row(tmp_path):
    log = tmp_path / "apim.jsonl"
    log.write_text(json.dumps(ROW) + "\n", "utf-8")
    (unit,), _ = find_units([log])
    report = SourceReport(unit.source.label, unit.platform)
    (document,) = map(json.loads, document_lines(unit, report, {"thread": "no"}))
    assert not report.failure
    assert document["schema_version"] == "1.0.0"
    assert document["conversation_id"] == "4f0c"
    platform = document["platform"]
    assert (platform["name"], platform["version"], platform["model"]) == ("azure_openai", "2024-10-21", "gpt-4o-oven")
    assert platform["metadata"]["deployment"] == "gpt-4o-oven"
    assert [
        (message["message_id"], message["role"], message["timestamp"], message["content"])
        for message in document["messages"]
    ] == [
        ("4f0c-0", "system", ROW["timestamp"], [{"type": "text", "text": "You answer for a bakery."}]),
        ("4f0c-1", "user", ROW["timestamp"], [{"type": "text", "text": "When is the rye bread ready?"}]),
        ("4f0c-response", "assistant", ROW["responseTimestamp"], [{"type": "text", "text": "At six in the morning."}]),
    ]
    tokens = document["messages"][-1]["tokens"]
    assert (tokens["input_tokens"], tokens["output_tokens"], tokens["total_tokens"]) == (21, 7, 28)
    assert document["metrics"]["duration_ms"] == 1250
