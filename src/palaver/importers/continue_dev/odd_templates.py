"""Chat templates that are like no other: Llama 2, CodeLlama 70B, DeepSeek Coder, and the first one of Anthropic."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from palaver.importers.continue_dev.said import Said, pieces, with_system_first, without_open_answer


@dataclass(frozen=True, slots=True)
class Odd:
    """One such template, by its functions."""

    name: str
    begins: Callable[[str], bool]
    """Whether a prompt begins as the template does."""
    may_be: Callable[[str], bool]
    """Whether a prompt that begins with something else has its marks."""
    messages: Callable[[str], list[Said]]


# Llama 2, also Mistral, Mixtral and CodeLlama; Codestral's differs by a line break at the end

_INSTRUCTION, _INSTRUCTED = "[INST] ", " [/INST]"
_ANSWERED = "</s>\n<s>"
_SYSTEM, _SYSTEM_END = "<<SYS>>\n ", "\n<</SYS>>\n\n "


def _is_codestral(prompt: str) -> bool:
    return _is_llama2(prompt) and prompt.endswith("[/INST]\n")


def _is_llama2(prompt: str) -> bool:
    return prompt.startswith((_INSTRUCTION, f"<s>{_INSTRUCTION}")) and _INSTRUCTED in prompt


def _may_be_llama2(prompt: str) -> bool:
    return _ANSWERED + _INSTRUCTION in prompt


def _codestral(prompt: str) -> list[Said]:
    return _llama2(prompt.removesuffix("\n"))


def _llama2(prompt: str) -> list[Said]:
    said: list[Said] = []
    place = 3 if prompt.startswith(f"<s>{_INSTRUCTION}") else 0
    if prompt.startswith(_INSTRUCTION + _SYSTEM, place):
        begun = place + len(_INSTRUCTION + _SYSTEM)
        if (end := prompt.find(_SYSTEM_END, begun)) >= 0:
            said.append(Said("system", prompt[begun:end]))
            place = end + len(_SYSTEM_END)
            if prompt.startswith("[/INST]", place):  # there was nothing but a system message
                place += len("[/INST]")
            else:
                place = _take(prompt, place, "user", _INSTRUCTED, said)
    while place < len(prompt):
        if prompt.startswith(_INSTRUCTION, place):
            place = _take(prompt, place + len(_INSTRUCTION), "user", _INSTRUCTED, said)
        else:
            place = _take(prompt, place, "assistant", _ANSWERED, said)
    return said


def _take(prompt: str, begun: int, role: str, closing: str, said: list[Said]) -> int:
    """Add the message that begins at a place, and return where the next one does."""
    end = prompt.find(closing, begun)
    said.append(Said(role, prompt[begun:end] if end >= 0 else prompt[begun:]))
    return end + len(closing) if end >= 0 else len(prompt)


# CodeLlama 70B: the only template that says the roles themselves

_GO_ON = "Source: assistant\nDestination: user"
_SOURCE = re.compile(r"(?:\A|(?<= <step> ))Source: (system|user|assistant|tool|thinking)\n\n ")


def _is_codellama(prompt: str) -> bool:
    return prompt.startswith("<s>Source: ")


def _may_be_codellama(prompt: str) -> bool:
    return prompt.rstrip().endswith(_GO_ON)


def _codellama(prompt: str) -> list[Said]:
    if prompt.rstrip().endswith(_GO_ON):
        prompt = prompt.rstrip().removesuffix(_GO_ON)
    prompt = prompt.removeprefix("<s>")
    first = _SOURCE.search(prompt)
    before = prompt[: first.start()] if first else prompt
    said = [Said("system", before)] if before else []
    return said + [Said(mark[1], text.removesuffix(" <step> ")) for mark, text in pieces(prompt, _SOURCE)]


# Anthropic's text completions

_GREETING = "\n\nHuman: Hello."
_ASSISTANT = "\n\nAssistant:"
_SPEAKER = re.compile(r"(?:\A| |(?<=\A\n\nHuman: Hello\.))\n\n(Human|Assistant): ")


def _is_anthropic(prompt: str) -> bool:
    return prompt.startswith("\n\nHuman: ") and _ASSISTANT in prompt


def _never(_: str) -> bool:
    return False


def _anthropic(prompt: str) -> list[Said]:
    prompt = prompt.removesuffix(_ASSISTANT)
    start = len(_GREETING) if prompt.startswith(f"{_GREETING}{_ASSISTANT} ") else 0
    said = [Said("user" if mark[1] == "Human" else "assistant", text) for mark, text in pieces(prompt, _SPEAKER, start)]
    if said:
        said[-1] = Said(said[-1].role, said[-1].text.removesuffix(" "))
    return with_system_first(said)


# DeepSeek Coder: a fixed beginning, and the system text within the last of the user's

_PREAMBLE = (
    "You are an AI programming assistant, utilizing the DeepSeek Coder model, developed by DeepSeek Company, and your "
    " role is to assist with questions related to computer science. For politically sensitive questions, security and "
    "privacy issues, and other non-computer science questions, you will not answer.\n"
)
_TURN = re.compile(r"### (?:(Instruction)|Response):\n")
_AFTER_USER = re.compile(rf"\n{_TURN.pattern}")
_AFTER_ASSISTANT = re.compile(rf"<\|EOT\|>\n{_TURN.pattern}")
_RULES, _RULES_END = "<important_rules>", "</important_rules>\n"
"""Around the system text that Continue sends of its own accord: any other cannot be told from the user's."""


def _is_deepseek(prompt: str) -> bool:
    return prompt.startswith(_PREAMBLE) or ("<|EOT|>\n### " in prompt and "### Instruction:\n" in prompt)


def _may_be_deepseek(prompt: str) -> bool:
    """Whether it has Alpaca's marks without the blank line that Alpaca has before them."""
    first = prompt.find("### Instruction:\n")
    is_after_line = first > 1 and prompt[first - 1] == "\n" != prompt[first - 2]
    return (first == 0 or is_after_line) and "\n### Response:\n" in prompt


def _deepseek(prompt: str) -> list[Said]:
    start = len(_PREAMBLE) if prompt.startswith(_PREAMBLE) else 0
    mark = _TURN.search(prompt, start)
    before = prompt[start : mark.start()].removesuffix("\n") if mark else prompt[start:]
    said = [Said("system", before)] if before else []
    after_assistant = _AFTER_ASSISTANT if "<|EOT|>\n### " in prompt else _AFTER_USER
    while mark:
        role, begun = ("user" if mark[1] else "assistant"), mark.end()
        mark = (_AFTER_USER if role == "user" else after_assistant).search(prompt, begun)
        said.append(Said(role, prompt[begun : mark.start()] if mark else prompt[begun:]))
    return _with_rules_first(without_open_answer(said))


def _with_rules_first(said: list[Said]) -> list[Said]:
    """The same with Continue's own system text taken out of the last of the user's."""
    if not said or said[-1].role != "user" or not said[-1].text.startswith(_RULES):
        return said
    rules, end, text = said[-1].text.partition(_RULES_END)
    if not end:
        return said
    return [Said("system", rules + end.rstrip("\n")), *said[:-1], Said("user", text)]


CODELLAMA_70B = Odd("codellama-70b", _is_codellama, _may_be_codellama, _codellama)
CODESTRAL = Odd("codestral", _is_codestral, _never, _codestral)
LLAMA2 = Odd("llama2", _is_llama2, _may_be_llama2, _llama2)
DEEPSEEK = Odd("deepseek", _is_deepseek, _may_be_deepseek, _deepseek)
ANTHROPIC = Odd("anthropic", _is_anthropic, _never, _anthropic)
