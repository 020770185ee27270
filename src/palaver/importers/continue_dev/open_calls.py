"""Calls of tools that wait for their results: these have items of their own, or stand in the states of the calls."""

from collections.abc import Iterator
from typing import Any

from palaver.importers.continue_dev.fields import text_of
from palaver.importers.continue_dev.tool_calls import Call, State, calls_of, result_block, states_of
from palaver.model import build
from palaver.model.build import JsonObject


class OpenCalls:
    def __init__(self, session_id: str) -> None:
        self.made: dict[str, Call] = {}
        """Every call, for whoever has to know how it reads in a prompt."""
        self.callers: dict[str, JsonObject] = {}
        """The messages with the calls."""
        self.results: dict[str, JsonObject] = {}
        """The messages with the results."""
        self.tools: dict[str, Any] = {}
        """The definitions of tools that the states repeat, each once."""
        self._session_id = session_id
        self._other_tools: dict[str, set[int]] = {}
        """Tells other definitions of the same names from each other."""
        self._states: dict[str, State] = {}
        self._waiting: dict[str, None] = {}
        """Calls of the last answer whose results name no call, if there are any."""
        self._answered: set[str] = set()

    def expect(self, items: list[tuple[int, Any]]) -> None:
        """Look ahead for results that have items of their own."""
        self._answered = {call_id for _, item in items for call_id in _answers(item)}

    def add(self, item: JsonObject, message: JsonObject, made: JsonObject) -> int:
        """Add the calls of a model's message to it; how many of them had no id."""
        states, odd = states_of(item)
        made["metadata"] |= odd
        content = made["content"]
        nameless = 0
        self._waiting = {}
        for call in calls_of(message.get("toolCalls"), states, made["message_id"]):
            if not isinstance(call, Call):
                content.append(call)
                continue
            content.append(call.block)
            self.made[call.call_id] = call
            self.callers[call.call_id] = made
            if call.call_id not in self._answered:
                self._waiting[call.call_id] = None
            nameless += call.has_made_id
            if state := states.get(call.call_id):
                state.forget_arguments(call.block["input"])
                self._keep_tool(call.name, state.tool)
        self._states |= states
        for call_id in states:
            self.callers.setdefault(call_id, made)
        if len(content) > 1 and content[0] == {"type": "text", "text": ""}:
            del content[0]
        return nameless

    def _keep_tool(self, name: str, tool: Any) -> None:
        if tool is None or self.tools.setdefault(name, tool) == tool:
            return
        others = self._other_tools.setdefault(name, set())
        if (spelled := hash(repr(tool))) not in others:
            others.add(spelled)
            number = len(others) + 1
            while (wanted := f"{name}-{number}") in self.tools:
                number += 1
            self.tools[wanted] = tool

    def answer(self, message: JsonObject) -> tuple[str, build.Block]:
        """The result that a tool's message holds: of the call it names, else of the first that waits for one."""
        call_id = text_of(message, "toolCallId")
        if not call_id:
            call_id = next(iter(self._waiting), f"{self._session_id}:unknown-call")
            self._answered.add(call_id)
        self._waiting.pop(call_id, None)
        return call_id, result_block(call_id, message.get("content"), self._states.pop(call_id, None))

    def left_over(self) -> Iterator[tuple[str, JsonObject, build.Block]]:
        """Before the next turn: results that only the states hold, with the messages of their calls."""
        states, self._states = self._states, {}
        for call_id, state in states.items():
            result = state.result()
            caller = self.callers[call_id]
            if result is not None and call_id not in self._answered:
                yield call_id, caller, result_block(call_id, result, state)
            elif about := state.about(""):
                caller["metadata"].setdefault("call_states", {})[call_id] = about


def _answers(item: Any) -> list[str]:
    """The call that an item of a tool names."""
    match item:
        case {"message": {"role": "tool", "toolCallId": str(call_id)}} | {"role": "tool", "toolCallId": str(call_id)}:
            return [call_id]
        case _:
            return []
