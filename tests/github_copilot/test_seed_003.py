"""The mapping specification's own example: a completion event becomes a conversation of a prompt and a completion."""

import json

import pytest

from importing import check, import_folder
from palaver.model.ids import conversation_uuid

EVENT = {
    "timestamp": "2026-02-03T10:00:00.000Z",
    "extensionVersion": "1.388.0",
    "file": "src/bakery/oven.py",
    "language": "python",
    "promptContext": "def is_baked(loaf):\n    ",
    "completion": "return loaf.minutes >= 45",
    "accepted": True,
    "completionIndex": 0,
}


def conversation_of(folder, *events):
    (folder / "completions.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events), "utf-8")
    imported = import_folder(folder)
    check(imported)
    return imported.documents


def test_the_example_transformation_of_a_completion(tmp_path):
    (document,) = conversation_of(tmp_path, EVENT)
    assert document["schema_version"] == "1.0.0"
    assert document["conversation_id"] == conversation_uuid("github_copilot", EVENT["timestamp"], EVENT["file"])
    platform = document["platform"]
    assert (platform["name"], platform["version"], platform["model"]) == ("github_copilot", "1.388.0", "copilot-codex")
    prompt, completion = document["messages"]
    assert (prompt["role"], prompt["timestamp"], prompt["content"]) == (
        "user",
        EVENT["timestamp"],
        [
            {
                "type": "code",
                "code": EVENT["promptContext"],
                "language": EVENT["language"],
                "file_path": EVENT["file"],
            }
        ],
    )
    assert (completion["role"], completion["timestamp"]) == ("assistant", EVENT["timestamp"])
    block = completion["content"][0]
    assert (block["type"], block["code"], block["language"]) == ("code", EVENT["completion"], EVENT["language"])
    assert completion["metadata"]["accepted"] is True
    assert completion["metadata"]["completion_index"] == 0
    assert "tokens" not in completion


def test_ids_are_those_of_the_event_wherever_and_whenever_it_is_read(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (first,) = conversation_of(tmp_path / "here", EVENT)
    others = conversation_of(tmp_path / "there", {**EVENT, "file": "src/bakery/shop.py"}, EVENT)
    again = next(document for document in others if document["conversation_id"] == first["conversation_id"])
    assert [message["message_id"] for message in again["messages"]] == [
        message["message_id"] for message in first["messages"]
    ]
    assert len({message["message_id"] for document in others for message in document["messages"]}) == 4


def test_completions_in_one_file_within_a_time_window_are_one_conversation(tmp_path):
    events = [{**EVENT, "timestamp": f"2026-02-03T10:{minute:02}:00.000Z"} for minute in (0, 4, 8, 20)]
    found = conversation_of(tmp_path, *events)
    assert [len(document["messages"]) for document in found] == [6, 2]


MINIMUM = {"timestamp": "2026-02-03T10:02:00Z", "file": "src/bakery/oven.py", "completion": "door.close()"}


def test_a_time_a_completion_and_a_file_alone_are_recognized_and_make_a_conversation(tmp_path):
    (document,) = conversation_of(tmp_path, MINIMUM)
    (completion,) = document["messages"]
    assert (completion["role"], completion["timestamp"]) == ("assistant", "2026-02-03T10:02:00.000Z")
    assert completion["content"] == [{"type": "code", "code": "door.close()", "file_path": MINIMUM["file"]}]
    assert document["context"]["custom"]["file"] == MINIMUM["file"]


def test_a_minimum_record_joins_the_fuller_ones_of_its_file(tmp_path):
    (document,) = conversation_of(tmp_path, EVENT, MINIMUM)
    assert [message["content"][0]["code"] for message in document["messages"]] == [
        EVENT["promptContext"],
        EVENT["completion"],
        MINIMUM["completion"],
    ]


def test_what_was_before_the_cursor_stands_in_for_the_file(tmp_path):
    event = {"timestamp": MINIMUM["timestamp"], "promptContext": "oven.", "completion": "open()"}
    (document,) = conversation_of(tmp_path, event)
    assert [message["role"] for message in document["messages"]] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("record", "missing"),
    [
        ({"timestamp": "2026-02-03T10:00:00Z", "completion": "x"}, "neither a `file` nor a `promptContext`"),
        ({"timestamp": "2026-02-03T10:00:00Z", "file": "a.py"}, "neither the `name` of an event nor a `completion`"),
        ({"timestamp": "2026-02-03T10:00:00Z", "file": "a.py", "completion": 5}, "its `completion` is not a text"),
        ({"completion": "x", "promptContext": {"prefix": "a"}}, "its `promptContext` is not a text"),
        ({"completion": "x", "file": ["a.py"]}, "its `file` is not a text"),
    ],
)
def test_a_refused_record_names_the_field_that_it_lacks(tmp_path, record, missing):
    (tmp_path / "completions.jsonl").write_text(f"{json.dumps(EVENT)}\n{json.dumps(record)}\n", "utf-8")
    imported = import_folder(tmp_path)
    check(imported)
    (refused,) = imported.quarantined
    assert refused.code == "bad-event"
    assert missing in refused.message


def test_a_prompt_with_its_completion_and_no_file_is_not_taken_for_copilot(tmp_path):
    record = {"timestamp": "2026-02-03T10:00:00Z", "prompt": "Say hello.", "completion": "Hello."}
    (tmp_path / "training.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    assert not import_folder(tmp_path).units


@pytest.mark.parametrize("name", ["one.jsonl", "one.json"])
def test_a_record_alone_in_a_file_that_is_named_as_copilots_names_the_field_that_it_lacks(tmp_path, name):
    (tmp_path / name).write_text('{"timestamp": "2026-02-03T10:00:00Z", "completion": "door.close()"}\n', "utf-8")
    imported = import_folder(tmp_path / name, "github_copilot")
    (refused,) = imported.quarantined
    assert "neither a `file` nor a `promptContext`" in refused.message
