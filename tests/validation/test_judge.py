import copy
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from palaver.errors import OptionError
from palaver.model.schemas import conversation_schema
from palaver.validation.judge import Judge, Level, RuleSelection
from palaver.validation.rules import links
from palaver.validation.schema import is_valid
from palaver.workflows.validate import ValidationSettings, all_rules

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
REFERENCE = jsonschema.Draft202012Validator(conversation_schema())
CONVERSATION_RULES = {rule.name for rule in all_rules() if rule.scope == "conversation"}
EACH_MESSAGE_ALONE = {
    *("future-timestamp", "early-timestamp", "impossible-timestamp", "inferred-timestamp"),
    *("blank-content", "truncated-content", "usage-sum", "partial-usage"),
}
NEIGHBOURS = {"backward-timestamp", "long-gap", "message-flow", "forked-active-path"}
"""Rules that compare a message with what it follows, which may stand in an earlier fragment."""
ABSENT = object()
unhurried = settings(suppress_health_check=[HealthCheck.too_slow])


def text(words):
    return {"type": "text", "text": words}


def said_at(minute, role, *blocks, **more):
    message_id, time = f"m{minute}", f"2025-04-01T10:{minute:02}:00.000Z"
    return {"message_id": message_id, "role": role, "timestamp": time, "content": list(blocks), **more}


RICH = {
    "schema_version": "1.0.0",
    "conversation_id": "greenhouse",
    "title": "Heat for the greenhouse",
    "platform": {"name": "roo_code", "version": "3.2", "model": "m-1", "metadata": {"mode": "code"}},
    "session": {"session_id": "s1", "is_sidechain": True, "parent_conversation_id": "garden"},
    "context": {"workspace": {"path": "greenhouse"}, "custom": {"beds": 4}},
    "created_at": "2025-04-01T10:00:00.000Z",
    "updated_at": "2025-04-01T10:03:00.000Z",
    "messages": [
        said_at(0, "user", text("How warm was it last night?")),
        said_at(
            1,
            "assistant",
            {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "night.csv"}},
            parent_message_id="m0",
            tokens={"input_tokens": 30, "output_tokens": 8, "total_tokens": 38},
            cost={"amount": 0.5, "currency": "USD"},
        ),
        said_at(2, "user", {"type": "tool_result", "tool_use_id": "t1", "content": "4.5", "is_error": False}),
        said_at(3, "assistant", text("Four and a half degrees."), metadata={"stop_reason": "end_turn"}),
        {**said_at(4, "user", text("I come tomorrow.")), "timestamp": "2999-04-01T10:04:00.000Z"},
    ],
    "summaries": [
        {
            "summary_id": "s",
            "type": "automatic",
            "text": "A cold night.",
            "timestamp": "2025-04-01T10:05:00.000Z",
            "covers_messages": ["m0"],
        }
    ],
    "metrics": {"total_messages": 5, "total_tokens": {"input": 30, "output": 8}, "tool_calls": 1},
    "tags": ["garden"],
    "rating": {"score": 4},
    "fragment": None,
}
PLAIN = {name: RICH[name] for name in ("schema_version", "conversation_id", "platform", "session", "created_at")}
PLAIN["messages"] = RICH["messages"][:4]
BRANCHED = {
    **PLAIN,
    "messages": [
        said_at(0, "user", text("Tomatoes or beans?")),
        said_at(1, "assistant", text("Beans."), parent_message_id="m0"),
        said_at(5, "user", text("Which ones?"), parent_message_id="m1"),
        said_at(2, "assistant", text("Tomatoes."), parent_message_id="m0"),
    ],
}


def changed(document, path, value):
    made = copy.deepcopy(document)
    holder = made
    for part in path[:-1]:
        holder = holder[part]
    if value is ABSENT:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return made


def told(document, level=Level.STANDARD, asked=RuleSelection()):  # noqa: B008 - frozen
    judging = ValidationSettings(level, asked).new_judge()
    return [*judging.judge(document), *(verdict for _, verdict in judging.close())]


def codes(document, level=Level.STANDARD, asked=RuleSelection()):  # noqa: B008 - frozen
    return [verdict.code for verdict in told(document, level, asked)]


# -- levels ---------------------------------------------------------------------------------------------------------


