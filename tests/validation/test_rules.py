import json
import re
from pathlib import Path

import jsonschema
import pytest

from palaver.model.schemas import conversation_schema
from palaver.validation.judge import Level
from palaver.validation.rules import cooked, exchange
from palaver.validation.schema import is_valid
from palaver.workflows.validate import ValidationSettings, all_rules

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
REFERENCE = jsonschema.Draft202012Validator(conversation_schema())
RULES = [rule for rule in all_rules() if rule not in {*exchange.RULES, *cooked.RULES}]
NAMES = [rule.name for rule in RULES]
LEVELS = {"unknown-key": Level.STRICT, "coerced": Level.LENIENT}


def documents(rule, file):
    return [json.loads(line) for line in (FIXTURES / rule / file).read_text("utf-8").splitlines()]


def everything():
    return [document for rule in NAMES for file in ("found.jsonl", "fine.jsonl") for document in documents(rule, file)]


def found(rule, file, level=None):
    """What is said of every document of a file, read one after the other."""
    judging = ValidationSettings(level or LEVELS.get(rule, Level.STANDARD)).new_judge()
    said = [judging.judge(document) for document in documents(rule, file)]
    assert judging.close() == []
    return said


def test_every_rule_has_its_documents_and_all_documents_belong_to_a_rule():
    assert {folder.name for folder in FIXTURES.iterdir()} == {rule.name for rule in all_rules()}
    for rule in all_rules():
        for file in ("found.jsonl", "fine.jsonl"):
            assert documents(rule.name, file), f"{rule.name}/{file} is empty"


@pytest.mark.parametrize("rule", NAMES)
def test_a_rule_finds_its_fault_and_no_other_does(rule):
    for document, said in zip(documents(rule, "found.jsonl"), found(rule, "found.jsonl"), strict=True):
        is_last = document.get("fragment", {}).get("final", True)
        assert {verdict.code for verdict in said} == ({rule} if is_last else set())


@pytest.mark.parametrize("rule", NAMES)
def test_what_is_nearly_the_same_is_fine(rule):
    for level in (None, Level.STRICT):
        assert not any(found(rule, "fine.jsonl", level))


@pytest.mark.parametrize("rule", NAMES)
def test_what_is_found_has_the_severity_of_its_rule(rule):
    said = {verdict.severity for verdicts in found(rule, "found.jsonl") for verdict in verdicts}
    assert said == {SEVERITIES[rule], MILDER.get(rule, SEVERITIES[rule])}


MILDER = {"missing-parent": "warning", "orphan-tool-result": "warning", "no-messages": "note"}
"""Severities of what a rule finds where the document itself explains it."""


SEVERITIES = {
    **dict.fromkeys(("missing-conversation-id", "missing-platform-name", "missing-message-id"), "error"),
    **dict.fromkeys(("missing-timestamp", "impossible-timestamp", "no-messages", "schema-version"), "error"),
    **dict.fromkeys(("empty-content", "invalid-role", "negative-tokens", "unknown-key"), "error"),
    **dict.fromkeys(("duplicate-message-id", "missing-parent", "parent-cycle", "orphan-tool-result"), "error"),
    "sidechain-without-parent": "error",
    **dict.fromkeys(("future-timestamp", "early-timestamp", "backward-timestamp", "long-gap"), "warning"),
    **dict.fromkeys(("updated-before-created", "message-flow", "no-user-message", "truncated-content"), "warning"),
    **dict.fromkeys(("unanswered-tool-use", "duplicate-tool-use-id", "usage-sum", "metrics-sum"), "warning"),
    **dict.fromkeys(("high-cost", "forked-active-path", "required-field"), "warning"),
    **dict.fromkeys(("blank-content", "inferred-timestamp", "summary-of-nothing", "partial-usage"), "note"),
    "coerced": "note",
}


def test_severities():
    assert {rule.name: rule.severity for rule in RULES} == SEVERITIES


def test_names_are_kebab_case_and_stand_for_one_rule():
    names = [rule.name for rule in all_rules()]
    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch("[a-z]+(-[a-z]+)*", name)] == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_meaning_is_a_sentence(rule):
    assert re.fullmatch(r"[A-Z]\S*( \S+)+\.", rule.meaning)


