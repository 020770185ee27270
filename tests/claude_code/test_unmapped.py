"""What a line says beyond what is mapped is kept under its own name."""

import orjson
import pytest

from importing import FIXTURES
from palaver.importers import claude_code, importer
from palaver.importers.claude_code.description import DESCRIPTION, KEPT_FIELDS
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.validation.coverage import CoverageTally


def read(tmp_path, *lines):
    path = tmp_path / "0b9c8d7e-6f5a-4b3c-9d2e-1f0a9b8c7d6e.jsonl"
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    claude_code = importer("claude_code")
    run = Run("source", claude_code.options())
    (document,) = claude_code.read(Source.at(path), run)
    return document["messages"]


def line(kind, uuid, message, **more):
    return {"type": kind, "uuid": uuid, "timestamp": "2026-05-01T10:00:00.000Z", "message": message, **more}


@pytest.mark.parametrize("kind", ["user", "assistant"])
@pytest.mark.parametrize("name", ["anything", "cwd", "version", "uuid", "timestamp", "sessionId"])
def test_a_field_of_the_message(tmp_path, kind, name):
    message = {"role": kind, "content": "How deep is the well?", name: "kept"}
    (made,) = read(tmp_path, line(kind, "a", message))
    assert made["metadata"][name] == "kept"


def test_a_field_of_a_later_line_of_an_answer(tmp_path):
    first = {"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": "Twelve metres."}]}
    second = {**first, "content": [{"type": "text", "text": "In summer ten."}], "version": "kept"}
    (made,) = read(tmp_path, line("assistant", "a", first), line("assistant", "b", second, depth="kept too"))
    assert made["metadata"]["version"] == "kept"
    assert made["metadata"]["depth"] == "kept too"
    assert made["metadata"]["source_ids"] == ["a", "b"]


@pytest.mark.parametrize("name", ["author_kind", "source_ids", "revisions", "hidden"])
def test_a_field_that_is_named_like_one_of_ours(tmp_path, name):
    (made,) = read(
        tmp_path, line("user", "a", {"role": "user", "content": "How deep is the well?"}, **{name: "theirs"})
    )
    assert made["metadata"]["source_fields"] == {name: "theirs"}
    assert made["metadata"]["author_kind"] == "human"


def test_a_header_field_stays_where_it_changes(tmp_path):
    prompt = {"role": "user", "content": "How deep is the well?"}
    first, second, third = read(
        tmp_path,
        line("user", "a", prompt, cwd="/home/ada"),
        line("user", "b", prompt, cwd="/home/ada/well"),
        line("user", "c", prompt, cwd="/home/ada"),
    )
    assert "cwd" not in first["metadata"]
    assert second["metadata"]["cwd"] == "/home/ada/well"
    assert "cwd" not in third["metadata"]


def kept_names(value):
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield from value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


@pytest.mark.parametrize("name", sorted(KEPT_FIELDS))
def test_a_field_that_is_kept_on_purpose_is_documented_and_not_reported_as_unmapped(name):
    assert f"`{name}`" in (claude_code.__doc__ or "")
    tally = CoverageTally(DESCRIPTION.own_names)
    seen = False
    for path in (FIXTURES / "claude_code").glob("*/expected.jsonl"):
        for entry in map(orjson.loads, path.read_bytes().splitlines()):
            if document := entry.get("document"):
                seen = seen or name in kept_names(document)
                tally.add(document)
    assert seen
    assert not [field for field in tally.unmapped if field.rpartition(".")[2] == name]


def test_the_line_that_made_a_call_is_found_among_the_lines_of_the_answer(tmp_path):
    call = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}}
    answer = {"role": "assistant", "id": "msg_1"}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "Nine."}]}
    answered, told = read(
        tmp_path,
        line("assistant", "a", {**answer, "content": [{"type": "text", "text": "I count them."}]}),
        line("assistant", "b", {**answer, "content": [call]}),
        line("user", "c", result, sourceToolAssistantUUID="b"),
    )
    assert told["metadata"]["sourceToolAssistantUUID"] in answered["metadata"]["source_ids"]
