"""Sessions of 2023: every node of a timeline becomes a message, and nothing is invented."""

import json

import pytest

from importing import check, import_folder

NAME = "5a1c7e90-0000-4000-8000-000000000099"


def node(description="", /, *, observation=None, deleted=False, depth=0, **step):
    shown = {"name": "Some Step", "hide": False, "description": description, "chat_context": [], **step}
    return {"step": shown, "observation": observation, "depth": depth, "deleted": deleted, "active": False}


def typed(text, **fields):
    return node(text, name="User Input", user_input=text, manage_own_chat_context=True, **fields)


def answer(text):
    said = {"role": "assistant", "content": text, "summary": text}
    return node(text, chat_context=[said], manage_own_chat_context=True)


def import_state(folder, *nodes, **state):
    whole = {"history": {"timeline": list(nodes), "current_index": len(nodes) - 1}, **state}
    (folder / f"{NAME}.json").write_text(json.dumps(whole), "utf-8")
    imported = import_folder(folder)
    check(imported)
    return imported


def messages_of(folder, *nodes):
    (document,) = import_state(folder, *nodes).documents
    return document["messages"]


def test_what_was_typed_and_what_was_answered_are_messages(tmp_path):
    imported = import_state(tmp_path, typed("Which knot?"), answer("A bowline."))
    assert imported.report.exit_code == 0
    (document,) = imported.documents
    assert document["conversation_id"] == NAME
    assert [
        (message["role"], message["metadata"]["author_kind"], message["content"]) for message in document["messages"]
    ] == [
        ("user", "human", [{"type": "text", "text": "Which knot?"}]),
        ("assistant", "model", [{"type": "text", "text": "A bowline."}]),
    ]


def test_a_step_that_repeats_the_prompt_is_not_typed_again(tmp_path):
    _, edit = messages_of(tmp_path, typed("/edit be brief"), node("Shortened it.", user_input="be brief"))
    assert (edit["role"], edit["metadata"]["author_kind"]) == ("system", "harness")
    assert edit["content"] == [
        {"type": "text", "text": "Shortened it."},
        {"type": "opaque", "kind": "step", "raw": {"name": "Some Step", "user_input": "be brief"}},
    ]


def test_a_command_keeps_its_observation(tmp_path):
    _, command = messages_of(tmp_path, typed("/cmd"), node("`ls`", cmds=["ls"], observation={"text": "gate.py"}))
    assert command["content"][1]["raw"] == {"name": "Some Step", "cmds": ["ls"], "observation": {"text": "gate.py"}}


def test_hidden_and_deleted_steps_are_marked(tmp_path):
    hidden, deleted = messages_of(tmp_path, node("Read a file.", hide=True, depth=2), typed("Oh well.", deleted=True))
    assert (hidden["metadata"]["hidden"], hidden["metadata"]["depth"]) == (True, 2)
    assert deleted["metadata"]["on_active_path"] is False


def test_the_state_names_the_session_where_there_is_no_index(tmp_path):
    info = {"session_id": NAME, "title": "Knots", "date_created": "1692867600.25", "workspace_directory": "/harbour"}
    (document,) = import_state(tmp_path, typed("Which knot?"), session_info=info).documents
    assert (document["title"], document["created_at"]) == ("Knots", "2023-08-24T09:00:00.250Z")
    assert document["context"]["workspace"]["path"] == "/harbour"


def test_keys_of_the_config_and_of_steps_are_not_kept(tmp_path):
    mark = "not to be kept"
    config = {"system_message": "Be brief.", "models": {"default": {"api_key": mark}}}
    step = node("Edited.", model={"model": "gpt-4", "api_key": mark})
    (document,) = import_state(tmp_path, typed("/edit"), step, config=config).documents
    assert mark not in json.dumps(document)
    assert document["platform"]["metadata"]["system_message"] == "Be brief."


@pytest.mark.parametrize("damaged", ["text", None, 7, [], {}, {"step": "text"}, {"step": None}])
def test_a_damaged_node_is_refused_on_its_own(tmp_path, damaged):
    imported = import_state(tmp_path, typed("Which knot?"), damaged, answer("A bowline."))
    assert imported.report.exit_code == 1
    assert [refused.code for refused in imported.quarantined] == ["bad-step"]
    (document,) = imported.documents
    assert [message["role"] for message in document["messages"]] == ["user", "assistant"]


def test_an_empty_timeline_is_a_session_without_messages(tmp_path):
    imported = import_state(tmp_path)
    assert imported.report.exit_code == 0
    assert imported.documents == []


def test_several_chat_messages_of_a_step_are_kept_whole(tmp_path):
    context = [{"role": "assistant", "content": "", "function_call": {"name": "Edit", "arguments": "{}"}}]
    (step,) = messages_of(tmp_path, node("Edited.", chat_context=context, manage_own_chat_context=True))
    assert step["content"][1]["raw"]["chat_context"] == context
