"""Bare messages: one message, or an array of messages or items, without a request around it.

They are read as the messages of a request, and the messages of the written request are given back. A system message
that leads would be the prompt of a request; here it stays among the messages. A format that has no such message gets
one of the user, and the change is reported.
"""

from functools import partial
from typing import Any

from palaver.errors import ContentError
from palaver.model.build import JsonObject
from palaver.wire import Loss, wire_format
from palaver.workflows.convert.parts import EXCHANGE, UNKNOWN_MODEL, Converted, Parts, prompt_roles, without_prompt_role

MESSAGE_FIELDS = {
    "openai-chat": "messages",
    "openai-responses": "input",
    "anthropic": "messages",
    "gemini": "contents",
}
"""The field of a request that holds the messages."""
OPENAI_FORMATS = ("openai-chat", "openai-responses")
NO_ANSWER = "[No response generated]"
"""What the seed dialect says for an assistant that says nothing."""
_ITEM_TYPES = frozenset({"message", "reasoning", "item_reference", "compaction"})
_ITEM_ENDINGS = ("_call", "_output", "_list_tools", "_approval_request", "_approval_response")
_GUARD: JsonObject = {"role": "user", "content": "-"}
"""Stands before a system message, so that a reader does not take it for the prompt of the request."""


def is_message(value: Any, source: str) -> bool:
    """Return whether a value is a bare message of a format, or an item of the Responses API."""
    match source, value:
        case "openai-responses", {"type": str(kind)} if kind in _ITEM_TYPES or kind.endswith(_ITEM_ENDINGS):
            return True
        case "anthropic", {"type": "message"} | {"stop_reason": _}:
            return False  # a response, which has the role of a message as well
        case "gemini", {"parts": _}:
            return True
        case (("openai-responses" | "anthropic" | "exchange"), {"role": str(), "content": _}):
            return "finish_reason" not in value
        case "openai-chat", {"role": str()}:
            return "messages" not in value
        case _:
            return False


def read_messages(values: list[Any], source: str, target: str) -> Parts:
    """Read bare messages; one that is none of the format's is refused, for it would be written as it is."""
    for number, value in enumerate(values):
        if not is_message(value, source):
            raise ContentError(f"element {number} of the array is not a message in the format {source}")
    if source == EXCHANGE:
        return Parts({"model": UNKNOWN_MODEL, "messages": values})
    wire = wire_format(source)
    is_guarded = source in OPENAI_FORMATS and source != target
    request = wire.request_from_wire({MESSAGE_FIELDS[source]: [_GUARD, *values] if is_guarded else values})
    if is_guarded:
        request["messages"] = request["messages"][1:]
    places = partial(wire.places, {MESSAGE_FIELDS[source]: values}, request)
    return Parts({"model": UNKNOWN_MODEL, **request}, provider=wire.provider, places={"request": places})


def messages_of(parts: Parts, payload: JsonObject, losses: list[Loss], target: str, dialect: str) -> Converted:
    """Return the messages of a written request, in the shape in which they were given."""
    found = payload.get(MESSAGE_FIELDS[target], [])
    messages: list[Any] = [{"role": "user", "content": found}] if isinstance(found, str) else found
    kept = [loss for loss in losses if loss.pointer.startswith(("/messages", "/system"))]
    if target == "openai-chat" and dialect == "seed":
        messages = _with_answers(messages, parts, kept)
    kept = parts.located("request", kept)
    if parts.shape == "messages":
        return Converted(messages, kept)
    if not messages:
        raise ContentError(f"{target} cannot express any part of this message")
    if len(messages) == 1:
        return Converted(messages[0], kept)
    reason = f"one message became an array of {len(messages)} messages in {target}"
    others = [loss for loss in kept if loss.pointer or loss.change != "changed"]
    return Converted(messages, [*others, Loss("", reason, "changed")])


def place_prompts(request: JsonObject, target: str) -> tuple[JsonObject, list[Loss]]:
    """Return the request with every system message among its messages as the target has it."""
    own_names = {name.replace("-", "_") for name in (OPENAI_FORMATS if target in OPENAI_FORMATS else (target,))}
    messages: list[JsonObject] = []
    losses: list[Loss] = []
    for number, message in enumerate(request["messages"]):
        noted = prompt_roles(message)
        if target == EXCHANGE or not noted or not own_names.isdisjoint(noted):
            messages.append(message)  # the writer knows the role, if there is one
            continue
        role = next(iter(noted.values()))
        data = without_prompt_role(message["provider_data"])
        if target in OPENAI_FORMATS:
            data[target.replace("-", "_")] = {"role": role}
        else:
            reason = f"{target} has no {role} messages; it became a user message"
            losses.append(Loss(f"/messages/{number}/role", reason, "changed"))
        messages.append({**message, "provider_data": data})
    return {**request, "messages": messages}, losses


def _with_answers(messages: list[Any], parts: Parts, losses: list[Loss]) -> list[Any]:
    """Return the messages with a sentence wherever the assistant says and does nothing."""
    turns: list[JsonObject] = (parts.request or {})["messages"]
    if not messages and turns and all(turn["role"] == "assistant" for turn in turns):
        messages = [{"role": "assistant", "content": None}]
    answered = [{**message, "content": NO_ANSWER} if _is_empty_answer(message) else message for message in messages]
    if answered != messages:
        losses.append(Loss("/messages", "a placeholder sentence replaces the missing answer", "changed"))
    return answered


def _is_empty_answer(message: Any) -> bool:
    fields = ("content", "tool_calls", "refusal", "audio", "function_call")
    return (
        isinstance(message, dict)
        and message.get("role") == "assistant"
        and not any(message.get(field) for field in fields)
    )
