"""Indexes of tasks: whose they are, and which of their entries are all that is left."""

import json
import zipfile

import pytest

from importing import first_error
from palaver.importers._cline_family.product import CLINE, KILO_CODE, PRODUCTS, ROO_CODE
from palaver.importers._cline_family.task_index import read_index, recognize_index
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.zip.folder import ZipFolder

ROO_ITEM = {"id": "a", "ts": 1770112899000, "task": "Count the bees.", "number": 1, "workspace": "/w", "mode": "code"}
CLINE_ITEM = {"id": "1736200000000", "ts": 1736200009000, "task": "Count the wasps.", "ulid": "01J", "modelId": "m"}
OLD_ITEM = {"id": "1736200000001", "ts": 1736200009000, "task": "Count the hornets.", "tokensIn": 1}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


def index(*entries):
    return {"version": 1, "updatedAt": 1770112900000, "entries": list(entries)}


def owners(source):
    return [product for product in PRODUCTS if recognize_index(source, product).verdict == "yes"]


def read(source, product):
    run = Run(source.label)
    documents = list(read_index(source, run, product))
    assert not [error for document in documents if (error := first_error(document))]
    ledger = run.ledger
    assert ledger.read == ledger.mapped + ledger.folded.total() + ledger.quarantined.total()
    return documents, run


@pytest.mark.parametrize(
    ("name", "value", "product"),
    [
        ("tasks/_index.json", index(ROO_ITEM), ROO_CODE),
        ("tasks/_index.json", index({**ROO_ITEM, "isFavorited": True}), KILO_CODE),
        ("tasks/_index.json", index(OLD_ITEM), ROO_CODE),
        ("tasks/_index.json", index("damage", ROO_ITEM), ROO_CODE),
        ("state/taskHistory.json", [CLINE_ITEM], CLINE),
        ("state/taskHistory.json", [OLD_ITEM], CLINE),
        ("state/taskHistory.json", [ROO_ITEM], ROO_CODE),
        ("kilocode.kilo-code/tasks/_index.json", index(ROO_ITEM), KILO_CODE),
        ("saoudrizwan.claude-dev/state/taskHistory.json", [OLD_ITEM], CLINE),
        ("rooveterinaryinc.roo-cline/state/taskHistory.json", [CLINE_ITEM], ROO_CODE),
        ("rooveterinaryinc.roo-cline/tasks/_index.json", index(), ROO_CODE),
    ],
)
def test_an_index_is_of_one_product_by_its_path_else_by_its_fields(name, value, product, tmp_path):
    assert owners(Source.at(write(tmp_path / name, value))) == [product]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("_index.json", [ROO_ITEM]),
        ("_index.json", {"entries": [ROO_ITEM]}),
        ("_index.json", index()),
        ("_index.json", index({"id": 1, "task": "x", "ts": 1})),
        ("_index.json", {"version": 1, "entries": {"a": ROO_ITEM}}),
        ("taskHistory.json", {"version": 1, "entries": [CLINE_ITEM]}),
        ("taskHistory.json", []),
        ("taskHistory.json", [{"id": "x", "title": "of somebody else"}]),
        ("saoudrizwan.claude-dev/state/taskHistory.json", [{"title": "no id"}]),
        ("index.json", index(ROO_ITEM)),
        ("_index.json", "not json"),
    ],
)
def test_what_others_call_an_index_is_theirs(name, value, tmp_path):
    assert owners(Source.at(write(tmp_path / name, value))) == []


def test_entries_of_tasks_that_are_there_are_folded_and_the_others_are_kept(tmp_path):
    write(tmp_path / "tasks/a/api_conversation_history.json", [])
    write(tmp_path / "tasks/b/ui_messages.json", [])
    write(tmp_path / "tasks/c/claude_messages.json", [])
    (tmp_path / "tasks/d/checkpoints").mkdir(parents=True)
    entries = [{**ROO_ITEM, "id": name} for name in "abcde"]
    source = Source.at(write(tmp_path / "tasks/_index.json", index(*entries)))
    documents, run = read(source, ROO_CODE)
    assert [document["conversation_id"] for document in documents] == ["d", "e"]
    assert (run.ledger.folded, run.ledger.mapped) == ({"conversation": 3}, 2)
    assert run.findings.counts["missing-task-folder"] == 2


