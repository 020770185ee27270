"""Every chat template of Continue, written as the product does and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continue_prompts import RENDERERS, told
from palaver.importers.continue_dev.marker_templates import TEMPLATES
from palaver.importers.continue_dev.prompts import parse_prompt

every_template = pytest.mark.parametrize("template", RENDERERS)

SYSTEM = ("system", "Answer briefly.\n\nName the file:\n  - with its path\n")
ASKED = ("user", "Why does the kettle\n\nwhistle?")
ANSWERED = ("assistant", "Steam leaves through a narrow gap.\n\n```py\nkettle.whistle()\n```")
CONVERSATIONS = {
    "one question": [ASKED],
    "with a system message": [SYSTEM, ASKED],
    "with Continue's own rules": [("system", "<important_rules>\n  Be kind.\n</important_rules>"), ASKED],
    "several turns": [SYSTEM, ASKED, ANSWERED, ("user", "And the lid?")],
    "several turns, no system": [ASKED, ANSWERED, ("user", "And the lid?"), ("assistant", "It rattles."), ASKED],
    "ends with an answer": [SYSTEM, ASKED, ANSWERED],
    "tools and thoughts": [SYSTEM, ASKED, ("thinking", "Steam?"), ANSWERED, ("tool", "kettle.py:\n1 pass"), ASKED],
    "two questions in a row": [SYSTEM, ASKED, ("user", "Hello?"), ANSWERED, ASKED, ASKED],
    "an empty answer": [ASKED, ("assistant", ""), ("user", "Hello?")],
    "many blanks": [("user", "\n\n a \n"), ("assistant", " b\n\n"), ("user", "\tc ")],
}


def test_the_renderers_are_of_all_templates():
    assert {template.name for template in TEMPLATES} | {"role_tags"} == set(RENDERERS)


@every_template
@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_what_was_written_is_read(template, messages):
    read = parse_prompt(RENDERERS[template](messages))
    assert read.template == (template if template != "codestral" or messages[-1][0] == "user" else "llama2")
    assert read.messages == told(template, messages)


@pytest.mark.parametrize("template", sorted({*RENDERERS} - {"role_tags", "codellama-70b", "anthropic"}))
def test_a_greeting_of_the_assistant_is_not_in_the_prompt(template):
    read = parse_prompt(RENDERERS[template]([("assistant", "Hi, I am here."), ASKED, ANSWERED, ASKED]))
    if template == "deepseek":
        assert read.messages[0] == ("assistant", "Hi, I am here.")
    assert read.messages[-3:] == [ASKED, ANSWERED, ASKED]


def test_the_question_that_stands_before_a_greeting_is_nobodys():
    prompt = RENDERERS["anthropic"]([("assistant", "Hi, I am here."), ASKED])
    assert prompt.startswith("\n\nHuman: Hello.\n\nAssistant: Hi")
    assert parse_prompt(prompt) == ("anthropic", [("assistant", "Hi, I am here."), ASKED])


@pytest.mark.parametrize("template", ["llama2", "codestral"])
def test_a_system_message_alone(template):
    assert parse_prompt(RENDERERS[template]([SYSTEM])) == (template, [SYSTEM])


texts = st.text("ab \n\t#<|>:[]/.é", min_size=1, max_size=30).filter(str.strip)
systems = st.none() | texts | texts.map("<important_rules>{}</important_rules>".format)
others = st.tuples(st.sampled_from(["user", "assistant", "tool", "thinking"]), texts)


@every_template
@given(systems, texts, st.lists(others, max_size=6))
def test_whatever_was_written_without_marks_is_read(template, system, first, others):
    messages = [*([("system", system)] if system else []), ("user", first), *others]
    read = parse_prompt(RENDERERS[template](messages))
    assert read.messages == told(template, messages)