def test_what_fails_at_which_level():
    failing = {level: {one for one in ("error", "warning", "note") if level.fails(one)} for level in Level}
    assert failing == {"strict": {"error", "warning"}, "standard": {"error"}, "lenient": {"error"}}


def test_only_strict_asks_for_keys_that_the_schema_does_not_know():
    document = {**PLAIN, "zeal": 1, "mood": "calm"}
    assert [verdict.path for verdict in told(document, Level.STRICT)] == [("mood",), ("zeal",)]
    assert codes(document) == []
    assert codes(document, Level.LENIENT) == []


def test_a_key_of_its_own_inside_a_part_is_fine_at_every_level():
    document = changed(PLAIN, ("platform", "metadata", "theme"), "dark")
    document["session"] = {**document["session"], "mood": "calm"}
    assert [codes(document, level) for level in Level] == [[], [], []]


def test_lenient_asks_the_schema_only():
    assert codes(RICH) == ["future-timestamp"]
    assert codes(RICH, Level.LENIENT) == []
    assert codes(changed(RICH, ("messages", 0, "role"), "narrator"), Level.LENIENT) == ["invalid-role"]


CONVERTED = [
    (("schema_version",), ABSENT, "1.0.0", "A missing schema_version became '1.0.0'"),
    (("platform",), "roo_code", {"name": "roo_code"}, "'roo_code' became the name of a platform"),
    (("conversation_id",), 12, "12", "12 became '12'"),
    (("created_at",), 1743501600, "2025-04-01T10:00:00.000Z", "1743501600 became '2025-04-01T10:00:00.000Z'"),
    (
        ("updated_at",),
        "2025-04-01T12:00:00+02:00",
        "2025-04-01T10:00:00.000Z",
        "'2025-04-01T12:00:00+02:00' became '2025-04-01T10:00:00.000Z'",
    ),
    (("tags",), "garden", ["garden"], "'garden' became ['garden']"),
    (("messages", 0, "message_id"), 7, "7", "7 became '7'"),
    (("messages", 1, "parent_message_id"), 7, "7", "7 became '7'"),
    (("messages", 0, "role"), "Human", "user", "'Human' became 'user'"),
    (("messages", 1, "role"), "ai", "assistant", "'ai' became 'assistant'"),
    (("messages", 0, "role"), "developer", "system", "'developer' became 'system'"),
    (
        ("messages", 0, "timestamp"),
        "2025-04-01 10:00",
        "2025-04-01T10:00:00.000Z",
        "'2025-04-01 10:00' became '2025-04-01T10:00:00.000Z'",
    ),
    (("messages", 0, "content"), "Hi", [text("Hi")], "'Hi' became [{'type': 'text', 'text': 'Hi'}]"),
    (("messages", 1, "tokens"), {"output_tokens": "8"}, {"output_tokens": 8}, "'8' became 8"),
    (("messages", 2, "content", 0, "is_error"), ABSENT, False, "A missing is_error became false"),
    (("messages", 2, "content", 0, "is_error"), None, False, "A missing is_error became false"),
]


@pytest.mark.parametrize(("path", "value", "converted", "sentence"), CONVERTED)
def test_lenient_converts_and_says_so_once(path, value, converted, sentence):
    document = changed(RICH, path, value)
    before = copy.deepcopy(document)
    judging = Judge(Level.LENIENT)
    said = judging.judge(document)
    assert [(verdict.code, verdict.severity, verdict.message) for verdict in said] == [("coerced", "note", sentence)]
    assert said[0].path[: len(path)] == path
    expected = {"name": "roo_code"} if path == ("platform",) else changed(RICH, path, converted)[path[0]]
    assert judging.judged_document[path[0]] == expected
    assert document == before
    assert "coerced" not in codes(document)


