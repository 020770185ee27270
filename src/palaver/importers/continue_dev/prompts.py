"""Messages of logged prompts, whatever their chat template, and conversations recovered from them.

A template's markers are not escaped in the texts between them, so a text that contains one is split there, but none of
it is lost. Some information is not in any prompt: tool results and thoughts have the assistant's marker in all
templates but one, Gemma, OpenChat and LLaVA omit the system text, DeepSeek puts it into the user's last message
(Continue's own rules are found there), and Phi-2 and Anthropic write it as the first of two user messages in a row.
"""

import re
from typing import NamedTuple

from palaver.importers.continue_dev.content import split_thinking
from palaver.importers.continue_dev.marker_templates import TEMPLATES
from palaver.importers.continue_dev.segments import Segment, has_role_tags, join_chunks, parse_role_tags
from palaver.model import build
from palaver.model.build import JsonObject

_HASHED_CHARACTERS = 400
_ROLES: dict[str, tuple[build.Role, str]] = {
    "system": ("system", "harness"),
    "user": ("user", "human"),
    "assistant": ("assistant", "model"),
    "thinking": ("assistant", "model"),
    "tool": ("tool", "tool"),
}
_FRAGMENTED_CALL = re.compile(r"\s*([\w.-]+\()\)")


class ParsedPrompt(NamedTuple):
    template: str
    """Name of the chat template, `role_tags` without one, `raw` if unknown."""
    messages: list[Segment]


def parse_prompt(prompt: str) -> ParsedPrompt:
    if has_role_tags(prompt):
        return ParsedPrompt("role_tags", parse_role_tags(prompt))
    for template in TEMPLATES:
        if template.is_start_of(prompt):
            return ParsedPrompt(template.name, template.parse(prompt))
    for template in TEMPLATES:
        if template.has_markers_in(prompt):
            return ParsedPrompt(template.name, template.parse(prompt))
    return ParsedPrompt("raw", [Segment("user", prompt)] if prompt else [])


def call_hash(prompt: str, completion: str) -> int:
    """Return a hash that identifies a model call: prompts are long, and differ in length or at the end."""
    return hash((len(prompt), prompt[-_HASHED_CHARACTERS:], completion))


def completion_text(completion: str) -> str:
    """Return the text of a completion without the tags that may surround each streamed chunk."""
    return join_chunks(completion) if completion.startswith("<assistant>\n") else completion


class RecoveredMessages:
    """Messages recovered from logged calls, each of which repeats the conversation before it.

    Where a later call does not continue an earlier one, the messages branch.
    """

    def __init__(self, session_id: str) -> None:
        self.messages: list[JsonObject] = []
        self.times: dict[str, str] = {}
        self._session_id = session_id
        self._known: dict[tuple[str | None, str, str], JsonObject] = {}
        self._fragmented: dict[str | None, tuple[str, JsonObject]] = {}
        """Answers that log tool calls in fragments, with the start of the first call, by parent id: the next prompt
        has them complete."""

    def add(self, prompt: str, completion: str, time: str = "") -> JsonObject | None:
        """Add a call and return its answer, or None if the completion is empty."""
        if completion:
            return self.add_answered(prompt, completion, time)
        self._add_prompt(prompt)
        return None

    def add_answered(self, prompt: str, completion: str, time: str = "") -> JsonObject:
        """Add a call and return its answer, even if empty."""
        parent = self._add_prompt(prompt)
        text = completion_text(completion)
        answer = self._find_or_add(parent, "assistant", text)
        if (call := _FRAGMENTED_CALL.match(text)) and text.rstrip().endswith(")"):
            self._fragmented[parent] = call[1], answer
        if time:
            self.times.setdefault(answer["message_id"], time)
        return answer

    def _add_prompt(self, prompt: str) -> str | None:
        """Add the messages of a prompt and return the id of the last, or None."""
        parent: str | None = None
        for role, text in parse_prompt(prompt).messages:
            parent = self._find_or_add(parent, role, text)["message_id"]
        return parent

    def _find_or_add(self, parent: str | None, role: str, text: str) -> JsonObject:
        thought = split_thinking(text) if role == "assistant" else None
        answer = (thought.text if thought else text).strip()
        key = parent, role, answer
        if key in self._known:
            return self._known[key]
        blocks = [build.thinking(text)] if role == "thinking" else [build.text(text)]
        if thought and thought.thinking is not None:
            blocks = [build.thinking(thought.thinking), *([build.text(thought.text)] if thought.text else [])]
        call, fragmented = self._fragmented.get(parent, ("", None))
        if role == "assistant" and fragmented and call in answer:
            del self._fragmented[parent]
            fragmented["content"] = blocks
            self._known[key] = fragmented
            return fragmented
        message_role, author = _ROLES[role]
        message = build.message(
            message_id=f"{self._session_id}:call-{len(self.messages)}",
            parent_message_id=parent,
            role=message_role,
            timestamp="",
            content=blocks,
            metadata={"author_kind": author},
        )
        self._known[key] = message
        self.messages.append(message)
        return message
