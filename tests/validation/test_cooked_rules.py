import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from palaver.model import cooked as models
from palaver.model.cooked import Cooked
from palaver.model.schemas import cooked_schema, published_schema
from palaver.validation.rules.cooked import RULES, message_hash, missing_parent, parent_cycle, tool_hash
from palaver.validation.schema import is_valid, schema_errors

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
NAMES = [rule.name for rule in RULES]
REFERENCE = jsonschema.Draft202012Validator(cooked_schema())


def documents(rule, file):
    return [json.loads(line) for line in (FIXTURES / rule / file).read_text("utf-8").splitlines()]


def found(document):
    assert is_valid(document, "cooked"), list(schema_errors(document, "cooked"))
    return [(rule.name, fault.path, fault.message) for rule in RULES for fault in rule.check(document)]


@pytest.mark.parametrize("rule", NAMES)
def test_a_rule_finds_its_fault_and_no_other_does(rule):
    for document in documents(rule, "found.jsonl"):
        assert {name for name, _, _ in found(document)} == {rule}


@pytest.mark.parametrize("rule", NAMES)
def test_what_is_nearly_the_same_is_fine(rule):
    for document in documents(rule, "fine.jsonl"):
        assert found(document) == []


def test_severities():
    assert {rule.name: rule.severity for rule in RULES} == {
        "cooked-missing-message": "error",
        "cooked-missing-tool": "error",
        "cooked-missing-parent": "error",
        "cooked-parent-cycle": "error",
        "cooked-duplicate-id": "error",
        "cooked-orphan-result": "warning",
        "cooked-not-deduplicated": "note",
    }
    assert {rule.scope for rule in RULES} == {"cooked"}


@pytest.mark.parametrize(
    ("rule", "line", "faults"),
    [
        (
            "cooked-missing-message",
            0,
            [(("requests", 0, "response_messages", 0), "Request 0 refers to the message 'm2', which is missing")],
        ),
        (
            "cooked-missing-tool",
            0,
            [(("requests", 0, "tools", 1), "Request 0 refers to the tool 't1', which is missing")],
        ),
        (
            "cooked-missing-parent",
            0,
            [(("requests", 1, "parent_id"), "Request 1 continues 'r7', which is missing")],
        ),
        ("cooked-parent-cycle", 0, [(("requests", 0, "parent_id"), "Request 0 continues itself")]),
        (
            "cooked-parent-cycle",
            1,
            [
                (("requests", 0, "parent_id"), "The parents of request 0 lead back to it"),
                (("requests", 1, "parent_id"), "The parents of request 1 lead back to it"),
            ],
        ),
        ("cooked-duplicate-id", 0, [(("messages", 2, "id"), "Message 2 has the id of message 1: 'm1'")]),
        (
            "cooked-orphan-result",
            0,
            [(("messages", 2, "tool_use_id"), "Message 2 is the result of 'call_2', but no call has this id")],
        ),
        (
            "cooked-orphan-result",
            1,
            [(("messages", 2, "tool_use_id"), "Message 2 is a tool result without a call id")],
        ),
        ("cooked-not-deduplicated", 0, [(("messages", 2), "Message 2 is the same as message 0")]),
        ("cooked-not-deduplicated", 1, [(("tools", 1), "Tool 1 is the same as tool 0")]),
    ],
)
def test_sentences_and_places(rule, line, faults):
    assert found(documents(rule, "found.jsonl")[line]) == [(rule, *fault) for fault in faults]


def message(role, content="", tool_calls=None, tool_use_id=None, is_error=None):
    return {
        "role": role,
        "content": content,
        "tool_calls": tool_calls,
        "tool_use_id": tool_use_id,
        "is_error": is_error,
    }


def call(**more):
    return {"name": "calc", "arguments": {"expr": "2+2"}, **more}


@pytest.mark.parametrize(
    ("value", "digest"),
    [
        (message("system", "Be helpful"), "f5be8cd53f750a6b"),
        (message("user", "What's 2+2?"), "f1388d4d84b7a360"),
        (message("thinking", "Simple math question"), "623b7b48920688ad"),
        (message("tool_use", tool_calls=[call(id="call_1")]), "ec7adb7e27ced535"),
        (message("tool_use", tool_calls=[call(id="call_abc")]), "f38495adfaf36ac0"),
        (message("tool_use", tool_calls=[call(id=None)]), "b69cc02cfe724ebe"),
        (message("tool_use", tool_calls=[call()]), "cd62e055b4e2a1f7"),
        (message("tool_result", "4", None, "call_1"), "d4f985dfd80b4c37"),
        (message("tool_result", "4", None, "call_1", is_error=False), "68dd8ae892d95892"),
        (message("tool_result", "4", None, "call_1", is_error=True), "f8349d8b2f568b32"),
        (message("tool_result", "4"), "7be0eac38745f2ca"),
        (message("tool_result", "4", None, "call_abc", is_error=False), "65ba44f5c642934a"),
        (message("tool_result", "Sunny, 22°C", None, "call_abc123", is_error=False), "81b53a1f90e7e21b"),
        (message("tool_result", "Sunny, 22°C", None, "call_abc123"), "56e14f684383739a"),
        (message("assistant", ""), "61fc0b7e59638c1e"),
        (message("assistant", "Hello!"), "8ad9491c696a46e3"),
        (message("assistant", "Error: timeout"), "f6ab1822e9f8c9d1"),
        (message("user", "[image]"), "59a7b52e6bf0a353"),
    ],
)
def test_the_hash_of_a_message(value, digest):
    assert message_hash(value) == digest
    assert message_hash({"id": "m7", **value}) == digest


