"""Calls of tools and their results: what the model asked for, what became of it, what came back."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.importers.continue_dev.content import content_blocks
from palaver.importers.continue_dev.dev_data import ToolUse, output_text
from palaver.importers.continue_dev.fields import text_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.wire.openai._calls import arguments_from

_ERRORED = "errored"


class Call(NamedTuple):
    block: build.Block
    call_id: str
    name: str
    arguments: str
    """As the model wrote them."""
    has_made_id: bool = False


class State:
    """What became of a call, as the item of the model's message keeps it."""

    def __init__(self, fields: JsonObject) -> None:
        self.tool = fields.get("tool")
        self.is_error = fields.get("status") == _ERRORED
        self._call = fields.get("toolCall")
        self._output = fields.get("output")
        self.rest = {
            name: value
            for name, value in fields.items()
            if name not in {"toolCallId", "toolCall", "tool", "output"} and value is not None
        }

    def call(self) -> Any:
        return self._call

    def forget_arguments(self, given: JsonObject) -> None:
        """Drop the arguments where they say what the call says."""
        for name in ("parsedArgs", "processedArgs"):
            if self.rest.get(name) == given:
                del self.rest[name]

    def result(self) -> str | None:
        """The text that came back; None where there is nothing, or something else."""
        if not isinstance(self._output, list) or not self._output:
            return None
        return output_text(self._output)

    def about(self, said: str) -> JsonObject:
        """What else is known, without the output as far as the result says it."""
        rest = dict(self.rest)
        output = self._output
        if isinstance(output, list) and self.result() is not None:
            if _says_all(said, [one["content"] for one in output]):
                output = [{name: value for name, value in one.items() if name != "content"} for one in output]
            output = output if any(output) else None
        if output is not None:
            rest["output"] = output
        return rest


def _says_all(said: str, texts: list[str]) -> bool:
    """Whether a text has some others in it, one behind the other."""
    place = 0
    for text in texts:
        if (found := said.find(text, place)) < 0:
            return False
        place = found + len(text)
    return True


def states_of(item: JsonObject) -> tuple[dict[str, State], JsonObject]:
    """The states of an item's calls by their ids, and the fields that are no such thing.

    Before July 2025 an item had one, `toolCallState`.
    """
    found: dict[str, State] = {}
    first: JsonObject = {}
    odd: JsonObject = {}
    for field in ("toolCallStates", "toolCallState"):
        stated = item.get(field)
        entries = stated if isinstance(stated, list) else [] if stated is None else [stated]
        for number, entry in enumerate(entries):
            match entry:
                case {"toolCallId": str(call_id)} | {"toolCall": {"id": str(call_id)}} if call_id:
                    if first.setdefault(call_id, entry) is entry:
                        found[call_id] = State(entry)
                    elif first[call_id] != entry:
                        odd.setdefault(field, []).append(entry)
                case {"toolCall": dict()}:
                    found[f"#{field}{number}"] = State(entry)
                case _:
                    odd.setdefault(field, []).append(entry)
    return found, odd


def calls_of(stated: Any, states: dict[str, State], message_id: str) -> Iterator[Call | build.Block]:
    """The calls of a message, those that only a state tells of included; what is no call comes as a block."""
    taken: set[str] = set()
    waiting = iter([name for name in states if name.startswith("#")])
    for number, call in enumerate(stated if isinstance(stated, list) else [] if stated is None else [stated]):
        made = _call(call, message_id, number)
        if made is None:
            yield build.opaque(kind="tool_call", raw=call)
            continue
        if made.has_made_id and (name := next(waiting, None)):
            states[made.call_id] = states.pop(name)
        taken.add(made.call_id)
        yield made
    for name, state in list(states.items()):
        if name in taken:
            continue
        call = state.call()
        made = _call(call, message_id, len(taken), "" if name.startswith("#") else name)
        if made is None:
            if call is not None:
                state.rest["toolCall"] = call
            continue
        if made.call_id != name:
            states[made.call_id] = states.pop(name)
        taken.add(made.call_id)
        yield made


def _call(call: Any, message_id: str, number: int, known_id: str = "") -> Call | None:
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
    block = build.tool_use(id=call_id, name=name, input=arguments_from(arguments))
    rest = {field: value for field, value in call.items() if field not in {"id", "function"} and value != "function"}
    if "id" in call and not isinstance(call["id"], str) and call["id"] is not None:
        rest["id"] = call["id"]
    if given:
        rest["function"] = given
    if rest:
        block["source_fields"] = rest
    return Call(block, call_id, name, arguments if isinstance(arguments, str) else "", not stated)


def result_block(call_id: str, content: Any, state: State | None) -> build.Block:
    """The result that a message of a tool holds."""
    said = content if isinstance(content, str) else None
    blocks = None if said is not None else content_blocks(content)
    text = said if said is not None else "\n".join(block.get("text") or "" for block in blocks or ())
    about = state.about(text) if state else {}
    return build.tool_result(
        tool_use_id=call_id,
        content=said if said is not None else blocks or "",
        is_error=state.is_error if state else False,
        metadata={"call_state": about} if about else None,
    )


def take_use(use: ToolUse, call_id: str, result: JsonObject | None, caller: JsonObject) -> None:
    """Keep what was logged of a call with its result, or with the call where there is none."""
    facts = dict(use.facts)
    blocks = result["content"] if result else []
    block = next((one for one in blocks if one["type"] == "tool_result" and one["tool_use_id"] == call_id), None)
    if hash(block["content"] if block and isinstance(block["content"], str) else None) != use.output:
        output = use.ref.load().get("output")
        if output not in (None, []):
            facts["output"] = output
    if not facts:
        return
    if block is not None:
        about = block.setdefault("metadata", {})
    else:
        about = caller["metadata"].setdefault("call_states", {}).setdefault(call_id, {})
    if about.setdefault("tool_usage", facts) != facts:
        about.setdefault("more_tool_usage", []).append(facts)
