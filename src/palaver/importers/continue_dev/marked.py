"""Chat templates that differ only in their marks: most of them, and all that Continue makes in one factory.

A prompt is a system text, then one mark and text a message with a separator between them, and a mark at its end that
asks the model to go on. Whatever is not a user's message has the assistant's mark. Some templates leave the system text
out, some say something else where there is none.
"""

import re
from typing import final

from palaver.importers.continue_dev.said import Said, with_system_first, without_open_answer


@final
class Marked:
    """One such template.

    `is_seen_anywhere`: its marks are so odd that a prompt with both is one of its own, whatever it begins with.
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
        is_seen_anywhere: bool = False,
    ) -> None:
        self.name = name
        self._user = user
        self._assistant = assistant
        self._separator = separator
        self._before_system, self._after_system = system
        self._prefix = prefix
        self._without_system = without_system
        self._closing = closing
        """The token at a message's end, which may also stand at the prompt's."""
        self._is_seen_anywhere = is_seen_anywhere
        marks = f"(?:({re.escape(user)})|{re.escape(assistant)})"
        self._mark = re.compile(marks)
        self._next = re.compile(f"(?:{re.escape(separator)}){marks}")
        self._after = re.compile(f"(?:{re.escape(self._after_system)}){marks}")

    def begins(self, prompt: str) -> bool:
        """Whether a prompt begins as the template does; one without tokens of its own must ask for an answer, too."""
        begun = len(self._prefix)
        opening = (self._user, self._assistant, self._before_system, self._without_system)
        return (
            prompt.startswith(self._prefix)
            and prompt.startswith(tuple(filter(None, opening)), begun)
            and (bool(self._closing) or prompt.find(self._separator + self._assistant, begun) >= 0)
        )

    def may_be(self, prompt: str) -> bool:
        """Whether the marks are in a prompt that begins with something else."""
        return self._is_seen_anywhere and self._user in prompt and self._separator + self._assistant in prompt

    def messages(self, prompt: str) -> list[Said]:
        start, said = self._opening(prompt)
        if start is None:
            return said
        first = self._mark.match(prompt, start)
        assert first is not None
        role, begun = _role(first), first.end()
        for mark in self._next.finditer(prompt, begun):
            said.append(Said(role, prompt[begun : mark.start()]))
            role, begun = _role(mark), mark.end()
        said.append(Said(role, self._unclosed(prompt[begun:])))
        return without_open_answer(with_system_first(said) if self._before_system == self._user else said)

    def _opening(self, prompt: str) -> tuple[int | None, list[Said]]:
        """Where the first message's mark stands, and the system text before it."""
        start = len(self._prefix) if prompt.startswith(self._prefix) else 0
        told = start + len(self._without_system) if prompt.startswith(self._without_system, start) else start
        if self._mark.match(prompt, told):
            return told, []
        if told == len(prompt):
            return None, []
        if prompt.startswith(self._before_system, start):
            start += len(self._before_system)
        end, ended = self._after_system, self._after.search(prompt, start)
        if ended is None:
            end, ended = self._separator, self._next.search(prompt, start)
        system = prompt[start : ended.start()] if ended else prompt[start:].removesuffix(self._after_system)
        return ended.start() + len(end) if ended else None, [Said("system", system)] if system else []

    def _unclosed(self, text: str) -> str:
        if not self._closing:
            return text
        return text.removesuffix(self._separator if text.endswith(self._separator) else self._closing)


def _role(mark: re.Match[str]) -> str:
    return "assistant" if mark[1] is None else "user"
