"""Files that grow: what an earlier state of them told keeps its name, and is told once."""

import json
import os

from continue_dev.folders import (
    SESSION,
    assistant,
    call,
    document,
    event,
    folder,
    imported,
    session,
    state,
    texts,
    thinking,
    user,
)
from importing import import_folder
from palaver.importers.continue_dev import session as session_module
from palaver.sources.arrays import elements

CHATS = "dev_data/0.2.0/chatInteraction.jsonl"
THUMBS = "dev_data/0.2.0/chatFeedback.jsonl"
USES = "dev_data/0.2.0/toolUsage.jsonl"
TYPED = "input_history.json"


def chat(prompt, completion, time="2025-02-09T17:00:00.000Z", name="chatInteraction", **fields):
    return event(name, time, prompt=f"<user>\n{prompt}\n\n", completion=completion, sessionId=SESSION, **fields)


def ids(made):
    return [message["message_id"] for message in made["messages"]]


def test_an_answer_keeps_the_name_under_which_it_was_begun(tmp_path):
    items = [user("a"), assistant("", {"id": "m1"}), thinking("hm", id="t1"), assistant("b", {"id": "m2"})]
    made = [document(tmp_path / str(end), *items[:end]) for end in (2, 3, 4)]
    assert [ids(one)[1:] for one in made] == [["m1"], ["m1"], ["m1"]]
    assert made[-1]["messages"][1]["metadata"]["source_ids"] == ["m1", "t1", "m2"]


def test_an_answer_that_was_left_behind_is_named_by_what_it_says(tmp_path):
    left = chat("q, as it was put first", "an answer that the user left behind", "2025-02-09T17:05:00.000Z")
    saved_later = chat("q", "an answer that is about to be saved")
    early = document(tmp_path / "1", user("q"), **{CHATS: [saved_later, left]})
    late = document(tmp_path / "2", user("q"), assistant("an answer that is about to be saved"), **{CHATS: [left]})
    assert {*ids(early)} >= {name for name in ids(late) if "unsaved" in name} != set()


def test_prompts_that_were_typed_are_named_by_their_times_and_words(tmp_path):
    typed = [{"text": f"typed {number}", "timestamp": 1764400000000 + number * 1000} for number in range(4)]
    files = {f"sessions/{SESSION}.json": session(user("a"))}
    _, before = imported(tmp_path / "1", {**files, TYPED: [*reversed(typed[:3])]}).documents
    _, after = imported(tmp_path / "2", {**files, TYPED: [*reversed(typed[1:])]}).documents
    assert texts(after) == ["typed 1", "typed 2", "typed 3"]
    assert before["conversation_id"] == after["conversation_id"]
    assert ids(before)[1:] == ids(after)[:-1]


def test_what_was_typed_on_another_day_is_another_conversation(tmp_path):
    typed = [{"text": "c"}, {"text": "b", "timestamp": 1764500000000}, {"text": "a", "timestamp": 1764400000000}]
    files = {f"sessions/{SESSION}.json": session(user("q")), TYPED: [*typed, typed[-1]]}
    found = imported(tmp_path, files).documents[1:]
    assert [texts(made) for made in found] == [["c"], ["a", "a"], ["b"]]
    assert len({name for made in found for name in ids(made)}) == 4


def test_calls_without_a_time_are_a_conversation_that_does_not_change_with_the_file(tmp_path):
    lines = [event("toolUsage", None, toolCallId=name, functionName="ls", output=[]) for name in ("c1", "c2")]
    root = folder(tmp_path, {f"sessions/{SESSION}.json": session(user("a")), USES: lines})
    _, before = import_folder(root, "continue_dev").documents
    os.utime(root / USES, (1.8e9, 1.8e9))
    _, after = import_folder(root, "continue_dev").documents
    assert (before["conversation_id"], ids(before)) == (after["conversation_id"], ids(after))
    assert before["created_at"] != after["created_at"]


def test_fragments_are_not_told_what_an_earlier_one_told(tmp_path, monkeypatch):
    """A turn without a word at the end does not make a session one that has to be rebuilt from its prompts."""
    monkeypatch.setattr(elements, "SMALL_BYTES", 100)
    monkeypatch.setattr(session_module, "FRAGMENT_BYTES", 100)
    log = {"modelTitle": "T", "prompt": "<user>\nfirst\n\n<assistant>\nsecond\n\n<user>\n\n\n", "completion": ""}
    history = session(user("first"), assistant("second"), user(""), assistant("", promptLogs=[log]))
    parts = imported(tmp_path, {f"sessions/{SESSION}.json": history}).documents
    assert [texts(part) for part in parts] == [["first", "second"], ["", ""]]


def test_messages_of_fragments_name_their_models(tmp_path, monkeypatch):
    monkeypatch.setattr(elements, "SMALL_BYTES", 100)
    monkeypatch.setattr(session_module, "FRAGMENT_BYTES", 100)
    logs = [
        {"prompt": "<user>\na\n\n", "completion": "b", "completionOptions": {"model": model}}
        for model in ("m-1", "m-2")
    ]
    items = [item for log in logs for item in (user("a"), assistant("b", promptLogs=[log]))]
    parts = imported(tmp_path, {f"sessions/{SESSION}.json": session(*items)}).documents
    told = [message["metadata"].get("model_override") for part in parts for message in part["messages"]]
    assert (told, parts[-1]["platform"]["model"]) == ([None, "m-1", None, None], "m-2")


def test_a_thumb_does_not_tell_when_an_answer_was_given(tmp_path):
    late = "2025-02-09T18:00:00.000Z"
    thumb = chat("q?", "left behind", late, "chatFeedback", feedback=True)
    made = document(tmp_path, user("q"), assistant("r"), **{THUMBS: [thumb], CHATS: [chat("q?", "left behind")]})
    answer = next(one for one in made["messages"] if one["content"][0]["text"] == "left behind")
    assert answer["timestamp"] == "2025-02-09T17:00:00.000Z"
    assert answer["metadata"]["feedback"] is True
    assert made["rating"]["score"] == 5


def test_a_thumb_without_a_direction_tells_no_time_either(tmp_path):
    made = document(tmp_path, user("q"), assistant("r"), **{THUMBS: [chat("q", "r", name="chatFeedback")]})
    assert made["messages"][1]["metadata"]["timestamp_inferred"] is True


def test_an_answer_that_was_left_behind_follows_what_was_said_before_it(tmp_path):
    history = [user("go on"), assistant("one"), user("go on"), assistant("two"), user("go on"), assistant("three")]
    prompt = "go on\n\n<assistant>\none\n\n<user>\ngo on"
    made = document(tmp_path, *history, **{CHATS: [chat(prompt, "left behind")]})
    assert made["messages"][-1]["parent_message_id"] == made["messages"][2]["message_id"]


def test_an_answer_after_a_result_follows_the_result(tmp_path):
    asked = call("c1", path=".")
    answer = assistant("", {"toolCalls": [asked]}, toolCallStates=[state(asked, output="one file")])
    prompt = f"a\n\n<assistant>\n\nls({json.dumps({'path': '.'})})\n\n<tool>\none file"
    made = document(tmp_path, user("a"), answer, assistant("b"), **{CHATS: [chat(prompt, "left behind")]})
    assert made["messages"][-1]["parent_message_id"] == made["messages"][2]["message_id"]
