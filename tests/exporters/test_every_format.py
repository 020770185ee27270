"""What holds for every exporter, shown on the documents of every fixture, and on a few as they should look."""

import copy
import weakref
from pathlib import Path

import pytest

from exporting import CASES, a_document, a_message, documents_of, export, ten_cents
from palaver.errors import OptionError
from palaver.exporters import endings, exporter, formats
from palaver.model import build

GOLDEN = Path(__file__).parent / "golden"
SHOWN = {
    "session": ("ucs/plain_lines", "claude_code/images_and_documents", "claude_code/parallel_tool_calls"),
    "chat": ("chatgpt/citations", "chatgpt/branches", "claude_code/subagents_folder"),
    "odd": ("ucs/fragments", "ucs/odd_messages", "claude_code/server_blocks"),
}

every_format = pytest.mark.parametrize("name", formats())


def test_formats_are_known_by_the_names_of_their_modules():
    assert formats() == ["csv", "jsonl", "markdown"]


@every_format
def test_a_format_says_what_it_is(name):
    assert exporter(name).title
    assert exporter(name).suffix.startswith(".")


def test_an_unknown_format_is_told_with_those_that_are_known():
    for name in ("pdf", "_contract"):
        with pytest.raises(OptionError, match=r"known: csv, jsonl, markdown"):
            exporter(name)


def test_every_ending_means_one_format():
    assert endings() == {
        ".csv": "csv",
        ".jsonl": "jsonl",
        ".ndjson": "jsonl",
        ".md": "markdown",
        ".markdown": "markdown",
    }


@every_format
@pytest.mark.parametrize("shown", SHOWN)
def test_golden(name, shown, update_golden):
    written = export(name, documents_of(*SHOWN[shown]), cost=ten_cents if shown == "chat" else None)
    path = GOLDEN / f"{shown}{exporter(name).suffix}"
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(written)
    assert written == path.read_bytes(), f"{path} differs: run pytest --update-golden and read what it wrote"


@every_format
@pytest.mark.parametrize("case", CASES)
def test_every_fixture_can_be_written_and_stays_what_it_is(name, case):
    documents = documents_of(case)
    before = copy.deepcopy(documents)
    first = export(name, documents, cost=ten_cents)
    assert documents == before
    assert export(name, documents, cost=ten_cents) == first
    first.decode()


@every_format
def test_a_document_is_written_before_the_next_is_asked_for(name):
    asked = []

    def documents():
        for number in range(3):
            asked.append(number)
            yield a_document(conversation_id=str(number))

    written = b""
    for piece in exporter(name).write(documents()):
        written += piece
        assert written.count(b"a word") >= len(asked) - 1


@every_format
def test_nothing_is_written_for_nothing_but_what_says_so(name):
    assert export(name, []).count(b"\n") <= 1


@every_format
def test_nesting_does_not_matter(name):
    deep = "inmost"
    result = build.tool_result(tool_use_id="0", content="inmost")
    for _ in range(240):
        deep = [deep]
    for _ in range(110):
        result = build.tool_result(tool_use_id="0", content=[result])
    written = export(
        name,
        [
            a_document(
                a_message(build.opaque(kind="deep", raw=deep), build.tool_use(id="0", name="Deep", input={"a": deep})),
                a_message(result, message_id="m2"),
            )
        ],
    )
    assert written.count(b"inmost") >= 3


@pytest.mark.parametrize("name", [name for name in formats() if name != "jsonl"])
def test_bytes_are_named_and_never_written(name):
    picture = build.source("base64", "iVBORw0KGgo" * 200, media_type="image/png")
    written = export(
        name,
        [
            a_document(
                a_message(
                    build.image(picture, alt_text="a fern on a wall"),
                    build.image(build.source("url", "data:image/png;base64,iVBORw0KGgo=")),
                    build.file(source=picture, name="fern.png"),
                    build.tool_use(id="1", name="Draw", input={"source": picture, "also": picture["data"]}),
                    build.tool_result(tool_use_id="1", content=[build.image(picture)]),
                    build.opaque(kind="odd", raw={"deep": [picture]}),
                )
            )
        ],
    )
    assert b"iVBORw0KGgo" not in written
    assert b"a fern on a wall" in written
    assert b"fern.png" in written


@every_format
def test_a_document_is_let_go_before_the_next_is_asked_for(name):
    class Counted(dict):
        """A dict that can be looked for."""

    alive = []

    def documents():
        for number in range(3):
            made = Counted(a_document(conversation_id=str(number)))
            alive.append(weakref.ref(made))
            yield made
            del made
            assert alive[-1]() is None

    assert b"".join(exporter(name).write(documents()))
    assert len(alive) == 3
