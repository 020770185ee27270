"""Conversations known from the log of their calls alone: each call repeats all that was said before it."""

import re

from palaver.importers.continue_dev.content import without_thoughts
from palaver.importers.continue_dev.prompts import completion_text, messages_of_prompt
from palaver.model import build
from palaver.model.build import JsonObject

_ROLES: dict[str, tuple[build.Role, str]] = {
    "system": ("system", "harness"),
    "user": ("user", "human"),
    "assistant": ("assistant", "model"),
    "thinking": ("assistant", "model"),
    "tool": ("tool", "tool"),
}
_CALLS_IN_PIECES = re.compile(r"\s*([\w.-]+\()\)")


class Recovered:
    """The messages of some calls; where a later call does not go on from an earlier one, they branch."""

    def __init__(self, session_id: str) -> None:
        self.messages: list[JsonObject] = []
        self.times: dict[str, str] = {}
        self._session_id = session_id
        self._known: dict[tuple[str | None, str, str], JsonObject] = {}
        self._pieces: dict[str | None, tuple[str, JsonObject]] = {}
        """Answers that are calls of tools in pieces, with the beginning of the first call, by the message before them:
        the next prompt has them whole."""

    def add(self, prompt: str, completion: str, time: str = "") -> JsonObject | None:
        """Take a call in; its answer, if there is one."""
        if completion:
            return self.add_answered(prompt, completion, time)
        self._prompted(prompt)
        return None

    def add_answered(self, prompt: str, completion: str, time: str = "") -> JsonObject:
        """Take a call in; its answer, though it may say nothing."""
        parent = self._prompted(prompt)
        text = completion_text(completion)
        answer = self._message(parent, "assistant", text)
        if (call := _CALLS_IN_PIECES.match(text)) and text.rstrip().endswith(")"):
            self._pieces[parent] = call[1], answer
        if time:
            self.times.setdefault(answer["message_id"], time)
        return answer

    def _prompted(self, prompt: str) -> str | None:
        """The last message of a prompt."""
        parent: str | None = None
        for role, text in messages_of_prompt(prompt).messages:
            parent = self._message(parent, role, text)["message_id"]
        return parent

    def _message(self, parent: str | None, role: str, text: str) -> JsonObject:
        thought = without_thoughts(text) if role == "assistant" else None
        words = (thought.said if thought else text).strip()
        key = parent, role, words
        if key in self._known:
            return self._known[key]
        blocks = [build.thinking(text)] if role == "thinking" else [build.text(text)]
        if thought and thought.thinking is not None:
            blocks = [build.thinking(thought.thinking), *([build.text(thought.said)] if thought.said else [])]
        call, pieces = self._pieces.get(parent, ("", None))
        if role == "assistant" and pieces and call in words:
            del self._pieces[parent]
            pieces["content"] = blocks
            self._known[key] = pieces
            return pieces
        stated, author = _ROLES[role]
        made = build.message(
            message_id=f"{self._session_id}:call-{len(self.messages)}",
            parent_message_id=parent,
            role=stated,
            timestamp="",
            content=blocks,
            metadata={"author_kind": author},
        )
        self._known[key] = made
        self.messages.append(made)
        return made
