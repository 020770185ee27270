"""Markdown: every word is there, and no word of a message is taken for a part of the document."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from exporting import CASES, a_document, a_message, documents_of, export, ten_cents
from importing import LONG
from palaver.exporters._prose import fenced, prose
from palaver.model import build
from palaver.model.block_text import block_texts

PARSER = MarkdownIt("commonmark")
OWN_HTML = re.compile(r"<details>\n<summary>.*</summary>\n?|</details>\n?|<!-- -->\n?")
MARKS = [
    *("# a", "## b", "> # c", "- # d", "1. # e", "#", "a\n===", "a\n---", "> a\n> ===", "- a\n  ---", "===", "---"),
    *("```", "~~~", "  ```", "    ```", "- ```", "  - ```\n    a", "> ```", "````", "```a`b", "   ~~~~ py"),
    *("<details>", "</details>", "<!--", "-->", "<script>", "<pre>", "a <b> c", "<b", "<?", "<![CDATA[", "`<i>`"),
    *("- a", "1. a", "> a", "    a", "\ta", "  a", "a", "", " ", "[a]: <b>", "<https://example.org>", "\\", "`", "*a*"),
    *("| a |\n|---|", "[^1]", "![a](b)", "&lt;", "\r", "\u2028# a", "\x0b# a", "\x0c```", "## 1 · Human"),
]
pieces = st.lists(st.sampled_from(MARKS), max_size=8).map("\n".join) | st.text(st.sampled_from("# `~<>-=\n*!a\t"))


def headings(written: bytes) -> list[tuple[str, str]]:
    """The headings of the first two levels, wherever a CommonMark parser sees them."""
    tokens = PARSER.parse(written.decode())
    return [
        (token.tag, tokens[number + 1].content)
        for number, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag in {"h1", "h2"}
    ]


def foreign_html(written: bytes) -> list[str]:
    found = []
    for token in PARSER.parse(written.decode()):
        if token.type == "html_block" and not OWN_HTML.fullmatch(token.content):
            found.append(token.content)
        found += [child.content for child in token.children or () if child.type == "html_inline"]
    return found


@pytest.mark.parametrize("case", CASES)
def test_every_long_text_is_there(case):
    documents = documents_of(case)
    bare = _bare(export("markdown", documents).decode())
    for line in (line for document in documents for words in _texts(document) for line in words.splitlines()):
        # Texts inside of what a tool was given, or of what nobody knows, stand there as JSON.
        assert len(line) < LONG or _bare(line) in bare or _bare(json.dumps(line)[1:-1]) in bare


def _texts(document: dict[str, Any]) -> Iterator[str]:
    yield document.get("title") or ""
    yield from (summary["text"] for summary in document.get("summaries") or ())
    for message in document["messages"]:
        yield from (words for block in message["content"] for _, words in block_texts(block))


def _bare(text: str) -> str:
    """A text without what is added to headings and to words within a line."""
    return re.sub(r"[\\#\s]", "", text)


@pytest.mark.parametrize("case", CASES)
def test_the_headings_are_those_of_the_conversations_and_their_messages(case):
    documents = documents_of(case)
    written = export("markdown", documents)
    assert [tag for tag, _ in headings(written)].count("h2") == sum(len(one["messages"]) for one in documents)
    assert not foreign_html(written)


@settings(max_examples=300)
@given(st.lists(pieces, min_size=1, max_size=3), pieces, pieces)
@example(["- a", "  ```\ncode"], "", "")
@example(["- a\n  ```\n# x\n  ```"], "</details>", "```")
@example(["- a", "    # b"], "", "")
def test_whatever_stands_in_a_message_the_document_keeps_its_parts(said, thought, title):
    content = [build.text(words) for words in said]
    first = a_message(*content, build.thinking(thought), *content)
    called = a_message(
        build.tool_use(id=thought, name=title, input={title: thought, "b": [thought], "c": said[0] + "\n"}),
        build.tool_result(tool_use_id=thought, content=thought),
        build.image(build.source("url", title), alt_text=thought),
        build.file(source=build.source("file", thought), name=title, text=thought),
        build.code(thought, language=title, file_path=title),
        build.opaque(kind=title or "x", raw={title: said}),
        build.text("last", citations=[{"url": f"https://example.org/{title}", "title": thought}]),
        message_id="m2",
        role="assistant",
        metadata={"model_override": title, "sidechain_conversation_ids": [title]},
    )
    document = a_document(first, called, title=title, tags=[thought], context={"workspace": {"path": title}})
    written = export("markdown", [document, a_document(title="The end")])
    found = headings(written)
    assert [tag for tag, _ in found] == ["h1", "h2", "h2", "h1", "h2"]
    assert [words for _, words in found[-2:]] == ["The end", "1 · Human · 2026-04-01 10:00:00 UTC"]
    assert not foreign_html(written)


@given(st.text(st.sampled_from("`~a\n ")))
def test_a_fence_is_longer_than_any_inside(text):
    [token] = PARSER.parse(fenced(text))
    assert token.type == "fence"
    assert token.content == f"{text}\n"


@given(pieces)
def test_a_text_without_marks_of_structure_stays_as_it_is(text):
    plain = re.sub(r"[#`~<=\-\s]+", " ", text).strip()
    assert prose(plain) == plain


def test_headings_go_down_and_code_does_not_change():
    assert prose("# a\n\n##### b\n\n```sh\n# a comment\n```\n\nc\n=") == (
        "### a\n\n###### b\n\n```sh\n# a comment\n```\n\nc\n\\="
    )


def test_parts_with_html_are_shown_as_they_were_written_and_others_stay():
    assert prose("*a*\n\n<b>c</b> d\n\n- `<e>`") == "*a*\n\n```html\n<b>c</b> d\n```\n\n- `<e>`"


def test_who_wrote_a_message_is_told():
    kinds = ("human", "model", "tool", "harness", None)
    messages = [a_message(message_id=str(kind), metadata={"author_kind": kind}) for kind in kinds]
    told = [
        words.split(" · ")[1] for tag, words in headings(export("markdown", [a_document(*messages)])) if tag == "h2"
    ]
    assert told == ["Human", "Model", "Tool", "Harness", "User"]


def test_branches_agents_and_costs_are_told():
    document = a_document(
        a_message(message_id="a"),
        a_message(message_id="b", parent_message_id="a", metadata={"on_active_path": False}),
        a_message(
            message_id="c",
            parent_message_id="a",
            role="assistant",
            metadata={"sidechain_conversation_ids": ["one:agent-1"]},
            tokens={"input_tokens": 1200},
        ),
        a_message(message_id="d", parent_message_id="elsewhere", cost={"amount": 0.5, "currency": "EUR"}),
        session={"parent_conversation_id": "zero", "is_sidechain": True},
    )
    written = export("markdown", [document], cost=ten_cents).decode()
    assert "- Agent of: `zero`" in written
    assert "*left behind: off the active path*" in written
    assert "*follows 1 · started `one:agent-1` · tokens: 1,200 in · computed cost: 0.1 USD*" in written
    assert "*follows `elsewhere` · cost: 0.5 EUR*" in written


def test_a_conversation_in_fragments_has_one_header_and_its_totals_at_the_end():
    pieces = [
        a_document(
            a_message(message_id=f"m{number}"),
            fragment={"sequence": number, "final": number == 1},
            **({"metrics": {"total_messages": 2}} if number else {}),
        )
        for number in range(2)
    ]
    together = export("markdown", pieces)
    assert [words.split(" · ")[0] for _, words in headings(together)] == ["A talk", "1", "2"]
    assert together.endswith(b"*Altogether: 2 messages*\n\n")
    apart = export("markdown", [pieces[0], a_document(conversation_id="two"), pieces[1]])
    assert [words.split(" · ")[0] for _, words in headings(apart)] == [
        "A talk",
        "1",
        "A talk",
        "1",
        "A talk (continued)",
        "2",
    ]
