"""Task folders of real use: what each sample is known to hold comes out, and not a line is lost."""

import json
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from importing import Imported, Json, check, import_folder, strings
from palaver.importers._cline_family.history_search import long_lines
from test_samples import SAMPLES

REAL = "roo_code/real-task-bc93a6f7"
MIXED = "roo_code/hierarchy-mixed"
NATIVE = "roo_code/synthetic-native-condense"
CLINE = "cline/scrubbed-native-task"
CONVERSATIONS = ("api_conversation_history.json", "ui_messages.json")

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")
every_sample = pytest.mark.parametrize("sample", [REAL, MIXED, NATIVE, CLINE])


@cache
def imported(sample: str) -> Imported:
    found = import_folder(SAMPLES / sample)
    check(found)
    return found


def documents(sample: str) -> dict[str, Json]:
    return {document["conversation_id"]: document for document in imported(sample).documents}


def only(sample: str) -> Json:
    (document,) = imported(sample).documents
    return document


def folder_of(sample: str, task_id: str) -> Path:
    (found,) = [path for path in (SAMPLES / sample).rglob(task_id) if path.is_dir()]
    return found


def loaded(sample: str, task_id: str, name: str) -> list[Json]:
    path = folder_of(sample, task_id) / name
    return json.loads(path.read_bytes()) if path.is_file() else []


def blocks(document: Json, kind: str) -> list[Json]:
    return [block for message in document["messages"] for block in message["content"] if block["type"] == kind]


# -- what each sample is known to hold ------------------------------------------------------------------------------


def test_the_real_task_has_an_answer_for_each_and_its_tokens_and_costs():
    document = only(REAL)
    history = loaded(REAL, document["conversation_id"], CONVERSATIONS[0])
    rows = loaded(REAL, document["conversation_id"], CONVERSATIONS[1])
    assert (len(history), len(rows)) == (63, 146)
    told = {message["message_id"].split(":")[1] for message in document["messages"]} - {"ui"}
    assert told == {str(place) for place in range(63)}
    answers = [message for message in document["messages"] if message.get("tokens")]
    assert len(answers) == len([record for record in history if record["role"] == "assistant"]) == 30
    stated = [json.loads(row["text"]) for row in rows if row.get("say") == "api_req_started"]
    assert sum(one["tokens"]["input_tokens"] for one in answers) == sum(one["tokensIn"] for one in stated)
    assert document["metrics"]["total_tokens"]["cache_write"] == sum(one["cacheWrites"] for one in stated)
    assert document["metrics"]["total_cost"]["amount"] == pytest.approx(sum(one["cost"] for one in stated))
    assert answers[0]["tokens"]["input_tokens"] == 10
    assert answers[0]["tokens"]["cache_creation_input_tokens"] == 37_677


def test_the_real_task_has_turns_of_the_user_that_follow_each_other():
    document = only(REAL)
    places = [message["message_id"].split(":")[1] for message in document["messages"] if message["role"] == "user"]
    assert {("45", "46"), ("58", "59")} <= set(pairwise(places))
    new_task = [block for block in blocks(document, "tool_result") if block["tool_use_id"].endswith(":44:call")]
    assert [block["metadata"]["description"].split(" ")[1] for block in new_task] == ["completed", "in"]


def test_the_real_task_reasons_where_only_the_interface_says_so_and_was_cut_off():
    document = only(REAL)
    rows = loaded(REAL, document["conversation_id"], CONVERSATIONS[1])
    assert len(blocks(document, "thinking")) == len([row for row in rows if row.get("say") == "reasoning"]) == 31
    cut = [block for block in blocks(document, "tool_use") if block.get("metadata", {}).get("partial")]
    assert [block["name"] for block in cut] == ["use_mcp_tool"]
    assert document["platform"]["model"] == "claude-sonnet-4-20250514"
    assert document["context"]["workspace"] == {"path": "d:/dev/roo-extensions"}
    assert document["platform"]["metadata"]["available_modes"] == ["code", "orchestrator"]


@every_sample
def test_every_result_belongs_to_a_call_before_it(sample):
    for document in imported(sample).documents:
        called: set[str] = set()
        for message in document["messages"]:
            for block in message["content"]:
                if block["type"] == "tool_use":
                    called.add(block["id"])
                elif block["type"] == "tool_result":
                    assert block["tool_use_id"] in called, message["message_id"]