def test_several_conversions_are_told_one_by_one():
    document = RICH
    for path, value, _, _ in CONVERTED[:7]:
        document = changed(document, path, value)
    assert sorted(verdict.message for verdict in told(document, Level.LENIENT)) == sorted(
        sentence for *_, sentence in CONVERTED[:7]
    )


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("conversation_id",), True, "schema-type"),
        (("conversation_id",), 1.5, "schema-type"),
        (("created_at",), "yesterday", "schema-pattern"),
        (("messages", 0, "role"), "narrator", "invalid-role"),
        (("messages", 0, "content"), 5, "schema-type"),
        (("messages", 1, "tokens", "output_tokens"), "-8", "schema-type"),
        (("messages", 1, "tokens", "output_tokens"), "8.5", "schema-type"),
        (("messages", 1, "tokens", "output_tokens"), -8, "negative-tokens"),
    ],
)
def test_lenient_converts_nothing_that_could_mean_something_else(path, value, code):
    assert codes(changed(RICH, path, value), Level.LENIENT) == [code]


# -- which rules are asked ------------------------------------------------------------------------------------------


def test_some_rules_only_or_all_but_some():
    document = {**changed(RICH, ("messages", 3, "content"), [text(" ")]), "updated_at": "2025-03-01T00:00:00.000Z"}
    everything = {"future-timestamp", "blank-content", "updated-before-created"}
    assert set(codes(document)) == everything
    for name in everything:
        assert codes(document, asked=RuleSelection(only=frozenset({name}))) == [name]
        assert set(codes(document, asked=RuleSelection(without=frozenset({name})))) == everything - {name}
        assert codes(document, asked=RuleSelection(frozenset({name}), frozenset({name}))) == []


def test_what_the_schema_refuses_is_told_whatever_is_asked():
    document = changed(RICH, ("messages", 3, "role"), "narrator")
    assert codes(document, asked=RuleSelection(only=frozenset({"high-cost"}))) == ["invalid-role"]
    assert "invalid-role" in codes(document, asked=RuleSelection(without=frozenset({"invalid-role"})))


def test_a_rule_that_nobody_knows_is_refused_with_those_there_are():
    known = [rule.name for rule in all_rules()]
    asked = RuleSelection(frozenset({"long-gap"}), frozenset({"high-cost"}))
    assert asked.check(known) is asked
    for unknown in (RuleSelection(only=frozenset({"lnog-gap"})), RuleSelection(without=frozenset({"lnog-gap"}))):
        with pytest.raises(OptionError, match=r"unknown rule 'lnog-gap'; choose from backward-timestamp, .*usage"):
            unknown.check(known)


# -- fragments ------------------------------------------------------------------------------------------------------

ids = st.sampled_from("abcdef")
blocks = st.one_of(
    st.sampled_from([text("Well."), text(" ")]),
    st.sampled_from(["t1", "t2", "t3"]).map(lambda name: {"type": "tool_use", "id": name, "name": "x", "input": {}}),
    st.sampled_from(["t1", "t2", "t4"]).map(
        lambda name: {"type": "tool_result", "tool_use_id": name, "content": "", "is_error": False}
    ),
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "stop_reason": st.sampled_from(["end_turn", "max_tokens"]),
        "timestamp_inferred": st.booleans(),
        "on_active_path": st.booleans(),
        "tokens_partial": st.booleans(),
        "context_incomplete": st.sampled_from([False, False, False, True]),
    },
)
times = st.sampled_from(
    ["2025-04-01T10:00:00.000Z"] * 3
    + ["2025-04-01T10:01:00.000Z", "2025-04-01T13:00:00.000Z", "2019-04-01T10:00:00.000Z"]
    + ["2025-04-31T10:00:00.000Z", "2999-04-01T10:00:00.000Z"]
)
tokens = st.builds(
    lambda counted, stated: {"input_tokens": counted, "output_tokens": 1, "total_tokens": stated},
    st.integers(0, 2),
    st.integers(1, 3),
)


