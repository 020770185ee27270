"""Calls that stand in a text as tags, by the rules of the products' own scanners."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.importers._cline_family.tool_calls import PARAMETERS, TOOLS, TextCall, split_calls

ROO = "roo_code"


def test_prose_and_calls_stand_in_order_and_prose_is_trimmed():
    text = "\nFirst.\n\n<list_files>\n<path>.</path>\n</list_files>\n\nThen.\n"
    assert split_calls(text, ROO) == ["First.", TextCall("list_files", {"path": "."}), "Then."]


@pytest.mark.parametrize("text", ["", "a < b and b > c", "<div>\n<path>x</path>\n</div>", "<readfile>\n</readfile>"])
def test_what_is_no_known_tool_is_prose(text):
    assert split_calls(text, ROO) == ([text] if text else [])


@pytest.mark.parametrize(("platform", "count"), [("roo_code", 0), ("cline", 1), ("kilo_code", 1)])
def test_every_product_has_its_own_tools(platform, count):
    found = split_calls("<replace_in_file>\n<path>a</path>\n</replace_in_file>", platform)
    assert len([piece for piece in found if isinstance(piece, TextCall)]) == count


def test_a_parameter_ends_at_its_first_closing_tag_and_keeps_what_is_nested():
    text = "<read_file>\n<args>\n<file>\n<path>a & b</path>\n</file>\n</args>\n</read_file>"
    assert split_calls(text, ROO) == [TextCall("read_file", {"args": "<file>\n<path>a & b</path>\n</file>"})]


def test_entities_and_attributes_are_characters_like_others():
    (made,) = split_calls('<execute_command>\n<command>echo "&lt;a b=&quot;&gt;"</command>\n</execute_command>', ROO)
    assert made == TextCall("execute_command", {"command": 'echo "&lt;a b=&quot;&gt;"'})


def test_the_content_of_a_file_runs_to_its_last_closing_tag_and_keeps_its_white_space():
    content = "  <content>x</content>\n</content>\n  end  "
    text = f"<write_to_file>\n<path> a </path>\n<content>\n{content}\n</content>\n</write_to_file>\nrest"
    assert split_calls(text, ROO) == [TextCall("write_to_file", {"path": "a", "content": content}), "rest"]


def test_two_files_that_are_written_in_one_answer_stay_two():
    one = "<write_to_file>\n<path>a</path>\n<content>\n1\n</content>\n</write_to_file>"
    found = split_calls(f"{one}\n{one}", ROO)
    assert [piece.input["content"] for piece in found if isinstance(piece, TextCall)] == ["1", "1"]


def test_other_words_between_the_tags_of_a_call_are_kept():
    (made,) = split_calls("<list_files>\n<path>.</path>\n<depth>3</depth>\n</list_files>", ROO)
    assert made == TextCall("list_files", {"path": "."}, rest="<depth>3</depth>")


@pytest.mark.parametrize(
    ("text", "arguments", "rest"),
    [
        ("<read_file>\n<path>src/a", {"path": "src/a"}, ""),
        ("<read_file>\n<path>src/a</path>\n", {"path": "src/a"}, ""),
        ("<read_file>\n<pa", {}, "<pa"),
        ("<write_to_file>\n<path>a</path>\n<content>\nhalf a li", {"path": "a", "content": "half a li"}, ""),
    ],
)
def test_a_call_that_the_text_ends_in_is_partial(text, arguments, rest):
    assert split_calls(text, ROO) == [TextCall(text[1 : text.index(">")], arguments, rest, is_partial=True)]


values = st.text(st.characters(exclude_characters="<>", exclude_categories=["Cs"]), max_size=40)


@given(st.data())
def test_a_call_that_was_written_is_read_again(data):
    platform = data.draw(st.sampled_from(sorted(TOOLS)))
    name = data.draw(st.sampled_from(sorted(TOOLS[platform])))
    arguments = data.draw(st.dictionaries(st.sampled_from(sorted(PARAMETERS[platform])), values, max_size=4))
    before, behind = data.draw(values), data.draw(values)
    written = "".join(f"<{key}>\n{value}\n</{key}>\n" for key, value in arguments.items())
    found = split_calls(f"{before}\n<{name}>\n{written}</{name}>\n{behind}", platform)
    read = {key: value if key == "content" else value.strip() for key, value in arguments.items()}
    prose = [[words] if (words := text.strip()) else [] for text in (before, behind)]
    assert found == [*prose[0], TextCall(name, read), *prose[1]]
    assert all(piece == piece.strip() for piece in found if isinstance(piece, str))


tokens = st.lists(
    st.sampled_from(["<", ">", "</", "read_file", "path", "content", "write_to_file", "\n", "x"]), max_size=40
)


@given(tokens.map("".join))
def test_no_word_is_lost(text):
    found = split_calls(text, ROO)
    held = [piece if isinstance(piece, str) else "".join((*piece.input.values(), piece.rest)) for piece in found]
    assert "".join(held).count("x") == text.count("x")
    assert all(held[number] for number, piece in enumerate(found) if isinstance(piece, str))
