"""Prompts of any kind: which template they are taken for, and that none of their text is lost."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continue_prompts import PREAMBLE, RENDERERS
from importing import CHECKOUT
from palaver.importers.continue_dev.prompts import completion_text, parse_prompt

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "continue_dev"
ASKED = ("user", "Why does the kettle whistle?")


def test_the_example_of_the_specification():
    prompt = "<|im_start|>user\nHow are you<|im_end|>\n<|im_start|>assistant\nI am doing well!<|im_end|>"
    assert parse_prompt(prompt) == ("chatml", [("user", "How are you"), ("assistant", "I am doing well!")])


@pytest.mark.parametrize(
    ("prompt", "messages"),
    [
        ("", []),
        ("Sort the list", [("user", "Sort the list")]),
        ("<user>: ", [("user", "<user>: ")]),
        ("What does [INST] mean?", [("user", "What does [INST] mean?")]),
        ("Question:\nwhat?", [("user", "Question:\nwhat?")]),
        (" <user>\nhi\n\n", [("user", " <user>\nhi\n\n")]),
    ],
)
def test_what_is_no_template_is_one_message(prompt, messages):
    assert parse_prompt(prompt) == ("raw", messages)


@pytest.mark.parametrize(
    ("prompt", "template", "messages"),
    [
        ("<|im_start|>system\nBrief.<|im_end|>\n", "chatml", [("system", "Brief.")]),
        (
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\nyo<|im_end|>\n",
            "chatml",
            [("user", "hi"), ("assistant", "yo")],
        ),
        (
            "torn<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n",
            "chatml",
            [("system", "torn"), ("user", "hi")],
        ),
        ("<|user|>\nhi</s>\n<|assistant|>\n", "zephyr", [("user", "hi")]),
        ("### Instruction:\nhi\n\n### Response:\n", "alpaca", [("user", "hi")]),
        ("### Instruction:\nhi\n### Response:\n", "deepseek", [("user", "hi")]),
        ("Brief.\n### Instruction:\nhi\n### Response:\n", "deepseek", [("system", "Brief."), ("user", "hi")]),
        (
            "### Instruction:\na\n### Response:\nb\n### Instruction:\nc\n### Response:\n",
            "deepseek",
            [("user", "a"), ("assistant", "b"), ("user", "c")],
        ),
        (
            "Brief.\n\n### Instruction:\na\n### Response:\nb<|EOT|>\n### Instruction:\nc\n### Response:\n",
            "deepseek",
            [("system", "Brief.\n"), ("user", "a"), ("assistant", "b"), ("user", "c")],
        ),
        ("[INST] a [/INST]b</s>\n<s>[INST] c", "llama2", [("user", "a"), ("assistant", "b"), ("user", "c")]),
        ("seen</s>\n<s>[INST] a [/INST]", "llama2", [("assistant", "seen"), ("user", "a")]),
        ("Source: user\n\n hi <step> Source: assistant\nDestination: user\n\n ", "codellama-70b", [("user", "hi")]),
        (
            "torn <step> Source: user\n\n hi <step> Source: assistant\nDestination: user",
            "codellama-70b",
            [("system", "torn <step> "), ("user", "hi")],
        ),
    ],
)
def test_what_is_written_a_little_differently_is_read_as_well(prompt, template, messages):
    assert parse_prompt(prompt) == (template, messages)


@pytest.mark.parametrize("template", RENDERERS)
def test_marks_of_other_templates_in_a_text_mislead_nobody(template):
    marks = (
        "<|im_start|>user\n [INST] GPT4 Correct User: <start_of_turn>user\n ### Instruction: Source: user USER: <image>"
    )
    text = f"Explain {marks} to me."
    read = parse_prompt(RENDERERS[template]([("user", text), ("assistant", "Well."), ASKED]))
    assert read.template == template
    assert read.messages[1:] == [("assistant", "Well."), ASKED]
    if template not in {"llama2", "codestral", "chatml", "gemma"}:
        assert read.messages[0] == ("user", text)


def test_the_system_text_of_deepseek_stands_within_the_users_unless_it_is_continues_own():
    prompt = f"{PREAMBLE}### Instruction:\nBe brief.\nWhy?\n### Response:\n"
    assert parse_prompt(prompt).messages == [("user", "Be brief.\nWhy?")]
    rules = "<important_rules>\n  Be brief.\n</important_rules>"
    prompt = f"{PREAMBLE}### Instruction:\n{rules}\nWhy?\n### Response:\n"
    assert parse_prompt(prompt).messages == [("system", rules), ("user", "Why?")]
    prompt = f"{PREAMBLE}### Instruction:\n<important_rules> is a tag, is it not?\n### Response:\n"
    assert parse_prompt(prompt).messages == [("user", "<important_rules> is a tag, is it not?")]


MARKS = sorted(
    {
        piece
        for render in RENDERERS.values()
        for messages in (
            [("user", "§"), ("assistant", "§"), ("user", "§")],
            [("system", "§"), ("user", "§")],
            [("assistant", "§"), ("tool", "§")],
            [("system", "<important_rules>§</important_rules>"), ("user", "§")],
        )
        for piece in render(messages).split("§")
        if piece
    }
    | {"[INST] ", " [/INST]", "</s>\n<s>", "<|EOT|>\n", "<|im_end|>", "\n\n", "\n", " ", "<<SYS>>\n ", "<user>\n"}
)


@given(st.lists(st.sampled_from(MARKS) | st.just("§"), max_size=14))
def test_no_word_is_lost_whatever_the_marks_around_it(pieces):
    words = [f"word{number}." for number, piece in enumerate(pieces) if piece == "§"]
    prompt = "".join(f"word{number}." if piece == "§" else piece for number, piece in enumerate(pieces))
    read = parse_prompt(prompt)
    assert {role for role, _ in read.messages} <= {"system", "user", "assistant", "tool", "thinking"}
    told = "\n".join(text for _, text in read.messages)
    assert [word for word in words if word not in told] == []
    assert sum(len(text) for _, text in read.messages) <= len(prompt)


@given(st.text())
def test_any_text_is_read(prompt):
    assert "".join(text for _, text in parse_prompt(prompt).messages) in prompt


@given(st.lists(st.text("ab \n<>", max_size=8), min_size=1, max_size=8))
def test_an_answer_of_tagged_chunks_is_joined(chunks):
    assert completion_text("".join(f"<assistant>\n{chunk}\n\n" for chunk in chunks)) == "".join(chunks)


@given(st.text())
def test_a_plain_answer_stays_as_it_is(answer):
    assert completion_text(answer) == answer


@pytest.mark.parametrize("answer", ["see <assistant>\nthere\n\n", "\n\n<assistant>\nhi\n\n", "<assistant> hi"])
def test_a_tag_elsewhere_is_text(answer):
    assert completion_text(answer) == answer


def test_a_chunk_that_was_cut_off_is_kept():
    assert completion_text("<assistant>\nab\n\n<assistant>\ncd\n") == "abcd\n"
    assert completion_text("<assistant>\nab\n\n<assistant>\n\n") == "ab\n"


# -- real prompts ---------------------------------------------------------------------------------------------------


def real_prompts() -> Iterator[str]:
    for path in sorted(SAMPLES.rglob("sessions/*.json")):
        session = json.loads(path.read_bytes())
        for item in session.get("history", []) if isinstance(session, dict) else []:
            yield from (log["prompt"] for log in item.get("promptLogs") or [] if "prompt" in log)
    for path in sorted(SAMPLES.rglob("chat*.jsonl")):
        yield from (json.loads(line)["prompt"] for line in path.read_bytes().splitlines())


@pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")
def test_every_line_of_a_real_prompt_is_in_a_message():
    templates = set[str]()
    marks = {f"<{role}>" for role in ("system", "user", "assistant", "tool", "thinking")}
    marks |= {"### Instruction:", "### Response:"}
    for prompt in real_prompts():
        template, messages = parse_prompt(prompt)
        templates.add(template)
        told = {line for _, text in messages for line in text.split("\n")}
        lines = {line.removesuffix("<|EOT|>") if template == "deepseek" else line for line in prompt.split("\n")}
        assert not lines - told - marks - {""}
        assert {role for role, _ in messages} >= {"user"}
    assert templates == {"role_tags", "deepseek"}
