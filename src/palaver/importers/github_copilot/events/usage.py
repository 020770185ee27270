"""What answers cost, and which model gave them."""

from typing import Any

from palaver.importers.github_copilot.events.conversation import Conversation
from palaver.importers.github_copilot.events.disposition import INTO_MESSAGE, Disposition
from palaver.importers.github_copilot.events.tokens import add_tokens, tokens_of
from palaver.model.build import JsonObject


def usage(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """The cost of a call belongs to the answer before it, or to the one that follows."""
    opened = conversation.answer
    call_id = data.get("apiCallId")
    if opened is not None and not opened.has_usage and (call_id is None or opened.api_call_id in (None, call_id)):
        opened.has_usage = True
        add_usage(conversation, opened.message, data)
        return INTO_MESSAGE
    settle_usage(conversation)
    conversation.held_usage = event
    return INTO_MESSAGE


def settle_usage(conversation: Conversation) -> None:
    """Usage without any answer is a message of its own."""
    held, conversation.held_usage = conversation.held_usage, None
    if held is not None:
        message = conversation.keep_whole(held, held["data"])
        if counts := tokens_of(held["data"]):
            message["tokens"] = counts


def add_usage(conversation: Conversation, message: JsonObject, data: JsonObject) -> None:
    metadata = message["metadata"]
    if counts := tokens_of(data):
        add_tokens(message, counts)
    model, reason, duration = data.get("model"), data.get("finishReason"), data.get("duration")
    if isinstance(model, str) and model:
        describe_model(conversation, metadata, model)
    if isinstance(reason, str):
        metadata["stop_reason"] = reason
    match duration:
        case int() | float() if not isinstance(duration, bool) and duration >= 0:
            metadata["duration_ms"] = duration
        case _:
            pass
    if isinstance((call_id := data.get("apiCallId")), str) and call_id:
        metadata.setdefault("api_message_id", call_id)
    metadata["usage"] = data


def describe_model(conversation: Conversation, metadata: JsonObject, stated: Any) -> None:
    """The model that an answer names, else its turn, else the one that was chosen last; an agent keeps to its own."""
    if isinstance(stated, str) and stated:
        model = stated
    else:
        turn = conversation.turn.told.get("model") if conversation.turn is not None else None
        model = turn if isinstance(turn, str) and turn else metadata.get("model_override") or conversation.model
    if model:
        if conversation.agent_id is not None:
            conversation.model = model
        metadata["model_override"] = model
        conversation.models[model] = conversation.models.get(model, 0) + 1
