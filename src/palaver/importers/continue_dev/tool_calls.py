"""Tool calls, their states and their results, which are items of their own or part of the states."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.importers.continue_dev.content import content_blocks
from palaver.importers.continue_dev.dev_data import ToolUse, output_text
from palaver.importers.continue_dev.fields import text_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._tools import parse_arguments

_ERRORED = "errored"


class ToolCall(NamedTuple):
    block: build.Block
    call_id: str
    name: str
    arguments: str
    """As the model wrote them."""
    has_generated_id: bool = False


class CallState:
    """State of a call, as the item of the model's message records it."""

    def __init__(self, fields: JsonObject) -> None:
        self.tool = fields.get("tool")
        self.is_error = fields.get("status") == _ERRORED
        self.call = fields.get("toolCall")
        self._output = fields.get("output")
        self.unmapped = {
            name: value
            for name, value in fields.items()
            if name not in {"toolCallId", "toolCall", "tool", "output"} and value is not None
        }

    def drop_repeated_arguments(self, arguments: JsonObject) -> None:
        """Drop arguments that repeat those of the call."""
        for name in ("parsedArgs", "processedArgs"):
            if self.unmapped.get(name) == arguments:
                del self.unmapped[name]

    def result(self) -> str | None:
        """Return the text of the output, or None if there is none or it is not text."""
        if not isinstance(self._output, list) or not self._output:
            return None
        return output_text(self._output)

    def metadata(self, result_text: str) -> JsonObject:
        """Return the unmapped fields, with the output as far as the result does not repeat it."""
        rest = dict(self.unmapped)
        output = self._output
        if isinstance(output, list) and self.result() is not None:
            if _contains_in_order(result_text, [part["content"] for part in output]):
                output = [{name: value for name, value in part.items() if name != "content"} for part in output]
            output = output if any(output) else None
        if output is not None:
            rest["output"] = output
        return rest


def _contains_in_order(whole: str, texts: list[str]) -> bool:
    position = 0
    for text in texts:
        if (found := whole.find(text, position)) < 0:
            return False
        position = found + len(text)
    return True


def call_states(item: JsonObject) -> tuple[dict[str, CallState], JsonObject]:
    """Return the states of an item's calls by id, and fields with entries that are not states.

    Before July 2025 an item had a single state, `toolCallState`. States of calls without an id have keys with `#`.
    """
    found: dict[str, CallState] = {}
    first: JsonObject = {}
    odd: JsonObject = {}
    for field in ("toolCallStates", "toolCallState"):
        stated = item.get(field)
        entries = stated if isinstance(stated, list) else [] if stated is None else [stated]
        for number, entry in enumerate(entries):
            match entry:
                case {"toolCallId": str(call_id)} | {"toolCall": {"id": str(call_id)}} if call_id:
                    if first.setdefault(call_id, entry) is entry:
                        found[call_id] = CallState(entry)
                    elif first[call_id] != entry:
                        odd.setdefault(field, []).append(entry)
                case {"toolCall": dict()}:
                    found[f"#{field}{number}"] = CallState(entry)
                case _:
                    odd.setdefault(field, []).append(entry)
    return found, odd


def message_calls(stated: Any, states: dict[str, CallState], message_id: str) -> Iterator[ToolCall | build.Block]:
    """Yield the calls of a message, including those found only in a state, and opaque blocks for what is not a call."""
    taken: set[str] = set()
    waiting = iter([name for name in states if name.startswith("#")])
    for number, raw in enumerate(stated if isinstance(stated, list) else [] if stated is None else [stated]):
        call = _parse_call(raw, message_id, number)
        if call is None:
            yield build.opaque(kind="tool_call", raw=raw)
            continue
        if call.has_generated_id and (name := next(waiting, None)):
            states[call.call_id] = states.pop(name)
        taken.add(call.call_id)
        yield call
    for name, state in list(states.items()):
        if name in taken:
            continue
        call = _parse_call(state.call, message_id, len(taken), "" if name.startswith("#") else name)
        if call is None:
            if state.call is not None:
                state.unmapped["toolCall"] = state.call
            continue
        if call.call_id != name:
            states[call.call_id] = states.pop(name)
        taken.add(call.call_id)
        yield call


def _parse_call(call: Any, message_id: str, number: int, known_id: str = "") -> ToolCall | None:
    match call:
        case {"function": {"name": str(name), **given}}:
            pass
        case _:
            return None
    stated = text_of(call, "id") or known_id
    call_id = stated or f"{message_id}:call-{number}"
    arguments = given.pop("arguments", None)
    if not (isinstance(arguments, (str, dict)) or arguments is None):
        given["arguments"] = arguments
        arguments = None
    block = build.tool_use(id=call_id, name=name, input=parse_arguments(arguments))
    rest = {field: value for field, value in call.items() if field not in {"id", "function"} and value != "function"}
    if "id" in call and not isinstance(call["id"], str) and call["id"] is not None:
        rest["id"] = call["id"]
    if given:
        rest["function"] = given
    if rest:
        block["source_fields"] = rest
    return ToolCall(block, call_id, name, arguments if isinstance(arguments, str) else "", not stated)


