"""What is said about a whole conversation is kept, also where it is not as it should be."""

import pytest

from palaver.importers.chatgpt.assets import Assets
from palaver.importers.chatgpt.conversation import ExportContext, Feedback, document
from palaver.sources.run import Run


def read(raw, feedback=None):
    run = Run("a test")
    context = ExportContext(Assets(None, [], run), feedback or Feedback(), {}, lambda: "2026-01-01T00:00:00.000Z")
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["words"]}}
    mapping = {"m": {"id": "m", "parent": None, "message": message}}
    made = document({"id": "c", "mapping": mapping, "current_node": "m", **raw}, context, run, "element 0")
    return made, run.findings.counts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", {"words": "a title that is no text"}),
        ("create_time", "some time in spring"),
        ("update_time", [1, 2]),
        ("conversation_id", 17),
        ("a_field_of_tomorrow", {"x": 1}),
        ("async_status", 0),
    ],
)
def test_what_cannot_be_brought_to_its_place_stays_under_its_own_name(name, value):
    made, findings = read({name: value})
    assert made["platform"]["metadata"][name] == value
    assert ("bad-timestamp" in findings) == name.endswith("_time")


def test_what_has_its_place_stands_there_only():
    stated = {"title": "t", "create_time": 1.7e9, "update_time": 1.7e9, "conversation_id": "c"}
    made, findings = read(stated)
    assert not made["platform"]["metadata"].keys() & stated.keys()
    assert (made["title"], made["created_at"], made["updated_at"]) == (
        "t",
        "2023-11-14T22:13:20.000Z",
        "2023-11-14T22:13:20.000Z",
    )
    assert "bad-timestamp" not in findings


@pytest.mark.parametrize(
    ("node", "kept"),
    [
        ({"parent": {"odd": "parent"}}, {"parent": {"odd": "parent"}}),
        ({"id": "another"}, {"id": "another"}),
        ({"new": 1, "id": "another"}, {"id": "another", "new": 1}),
    ],
)
def test_what_a_node_says_beside_its_message_is_kept(node, kept):
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["words"]}}
    made, _ = read({"mapping": {"m": {"id": "m", "parent": None, "message": message, **node}}})
    assert made["messages"][0]["metadata"]["node"] == kept


def test_two_rows_of_feedback_for_one_message_are_both_kept():
    feedback = Feedback()
    assert feedback.add({"id": "m", "conversation_id": "c", "rating": "thumbs_up", "content": "{}"})
    assert feedback.add({"id": "m", "conversation_id": "c", "rating": "thumbs_down", "content": '{"text": "no"}'})
    made, _ = read({}, feedback)
    assert made["messages"][0]["metadata"]["feedback"] == {
        "rating": "thumbs_down",
        "text": "no",
        "earlier": {"rating": "thumbs_up"},
    }
    assert made["rating"] == {"score": 1.0, "feedback": "no"}
    assert feedback.unused == 0
