"""CSV: what is read back is what was written, and no cell is a formula."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporting import CASES, a_document, a_message, documents_of, export, ten_cents
from palaver.exporters.csv import COLUMNS, guard_formula
from palaver.model import build

texts = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", '"', "a,b", "a\r\nb", "'=1", "", "\0"]
)


def rows(written: bytes) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    return list(csv.DictReader(io.StringIO(written.decode(), newline="")))


@pytest.mark.parametrize("case", CASES)
def test_every_message_is_a_row_of_as_many_cells_as_there_are_columns(case):
    documents = documents_of(case)
    read = rows(export("csv", documents))
    messages = [(document, message) for document in documents for message in document["messages"]]
    assert [row["message_id"] for row in read] == [guard_formula(message["message_id"]) for _, message in messages]
    for row, (document, message) in zip(read, messages, strict=True):
        assert set(row) == set(COLUMNS)
        assert row["platform"] == document["platform"]["name"]
        assert row["title"] == guard_formula(document.get("title") or "")
        assert row["timestamp"] == message["timestamp"]
        for block in message["content"]:
            if block["type"] == "text":
                assert block["text"] in row["text"]
        assert not [cell for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


@given(st.lists(texts, min_size=1, max_size=4), texts)
def test_cells_come_back_as_they_were(said, title):
    document = a_document(*(a_message(build.text(words)) for words in said), title=title)
    read = rows(export("csv", [document]))
    assert [row["text"] for row in read] == [guard_formula(words) for words in said]
    assert {row["title"] for row in read} == {guard_formula(title)}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_a_cell_that_would_be_a_formula_gets_an_apostrophe(start):
    said = f'{start}HYPERLINK("https://example.org")'
    [row] = rows(export("csv", [a_document(a_message(build.text(said), message_id=f"{start}1"), title=said)]))
    assert row["text"] == row["title"] == f"'{said}"
    assert row["message_id"] == f"'{start}1"


def test_lines_end_as_the_standard_wants_it():
    written = export("csv", [a_document()])
    assert written.count(b"\r\n") == 2
    assert written.endswith(b"\r\n")
    assert written.startswith(b"conversation_id,platform,title,project,")


def test_the_words_of_a_message_stand_apart_by_what_they_are():
    message = a_message(
        build.thinking("hm"),
        build.text("yes"),
        build.tool_use(id="1", name="Read", input={"path": "a.txt"}),
        build.tool_use(id="2", name="Grep", input={}),
        role="assistant",
        parent_message_id="m0",
        tokens={"input_tokens": 0, "output_tokens": None, "cache_read_input_tokens": 7},
        cost={"amount": 1e-7},
        metadata={"author_kind": "model"},
    )
    answer = {"role": "assistant", "message_id": "m2", "metadata": {"model_override": "gpt-6"}}
    document = a_document(message, a_message(**answer), context={"workspace": {"path": "/house"}})
    first, second = rows(export("csv", [document], cost=ten_cents))
    told = ("project", "parent_message_id", "position", "model", "text", "thinking", "tool_names", "tool_text")
    assert [first[name] for name in told] == [
        *("/house", "m0", "1", "gpt-5", "yes", "hm", "Read, Grep", "Read\na.txt\nGrep")
    ]
    assert [first[name] for name in ("input_tokens", "output_tokens", "cache_read_input_tokens")] == ["0", "", "7"]
    assert [first[name] for name in ("cost", "currency", "computed_cost")] == ["0.0000001", "USD", ""]
    assert [second[name] for name in ("model", "cost", "currency", "computed_cost")] == ["gpt-6", "", "", "0.1"]


def test_positions_go_on_from_fragment_to_fragment():
    pieces = [
        a_document(a_message(message_id=f"m{number}"), fragment={"sequence": number, "final": number == 1})
        for number in range(2)
    ]
    other = a_document(conversation_id="two")
    read = rows(export("csv", [pieces[0], other, pieces[1], *pieces]))
    assert [row["position"] for row in read] == ["1", "1", "2", "1", "2"]