@pytest.mark.parametrize(
    ("rule", "line", "faults"),
    [
        ("unknown-key", 0, [("/mood", "The schema knows no key 'mood'")]),
        ("no-messages", 4, [("/messages", "No messages found")]),
        ("no-user-message", 0, [("/messages", "No message has the role user")]),
        ("sidechain-without-parent", 0, [("/session", "A sidechain without parent_conversation_id")]),
        (
            "updated-before-created",
            1,
            [
                (
                    "/updated_at",
                    "Updated at 2025-06-09T13:59:59.000Z, before it was created at 2025-06-09T14:00:00.000Z",
                )
            ],
        ),
        ("high-cost", 0, [("/metrics/total_cost", "A cost of 121.00 USD")]),
        (
            "summary-of-nothing",
            0,
            [("/summaries/0/covers_messages/1", "A summary covers 'm9', which is missing")],
        ),
        ("future-timestamp", 1, [("/updated_at", "updated_at is in the future: 2999-11-04T07:00:40.000Z")]),
        (
            "early-timestamp",
            0,
            [
                ("/created_at", "created_at is 2019-12-31T23:58:00.000Z, before 2020-01-01"),
                ("/messages/0/timestamp", "Message 0 is of 2019-12-31T23:58:00.000Z, before 2020-01-01"),
                ("/messages/1/timestamp", "Message 1 is of 2019-12-31T23:58:20.000Z, before 2020-01-01"),
            ],
        ),
        (
            "impossible-timestamp",
            2,
            [("/created_at", "created_at is 2024-00-29T11:00:00.000Z, which does not exist")],
        ),
        (
            "backward-timestamp",
            1,
            [
                (
                    "/messages/3/timestamp",
                    "Message 3 is of 2025-03-09T15:59:59.000Z, older than what it follows: 2025-03-09T16:00:00.000Z",
                )
            ],
        ),
        ("long-gap", 0, [("/messages/1/timestamp", "Message 1 came 2.5 hours after what it follows")]),
        ("inferred-timestamp", 0, [("/messages/1/timestamp", "Message 1 has an inferred timestamp")]),
        ("missing-message-id", 0, [("/messages/0/message_id", "Message 0 missing message_id")]),
        ("blank-content", 0, [("/messages/0/content", "Message 0 has blank content")]),
        (
            "message-flow",
            0,
            [("/messages/2/role", "Message 2 answers again after a finished answer (end_turn)")],
        ),
        ("message-flow", 1, [("/messages/1/role", "Message 1 answers without a question")]),
        ("truncated-content", 0, [("/messages/1", "Message 1 was cut off by the token limit (max_tokens)")]),
        (
            "truncated-content",
            2,
            [("/messages/2/content/0", "Message 2 has a tool result that was truncated when it was stored")],
        ),
        ("duplicate-message-id", 0, [("/messages/3/message_id", "Message 3 has the id of another one: 'm2'")]),
        ("missing-parent", 0, [("/messages/2/parent_message_id", "Message 2 follows 'm7', which is missing")]),
        ("parent-cycle", 1, [("/messages/2/parent_message_id", "The parents of 'm3' lead back to it")]),
        (
            "orphan-tool-result",
            0,
            [("/messages/2/content/0", "Message 2 holds the result of 't1', but no call has this id")],
        ),
        (
            "unanswered-tool-use",
            0,
            [("/messages/1/content/1", "Message 1 calls a tool without a result: 't1'")],
        ),
        (
            "duplicate-tool-use-id",
            0,
            [("/messages/3/content/0", "Message 3 reuses the id of another tool call: 't1'")],
        ),
        ("negative-tokens", 0, [("/messages/1/tokens/output_tokens", "Message 1 has negative output_tokens: -9")]),
        (
            "usage-sum",
            0,
            [("/messages/1/tokens/total_tokens", "Message 1 states 51 tokens in all, but they add up to 50")],
        ),
        (
            "usage-sum",
            1,
            [("/messages/1/tokens/cache_creation", "Message 1 wrote 900 tokens to the cache, by lifetime 600")],
        ),
        (
            "metrics-sum",
            1,
            [("/metrics/total_tokens/output", "metrics state 17 tokens of output, the messages add up to 18")],
        ),
        (
            "forked-active-path",
            0,
            [
                (
                    "/messages/2/metadata/on_active_path",
                    "Message 2 is shown, and so is message 1, which follows the same one",
                )
            ],
        ),
        ("partial-usage", 0, [("/messages/1/tokens", "Message 1 states the tokens of an unfinished answer")]),
    ],
)
def test_places_and_sentences(rule, line, faults):
    said = found(rule, "found.jsonl")[line]
    assert [("".join(f"/{part}" for part in verdict.path), verdict.message) for verdict in said] == faults


def test_what_each_platform_must_say():
    said = found("required-field", "found.jsonl")
    assert [[verdict.message for verdict in verdicts] for verdicts in said] == [
        ["A conversation of claude_code without sessionId"],
        ["A conversation of github_copilot without completion text"],
        ["A conversation of github_copilot without file path"],
        ["A conversation of continue_dev without session ID"],
        ["A conversation of continue_dev without model config"],
        ["A conversation of roo_code without session ID"],
        ["A conversation of roo_code without mode"],
        ["A conversation of azure_openai without request ID"],
        ["A conversation of azure_openai without deployment"],
    ]
    platforms = {document["platform"]["name"] for document in documents("required-field", "fine.jsonl")}
    assert platforms == {"claude_code", "github_copilot", "chatgpt", "continue_dev", "roo_code", "azure_openai"}


def test_links_that_lead_nowhere_are_mild_where_messages_are_known_to_be_missing():
    for rule in ("missing-parent", "orphan-tool-result"):
        said = found(rule, "found.jsonl")
        severities = [verdict.severity for verdicts in said for verdict in verdicts]
        # As it is; marked as incomplete; a fragment alone; the last of two fragments.
        assert severities == ["error", "warning", "warning", "error"]


@pytest.mark.parametrize("document", everything())
def test_both_validators_agree(document):
    assert REFERENCE.is_valid(document) == is_valid(document)