def result_block(call_id: str, content: Any, state: CallState | None) -> build.Block:
    """Build the result block of a call from the content of a tool's message."""
    if isinstance(content, str):
        result, text = content, content
    else:
        blocks = content_blocks(content)
        result, text = blocks or "", "\n".join(block.get("text") or "" for block in blocks)
    call_state = state.metadata(text) if state else {}
    return build.tool_result(
        tool_use_id=call_id,
        content=result,
        is_error=state.is_error if state else False,
        metadata={"call_state": call_state} if call_state else None,
    )


def attach_tool_use(use: ToolUse, call_id: str, result: JsonObject | None, caller: JsonObject) -> None:
    """Add the log entry of a call to its result, or to the message of the call if there is no result."""
    usage = dict(use.extra_fields)
    blocks = result["content"] if result else []
    results = (block for block in blocks if block["type"] == "tool_result" and block["tool_use_id"] == call_id)
    block = next(results, None)
    if hash(block["content"] if block and isinstance(block["content"], str) else None) != use.output_hash:
        output = use.ref.load().get("output")
        if output not in (None, []):
            usage["output"] = output
    if not usage:
        return
    if block is not None:
        metadata = block.setdefault("metadata", {})
    else:
        metadata = caller["metadata"].setdefault("call_states", {}).setdefault(call_id, {})
    if metadata.setdefault("tool_usage", usage) != usage:
        metadata.setdefault("more_tool_usage", []).append(usage)


class PendingCalls:
    """Calls of a session that await their results."""

    def __init__(self, session_id: str) -> None:
        self.calls: dict[str, ToolCall] = {}
        """Every call by id, to recognize it in prompts."""
        self.callers: dict[str, JsonObject] = {}
        """Messages with the calls, by call id."""
        self.results: dict[str, JsonObject] = {}
        """Messages with the results, by call id."""
        self.tools: dict[str, Any] = {}
        """Tool definitions, which the states repeat, by name."""
        self._session_id = session_id
        self._other_tools: dict[str, set[int]] = {}
        """Hashes of further definitions with the same name."""
        self._states: dict[str, CallState] = {}
        self._waiting: dict[str, None] = {}
        """Calls of the last answer, in order, for results that name no call."""
        self._answered: set[str] = set()

    def expect(self, items: list[tuple[int, Any]]) -> None:
        """Look ahead for results that have items of their own."""
        self._answered = {call_id for _, item in items for call_id in _answered_call_ids(item)}

    def add(self, item: JsonObject, raw_message: JsonObject, message: JsonObject) -> int:
        """Add the calls in an item to the message built from it, and return how many had no id."""
        states, odd = call_states(item)
        message["metadata"] |= odd
        content = message["content"]
        without_id = 0
        self._waiting = {}
        for call in message_calls(raw_message.get("toolCalls"), states, message["message_id"]):
            if not isinstance(call, ToolCall):
                content.append(call)
                continue
            content.append(call.block)
            self.calls[call.call_id] = call
            self.callers[call.call_id] = message
            if call.call_id not in self._answered:
                self._waiting[call.call_id] = None
            without_id += call.has_generated_id
            if state := states.get(call.call_id):
                state.drop_repeated_arguments(call.block["input"])
                self._add_definition(call.name, state.tool)
        self._states |= states
        for call_id in states:
            self.callers.setdefault(call_id, message)
        if len(content) > 1 and content[0] == {"type": "text", "text": ""}:
            del content[0]
        return without_id

    def _add_definition(self, name: str, tool: Any) -> None:
        if tool is None or self.tools.setdefault(name, tool) == tool:
            return
        others = self._other_tools.setdefault(name, set())
        if (definition := hash(repr(tool))) not in others:
            others.add(definition)
            number = len(others) + 1
            while (unique_name := f"{name}-{number}") in self.tools:
                number += 1
            self.tools[unique_name] = tool

    def match_result(self, message: JsonObject) -> tuple[str, build.Block]:
        """Return call id and result of a tool's message: of the call it names, else of the first that awaits one."""
        call_id = text_of(message, "toolCallId")
        if not call_id:
            call_id = next(iter(self._waiting), f"{self._session_id}:unknown-call")
            self._answered.add(call_id)
        self._waiting.pop(call_id, None)
        return call_id, result_block(call_id, message.get("content"), self._states.pop(call_id, None))

    def take_unanswered(self) -> Iterator[tuple[str, JsonObject, build.Block]]:
        """End a turn: yield the results that only states hold, with call id and calling message.

        States without a result are attached to the message of their call.
        """
        states, self._states = self._states, {}
        for call_id, state in states.items():
            result = state.result()
            caller = self.callers[call_id]
            if result is not None and call_id not in self._answered:
                yield call_id, caller, result_block(call_id, result, state)
            elif call_state := state.metadata(""):
                caller["metadata"].setdefault("call_states", {})[call_id] = call_state


def _answered_call_ids(item: Any) -> list[str]:
    """Return the id of the call that a tool's item names, if any, as a list."""
    match item:
        case {"message": {"role": "tool", "toolCallId": str(call_id)}} | {"role": "tool", "toolCallId": str(call_id)}:
            return [call_id]
        case _:
            return []
