import json
from pathlib import Path

import jsonschema
import pytest
from pydantic import BaseModel, ValidationError

from palaver.model import exchange as models
from palaver.model.exchange import Exchange
from palaver.model.schemas import exchange_schema, published_schema
from palaver.validation.rules.exchange import RULES
from palaver.validation.schema import is_valid, schema_errors

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
NAMES = [rule.name for rule in RULES]
REFERENCE = jsonschema.Draft202012Validator(exchange_schema())
IN_SCHEMA = {
    "exchange-without-model": ("request", "model"),
    "exchange-bad-finish-reason": ("response", "finish_reason"),
}


def documents(rule, file):
    return [json.loads(line) for line in (FIXTURES / rule / file).read_text("utf-8").splitlines()]


def everything():
    return [document for rule in NAMES for file in ("found.jsonl", "fine.jsonl") for document in documents(rule, file)]


def found(document):
    """Every fault by the name of its rule; the schema speaks first, and alone if it refuses the document."""
    if not is_valid(document, "exchange"):
        named = {path: name for name, path in IN_SCHEMA.items()}
        errors = schema_errors(document, "exchange")
        places = [(*error.path, error.missing) if error.missing else error.path for error in errors]
        return [(named.get(place), place, "") for place in places]
    return [(rule.name, fault.path, fault.message) for rule in RULES if rule.check for fault in rule.check(document)]


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
        "exchange-without-model": "error",
        "exchange-without-messages": "error",
        "exchange-not-opened-by-user": "warning",
        "exchange-call-without-result": "error",
        "exchange-bad-token-limit": "error",
        "exchange-without-content": "error",
        "exchange-bad-finish-reason": "error",
        "exchange-usage-sum": "warning",
    }
    assert {rule.name for rule in RULES if rule.scope == "schema"} == set(IN_SCHEMA)
    assert {rule.scope for rule in RULES} == {"schema", "exchange"}


@pytest.mark.parametrize(
    ("rule", "line", "path", "sentence"),
    [
        ("exchange-without-messages", 0, ("request", "messages"), "The request has no messages"),
        (
            "exchange-not-opened-by-user",
            0,
            ("request", "messages", 0, "role"),
            "The request begins with a message of role assistant, not of the user",
        ),
        (
            "exchange-call-without-result",
            1,
            ("request", "messages", 1, "content", 1),
            "Message 1 calls 'read_file', but the next has no result of 'c2'",
        ),
        (
            "exchange-bad-token-limit",
            1,
            ("request", "max_output_tokens"),
            "max_output_tokens is -2; it must be above 0, or -1 for the default of the provider",
        ),
        (
            "exchange-without-content",
            0,
            ("response", "content"),
            "The response has no content and states no error",
        ),
        (
            "exchange-usage-sum",
            0,
            ("response", "usage", "total_tokens"),
            "The response states 25 tokens in all, but they add up to 125",
        ),
        (
            "exchange-usage-sum",
            1,
            ("response", "usage", "total_tokens"),
            "The response states 225 tokens in all, but they add up to 125 or 155",
        ),
    ],
)
def test_sentences_and_places(rule, line, path, sentence):
    assert found(documents(rule, "found.jsonl")[line]) == [(rule, path, sentence)]


def test_every_call_without_a_result_is_told():
    document = documents("exchange-call-without-result", "found.jsonl")[1]
    del document["request"]["messages"][2]
    assert [path[-1] for _, path, _ in found(document)] == [0, 1]


@pytest.mark.parametrize("provider", ["anthropic", "openai", "google", None])
def test_from_version_1_1_0_cached_tokens_are_input_whatever_the_provider(provider):
    usage = {"input_tokens": 120, "output_tokens": 5, "cached_tokens": 100, "total_tokens": 125}
    document = exchanged(GREETING, text("Hello!"), provider=provider, usage=usage) | {"schema_version": "1.1.0"}
    assert found(document) == []
    usage["total_tokens"] = 225
    assert [name for name, _, _ in found(document)] == ["exchange-usage-sum"]


@pytest.mark.parametrize(
    ("provider", "is_fine"),
    [
        ("anthropic", True),
        ("Anthropic", True),
        ("openai", False),
        ("azure", False),
        ("azure_openai", False),
        ("google", False),
        ("gemini", False),
        ("bedrock", True),
        (None, True),
    ],
)
def test_whether_cached_tokens_count_apart_depends_on_the_provider(provider, is_fine):
    usage = {"input_tokens": 20, "output_tokens": 5, "cached_tokens": 100, "total_tokens": 125}
    document = exchanged(GREETING, text("Hello!"), provider=provider, usage=usage)
    assert [name for name, _, _ in found(document)] == ([] if is_fine else ["exchange-usage-sum"])


