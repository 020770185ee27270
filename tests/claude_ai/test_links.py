"""Which messages hang on which: nothing is claimed that the export does not say."""

import orjson
import pytest

from importing import import_folder

ROOT = "00000000-0000-4000-8000-000000000000"


def imported_messages(tmp_path, *parents, **conversation):
    """The messages m-0, m-1, … with these parents, as they come out."""
    messages = [
        {
            "uuid": f"m-{number}",
            "sender": "human",
            "text": str(number),
            "created_at": f"2026-01-01T00:00:0{number}Z",
            **({} if parent is ... else {"parent_message_uuid": parent}),
        }
        for number, parent in enumerate(parents)
    ]
    value = {"uuid": "c-1", "created_at": "2026-01-01T00:00:00Z", "chat_messages": messages, **conversation}
    (tmp_path / "saved.json").write_bytes(orjson.dumps(value))
    [document] = import_folder(tmp_path).documents
    return {message["message_id"]: message for message in document["messages"]}


@pytest.mark.parametrize("parent", [..., None])
def test_a_list_without_parents_is_a_chain(tmp_path, parent):
    messages = imported_messages(tmp_path, parent, parent, parent)
    assert [message.get("parent_message_id") for message in messages.values()] == [None, "m-0", "m-1"]
    assert not any("on_active_path" in message["metadata"] for message in messages.values())


def test_the_named_leaf_ends_the_active_path(tmp_path):
    messages = imported_messages(tmp_path, ROOT, "m-0", "m-0", current_leaf_message_uuid="m-1")
    active = [name for name, message in messages.items() if message["metadata"]["on_active_path"]]
    assert active == ["m-0", "m-1"]


def test_a_leaf_that_is_nowhere_leaves_the_newest_one(tmp_path):
    messages = imported_messages(tmp_path, ROOT, "m-0", "m-0", current_leaf_message_uuid="m-7")
    active = [name for name, message in messages.items() if message["metadata"]["on_active_path"]]
    assert active == ["m-0", "m-2"]


def test_a_message_whose_parent_is_missing_is_no_branch_of_the_root(tmp_path):
    messages = imported_messages(tmp_path, ROOT, "m-7", "m-1")
    assert messages["m-1"]["metadata"]["missing_parent"] == "m-7"
    assert not any("branch_index" in message["metadata"] for message in messages.values())
