"""Chat templates that differ only in their markers, and the table of all templates that Continue knows.

Most templates are of this kind, as are all that Continue builds with its factory. A prompt is a system text, then a
marker and a text per message with separators between them, and a final marker that asks the model to continue. All but
the user's messages have the assistant's marker. Some templates omit the system text, some have a default for it.
"""

import re
from typing import final

from palaver.importers.continue_dev.irregular_templates import (
    ANTHROPIC,
    CODELLAMA_70B,
    CODESTRAL,
    DEEPSEEK,
    LLAMA2,
    IrregularTemplate,
)
from palaver.importers.continue_dev.segments import Segment, drop_open_answer, promote_leading_system


@final
class MarkerTemplate:
    """A template defined by its markers.

    `is_distinctive`: a prompt that contains both markers is of this template, whatever it begins with.
    """

    def __init__(
        self,
        name: str,
        *,
        user: str,
        assistant: str,
        separator: str,
        system: tuple[str, str] = ("", ""),
        prefix: str = "",
        without_system: str = "",
        closing: str = "",
        is_distinctive: bool = False,
    ) -> None:
        self.name = name
        self._user = user
        self._assistant = assistant
        self._separator = separator
        self._before_system, self._after_system = system
        self._prefix = prefix
        self._without_system = without_system
        self._closing = closing
        """Token at the end of a message, which may also end the prompt."""
        self._is_distinctive = is_distinctive
        markers = f"(?:({re.escape(user)})|{re.escape(assistant)})"
        self._marker = re.compile(markers)
        self._next_marker = re.compile(f"(?:{re.escape(separator)}){markers}")
        self._after_system_marker = re.compile(f"(?:{re.escape(self._after_system)}){markers}")

    def is_start_of(self, prompt: str) -> bool:
        """Return whether a prompt begins as the template does.

        Without a closing token it must also ask for an answer.
        """
        begin = len(self._prefix)
        opening = (self._user, self._assistant, self._before_system, self._without_system)
        return (
            prompt.startswith(self._prefix)
            and prompt.startswith(tuple(filter(None, opening)), begin)
            and (bool(self._closing) or prompt.find(self._separator + self._assistant, begin) >= 0)
        )

    def has_markers_in(self, prompt: str) -> bool:
        """Return whether a prompt that begins with something else contains distinctive markers."""
        return self._is_distinctive and self._user in prompt and self._separator + self._assistant in prompt

    def parse(self, prompt: str) -> list[Segment]:
        start, segments = self._opening(prompt)
        if start is None:
            return segments
        first = self._marker.match(prompt, start)
        assert first is not None
        role, begin = _role(first), first.end()
        for marker in self._next_marker.finditer(prompt, begin):
            segments.append(Segment(role, prompt[begin : marker.start()]))
            role, begin = _role(marker), marker.end()
        segments.append(Segment(role, self._unclosed(prompt[begin:])))
        return drop_open_answer(promote_leading_system(segments) if self._before_system == self._user else segments)

    def _opening(self, prompt: str) -> tuple[int | None, list[Segment]]:
        """Return the offset of the first message's marker, or None, and the system text before it."""
        start = len(self._prefix) if prompt.startswith(self._prefix) else 0
        after_default = start + len(self._without_system) if prompt.startswith(self._without_system, start) else start
        if self._marker.match(prompt, after_default):
            return after_default, []
        if after_default == len(prompt):
            return None, []
        if prompt.startswith(self._before_system, start):
            start += len(self._before_system)
        end, ended = self._after_system, self._after_system_marker.search(prompt, start)
        if ended is None:
            end, ended = self._separator, self._next_marker.search(prompt, start)
        system = prompt[start : ended.start()] if ended else prompt[start:].removesuffix(self._after_system)
        return ended.start() + len(end) if ended else None, [Segment("system", system)] if system else []

    def _unclosed(self, text: str) -> str:
        if not self._closing:
            return text
        return text.removesuffix(self._separator if text.endswith(self._separator) else self._closing)


def _role(marker: re.Match[str]) -> str:
    return "assistant" if marker[1] is None else "user"


# In the order in which prompts are compared with them.
TEMPLATES: tuple[MarkerTemplate | IrregularTemplate, ...] = (
    MarkerTemplate(
        "chatml",
        user="<|im_start|>user\n",
        assistant="<|im_start|>assistant\n",
        separator="<|im_end|>\n",
        system=("<|im_start|>system\n", "<|im_end|>\n"),
        closing="<|im_end|>",
        is_distinctive=True,
    ),
    MarkerTemplate(
        "llama3",
        user="<|start_header_id|>user<|end_header_id|>\n",
        assistant="<|start_header_id|>assistant<|end_header_id|>\n",
        separator="<|eot_id|>",
        system=("<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n", "<|eot_id|>\n"),
        closing="<|eot_id|>",
        is_distinctive=True,
    ),
    MarkerTemplate(
        "gemma",
        user="<start_of_turn>user\n",
        assistant="<start_of_turn>model\n",
        separator="<end_of_turn>\n",
        closing="<end_of_turn>",
        is_distinctive=True,
    ),
    MarkerTemplate(
        "zephyr",
        user="<|user|>\n",
        assistant="<|assistant|>\n",
        separator="</s>\n",
        system=("<|system|>", "</s>\n"),
        without_system="<|system|> </s>\n",
        closing="</s>",
        is_distinctive=True,
    ),
    CODELLAMA_70B,
    CODESTRAL,
    LLAMA2,
    DEEPSEEK,
    MarkerTemplate(
        "openchat",
        user="GPT4 Correct User: ",
        assistant="GPT4 Correct Assistant: ",
        separator="<|end_of_turn|>",
        closing="<|end_of_turn|>",
    ),
    MarkerTemplate(
        "xwin-coder",
        user="\n<user>: ",
        assistant="\n<AI>: ",
        separator="",
        system=("<system>: ", ""),
        without_system="<system>: You are an AI coding assistant that helps people with programming. "
        "Write a response that appropriately completes the user's request.",
    ),
    MarkerTemplate(
        "phind",
        user="### User Message\n",
        assistant="### Assistant\n",
        separator="\n",
        system=("### System Prompt\n", "\n\n"),
    ),
    MarkerTemplate(
        "neural-chat",
        user="### User:\n",
        assistant="### Assistant:\n",
        separator="\n",
        system=("### System:\n", "\n"),
    ),
    MarkerTemplate(
        "llava",
        user="USER: <image>",
        assistant="ASSISTANT: ",
        separator="\n",
        prefix="A chat between a curious user and an artificial intelligence assistant. "
        "The assistant gives helpful, detailed, and polite answers to the user's questions.",
    ),
    ANTHROPIC,
    MarkerTemplate(
        "phi2",
        user="\n\nInstruct: ",
        assistant="\n\nOutput: ",
        separator=" ",
        system=("\n\nInstruct: ", " "),
    ),
    MarkerTemplate(
        "granite",
        user="Question:\n",
        assistant="Answer:\n",
        separator="\n\n",
        system=("\n\nSystem:\n ", "\n\n"),
    ),
    MarkerTemplate(
        "alpaca",
        user="### Instruction:\n",
        assistant="### Response:\n",
        separator="\n\n",
        system=("", "\n\n"),
        without_system="Below is an instruction that describes a task. "
        "Write a response that appropriately completes the request.\n\n",
        is_distinctive=True,
    ),
)