@st.composite
def conversations(draw, *, repeats_ids):
    """Conversations with branches, links forward and back, circles, ids that stand there twice or nowhere."""
    count = draw(st.integers(2, 6))
    names = draw(st.lists(ids, min_size=count, max_size=count, unique=not repeats_ids))
    messages = [
        {
            "message_id": name,
            "parent_message_id": draw(st.none() | st.just(above) | st.sampled_from([*names, "z", ""])),
            "role": draw(st.sampled_from(["user", "assistant", "system"])),
            "timestamp": draw(times),
            "content": draw(st.lists(blocks, min_size=1, max_size=2)),
            "tokens": draw(st.none() | tokens),
            "cost": draw(st.none() | st.just({"amount": 40})),
            "metadata": draw(metadata),
        }
        for name, above in zip(names, [None, *names], strict=False)
    ]
    about = {"total_messages": draw(st.just(count) | st.integers(1, 8)), "tool_calls": draw(st.integers(0, 2))}
    return {
        "schema_version": "1.0.0",
        "conversation_id": "c",
        "platform": {"name": draw(st.sampled_from(["claude_code", "chatgpt"]))},
        "session": {"session_id": "s", "is_sidechain": draw(st.booleans())},
        "created_at": "2025-04-01T10:00:00.000Z",
        "updated_at": draw(st.sampled_from([None, "2025-04-02T10:00:00.000Z", "2025-03-01T10:00:00.000Z"])),
        "messages": messages,
        "summaries": [
            {
                "summary_id": "s",
                "type": "system",
                "text": "",
                "timestamp": "2025-04-01T10:00:00.000Z",
                "covers_messages": draw(st.lists(ids, max_size=2)),
            }
        ],
        "metrics": draw(st.none() | st.just(about)),
    }


@st.composite
def cut_conversations(draw, *, repeats_ids=False):
    """One with where to cut it; some fragments may be empty, the first is not."""
    document = draw(conversations(repeats_ids=repeats_ids))
    borders = st.lists(st.integers(1, len(document["messages"])), min_size=1, max_size=4)
    return document, [0, *sorted(draw(borders)), len(document["messages"])]


def fragments(document, ends):
    for sequence, (start, end) in enumerate(pairwise(ends)):
        is_final = sequence == len(ends) - 2
        piece = {name: value for name, value in document.items() if is_final or name not in {"metrics", "summaries"}}
        fragment = {"sequence": sequence, "final": is_final}
        yield {**piece, "messages": document["messages"][start:end], "fragment": fragment}


def found_in_pieces(document, ends):
    """What is said of all fragments, with places in the whole conversation."""
    judging = ValidationSettings().new_judge()
    said = []
    for sequence, piece in enumerate(fragments(document, ends)):
        for verdict in judging.judge(piece, str(sequence)):
            start = ends[int(verdict.location) if verdict.location else sequence]
            said.append((verdict.code, verdict.severity, _moved(verdict.path, start)))
    assert judging.close() == []
    return said


def _moved(path, start):
    return ("messages", path[1] + start, *path[2:]) if path[:1] == ("messages",) and path[1:] else path


def found_in_whole(document):
    return [(verdict.code, verdict.severity, verdict.path) for verdict in told(document)]


def among(said, names):
    return Counter(verdict for verdict in said if verdict[0] in names)


@settings(unhurried, max_examples=300)
@given(cut_conversations(repeats_ids=True))
def test_law_fragments_are_judged_as_one_conversation(cut):
    whole, pieces = found_in_whole(cut[0]), found_in_pieces(*cut)
    once = (CONVERSATION_RULES | EACH_MESSAGE_ALONE) - {"parent-cycle"}
    assert among(pieces, once) == among(whole, once)


@st.composite
def cut_circles(draw):
    """Every id stands for one message here: of two, nobody knows which one a link means."""
    names = "abcdef"[: draw(st.integers(2, 6))]
    parents = [draw(st.none() | st.sampled_from(names)) for _ in names]
    message = said_at(0, "user", text("Round and round."))
    links = [{"message_id": name, "parent_message_id": parent} for name, parent in zip(names, parents, strict=True)]
    borders = draw(st.sets(st.integers(1, len(names) - 1), min_size=1))
    return {**PLAIN, "messages": [{**message, **link} for link in links]}, [0, *sorted(borders), len(names)]


@settings(unhurried, max_examples=300)
@given(cut_circles())
def test_law_circles_are_found_through_all_fragments(cut):
    """How many are told differs: of circles through several fragments only the ids' hashes are known."""
    whole, pieces = found_in_whole(cut[0]), found_in_pieces(*cut)
    assert ("parent-cycle" in {code for code, *_ in pieces}) == ("parent-cycle" in {code for code, *_ in whole})


@settings(unhurried, max_examples=300)
@given(cut_conversations())
@example((BRANCHED, [0, 2, 4]))
def test_law_cutting_makes_up_no_fault_between_neighbours(cut):
    """What follows a message of an earlier fragment may pass, but nothing is compared with the wrong message."""
    whole, pieces = found_in_whole(cut[0]), found_in_pieces(*cut)
    assert among(pieces, NEIGHBOURS) <= among(whole, NEIGHBOURS)