def test_the_mixed_tasks_are_read_beside_files_of_other_tools():
    found = documents(MIXED)
    assert len(found) == 12
    assert found["test-task-123"]["metrics"]["total_messages"] == 2
    root = found["91e837de-a4b2-4c18-ab9b-6fcd36596e38"]
    assert len([message for message in root["messages"] if message["message_id"].endswith(":ui:0")]) == 1
    assert Counter(block["name"] for block in blocks(root, "tool_use")) == {"update_todo_list": 4, "new_task": 3}
    unread = [Path(label).name for label in imported(MIXED).found.unclaimed]
    assert unread == ["api_history.jsonl"] * 6


def test_native_calls_summaries_and_subtasks():
    parent, child = documents(NATIVE).values()
    assert child["session"]["parent_conversation_id"] == parent["conversation_id"]
    assert parent["metrics"]["total_cost"]["amount"] == pytest.approx(0.058)
    assert parent["metrics"]["total_tokens"] == {
        "input": 1200,
        "output": 395,
        "cache_read": 15_500,
        "cache_write": 8500,
    }
    hidden = [message for message in parent["messages"] if message["metadata"].get("in_context") is False]
    assert {message["message_id"].split(":")[1] for message in hidden} == {"0", "1", "2", "3", "4", "6", "7"}
    assert len(parent["summaries"]) == 1
    names = [block["name"] for block in blocks(parent, "tool_use")]
    assert (len(names), names.count("attempt_completion"), "mcp--gazetteer--lookup" in names) == (6, 2, True)
    assert [block["is_error"] for block in blocks(parent, "tool_result")].count(True) == 1


def test_the_task_of_cline_pairs_all_its_results_in_text():
    document = only(CLINE)
    history = loaded(CLINE, document["conversation_id"], CONVERSATIONS[0])
    assert (len(history), len(loaded(CLINE, document["conversation_id"], CONVERSATIONS[1]))) == (94, 260)
    calls = [block["id"] for block in blocks(document, "tool_use")]
    assert len(calls) == 47
    assert [block["tool_use_id"] for block in blocks(document, "tool_result")] == calls[:-1]
    assert document["platform"]["version"] == "3.51.0"
    assert document["metrics"]["total_tokens"]["input"] == 470
    assert not [message for message in document["messages"] if message["metadata"].get("timestamp_inferred")]


# -- nothing is lost ------------------------------------------------------------------------------------------------


@every_sample
def test_every_long_line_of_the_conversations_is_in_the_document(sample):
    for task_id, document in documents(sample).items():
        held = "\n".join(strings(document))
        readable = "\n".join(strings(without_opaque(document)))
        lost = [line for line in lines_of(sample, task_id) if line not in held]
        assert not lost, (task_id, lost[:3])
        assert not [line for line in lines_of(sample, task_id) if line not in readable]


def lines_of(sample: str, task_id: str) -> list[str]:
    """The long lines of what was said and done, those in JSON as they read; names of checkpoints are no words."""
    found: list[str] = []
    for name in CONVERSATIONS:
        for text in plain(loaded(sample, task_id, name)):
            found += long_lines(text.removesuffix("HAS_CHANGES").replace("] Result:", "\n").replace("</", "\n</"))
    return [line for line in map(without_tags, found) if len(line) >= 40]


def plain(value: Any) -> list[str]:
    """Every text of a value, those of JSON in a text instead of that."""
    found: list[str] = []
    for text in strings([{key: one for key, one in record.items() if "Hash" not in key} for record in value]):
        try:
            inner = json.loads(text) if text.startswith(("{", "[{")) else None
        except ValueError:
            inner = None
        found += [text] if not isinstance(inner, dict | list) else [*strings([inner])]
    return found


def without_tags(line: str) -> str:
    """A line of a text without the tag before a value, or the bracket before the words above a result."""
    return re.sub(r"^(\[|<[^<>]*>)", "", line).strip()


def without_opaque(document: Json) -> Json:
    """The document without the blocks that are kept whole."""
    messages = [
        {**message, "content": [block for block in message["content"] if block["type"] != "opaque"]}
        for message in document["messages"]
    ]
    return {**document, "messages": messages}
