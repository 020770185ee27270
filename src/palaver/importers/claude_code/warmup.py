"""Warm-up agents, which versions around 2.0.28 ran on start-up: the prompt "Warmup", an answer, no tool call.

They are no conversations, but their calls were billed: each answer with token counts becomes a usage record.
"""

from palaver.importers.claude_code.content import plain_text
from palaver.importers.claude_code.document import PLATFORM
from palaver.importers.claude_code.transcript import Transcript
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import timestamp_or_empty

_PROMPT = "Warmup"


def is_warmup(transcript: Transcript) -> bool:
    """Return whether a conversation is that of a warm-up agent, in a file of its own or inline."""
    messages = transcript.messages
    if not transcript.is_sidechain or transcript.sequence or not messages or not _is_prompt(messages[0]):
        return False
    if any(block["type"] == "tool_use" for message in messages for block in message["content"]):
        return False
    return all(_is_prompt(message) for message in messages if message["role"] == "user")


def _is_prompt(message: JsonObject) -> bool:
    return message["role"] == "user" and plain_text(message["content"]) == _PROMPT


def usage_records(warmup: JsonObject) -> list[JsonObject]:
    """Return a usage record for each answer in the document of a warm-up agent."""
    return [_usage_record(warmup, message) for message in warmup["messages"] if message.get("tokens")]


def _usage_record(warmup: JsonObject, message: JsonObject) -> JsonObject:
    metadata = message["metadata"]
    platform: JsonObject = {"name": PLATFORM}
    if version := warmup["platform"].get("version"):
        platform["version"] = version
    return build.usage(
        usage_id=f"{warmup['conversation_id']}:{message['message_id']}",
        platform=platform,
        kind="request",
        started_at=message["timestamp"],
        ended_at=timestamp_or_empty(metadata.get("completed_at")) or None,
        model=metadata.get("model_override"),
        request_id=metadata.get("request_id"),
        api_message_id=metadata.get("api_message_id"),
        tokens=message["tokens"],
        cost=message.get("cost"),
        metadata={"kind": "warmup", "conversation_id": warmup["conversation_id"], **warmup.get("context", {})},
    )
