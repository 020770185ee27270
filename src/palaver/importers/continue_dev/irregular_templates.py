"""Chat templates with rules of their own: Llama 2, CodeLlama 70B, DeepSeek Coder, and Anthropic's first one."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from palaver.importers.continue_dev.segments import Segment, drop_open_answer, promote_leading_system, split_at


@dataclass(frozen=True, slots=True)
class IrregularTemplate:
    """A template defined by functions."""

    name: str
    is_start_of: Callable[[str], bool]
    """Whether a prompt begins as the template does."""
    has_markers_in: Callable[[str], bool]
    """Whether a prompt that begins with something else has the template's markers."""
    parse: Callable[[str], list[Segment]]


# Llama 2, also used for Mistral, Mixtral and CodeLlama; Codestral's differs by a line break at the end.

_INSTRUCTION, _INSTRUCTED = "[INST] ", " [/INST]"
_ANSWERED = "</s>\n<s>"
_SYSTEM, _SYSTEM_END = "<<SYS>>\n ", "\n<</SYS>>\n\n "


def _is_codestral(prompt: str) -> bool:
    return _is_llama2(prompt) and prompt.endswith("[/INST]\n")


def _is_llama2(prompt: str) -> bool:
    return prompt.startswith((_INSTRUCTION, f"<s>{_INSTRUCTION}")) and _INSTRUCTED in prompt


def _has_llama2_markers(prompt: str) -> bool:
    return _ANSWERED + _INSTRUCTION in prompt


def _parse_codestral(prompt: str) -> list[Segment]:
    return _parse_llama2(prompt.removesuffix("\n"))


def _parse_llama2(prompt: str) -> list[Segment]:
    segments: list[Segment] = []
    position = 3 if prompt.startswith(f"<s>{_INSTRUCTION}") else 0
    if prompt.startswith(_INSTRUCTION + _SYSTEM, position):
        begin = position + len(_INSTRUCTION + _SYSTEM)
        if (end := prompt.find(_SYSTEM_END, begin)) >= 0:
            segments.append(Segment("system", prompt[begin:end]))
            position = end + len(_SYSTEM_END)
            if prompt.startswith("[/INST]", position):  # a system message and nothing else
                position += len("[/INST]")
            else:
                position = _add_segment(prompt, position, "user", _INSTRUCTED, segments)
    while position < len(prompt):
        if prompt.startswith(_INSTRUCTION, position):
            position = _add_segment(prompt, position + len(_INSTRUCTION), "user", _INSTRUCTED, segments)
        else:
            position = _add_segment(prompt, position, "assistant", _ANSWERED, segments)
    return segments


def _add_segment(prompt: str, begin: int, role: str, closing: str, segments: list[Segment]) -> int:
    """Add the message that begins at an offset, and return the offset of the next one."""
    end = prompt.find(closing, begin)
    segments.append(Segment(role, prompt[begin:end] if end >= 0 else prompt[begin:]))
    return end + len(closing) if end >= 0 else len(prompt)


# CodeLlama 70B: the only template that names the roles.

_GO_ON = "Source: assistant\nDestination: user"
_SOURCE = re.compile(r"(?:\A|(?<= <step> ))Source: (system|user|assistant|tool|thinking)\n\n ")


def _is_codellama(prompt: str) -> bool:
    return prompt.startswith("<s>Source: ")


def _has_codellama_markers(prompt: str) -> bool:
    return prompt.rstrip().endswith(_GO_ON)


def _parse_codellama(prompt: str) -> list[Segment]:
    if prompt.rstrip().endswith(_GO_ON):
        prompt = prompt.rstrip().removesuffix(_GO_ON)
    prompt = prompt.removeprefix("<s>")
    first = _SOURCE.search(prompt)
    before = prompt[: first.start()] if first else prompt
    segments = [Segment("system", before)] if before else []
    return segments + [Segment(marker[1], text.removesuffix(" <step> ")) for marker, text in split_at(prompt, _SOURCE)]


# Anthropic's text completions.

