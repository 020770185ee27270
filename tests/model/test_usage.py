"""Usage records: the model is the schema, and what the builder makes is valid."""

import json
from pathlib import Path

import jsonschema
import jsonschema_rs
import pytest
from pydantic import ValidationError

from palaver.model import build
from palaver.model.schema_markdown import usage_tables
from palaver.model.schemas import published_schema, usage_schema
from palaver.model.usage import UsageRecord

ROOT = Path(__file__).parents[2]
TIME = "2026-02-03T08:15:00.000Z"
SMALL = build.usage(usage_id="u1", platform={"name": "azure_openai"}, kind="request", started_at=TIME)
FULL = build.usage(
    usage_id="u1",
    platform={"name": "azure_openai", "version": "2024-10-21"},
    kind="period",
    started_at=TIME,
    ended_at=TIME,
    subject=build.subject("caller", "10.0.0.***"),
    model="gpt-4o",
    request_id="r1",
    api_message_id="chatcmpl-1",
    tokens={"input_tokens": 4, "output_tokens": None},
    counts={"requests": 3, "hours": 0.5},
    cost={"amount": 0.25, "currency": "EUR"},
    duration_ms=1.5,
    metadata={"region": "North Pier"},
)
WRONG = [
    {},
    {**SMALL, "usage_id": ""},
    {**SMALL, "kind": "day"},
    {**SMALL, "started_at": "2026-02-03"},
    {**SMALL, "platform": {"name": "Azure"}},
    {**SMALL, "subject": {"kind": "caller"}},
    {**SMALL, "subject": {"kind": "", "id": "x"}},
    {**SMALL, "counts": {"requests": -1}},
    {**SMALL, "counts": {"requests": "3"}},
    {**SMALL, "tokens": {"input_tokens": -4}},
    {**SMALL, "duration_ms": -20},
    {**SMALL, "cost": {"currency": "EUR"}},
    {**SMALL, "metadata": []},
    *({name: value for name, value in SMALL.items() if name != missing} for missing in SMALL),
]


def is_valid(record) -> bool:
    """What both validators and the model say of it, which must be one."""
    schema = published_schema("usage")
    said = {
        jsonschema_rs.validator_for(schema).is_valid(record),
        jsonschema.Draft202012Validator(schema).is_valid(record),
    }
    try:
        read = UsageRecord.model_validate(record)
    except ValidationError:
        said.add(False)
    else:
        said.add(True)
        assert read.model_dump(mode="json", exclude_unset=True) == record
    [verdict] = said
    return verdict


def test_the_published_schema_is_the_model():
    assert published_schema("usage") == usage_schema()
    assert published_schema("usage")["$id"] == f"urn:palaver:schema:usage:{UsageRecord.SCHEMA_VERSION}"
    assert (ROOT / "docs" / "usage.md").read_text("utf-8") == usage_tables()


@pytest.mark.parametrize("record", [SMALL, FULL, {**SMALL, "colour": "blue"}, {**SMALL, "subject": None, "counts": {}}])
def test_what_the_builder_makes_is_valid_and_unknown_keys_are_kept(record):
    assert is_valid(json.loads(json.dumps(record)))


@pytest.mark.parametrize("record", WRONG)
def test_what_is_wrong_is_refused_by_all(record):
    assert not is_valid(record)


def test_what_is_not_known_is_left_out():
    assert list(SMALL) == ["schema_version", "usage_id", "platform", "kind", "started_at"]
    assert set(FULL) == set(UsageRecord.model_fields)
