"""Markdown as a terminal shows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from palaver.cli._terminal.markdown import is_renderable, markdown_lines


def plain(text, width=None):
    return [line.plain for line in markdown_lines(text, width)]


def styles(text):
    return {
        (line.plain[span.start : span.end], str(span.style))
        for line in markdown_lines(text, None)
        for span in line.spans
    }


def test_what_it_looks_like():
    text = (
        "# Head\n\nSome **bold**, *slanted*, ~~gone~~ and `code`.\nNext line.\n\n- one\n  1. deep\n- two\n\n"
        "3. three\n\n"
        "> quoted\n> lines\n\n```python\ndef f():\n\n    return 1\n```\n\n---\nEnd"
    )
    assert plain(text) == [
        *("Head", "", "Some bold, slanted, gone and code.", "Next line.", "", "• one", "  1. deep", "• two", ""),
        *("3. three", "", "│ quoted", "│ lines", "", "  def f():", "", "      return 1", "", "─" * 40, "End"),
    ]
    assert {
        ("Head", "bold underline"),
        ("bold", "bold"),
        ("slanted", "italic"),
        ("gone", "strike"),
        ("code", "cyan"),
        ("def", "magenta"),
        ("f", "bright_blue"),
    } <= styles(text)


def test_lines_follow_each_other_as_they_were_written():
    assert plain("# Head\ntext\n- a\n\n- b\n- c") == ["Head", "text", "• a", "", "• b", "• c"]


@pytest.mark.parametrize("width", [30, 60])
def test_it_is_wrapped_below_its_first_word(width):
    text = f"- {'some words ' * 12}\n\n> {'more words ' * 12}\n\n{'and words ' * 12}"
    lines = plain(text, width)
    assert max(map(cell_len, lines)) <= width
    assert lines[1].startswith("  some") or lines[1].startswith("  words")
    assert sum(line.startswith("│ ") for line in lines) > 1


def test_tables_are_aligned_and_fit():
    text = "| name | what |\n|---|--:|\n| **a** | 1 |\n| longer | " + "many words " * 10 + "|"
    assert plain(text)[:4] == [
        "name    what",
        f"──────  {'─' * 109}",
        "a       1",
        "longer  " + ("many words " * 10).strip(),
    ]
    lines = plain(text, 40)
    assert max(map(cell_len, lines)) <= 40
    assert len(lines) > 5


def test_a_link_shows_its_address():
    assert plain("See [the docs](https://example.org/a) or <https://example.org>.") == [
        "See the docs (https://example.org/a) or https://example.org."
    ]
    assert plain("![a hull](a.png)") == ["[image: a hull, a.png]"]


def test_html_is_shown_as_it_is_written():
    assert plain("<b>bold</b>\n\n<script>\nalert(1)\n</script>") == [
        *("<b>bold</b>", "", "<script>", "alert(1)", "</script>"),
    ]


STEERING = (
    "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\ \x1b[2J\x9b1m\u202eabc\x07\x08 &#27;[31m &#x202e; &#x9b;"
)


@pytest.mark.parametrize(
    "text",
    [
        STEERING,
        f"# {STEERING}",
        f"[{STEERING}](https://a.example/{STEERING.replace(' ', '')})",
        f"[label](<{STEERING}>)",
        "[label](https://a.example/%1b]8;;x%07)",
        f"![{STEERING}](<{STEERING}> '{STEERING}')",
        f"`{STEERING}`",
        f"```{STEERING}\n{STEERING}\n```",
        f"```python {STEERING}\n'{STEERING}' # {STEERING}\n```",
        f"    {STEERING}",
        f"| {STEERING} |\n|---|\n| {STEERING} |",
        f"- {STEERING}\n\n  > {STEERING}",
        f"[label]: {STEERING}\n\n[label]",
        f"<{STEERING}>",
    ],
)
def test_foreign_text_does_not_control_the_terminal(text):
    from io import StringIO

    from rich.console import Console

    stream = StringIO()
    console = Console(file=stream, force_terminal=True, color_system="truecolor", width=200)
    for line in markdown_lines(text, 80):
        console.print(line, soft_wrap=True)
        assert not {"\x1b", "\x9b", "\u202e", "\x07", "\x08", "\r"} & set(line.plain)
        assert not any("link" in str(span.style) for span in line.spans)
    # Only colours are left of what the terminal obeys.
    printed = stream.getvalue()
    assert "\x1b]" not in printed
    assert "\x1b[2J" not in printed


@pytest.mark.parametrize(
    "unit",
    ["[", "*a", "a**", "_", "``x`", "> ", "- ", "1. ", "|", "|a|", "<", "![", "](", "&", "\\", "\t- ", "#", "[a]: b\n"],
)
def test_malformed_markdown_keeps_its_letters(unit):
    text = (unit * 20_000)[:19_000] + " end"
    assert is_renderable(text)
    assert "end" in "\n".join(plain(text, 80))[-80:]


def test_what_precedes_code_is_shown_unless_it_is_only_the_language():
    assert plain("```python\na\n```") == ["  a"]
    assert plain("```python title=x\na\n```") == ["  python title=x", "  a"]


def test_deep_nesting_is_shown_as_it_is_written():
    text = "> " * 40 + "deep"
    assert plain(text) == [text]


def test_a_huge_text_is_not_rendered():
    assert not is_renderable("**x** " * 2_000_000)


@given(st.text("ab \n#*-_`>|[]()<&\\~1.:!\t", max_size=80), st.one_of(st.none(), st.integers(20, 60)))
def test_no_markdown_is_an_error_or_loses_its_words(text, width):
    letters = "".join(plain(text, width))
    # The language of code is not shown, and entities become what they stand for.
    if not set("`~&") & set(text):
        assert sorted(letter for letter in letters if letter in "ab") == sorted(c for c in text if c in "ab")
