"""Markdown exports of Roo Code, Cline and Kilo Code, written as the products do and read back."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importing import FIXED_TIME, FIXTURES, first_error
from palaver.importers._cline_family.markdown_export import answer_blocks, export_product, read_export, user_blocks
from palaver.sources.run import Run
from palaver.sources.source import Source
from task_exports import exported, exported_with_facts

NAME = "roo_task_may-4-2026_9-05-00-pm.md"
ENVIRONMENT = "<environment_details>\n# Current Mode\n<slug>code</slug>\n</environment_details>"


def text(words):
    return {"type": "text", "text": words}


def asked(*blocks):
    return {"role": "user", "content": list(blocks)}


def answered(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def call(name, **arguments):
    return {"type": "tool_use", "name": name, "input": arguments}


def result(content, **more):
    return {"type": "tool_result", "content": content, **more}


def read(folder, markdown, platform="roo_code", name=NAME):
    path = folder / name
    path.write_bytes(markdown if isinstance(markdown, bytes) else markdown.encode())
    os.utime(path, (FIXED_TIME, FIXED_TIME))
    run = Run(name)
    documents = list(read_export(Source.at(path), run, platform))
    assert run.ledger.read == run.ledger.mapped + sum(run.ledger.quarantined.values())
    assert not [error for document in documents if (error := first_error(document))]
    return documents, run


def blocks_of(messages, kind):
    return [block for message in messages for block in message["content"] if block["type"] == kind]


# -- whose it is ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "head", "platform"),
    [
        (NAME, exported([asked(text("hi"))]), "roo_code"),
        ("roo_task_may-4-2026_9-05-00-pm (1).md", exported([asked(text("hi"))]), "roo_code"),
        ("cline_task_dec-31-2025_12-00-00-am.md", exported([answered(text("hi"))]), "cline"),
        ("kilo_code_task_jun-1-2025_1-02-03-am.md", exported([asked(text("hi"))]), "kilo_code"),
        (NAME, "# Notes\n\n**User:**\n\nhi", None),
        (NAME, "**User:** hi", None),
        ("notes.md", exported([asked(text("hi"))]), None),
        ("notes.md", exported([asked(text("hi"), text(ENVIRONMENT))]), "roo_code"),
        ("notes.md", exported([asked(text("<environment_details>\n# Current Mode\nACT MODE"))]), "cline"),
        ("notes.md", exported([asked(text("<environment_details>"))]), None),
        ("task_001_code_jun-1-2025_1-02-03-am.md", "# Task 1: x\n\nnothing", None),
        (NAME, "", None),
    ],
)
def test_an_export_is_told_by_its_name_and_beginning(name, head, platform):
    assert export_product(name, head.encode()) == platform
    assert export_product(name, b"\xef\xbb\xbf" + head.replace("\n", "\r\n").encode()) == platform


def test_the_fixtures_are_exports():
    found = {
        (path.parts[-4], export_product(path.name, path.read_bytes()))
        for path in FIXTURES.glob("*/markdown_export/source/*.md")
    }
    assert {("roo_code", "roo_code"), ("cline", "cline")} <= found
    assert all(folder == platform for folder, platform in found)


# -- what is in it --------------------------------------------------------------------------------------------------


def test_calls_and_results_are_paired_by_order(tmp_path):
    history = [
        asked(text("<task>\nLook around.\n</task>"), text(ENVIRONMENT)),
        answered(text("I look."), call("list_files", path="."), call("read_file", path="a.py")),
        asked(result("a.py"), result("no such file", is_error=True), text(ENVIRONMENT)),
        answered(call("read_file", path="b.py")),
        asked(result("b")),
        asked(result("nobody asked for this")),
    ]
    (document,), run = read(tmp_path, exported(history))
    calls = blocks_of(document["messages"], "tool_use")
    results = blocks_of(document["messages"], "tool_result")
    assert [block["name"] for block in calls] == ["list_files", "read_file", "read_file"]
    assert len({block["id"] for block in calls}) == 3
    assert [block["tool_use_id"] for block in results[:3]] == [block["id"] for block in calls]
    assert [block["is_error"] for block in results] == [False, True, False, False]
    assert [message["metadata"]["author_kind"] for message in document["messages"][:4]] == [
        "human",
        "harness",
        "model",
        "tool",
    ]
    assert document["title"] == "Look around."
    assert run.ledger.mapped == len(history)


def test_calls_that_are_tags_in_the_text_are_calls(tmp_path):
    history = [
        asked(text("<task>\nLook.\n</task>")),
        answered({"type": "reasoning", "text": "Which file?"}, text("<read_file>\n<path>a.py</path>\n</read_file>")),
        asked(text("[read_file for 'a.py'] Result:"), text("1 | pass"), text(ENVIRONMENT)),
    ]
    (document,), _ = read(tmp_path, exported(history))
    (used,) = blocks_of(document["messages"], "tool_use")
    (told,) = blocks_of(document["messages"], "tool_result")
    assert (used["name"], used["input"]) == ("read_file", {"path": "a.py"})
    assert (told["tool_use_id"], told["content"]) == (used["id"], "1 | pass")
    assert [block["thinking"] for block in blocks_of(document["messages"], "thinking")] == ["Which file?"]


def test_parameters_have_several_lines_and_lists():
    content = "title: x\nNote: this is no parameter\n\nPath: nor is this one again"
    made = answer_blocks(exported([answered(call("write_to_file", path="a.md", content=content))])[16:-2], "roo_code")
    assert made == [call("write_to_file", path="a.md", content=content)]
    made = answer_blocks("[Tool Use: mcp--sea--tides]\nHarbour: Brest\nDays: [\n  1,\n  2\n]\nNote: short", "roo_code")
    assert made == [call("mcp--sea--tides", harbour="Brest", days=[1, 2], note="short")]
    assert answer_blocks("[Tool Use: x]\n", "cline") == [{"type": "tool_use", "name": "x", "input": ""}]
    assert answer_blocks("[Tool Use: x]\njust words", "cline") == [
        {"type": "tool_use", "name": "x", "input": "just words"}
    ]


def test_lines_that_begin_a_block_for_the_other_speaker_are_text():
    assert user_blocks("[Tool Use: read_file]\nPath: a") == [text("[Tool Use: read_file]\nPath: a")]
    assert answer_blocks("[Tool]\na", "cline") == [text("[Tool]\na")]
    assert user_blocks("see [Tool]\n[Tool] here") == [text("see [Tool]\n[Tool] here")]


def test_several_results_of_text_are_several():
    told = "[read_file for 'a'] Result:\none\n[read_file for 'b'] Result:\ntwo\n[colour for 'b'] Result:\nthree"
    assert user_blocks(told) == [
        text("[read_file for 'a'] Result:\none"),
        text("[read_file for 'b'] Result:\ntwo\n[colour for 'b'] Result:\nthree"),
    ]


@pytest.mark.parametrize(
    ("name", "time"),
    [
        (NAME, "2026-05-04T21:05:00.000Z"),
        ("cline_task_dec-31-2025_12-00-00-am.md", "2025-12-31T00:00:00.000Z"),
        ("cline_task_dec-31-2025_12-00-00-pm (2).md", "2025-12-31T12:00:00.000Z"),
        ("roo_task_foo-31-2025_12-00-00-pm.md", "2026-01-01T00:00:00.000Z"),
        ("notes.md", "2026-01-01T00:00:00.000Z"),
    ],
)
def test_the_time_in_the_name_stands_for_messages_without_any(tmp_path, name, time):
    (document,), run = read(tmp_path, exported([asked(text("hi")), answered(text("yes?"))]), name=name)
    assert [message["timestamp"] for message in document["messages"]] == [time, time]
    assert all(message["metadata"]["timestamp_inferred"] for message in document["messages"])
    assert document["created_at"] == time
    assert run.findings.counts["inferred-timestamp"] == 2


def test_a_task_of_a_family_has_its_own_id(tmp_path):
    facts = {
        "Mode": "code",
        "Created": "6/1/2025, 1:02:03 AM",
        "Task ID": "1748736123000",
        "Parent Task ID": "1748736000000",
        "Root Task ID": "1748736000000",
        "Tokens In": "1200",
        "Tokens Out": "30",
        "Total Cost": "$0.0100",
    }
    markdown = exported_with_facts(
        [asked(text("<task>\nCount the gulls.\n\n**Mode:** calm\n</task>")), answered(text("Seven."))],
        number=2,
        task="Count the gulls.\n\nTwice.",
        facts=facts,
    )
    name = "task_002_code_jun-1-2025_1-02-03-am.md"
    assert export_product(name, markdown.encode()) == "kilo_code"
    (document,), run = read(tmp_path, markdown, "kilo_code", name)
    assert document["conversation_id"] == "1748736123000"
    assert document["session"] == {"parent_conversation_id": "1748736000000"}
    assert document["title"] == "Count the gulls."
    assert document["context"]["custom"] == {"export": facts}
    assert document["created_at"] == "2025-06-01T01:02:03.000Z"
    assert run.ledger.mapped == 2


def test_what_stands_above_the_first_message_is_kept(tmp_path):
    markdown = "My own note\n\n## Conversation\n\n" + exported([asked(text("hi"))])
    (document,), _ = read(tmp_path, markdown)
    assert document["context"]["custom"] == {"preface": "My own note"}


def test_the_id_tells_exports_apart(tmp_path):
    def id_of(markdown, name=NAME):
        (document,), _ = read(tmp_path, markdown, name=name)
        return document["conversation_id"]

    first = id_of(exported([asked(text("hi"))]))
    assert first == id_of(exported([asked(text("hi")), answered(text("yes?"))]))
    assert first != id_of(exported([asked(text("hello"))]))
    assert first != id_of(exported([asked(text("hi"))]), "roo_task_may-4-2026_9-05-01-pm.md")


def test_a_text_without_messages_is_set_aside(tmp_path):
    documents, run = read(tmp_path, "**User:** hi")
    assert documents == []
    assert run.ledger.quarantined == {"no-sections": 1}
    documents, run = read(tmp_path, "")
    assert documents == []
    assert dict(run.findings.counts) == {"no-sections": 1}


# -- laws -----------------------------------------------------------------------------------------------------------

words = st.text("ab :.-*#\n", min_size=1, max_size=20)
arguments = st.dictionaries(st.sampled_from(["path", "content", "regex"]), words | st.lists(st.integers()), min_size=1)
calls = arguments.map(lambda given: call("read_file", **given))
results = st.builds(result, words | st.just("")) | st.builds(lambda told: result(told, is_error=True), words)
turns = st.builds(
    lambda said, told, around: [*said, *told, *around],
    st.lists(words.map(text), max_size=1),
    st.lists(results, max_size=3),
    st.lists(st.just(text(ENVIRONMENT)), max_size=1),
)
answers = st.builds(
    lambda said, thought, called: [*said, *thought, *called],
    st.lists(words.map(text), max_size=1),
    st.lists(words.map(lambda thought: {"type": "reasoning", "text": thought}), max_size=1),
    st.lists(calls, max_size=3),
)


@given(turns)
def test_the_blocks_of_a_turn_are_found(blocks):
    assert user_blocks(exported([asked(*blocks)])[len("**User:**\n\n") : -2]) == blocks


@given(answers)
def test_the_blocks_of_an_answer_are_found(blocks):
    assert answer_blocks(exported([answered(*blocks)])[len("**Assistant:**\n\n") : -2], "roo_code") == blocks


@given(st.lists(turns.map(lambda blocks: asked(*blocks)) | answers.map(lambda blocks: answered(*blocks)), min_size=1))
def test_every_message_of_a_history_is_a_record(tmp_path_factory, history):
    documents, run = read(tmp_path_factory.mktemp("export"), exported(history))
    assert run.ledger.mapped == len(history)
    assert documents[0]["messages"][0]["role"] == history[0]["role"]


LINES = ["[Tool]", "[Tool (Error)]", "[Tool Use: x]", "[Reasoning]", "Path: a", "---", "**User:**", "<read_file>", ""]
LINES += ["[read_file for 'x'] Result:", "<environment_details>", "</environment_details>", "**Assistant:**", "wörd"]


@given(st.lists(st.sampled_from(LINES) | words).map("\n".join) | st.binary())
def test_any_text_is_read(tmp_path_factory, markdown):
    read(tmp_path_factory.mktemp("export"), markdown)


@given(st.lists(st.sampled_from(LINES) | st.just("§"), min_size=1))
def test_no_word_is_lost_whatever_the_lines_around_it(tmp_path_factory, lines):
    numbered = [f"word{number}." if line == "§" else line for number, line in enumerate(lines)]
    markdown = exported([asked(text("\n".join(numbered))), answered(text("\n".join(numbered)))])
    (document,), _ = read(tmp_path_factory.mktemp("export"), markdown)
    told = str(document)
    assert [word for word in numbered if word.startswith("word") and word not in told] == []
