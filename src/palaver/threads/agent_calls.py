"""Links from the conversation of an agent to the one that started it.

A model starts an agent by calling a tool with a prompt, and the agent's first request repeats that prompt. So the link
is known wherever both are in one source. Prompts that several conversations gave to their agents link to none of them.
"""

from palaver.model.build import JsonObject
from palaver.threads.chain import without_reminders

_TOOLS = frozenset({"task", "agent"})
_MAX_REMEMBERED = 1 << 16


class AgentCalls:
    """Remembers which conversation gave which prompt to an agent."""

    def __init__(self) -> None:
        self._callers: dict[tuple[str, int], str] = {}
        """Conversations by caller and hash of the prompt; empty if there are several."""

    def add(self, caller: str, conversation_id: str, content: list[JsonObject]) -> None:
        """Remember the prompts in a message of a model."""
        for block in content:
            match block:
                case {"type": "tool_use", "name": str(name), "input": {"prompt": str(prompt)}} if prompt.strip():
                    if name.lower() in _TOOLS:
                        self._remember(caller, conversation_id, prompt)
                case _:
                    pass

    def _remember(self, caller: str, conversation_id: str, prompt: str) -> None:
        if len(self._callers) > _MAX_REMEMBERED:
            self._callers.clear()
        key = caller, hash(prompt.strip())
        if self._callers.setdefault(key, conversation_id) != conversation_id:
            self._callers[key] = ""

    def parent_of(self, caller: str, conversation_id: str, first_content: list[JsonObject]) -> str | None:
        """Return the conversation that started this one with its first prompt, if it is known."""
        if not self._callers:
            return None
        texts = [without_reminders(block["text"]) for block in first_content if block["type"] == "text"]
        parent = self._callers.get((caller, hash("".join(texts).strip())))
        return parent if parent and parent != conversation_id else None