_GREETING = "\n\nHuman: Hello."
_ASSISTANT = "\n\nAssistant:"
_SPEAKER = re.compile(r"(?:\A| |(?<=\A\n\nHuman: Hello\.))\n\n(Human|Assistant): ")


def _is_anthropic(prompt: str) -> bool:
    return prompt.startswith("\n\nHuman: ") and _ASSISTANT in prompt


def _never(_: str) -> bool:
    return False


def _parse_anthropic(prompt: str) -> list[Segment]:
    prompt = prompt.removesuffix(_ASSISTANT)
    start = len(_GREETING) if prompt.startswith(f"{_GREETING}{_ASSISTANT} ") else 0
    segments = [
        Segment("user" if speaker[1] == "Human" else "assistant", text)
        for speaker, text in split_at(prompt, _SPEAKER, start)
    ]
    if segments:
        segments[-1] = Segment(segments[-1].role, segments[-1].text.removesuffix(" "))
    return promote_leading_system(segments)


# DeepSeek Coder: a fixed beginning, and the system text inside the user's last message.

_PREAMBLE = (
    "You are an AI programming assistant, utilizing the DeepSeek Coder model, developed by DeepSeek Company, and your "
    " role is to assist with questions related to computer science. For politically sensitive questions, security and "
    "privacy issues, and other non-computer science questions, you will not answer.\n"
)
_TURN = re.compile(r"### (?:(Instruction)|Response):\n")
_AFTER_USER = re.compile(rf"\n{_TURN.pattern}")
_AFTER_ASSISTANT = re.compile(rf"<\|EOT\|>\n{_TURN.pattern}")
_RULES, _RULES_END = "<important_rules>", "</important_rules>\n"
"""Tags around Continue's own system text; any other system text cannot be separated from the user's."""


def _is_deepseek(prompt: str) -> bool:
    return prompt.startswith(_PREAMBLE) or ("<|EOT|>\n### " in prompt and "### Instruction:\n" in prompt)


def _has_deepseek_markers(prompt: str) -> bool:
    """Return whether a prompt has Alpaca's markers without the blank line before them."""
    first = prompt.find("### Instruction:\n")
    is_after_line = first > 1 and prompt[first - 1] == "\n" != prompt[first - 2]
    return (first == 0 or is_after_line) and "\n### Response:\n" in prompt


def _parse_deepseek(prompt: str) -> list[Segment]:
    start = len(_PREAMBLE) if prompt.startswith(_PREAMBLE) else 0
    marker = _TURN.search(prompt, start)
    before = prompt[start : marker.start()].removesuffix("\n") if marker else prompt[start:]
    segments = [Segment("system", before)] if before else []
    after_assistant = _AFTER_ASSISTANT if "<|EOT|>\n### " in prompt else _AFTER_USER
    while marker:
        role, begin = ("user" if marker[1] else "assistant"), marker.end()
        marker = (_AFTER_USER if role == "user" else after_assistant).search(prompt, begin)
        segments.append(Segment(role, prompt[begin : marker.start()] if marker else prompt[begin:]))
    return _promote_rules(drop_open_answer(segments))


def _promote_rules(segments: list[Segment]) -> list[Segment]:
    """Move Continue's own system text out of the user's last message to the front."""
    if not segments or segments[-1].role != "user" or not segments[-1].text.startswith(_RULES):
        return segments
    rules, end, text = segments[-1].text.partition(_RULES_END)
    if not end:
        return segments
    return [Segment("system", rules + end.rstrip("\n")), *segments[:-1], Segment("user", text)]


CODELLAMA_70B = IrregularTemplate("codellama-70b", _is_codellama, _has_codellama_markers, _parse_codellama)
CODESTRAL = IrregularTemplate("codestral", _is_codestral, _never, _parse_codestral)
LLAMA2 = IrregularTemplate("llama2", _is_llama2, _has_llama2_markers, _parse_llama2)
DEEPSEEK = IrregularTemplate("deepseek", _is_deepseek, _has_deepseek_markers, _parse_deepseek)
ANTHROPIC = IrregularTemplate("anthropic", _is_anthropic, _never, _parse_anthropic)