def test_the_history_of_cline_lies_in_a_folder_beside_the_tasks(tmp_path):
    write(tmp_path / "tasks" / CLINE_ITEM["id"] / "api_conversation_history.json", [])
    source = Source.at(write(tmp_path / "state/taskHistory.json", [CLINE_ITEM, OLD_ITEM]))
    documents, run = read(source, CLINE)
    assert [document["conversation_id"] for document in documents] == [OLD_ITEM["id"]]
    assert run.ledger.folded == {"conversation": 1}


def test_an_index_in_a_zip_finds_the_tasks_in_it(tmp_path):
    archive = tmp_path / "backup.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("s/tasks/a/ui_messages.json", "[]")
        zipped.writestr("s/tasks/_index.json", json.dumps(index(ROO_ITEM, {**ROO_ITEM, "id": "gone"})))
        zipped.writestr("s/state/taskHistory.json", json.dumps([ROO_ITEM]))
    whole = ZipFolder(archive)
    documents, _ = read(Source(whole, "s/tasks/_index.json"), ROO_CODE)
    assert [document["conversation_id"] for document in documents] == ["gone"]
    assert read(Source(whole, "s/state/taskHistory.json"), ROO_CODE)[0] == []


@pytest.mark.parametrize("task_id", ["../a", "..", ".", "a/../a", "\0", "a\\b"])
def test_an_id_that_leads_elsewhere_is_no_folder(task_id, tmp_path):
    write(tmp_path / "a/api_conversation_history.json", [])
    write(tmp_path / "tasks/a/api_conversation_history.json", [])
    write(tmp_path / "tasks/api_conversation_history.json", [])
    source = Source.at(write(tmp_path / "tasks/_index.json", index({**ROO_ITEM, "id": task_id})))
    (document,), _ = read(source, ROO_CODE)
    assert document["conversation_id"] == task_id.replace("\0", "\0")


def test_what_is_left_of_a_task_has_all_that_the_entry_says(tmp_path):
    item = {
        "id": "1736200000000",
        "ts": 1736200500000,
        "task": "Count the bees.\nTwice.",
        "tokensIn": 10,
        "totalCost": 0.5,
        "cwdOnTaskInitialization": "/hive",
        "modelId": "claude-x",
        "ulid": "01J",
    }
    (document,), _ = read(Source.at(write(tmp_path / "taskHistory.json", [item])), CLINE)
    (message,) = document["messages"]
    assert (document["title"], document["status"]) == ("Count the bees.", "archived")
    assert (document["created_at"], document["updated_at"]) == ("2025-01-06T21:46:40.000Z", "2025-01-06T21:55:00.000Z")
    assert document["context"] == {"workspace": {"path": "/hive"}, "custom": {"tokensIn": 10, "totalCost": 0.5}}
    assert document["platform"] == {"name": "cline", "model": "claude-x", "metadata": {"ulid": "01J"}}
    assert message["content"] == [{"type": "text", "text": "Count the bees.\nTwice."}]
    assert message["metadata"]["author_kind"] == "human"
    assert "timestamp_inferred" not in message["metadata"]
    assert message["timestamp"] == document["created_at"]


def test_a_file_that_is_no_index_any_more_is_set_aside_whole(tmp_path):
    source = Source.at(write(tmp_path / "_index.json", '{"version": 1, "entries": "lost"}'))
    documents, run = read(source, ROO_CODE)
    assert documents == []
    assert run.ledger.quarantined == {"bad-conversation": 1}
