import copy
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver
from palaver.model.conversation import Conversation

ABSENT = object()
SOUND = {
    "schema_version": "1.0.0",
    "conversation_id": "tulips",
    "platform": {"name": "chatgpt"},
    "created_at": "2025-10-02T08:00:00.000Z",
    "messages": [
        {
            "message_id": "m1",
            "role": "user",
            "timestamp": "2025-10-02T08:00:00.000Z",
            "content": [{"type": "text", "text": "When do I plant tulips?"}],
        },
        {
            "message_id": "m2",
            "role": "assistant",
            "timestamp": "2025-10-02T08:00:09.000Z",
            "content": [{"type": "text", "text": "In October, a hand deep."}],
        },
        {
            "message_id": "m3",
            "role": "user",
            "timestamp": "2025-10-02T08:00:30.000Z",
            "content": [{"type": "text", "text": "Then I start today."}],
        },
    ],
}
ANSWER, THANKS = ("messages", 1), ("messages", 2)
ERRORS = [
    *((("conversation_id",), value, "Missing conversation_id") for value in (ABSENT, "", None)),
    *((("platform",), value, "Missing platform name") for value in (ABSENT, {}, "")),
    *((("platform", "name"), value, "Missing platform name") for value in ("", None)),
    *((("messages",), value, "No messages found") for value in (ABSENT, [], None)),
    *(((*ANSWER, "timestamp"), value, "Message 1 missing timestamp") for value in (ABSENT, "", None)),
    *(((*ANSWER, "content"), value, "Message 1 has empty content") for value in (ABSENT, [], None)),
    ((*ANSWER, "role"), "narrator", "Message 1 has invalid role: narrator"),
    ((*ANSWER, "role"), "Assistant", "Message 1 has invalid role: Assistant"),
    ((*ANSWER, "role"), "", "Message 1 has invalid role: "),
    ((*ANSWER, "role"), None, "Message 1 has invalid role: null"),
]
FUTURE = ((*THANKS, "timestamp"), "2999-10-02T08:00:30.000Z")


def changed(*changes):
    document = copy.deepcopy(SOUND)
    for path, value in changes:
        holder = document
        for part in path[:-1]:
            holder = holder[part]
        if value is ABSENT:
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
    return document


@pytest.mark.parametrize(("path", "value", "sentence"), ERRORS)
def test_an_error_is_told_in_these_words_and_alone(path, value, sentence):
    assert palaver.validate(changed((path, value))) == palaver.ValidationResult(False, [sentence], [])


def test_a_future_timestamp_is_a_warning():
    said = palaver.validate(changed(FUTURE))
    assert said == palaver.ValidationResult(True, [], ["Message 2 has future timestamp"])


def test_nothing_is_said_of_a_sound_conversation():
    assert palaver.validate(SOUND) == palaver.ValidationResult(True, [], [])


def test_a_typed_conversation_is_judged_like_a_plain_one():
    document = changed(FUTURE)
    assert palaver.validate(Conversation.model_validate(document)) == palaver.validate(document)


def quality_checks(document):
    """The checks of the mapping, as they are written there."""
    errors, warnings = [], []
    messages = document.get("messages") or []
    if not document.get("conversation_id"):
        errors.append("Missing conversation_id")
    if not (document.get("platform") or {}).get("name"):
        errors.append("Missing platform name")
    if not messages:
        errors.append("No messages found")
    for index, message in enumerate(messages):
        if not message.get("timestamp"):
            errors.append(f"Message {index} missing timestamp")
        elif message["timestamp"] > datetime.now(UTC).isoformat():
            warnings.append(f"Message {index} has future timestamp")
        if not message.get("content"):
            errors.append(f"Message {index} has empty content")
        if message.get("role") not in {"user", "assistant", "system", "tool", "function"}:
            errors.append(f"Message {index} has invalid role: {message['role']}")
    return errors, warnings


@st.composite
def several(draw):
    header = draw(st.sets(st.sampled_from(["conversation_id", "platform"])))
    changes = [((name,), draw(st.sampled_from([ABSENT, "", None]))) for name in header]
    for index in draw(st.sets(st.integers(0, 2))):
        lacking = draw(st.sets(st.sampled_from(["timestamp", "content"])))
        changes += [(("messages", index, name), draw(st.sampled_from([ABSENT, "", None]))) for name in lacking]
        if draw(st.booleans()):
            changes.append((("messages", index, "role"), draw(st.sampled_from(["", "narrator", "human"]))))
    if draw(st.booleans()) and ("messages", 2, "timestamp") not in [path for path, _ in changes]:
        changes.append(FUTURE)
    if draw(st.integers(0, 4)) == 0:
        changes.append((("messages",), draw(st.sampled_from([ABSENT, [], None]))))
    return changed(*changes)


@given(several())
def test_law_several_at_once_are_all_told(document):
    errors, warnings = quality_checks(document)
    said = palaver.validate(document)
    assert said.valid == (not errors)
    assert sorted(said.errors) == sorted(errors)
    assert said.warnings == warnings