def test_every_rule_is_in_one_of_the_laws_or_about_the_header():
    asked = {rule.name for rule in all_rules() if rule.scope in {"document", "conversation"}}
    assert asked == CONVERSATION_RULES | EACH_MESSAGE_ALONE | NEIGHBOURS | {"required-field"}


def test_fragments_of_several_conversations_may_come_mixed():
    first = changed(RICH, ("messages", 0, "message_id"), "m3")
    second = {**RICH, "conversation_id": "another"}
    third = {**RICH, "platform": {**RICH["platform"], "name": "claude_code"}}
    judging = ValidationSettings().new_judge()
    said = Counter()
    for pieces in zip(*(fragments(one, [0, 2, 5]) for one in (first, second, third)), strict=True):
        for piece in pieces:
            for verdict in judging.judge(piece):
                said[piece["conversation_id"], piece["platform"]["name"], verdict.code] += 1
    assert said == {
        ("greenhouse", "roo_code", "duplicate-message-id"): 1,
        ("greenhouse", "roo_code", "missing-parent"): 1,
        ("greenhouse", "roo_code", "summary-of-nothing"): 1,
        ("greenhouse", "roo_code", "future-timestamp"): 1,
        ("another", "roo_code", "future-timestamp"): 1,
        ("greenhouse", "claude_code", "future-timestamp"): 1,
    }


def test_a_conversation_whose_last_fragment_never_comes_is_settled_at_the_end():
    judging = ValidationSettings().new_judge()
    document = {**changed(PLAIN, ("messages", 1, "parent_message_id"), "m9"), "metrics": None}
    document["messages"][3]["message_id"] = "m0"
    first, second, _ = fragments(document, [0, 2, 4, 4])
    assert judging.judge(first, "line 1") == judging.judge(second, "line 2") == []
    said = [(name, one.code, one.severity, one.location, one.path) for name, one in judging.close()]
    assert said == [
        ("greenhouse", "duplicate-message-id", "error", "line 2", ("messages", 1, "message_id")),
        ("greenhouse", "missing-parent", "warning", "line 1", ("messages", 1, "parent_message_id")),
    ]
    assert judging.close() == []


def test_a_fault_names_its_document_only_if_that_is_an_earlier_one():
    orphan = changed(PLAIN, ("messages", 2, "content", 0, "tool_use_id"), "t9")
    whole = {verdict.code: verdict.location for verdict in ValidationSettings().new_judge().judge(orphan, "line 5")}
    assert whole == {"orphan-tool-result": None, "unanswered-tool-use": None}
    judging = ValidationSettings().new_judge()
    first, second = fragments(orphan, [0, 2, 4])
    judging.judge(first, "line 5")
    cut = {verdict.code: verdict.location for verdict in judging.judge(second, "line 6")}
    assert cut == {"orphan-tool-result": None, "unanswered-tool-use": "line 5"}


# -- broken documents -----------------------------------------------------------------------------------------------

ODD_VALUES = [None, [], {}, "", "odd", -1, 1.5, 2**70, True, [[]], {"type": []}, ["odd"], ABSENT]
LEFT_OUT = {rule.name for rule in links.RULES} | {"summary-of-nothing"}
"""What is said of links that lead to the part that is left out."""


def places(value, above=()):
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*above, key)
        yield from places(value[key], (*above, key))


@pytest.mark.parametrize("path", list(places(RICH)), ids=lambda path: "/".join(map(str, path)))
def test_a_broken_document_is_judged_by_rules_that_do_not_speak_of_the_fault_again(path):
    time = ("messages", 4, "timestamp")
    for odd in ODD_VALUES:
        document = changed(RICH, path, odd)
        if not REFERENCE.is_valid(document) and path != ("schema_version",):
            said = told(document)
            by_schema = {verdict.code for verdict in said if verdict.stage == "schema"}
            by_rules = {verdict.code for verdict in said if verdict.stage == "rule"}
            assert by_schema
            assert ("future-timestamp" in by_rules) == (path != time[: len(path)])
            assert by_rules <= {"future-timestamp", *LEFT_OUT}, odd