def test_the_hash_of_a_tool():
    parameters = {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]}
    tool = {"name": "get_weather", "description": "Get current weather for a location", "parameters": parameters}
    assert tool_hash(tool) == "e6843e96b00b19d5"
    turned = {"id": "t7", **tool, "parameters": dict(reversed(parameters.items()))}
    assert tool_hash(turned) == "e6843e96b00b19d5"


names = st.sampled_from(["r0", "r1", "r2", "r3", "r4", "r5"])
forests = st.dictionaries(names, st.none() | names, max_size=6)


def leads_back(name, links):
    at = links[name]
    for _ in links:
        if at == name:
            return True
        at = links.get(at)
    return False


@given(forests)
def test_law_circles_and_missing_parents_are_those_that_walking_finds(links):
    document = {"requests": [{"id": name, "parent_id": parent} for name, parent in links.items()]}
    order = list(links)
    assert [order[fault.path[1]] for fault in parent_cycle.check(document)] == [
        name for name in order if leads_back(name, links)
    ]
    assert [order[fault.path[1]] for fault in missing_parent.check(document)] == [
        name for name, parent in links.items() if parent is not None and parent not in links
    ]


@given(st.lists(st.tuples(names, st.none() | names), max_size=8))
def test_law_ids_that_stand_twice_hide_no_circle(pairs):
    requests = [{"id": name, "parent_id": parent} for name, parent in pairs]
    first = dict(reversed(pairs))
    told = [requests[fault.path[1]]["id"] for fault in parent_cycle.check({"requests": requests})]
    assert sorted(told) == sorted(name for name in first if leads_back(name, first))


EXAMPLE = {
    "messages": [
        {"id": "m0", **message("system", "Be helpful")},
        {"id": "m1", **message("user", "What's 2+2?")},
        {"id": "m2", **message("thinking", "Simple math question")},
        {"id": "m3", **message("tool_use", tool_calls=[call(id="call_1")])},
        {"id": "m4", **message("tool_result", "4", None, "call_1", is_error=False)},
    ],
    "tools": [{"id": "t0", "name": "calc", "description": "", "parameters": {"type": "object"}}],
    "requests": [
        {
            "id": "0b5c",
            "parent_id": None,
            "timestamp": 1708419600000,
            "request_messages": ["m0", "m1"],
            "response_messages": ["m2", "m3"],
            "model": "gpt-4",
            "tools": ["t0"],
            "duration_ms": 1200,
        }
    ],
}


def changed(part, key, value):
    document = json.loads(json.dumps(EXAMPLE))
    if value is ...:
        del document[part][0][key]
    else:
        document[part][0][key] = value
    return document


def test_the_example_of_the_format_is_fine():
    assert found(EXAMPLE) == []
    assert Cooked.model_validate(EXAMPLE).model_dump(exclude_unset=True) == EXAMPLE


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("messages", "id", "x0"),
        ("messages", "id", "m0\n"),
        ("messages", "role", "tool"),
        ("messages", "content", None),
        ("messages", "is_error", ...),
        ("messages", "tool_calls", [{"name": "calc"}]),
        ("messages", "usage", {}),
        ("tools", "id", "m0"),
        ("tools", "parameters", None),
        ("tools", "is_server_side", False),
        ("requests", "id", ""),
        ("requests", "parent_id", ...),
        ("requests", "timestamp", "2026-02-20T10:00:00Z"),
        ("requests", "duration_ms", -1),
        ("requests", "error", "timeout"),
    ],
)
def test_both_validators_and_the_models_refuse(part, key, value):
    document = changed(part, key, value)
    assert not is_valid(document, "cooked")
    assert not REFERENCE.is_valid(document)
    with pytest.raises(ValidationError):
        Cooked.model_validate(document)
    assert {error.path[0] for error in schema_errors(document, "cooked")} == {part}


@pytest.mark.parametrize("rule", NAMES)
def test_both_validators_and_the_models_accept(rule):
    for document in (*documents(rule, "found.jsonl"), *documents(rule, "fine.jsonl")):
        REFERENCE.validate(document)
        assert Cooked.model_validate(document).model_dump(exclude_unset=True) == document


def test_every_field_is_described():
    made = [model for model in vars(models).values() if isinstance(model, type) and issubclass(model, BaseModel)]
    assert Cooked in made
    assert all(field.description for model in made for field in model.model_fields.values())


def test_the_committed_schema_is_the_generated_one():
    jsonschema.Draft202012Validator.check_schema(cooked_schema())
    assert published_schema("cooked") == cooked_schema()