@pytest.mark.parametrize("document", everything())
def test_both_validators_and_the_models_agree(document):
    valid = is_valid(document, "exchange")
    assert REFERENCE.is_valid(document) == valid
    if valid:
        assert Exchange.model_validate(document).model_dump(exclude_unset=True) == document
    else:
        with pytest.raises(ValidationError):
            Exchange.model_validate(document)


def text(words):
    return {"type": "text", "text": words}


GREETING = {
    "system": [text("You are helpful")],
    "messages": [{"role": "user", "content": [text("Hello")]}],
    "thinking": {"level": "med", "include_summary": True},
    "max_output_tokens": 4096,
}
READ_FILE = {"name": "read_file", "description": "Read file contents", "parameters": {"type": "object"}}
CALL = {"type": "tool_use", "id": "toolu_01A09", "name": "read_file", "input": {"path": "hosts"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_01A09", "content": "127.0.0.1 localhost\n", "is_error": False}
THINKING = {"type": "thinking", "thinking": "Let me analyze this step by step..."}


def exchanged(request, *content, provider="anthropic", model="claude-sonnet-4-5-20250929", **response):
    return {
        "schema_version": "1.0.0",
        "exchange_id": "req_1",
        "provider": provider,
        "started_at": "2026-02-20T10:00:00.000Z",
        "duration_ms": 1200,
        "request": {"model": model, **request},
        "response": {"content": list(content), "finish_reason": "stop", "model": model, **response},
        "error": None,
    }


def asked(*turns, **request):
    messages = [{"role": role, "content": list(content)} for role, *content in turns]
    return {"messages": messages, "tools": [READ_FILE], **request}


@pytest.mark.parametrize(
    "document",
    [
        exchanged(GREETING, text("Hello!")),
        exchanged(GREETING, text("Hello!"), provider="openai", model="o3"),
        exchanged(GREETING, text("Hello!"), provider="google", model="gemini-2.5-pro"),
        exchanged(asked(("user", text("Read it"))), CALL, finish_reason="tool_use"),
        exchanged(asked(("user", text("Read it")), ("assistant", CALL), ("user", RESULT)), text("One line.")),
        exchanged(
            asked(("user", text("Read it")), ("assistant", CALL), ("tool", RESULT)), text("."), provider="openai"
        ),
        exchanged(
            asked(("user", text("Hello")), ("assistant", THINKING, text("Hello!"))), THINKING, text("Still here.")
        ),
        exchanged(GREETING, text("Hello!"), provider="google", provider_data={"thought_signature": "c2lnbmVk"}),
        exchanged(GREETING, THINKING, text("Hello!"), provider_data={"thinking_type": "summarized"}),
        exchanged(asked(("user", text("Read it")), tool_choice={"type": "auto"}), text("Which?")),
        exchanged(asked(("user", text("Read it")), tool_choice={"type": "specific", "name": "read_file"}), CALL),
    ],
)
def test_the_examples_of_the_superset_format_are_fine(document):
    assert list(schema_errors(document, "exchange")) == []
    assert found(document) == []
    Exchange.model_validate(document)


@pytest.mark.parametrize(
    ("choice", "pointer", "keyword"),
    [
        ({"type": "specific"}, "/request/tool_choice", "required"),
        ({"type": "sometimes"}, "/request/tool_choice/type", "enum"),
        ("auto", "/request/tool_choice", "type"),
    ],
)
def test_a_choice_of_tools_has_a_type_and_the_specific_one_a_name(choice, pointer, keyword):
    document = exchanged(asked(("user", text("Read it")), tool_choice=choice), text("."))
    errors = [(error.pointer, error.keyword) for error in schema_errors(document, "exchange")]
    assert errors == [(pointer, keyword)]


def test_a_tool_is_strict_unless_it_says_otherwise():
    document = exchanged(asked(("user", text("Read it"))), text("."))
    assert Exchange.model_validate(document).request.tools[0].strict is True


@pytest.mark.parametrize("missing", ["schema_version", "exchange_id", "request", "response"])
def test_what_an_exchange_must_hold(missing):
    document = exchanged(GREETING, text("Hello!"))
    del document[missing]
    assert [error.missing for error in schema_errors(document, "exchange")] == [missing]


def test_every_field_is_described():
    made = [model for model in vars(models).values() if isinstance(model, type) and issubclass(model, BaseModel)]
    assert Exchange in made
    assert all(field.description for model in made for field in model.model_fields.values())


def test_the_committed_schema_is_the_generated_one():
    jsonschema.Draft202012Validator.check_schema(exchange_schema())
    assert published_schema("exchange") == exchange_schema()