def test_a_broken_message_keeps_what_the_schema_did_not_refuse():
    document = changed(RICH, ("messages", 4, "role"), "narrator")
    assert codes(document) == ["invalid-role", "future-timestamp"]
    document["messages"][4]["timestamp"] = "2028-02-29T10:04:00.000Z"
    assert codes(document) == ["invalid-role", "future-timestamp"]
    document["messages"][4]["timestamp"] = "2025-04-31T10:04:00.000Z"
    assert codes(document) == ["invalid-role", "impossible-timestamp"]


def nested(depth):
    value = "deep"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        (("messages", 0, "role"), [], "invalid-role"),
        (("messages", 0, "metadata"), {"stop_reason": []}, "schema-type"),
        (("messages", 0, "metadata"), {"stop_reason": "end_turn", "author_kind": {}}, "schema-enum"),
        (
            ("messages", 0),
            {**RICH["messages"][0], "role": "narrator", "metadata": {"odd": nested(260)}},
            "invalid-role",
        ),
        (("messages", 1, "cost", "amount"), 10**400, "high-cost"),
        (("metrics", "total_cost"), {"amount": 10**400}, "high-cost"),
    ],
    ids=["list", "list in metadata", "object in metadata", "deep metadata", "large cost", "large total"],
)
def test_values_that_are_hard_to_look_at(path, value, code):
    assert set(codes(changed(RICH, path, value))) == {code, "future-timestamp"}


def test_a_value_too_deep_for_the_schema_is_all_that_is_said():
    assert codes(changed(RICH, ("messages", 0, "role"), nested(260))) == ["schema-depth"]


def test_an_unknown_version_is_all_that_is_said():
    for version in ("2.0.0", "0.1.0", "1.0", 1, []):
        assert codes(changed(RICH, ("schema_version",), version)) == ["schema-version"]


SOURCES = [
    json.loads(line)
    for rule in all_rules()
    if not rule.name.startswith(("exchange-", "cooked-"))
    for file in ("found.jsonl", "fine.jsonl")
    for line in (FIXTURES / rule.name / file).read_text("utf-8").splitlines()
]
odd_values = st.sampled_from([odd for odd in ODD_VALUES if odd is not ABSENT]) | st.sampled_from(
    ["2025-02-30T00:00:00.000Z", "tool_use", "user", 0, 10**400, 1e308, "x" * 2000, {"name": {}}, [{"type": "text"}]]
)


@st.composite
def mutated_documents(draw):
    document = copy.deepcopy(draw(st.sampled_from([RICH, *SOURCES])))
    for _ in range(draw(st.integers(1, 3))):
        *above, key = draw(st.sampled_from(list(places(document)) or [("messages",)]))
        holder = document
        for part in above:
            holder = holder[part]
        match draw(st.sampled_from(["delete", "replace", "duplicate", "move"])):
            case "delete":
                holder.pop(key, None) if isinstance(holder, dict) else holder.pop(key)
            case "replace":
                holder[key] = draw(odd_values)
            case "duplicate" if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case _:
                target = document
                for part in (other := draw(st.sampled_from(list(places(document)) or [("messages",)])))[:-1]:
                    target = target[part]
                target[other[-1]] = copy.deepcopy(holder.get(key) if isinstance(holder, dict) else holder[key])
    return document


@settings(unhurried, max_examples=500)
@given(mutated_documents())
def test_law_any_document_can_be_judged_and_is_invalid_if_the_schema_or_a_rule_says_so(document):
    before = copy.deepcopy(document)
    is_refused = not REFERENCE.is_valid(document)
    assert is_valid(document) != is_refused
    is_of_today = document.get("schema_version") == "1.0.0"
    for level in (Level.STRICT, Level.STANDARD):
        said = told(document, level)
        errors = [one for one in said if one.severity == "error" and one.code != "unknown-key"]
        assert any(one.stage == "schema" for one in errors) == (is_refused or not is_of_today)
        assert all(one.stage == "rule" for one in said if one.severity != "error")
    lenient = told(document, Level.LENIENT)
    assert {one.stage for one in lenient} <= {"schema"}
    if is_of_today and not is_refused:
        assert {one.severity for one in lenient} <= {"note"}
    assert document == before
