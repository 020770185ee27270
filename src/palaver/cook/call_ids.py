"""Ids of calls and results that their source left out, filled in before a payload is converted.

A result without an id answers the call that has waited longest, of the same tool if the result names one. Arguments are
parsed here as well, exactly: NaN becomes null, integers of any size stay integers, and text that is not a JSON object
stays as it is under the key `raw`.
"""

from typing import Any

from palaver.cook.blocks import UNKNOWN_CALL
from palaver.cook.pieces import json_text, parse_arguments
from palaver.model.build import JsonObject

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_RESULT_ROLES = ("tool", "function")


class CallPairing:
    """Assigns ids to calls without one, and results without an id to the call that has waited longest."""

    def __init__(self) -> None:
        self._unanswered: dict[str, str] = {}
        """The tool names of calls without a result yet, by call id, in order."""
        self._assigned_ids = 0
        self.seen: list[tuple[str, str | None]] = []
        """Ids found since the caller last cleared this: of calls with the tool's name, of results with None."""
        self.has_guessed = False
        """Whether an id was guessed since the caller last reset this: elsewhere the same message may get another id."""
        self.constants: list[str] = []
        """NaN and infinities in arguments, for which null stands."""
        self.unread: list[list[tuple[str, str | None]]] = []
        """What `seen` was for messages that were converted before, and stand after those registered here."""

    def register_call(self, identifier: Any, name: Any) -> str:
        name = name if isinstance(name, str) else ""
        if isinstance(identifier, str) and identifier:
            self.seen.append((identifier, name))
        else:
            identifier = f"call_{self._assigned_ids}"
            self._assigned_ids += 1
            self.has_guessed = True
        self._catch_up()
        self._unanswered[identifier] = name
        return identifier

    def register_result(self, identifier: Any, name: Any = None) -> str:
        self._catch_up()
        if isinstance(identifier, str) and identifier:
            self.seen.append((identifier, None))
            self._unanswered.pop(identifier, None)
            return identifier
        self.has_guessed = True
        for waiting, tool_name in self._unanswered.items():
            if not isinstance(name, str) or name == tool_name:
                del self._unanswered[waiting]
                return waiting
        return UNKNOWN_CALL

    def _catch_up(self) -> None:
        for seen in self.unread:
            for identifier, name in seen:
                if name is None:
                    self._unanswered.pop(identifier, None)
                else:
                    self._unanswered[identifier] = name
        self.unread.clear()


def complete_message(wire: str, message: Any, pairing: CallPairing) -> Any:
    """Return a message of a request or a response with an id for every call and result."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        message = {**message, "content": json_text(content)}
    if wire == "anthropic":
        blocks = [_complete_block(block, pairing) for block in content] if isinstance(content, list) else None
        return message if blocks is None else {**message, "content": blocks}
    return _complete_chat_message(message, pairing) if wire == "openai-chat" else message


def complete_response(wire: str, payload: JsonObject, pairing: CallPairing) -> JsonObject:
    """Return a response with an id for every call."""
    if wire == "anthropic":
        return complete_message(wire, payload, pairing)
    if wire == "openai-responses":
        return {**payload, "output": complete_items(payload.get("output"), pairing)}
    choices = payload.get("choices")
    if wire != "openai-chat" or not isinstance(choices, list):
        return payload
    return {**payload, "choices": [_complete_choice(choice, pairing) for choice in choices]}


def complete_items(items: Any, pairing: CallPairing) -> Any:
    """Return the items of Responses with the arguments of every call parsed; anything but a list unchanged."""
    return [_complete_item(item, pairing) for item in items] if isinstance(items, list) else items


def _complete_item(item: Any, pairing: CallPairing) -> Any:
    match item:
        case {"type": str(kind), "arguments": str(text)} if kind.endswith("_call"):
            return {**item, "arguments": parse_arguments(text, pairing.constants.append)}
        case _:
            return item


def _complete_choice(choice: Any, pairing: CallPairing) -> Any:
    match choice:
        case {"message": dict(message)}:
            return {**choice, "message": complete_message("openai-chat", {"role": "assistant", **message}, pairing)}
        case _:
            return choice


def _complete_block(block: Any, pairing: CallPairing) -> Any:
    match block:
        case {"type": str(kind)} if kind in _CALLS:
            name = block.get("name")
            return {
                **block,
                "id": pairing.register_call(block.get("id"), name),
                "input": parse_arguments(block.get("input"), pairing.constants.append),
            }
        case {"type": str(kind)} if kind.endswith("tool_result"):
            result = {**block, "tool_use_id": pairing.register_result(block.get("tool_use_id"))}
            if kind == "tool_result" and isinstance(block.get("content"), dict):
                result["content"] = json_text(block["content"])
            return result
        case _:
            return block


def _complete_chat_message(message: JsonObject, pairing: CallPairing) -> JsonObject:
    if message.get("role") in _RESULT_ROLES:
        call_id = pairing.register_result(message.get("tool_call_id"), message.get("name"))
        return {"role": "tool", "tool_call_id": call_id, "content": message.get("content")}
    stated = message.get("tool_calls")
    calls = [_complete_call(call, pairing) for call in stated] if isinstance(stated, list) else []
    legacy = message.get("function_call")
    if isinstance(legacy, dict):
        calls.append(_complete_call({"function": legacy}, pairing))
    if not calls:
        return message
    # Only the assistant makes calls, whatever the log calls it.
    rest = {key: value for key, value in message.items() if key != "function_call"}
    return {**rest, "role": "assistant", "tool_calls": calls}


def _complete_call(call: Any, pairing: CallPairing) -> Any:
    match call:
        case {"custom": {"name": str(name), "input": str(text)}}:
            return {
                "id": pairing.register_call(call.get("id"), name),
                "type": "custom",
                "custom": {"name": name, "input": text},
            }
        case {"function": dict(function)}:
            stated = function.get("name")
            name = stated if isinstance(stated, str) else "" if stated is None else json_text(stated)
            arguments = parse_arguments(function.get("arguments"), pairing.constants.append)
            call_id = pairing.register_call(call.get("id"), name)
            return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
        case _:
            return call
