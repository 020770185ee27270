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
from palaver.exporters import exporter
from palaver.exporters._contract import IndexEntry
from palaver.exporters._prose import fenced, prose
from palaver.model import build
from palaver.model.block_text import block_texts

TITLES = {"claude_code": "Claude Code"}
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
    shown = [message for one in documents for message in one["messages"] if not is_hidden_and_empty(message)]
    assert [tag for tag, _ in headings(written)].count("h2") == len(shown)
    assert not foreign_html(written)


def is_hidden_and_empty(message: dict[str, Any]) -> bool:
    is_hidden = (message.get("metadata") or {}).get("hidden")
    return bool(is_hidden) and all(block.get("text") == "" for block in message["content"])


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


def test_an_element_with_blank_lines_is_shown_in_one_fence():
    reminder = "<system-reminder>\nAs you answer:\n\n# Notes\n\n```sh\nls\n```\n\n*end*\n</system-reminder>"
    assert prose(f"Hello *you*\n\n{reminder}\n\n# After") == (f"Hello *you*\n\n````html\n{reminder}\n````\n\n### After")
    nested = "<a-b>\n\n<a-b>\n\nin\n\n</a-b>\n\nout\n\n</a-b>"
    assert prose(nested) == f"```html\n{nested}\n```"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<br>\n\n*a*\n\n<br>", "```html\n<br>\n```\n\n*a*\n\n```html\n<br>\n```"),
        ("A <b>\n\n*a*\n\n</b>", "```html\nA <b>\n```\n\n*a*\n\n```html\n</b>\n```"),
        ("<i>\n\n```\n</i>\n```\n\n*a*", "````html\n<i>\n\n```\n</i>\n```\n````\n\n*a*"),
    ],
)
def test_only_an_element_that_begins_a_line_and_ends_is_extended_to_whole_parts(text, expected):
    assert prose(text) == expected


def test_messages_that_are_hidden_and_empty_are_left_out():
    hidden = {"author_kind": "harness", "hidden": True, "timestamp_inferred": True}
    document = a_document(
        a_message(build.text(""), message_id="root", role="system", metadata=hidden),
        a_message(build.text(""), message_id="first", parent_message_id="root", metadata=hidden),
        a_message(message_id="asked", parent_message_id="first"),
        a_message(build.text("a rule"), message_id="rule", parent_message_id="asked", metadata=hidden),
        a_message(message_id="again", parent_message_id="first"),
        a_message(build.text(""), message_id="paid", tokens={"output_tokens": 1}, metadata=hidden),
    )
    written = export("markdown", [document])
    assert [words.partition(" · ")[0] for tag, words in headings(written) if tag == "h2"] == ["3", "4", "5", "6"]
    assert "## 3 · Human · 2026-04-01 10:00:00 UTC\n\na word" in written.decode()
    assert "*hidden by the platform · time inferred*\n\na rule" in written.decode()
    assert "*follows the beginning*" in written.decode()


def test_the_platform_is_shown_by_its_title():
    document = a_document(platform={"name": "claude_code", "version": "2.1.0"})
    assert "- Platform: Claude Code `2.1.0`\n" in export("markdown", [document], platform_title=TITLES.get).decode()
    assert "- Platform: claude\\_code `2.1.0`\n" in export("markdown", [document]).decode()


def test_an_index_links_files_the_newest_first_and_keeps_those_of_earlier_exports():
    older = IndexEntry("2026-04-01-Beans-one.md", "Beans [1]", "ChatGPT", "2026-04-01T10:00:00.000Z", 1, is_agent=False)
    newer = IndexEntry("2026-05-02-豆-2.md", "", "Kilo", "2026-05-02T10:30:00.000Z", 1234, is_agent=True)
    markdown = exporter("markdown")
    page = markdown.index([older, newer], {}).decode()
    assert page.splitlines()[1:] == [
        *("", "# Conversations", "", "## 2026-05", ""),
        "- 2026-05-02 10:30 · [`2026-05-02-豆-2.md`](<2026-05-02-%E8%B1%86-2.md>) · Kilo · 1,234 messages · agent",
        *("", "## 2026-04", ""),
        "- 2026-04-01 10:00 · [Beans \\[1\\]](<2026-04-01-Beans-one.md>) · ChatGPT · 1 message",
    ]
    assert list(markdown.previous_entries(page)) == [newer.file_name, older.file_name]
    assert markdown.index([older], markdown.previous_entries(page)).decode() == page
    assert markdown.previous_entries("# My own index\n") is None


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
    assert "*on an abandoned branch*" in written
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
    assert together.endswith(b"*Total: 2 messages*\n\n")
    apart = export("markdown", [pieces[0], a_document(conversation_id="two"), pieces[1]])
    assert [words.split(" · ")[0] for _, words in headings(apart)] == [
        "A talk",
        "1",
        "A talk",
        "1",
        "A talk (continued)",
        "2",
    ]
