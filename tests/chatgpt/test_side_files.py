"""Files beside the conversations: what they add, and that their oddities do not make an import fail."""

import json

import pytest

from importing import check, import_folder

CHAT = {
    "id": "chat-1",
    "title": "Ropes",
    "create_time": 1680426400.0,
    "current_node": "a",
    "mapping": {
        "q": {
            "id": "q",
            "parent": None,
            "message": {"author": {"role": "user"}, "content": {"parts": ["Which rope?"]}},
        },
        "a": {"id": "a", "parent": "q", "message": {"author": {"role": "assistant"}, "content": {"parts": ["Hemp."]}}},
    },
}
RATING = {"rating": "thumbs_up", "create_time": "2023-04-02T09:00:00Z", "user_id": "user-X", "content": "{}"}


def message(message_id, role, text):
    return {"id": message_id, "author": {"role": role}, "content": {"content_type": "text", "parts": [text]}}


def comparison(**fields):
    turns = {"original_turn": [message("a1", "assistant", "Hemp.")], "new_turn": [message("a2", "assistant", "Silk.")]}
    return {
        "id": "row-1",
        "user_id": "user-X",
        "create_time": "2023-04-02T09:00:00Z",
        "input": {"conversation_id": "chat-1", "prompt_convo": {"messages": [message("p", "user", "Which rope?")]}},
        "output": {"feedback_step_2": {**turns, "completion_comparison_rating": "new"}},
        "metadata": {"cf_headers": {"cf-ipcity": "Nowhere"}},
        **fields,
    }


def import_export(folder, **files):
    (folder / "conversations.json").write_text(json.dumps([CHAT]), "utf-8")
    for name, rows in files.items():
        (folder / f"{name}.json").write_text(json.dumps(rows), "utf-8")
    imported = import_folder(folder)
    check(imported)
    return imported


@pytest.mark.parametrize(
    "row",
    [
        {**RATING, "id": "m", "conversation_id": "not in the export"},
        {**RATING, "conversation_id": "not in the export"},
        {**RATING, "id": None},
        {},
        "not a row",
        None,
    ],
)
def test_feedback_on_what_the_export_does_not_hold_leaves_the_import_green(tmp_path, row):
    imported = import_export(tmp_path, message_feedback=[row])
    assert imported.report.exit_code == 0
    assert not imported.quarantined
    (report,) = imported.reports
    assert sum(report.ledger.skipped.values()) == 1
    assert {finding.severity for finding in report.findings.first} <= {"note"}


def test_feedback_that_names_a_conversation_only_rates_the_conversation(tmp_path):
    row = {**RATING, "conversation_id": "chat-1", "content": '{"text": "Kind."}'}
    (document,) = import_export(tmp_path, message_feedback=[row]).documents
    assert document["rating"] == {"score": 5.0, "feedback": "Kind.", "rated_at": "2023-04-02T09:00:00.000Z"}
    assert document["platform"]["metadata"]["feedback"][0]["text"] == "Kind."


def test_a_comparison_with_its_input_and_output_in_the_row_is_read(tmp_path):
    imported = import_export(tmp_path, model_comparisons=[comparison()])
    assert imported.report.exit_code == 0
    _, document = imported.documents
    assert document["conversation_id"] == "chat-1:comparison-row-1"
    assert document["session"] == {"parent_conversation_id": "chat-1"}
    assert [
        (message["content"][0]["text"], message["metadata"]["on_active_path"]) for message in document["messages"]
    ] == [("Which rope?", True), ("Hemp.", False), ("Silk.", True)]
    assert "Nowhere" not in json.dumps(document)


def test_answers_are_read_without_their_prompt(tmp_path):
    row = comparison(input={"conversation_id": "chat-1"})
    _, document = import_export(tmp_path, model_comparisons=[row]).documents
    assert [message["content"][0]["text"] for message in document["messages"]] == ["Hemp.", "Silk."]


def test_a_comparison_of_an_unknown_shape_is_kept_whole_with_a_note(tmp_path):
    row = comparison(input={"question": "Which rope?"}, output={"left": "Hemp.", "right": "Silk."})
    imported = import_export(tmp_path, model_comparisons=[row])
    assert imported.report.exit_code == 0
    (block,) = imported.documents[1]["messages"][0]["content"]
    assert (block["type"], block["kind"], block["raw"]["output"]) == ("opaque", "comparison", row["output"])
    assert "unknown-content" in imported.reports[0].findings.counts


@pytest.mark.parametrize("row", [None, "text", 7, [], {}, {"id": "x", "input": {}, "output": None}])
def test_a_row_without_a_comparison_is_a_note(tmp_path, row):
    imported = import_export(tmp_path, model_comparisons=[row])
    assert imported.report.exit_code == 0
    assert imported.reports[0].ledger.skipped == {"odd-side-row": 1}


def test_comparisons_alone_are_recognized_in_both_shapes(tmp_path):
    for number, row in enumerate([comparison(), comparison(input={"conversation_id": "chat-1"})]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "model_comparisons.json").write_text(json.dumps([row]), "utf-8")
        imported = import_folder(folder)
        assert [unit.platform for unit in imported.units] == ["chatgpt"]
        assert imported.report.exit_code == 0


@pytest.mark.parametrize("name", ["shared_conversations", "library_files"])
@pytest.mark.parametrize("row", ["text", None, {}])
def test_odd_rows_of_other_side_files_leave_the_import_green(tmp_path, name, row):
    imported = import_export(tmp_path, **{name: [row]})
    assert imported.report.exit_code == 0
    assert not imported.quarantined


@pytest.mark.parametrize("name", ["export_manifest", "conversation_asset_file_names"])
def test_a_side_file_that_is_no_object_leaves_the_import_green(tmp_path, name):
    assert import_export(tmp_path, **{name: ["x"]}).report.exit_code == 0


@pytest.mark.parametrize("raw", ["", " \n", "null"])
@pytest.mark.parametrize(
    "name",
    [
        *("message_feedback", "shared_conversations", "library_files", "model_comparisons", "export_manifest"),
        "conversation_asset_file_names",
    ],
)
def test_an_empty_side_file_leaves_the_import_green(tmp_path, name, raw):
    (tmp_path / f"{name}.json").write_text(raw, "utf-8")
    imported = import_export(tmp_path)
    assert imported.report.exit_code == 0
    (report,) = imported.reports
    assert report.ledger.skipped == {"odd-side-row": 1}
    assert {finding.severity for finding in report.findings.first} <= {"note"}
