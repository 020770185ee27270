"""Where Chat has the parts of an exchange, and what it calls their fields."""

from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._answers import answer_order
from palaver.wire._places import Places, Pointers, block_pointers, numbered
from palaver.wire.openai._provider_data import CHAT
from palaver.wire.openai._tools import tool_places
from palaver.wire.openai._usage import count_places

_FIELDS = {
    "max_output_tokens": ("max_completion_tokens", "max_tokens"),
    "sampling": ("",),
    "sampling/stop_sequences": ("stop",),
    "thinking": ("reasoning_effort",),
    "output_format": ("response_format/json_schema", "response_format"),
    "output_format/type": ("response_format/type",),
    "output_format/json_schema": ("response_format/json_schema/schema",),
    "answer_count": ("n",),
    "tool_choice": ("function_call",),
    "tool_choice/name": ("tool_choice/function/name", "function_call/name"),
    "response_id": ("id",),
    "created_at": ("created",),
    **count_places(CHAT),
    **{name: (f"function/{name}", f"custom/{name}") for name in ("name", "description", "parameters", "strict")},
    "input": ("function/arguments", "custom/input", "arguments"),
    "tool_use_id": ("tool_call_id",),
    "source": ("image_url", "input_audio", "file"),
    "source/data": ("image_url/url", "input_audio/data", "file/file_data", "file/file_id", "data", "id"),
    "text": ("transcript",),
    "raw": ("",),
}
_REASONING = ("reasoning_content", "reasoning", "reasoning_text", "reasoning_details", "reasoning_opaque")


def chat_places(payload: JsonObject, part: JsonObject) -> Places:
    """Return where a request or response stands in the payload that it was read from."""
    if "messages" not in part:
        return Places(payload, CHAT, _FIELDS, _answer_pointers(payload, part))
    messages = payload.get("messages")
    pointers = _turn_pointers(messages, part) if isinstance(messages, list) else {}
    return Places(payload, CHAT, _FIELDS, pointers | tool_places(payload, CHAT))


def _turn_pointers(messages: list[Any], request: JsonObject) -> Pointers:
    """Return the pointers of the system prompt's blocks and of the turns: the prompt leads, each turn is a message."""
    pointers: Pointers = {}
    turns: list[JsonObject] = request["messages"]
    first_turn = len(messages) - len(turns)
    number = 0
    for index, message in enumerate(messages[:first_turn]):
        for block in block_pointers(message.get("content"), f"/messages/{index}/content"):
            pointers[f"/system/{number}"] = (block,)
            pointers[f"/system/{number}/provider_data/{CHAT}/message"] = (f"/messages/{index}",)
            number += 1
    for number, turn in enumerate(turns):
        start = f"/messages/{first_turn + number}"
        pointers[f"/messages/{number}"] = (start,)
        found = _blocks_of_message(messages[first_turn + number], turn["content"], start)
        pointers |= _numbered(f"/messages/{number}/content", found)
    return pointers


def _numbered(start: str, found: list[str]) -> Pointers:
    return {f"{start}/{number}": (pointer,) for number, pointer in enumerate(found)}


def _blocks_of_message(message: Any, blocks: list[JsonObject], start: str) -> list[str]:
    """Return the pointer of each block of a turn; the message itself for one that was kept whole."""
    match message, blocks:
        case _, [{"raw": raw}] if raw == message:
            return [start]
        case {"role": "tool" | "function"}, _:
            return [start]
        case {"role": "assistant"}, _:
            return _blocks_of_assistant(message, blocks, start)
        case _:
            return block_pointers(message.get("content"), f"{start}/content")


def _blocks_of_assistant(message: JsonObject, blocks: list[JsonObject], start: str) -> list[str]:
    """Return the pointer of each block: reasoning, content, refusal, audio and calls follow each other."""
    field = next((name for name in _REASONING if message.get(name)), None)
    is_reasoning = field is not None and bool(blocks) and blocks[0]["type"] == "thinking"
    content: Any = message.get("content")
    leading = [f"{start}/{field}"] if is_reasoning else []
    leading += block_pointers(content, f"{start}/content") if content is not None else []
    leading += [f"{start}/refusal"] if isinstance(message.get("refusal"), str) else []
    calls = message.get("tool_calls")
    trailing = numbered(f"{start}/tool_calls", len(calls)) if isinstance(calls, list) else []
    between = [f"{start}/{name}" for name in ("audio", "function_call") if isinstance(message.get(name), dict)]
    return [*leading, *between[: len(blocks) - len(leading) - len(trailing)], *trailing]


def _answer_pointers(payload: JsonObject, response: JsonObject) -> Pointers:
    choices = payload.get("choices")
    order = answer_order(choices, "index") if isinstance(choices, list) else []
    if not order:
        return {}
    start = f"/choices/{order[0]}"
    pointers: Pointers = {
        "/finish_reason": (f"{start}/finish_reason",),
        f"/provider_data/{CHAT}/choices/0": (start,),
    }
    answers = [("", response), *((f"/alternatives/{n}", a) for n, a in enumerate(response.get("alternatives") or ()))]
    for position, (answer_pointer, answer) in zip(order, answers, strict=True):
        start = f"/choices/{position}"
        if answer_pointer:
            pointers[answer_pointer] = (start,)
        pointers |= _blocks_of_choice(payload["choices"][position], answer["content"], start, answer_pointer)
    return pointers


def _blocks_of_choice(choice: Any, blocks: list[JsonObject], start: str, answer: str) -> Pointers:
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return {f"{answer}/content": (f"{start}/message", start)}
    found = _blocks_of_assistant(choice["message"], blocks, f"{start}/message")
    pointers = {f"{answer}/content": (f"{start}/message",), **_numbered(f"{answer}/content", found)}
    if choice["message"].get("annotations"):
        cited = (f"{start}/message/annotations",)
        pointers |= {f"{answer}/content/{number}/citations": cited for number in range(len(blocks))}
    return pointers
