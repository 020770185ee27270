import inspect
import subprocess
import sys

import jsonschema_rs
import pytest

from palaver.model import SCHEMA_VERSION, blocks, build, conversation
from palaver.model.schemas import published_schema

TIME = "2025-01-02T03:04:05.678Z"

SOURCE = build.source("base64", "aGVsbG8=", media_type="image/png")
SMALL = {
    "text": build.text("hello"),
    "code": build.code("print()"),
    "image": build.image(build.source("url", "https://example.org/cat.png")),
    "file": build.file(),
    "tool_use": build.tool_use(id="t1", name="Bash", input={}),
    "tool_result": build.tool_result(tool_use_id="t1", content=""),
    "thinking": build.thinking(""),
    "opaque": build.opaque(kind="doodle", raw=None),
}
FULL = {
    "text": build.text("hello", citations=[{"url": "https://example.org"}]),
    "code": build.code("print()", language="python", file_path="a.py", line_range={"start": 1, "end": 2}),
    "image": build.image(SOURCE, alt_text="a cat"),
    "file": build.file(source=SOURCE, name="a.pdf", media_type="application/pdf", text="hello"),
    "tool_use": build.tool_use(id="t1", name="Bash", input={"command": "ls"}),
    "tool_result": build.tool_result(
        tool_use_id="t1", content=[build.text("hello")], is_error=True, metadata={"exit_code": -9, "duration_ms": 1.5}
    ),
    "thinking": build.thinking("hm", signature="s", redacted_data="r"),
    "opaque": build.opaque(kind="doodle", raw={"a": [1]}),
}
FULL_MESSAGE = build.message(
    message_id="m2",
    parent_message_id="m1",
    role="assistant",
    timestamp=TIME,
    content=list(FULL.values()),
    tokens={"input_tokens": 1},
    cost={"amount": 0.5, "currency": "USD"},
    metadata={"author_kind": "model"},
)
FULL_SUMMARY = build.summary(summary_id="s1", type="automatic", text="short", timestamp=TIME, covers_messages=["m1"])
FULL_CONVERSATION = build.conversation(
    conversation_id="c1",
    platform={"name": "claude_code"},
    created_at=TIME,
    messages=[FULL_MESSAGE],
    title="Cats",
    session={"session_id": "c1"},
    context={"custom": {}},
    updated_at=TIME,
    status="active",
    summaries=[FULL_SUMMARY],
    metrics={"total_messages": 1},
    tags=["pets"],
    rating={"score": 5},
    fragment={"sequence": 0, "final": True},
)


def model_of(kind):
    return getattr(blocks, "".join(part.title() for part in kind.split("_")) + "Block")


@pytest.mark.parametrize(
    ("document", "model"),
    [
        *((block, model_of(kind)) for kind, block in FULL.items()),
        (FULL_MESSAGE, conversation.Message),
        (FULL_SUMMARY, conversation.Summary),
        (FULL_CONVERSATION, conversation.Conversation),
        (SOURCE, blocks.BinarySource),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_builders_know_every_field_in_the_order_of_the_model(document, model):
    assert list(document) == list(model.model_fields)


@pytest.mark.parametrize("kind", SMALL)
def test_what_is_none_is_left_out(kind):
    required = [name for name, field in model_of(kind).model_fields.items() if field.is_required()]
    assert list(SMALL[kind]) == [*required, *(["is_error"] if kind == "tool_result" else [])]
    assert SMALL[kind]["type"] == kind


def test_small_messages_summaries_and_conversations():
    message = build.message(message_id="m1", role="user", timestamp=TIME, content=list(SMALL.values()))
    assert list(message) == ["message_id", "role", "timestamp", "content"]
    summary = build.summary(summary_id="s1", type="system", text="", timestamp=TIME)
    assert list(summary) == ["summary_id", "type", "text", "timestamp"]
    document = build.conversation(conversation_id="c", platform={"name": "x"}, created_at=TIME, messages=[message])
    assert list(document) == ["schema_version", "conversation_id", "platform", "created_at", "messages"]
    assert document["schema_version"] == SCHEMA_VERSION
    jsonschema_rs.validator_for(published_schema("conversation")).validate(document)


def test_a_full_conversation_is_valid():
    jsonschema_rs.validator_for(published_schema("conversation")).validate(FULL_CONVERSATION)
    conversation.Conversation.model_validate(FULL_CONVERSATION)


def test_an_unstated_error_is_no_error():
    assert SMALL["tool_result"]["is_error"] is False


def test_every_block_type_has_a_builder():
    builders = {name for name, _ in inspect.getmembers(build, inspect.isfunction)}
    assert builders == {*FULL, "source", "message", "summary", "conversation", "usage", "subject"}


def test_building_and_reading_published_schemas_needs_no_pydantic():
    script = (
        "import sys; from palaver.model import build, ids, schemas, timestamps, upgrade;"
        "schemas.published_schema('conversation'); schemas.published_kinds(); assert 'pydantic' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_documented_keys_of_metadata_are_those_of_the_model():
    assert set(build.METADATA) == set(conversation.MessageMetadata.model_fields)
