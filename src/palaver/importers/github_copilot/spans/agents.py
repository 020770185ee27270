"""What spans of agents say: what a person typed, and what came out in the end."""

from itertools import pairwise

from palaver.importers.github_copilot.spans.calls import facts_of, span_of
from palaver.importers.github_copilot.spans.names import INPUT, OUTPUT
from palaver.importers.github_copilot.spans.records import Record
from palaver.importers.github_copilot.spans.spoken import chat_messages, listed
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.wire import wire_format


def typed_in(agents: list[Record]) -> list[str]:
    """What was typed, the first first."""
    asked = [one for agent in agents for one in chat_messages(listed(agent.attributes.get(INPUT))[0])]
    said = [one.get("content") for one in asked if isinstance(one, dict)]
    return list(dict.fromkeys(text for text in said if isinstance(text, str) and text.strip()))


def agent_messages(agents: list[Record], time: str) -> list[JsonObject]:
    """Prompts and last answers, where the calls between them were not recorded."""
    messages: list[JsonObject] = []
    for agent in agents:
        messages += _messages(agent, INPUT, agent.started_at, time)
        messages += _messages(agent, OUTPUT, agent.ended_at or agent.started_at, time)
    messages = _unique(messages)
    for before, message in pairwise(messages):
        message["parent_message_id"] = before["message_id"]
    return messages


def unsaid_prompts(agents: list[Record], messages: list[JsonObject], time: str) -> list[JsonObject]:
    """What was typed, and stands in no message of the user: requests are cut off when they are long."""
    asked = [block for one in messages if one["role"] == "user" for block in one["content"]]
    said = "\n".join(block["text"] for block in asked if block["type"] == "text")
    missing = [agent for agent in agents if any(text not in said for text in typed_in([agent]))]
    return _unique([message for agent in missing for message in _messages(agent, INPUT, agent.started_at, time)])


def _messages(agent: Record, name: str, stated: str, time: str) -> list[JsonObject]:
    messages: list[JsonObject] = []
    for number, (role, content) in enumerate(_said(agent, name)):
        metadata: JsonObject = {"author_kind": "model" if role == "assistant" else "human", "span": span_of(agent)}
        if name == OUTPUT:
            metadata["attributes"] = facts_of(agent)
        if not stated:
            metadata["timestamp_inferred"] = True
        messages.append(
            build.message(
                message_id=deterministic_uuid(f"github_copilot-{agent.trace_id}-{agent.span_id}-{name}-{number}"),
                role=role,  # pyright: ignore[reportArgumentType] - one of the two that `_said` gives
                timestamp=stated or time,
                content=content or [build.text("")],
                metadata=metadata,
            )
        )
    return messages


def _said(agent: Record, name: str) -> list[tuple[str, list[JsonObject]]]:
    values = listed(agent.attributes.get(name))[0]
    if name == OUTPUT:
        wire = wire_format("openai-chat")
        return [
            ("assistant", wire.response_from_wire({"choices": [{"message": one}]})["content"])
            for one in chat_messages(values, role="assistant")
        ]
    request = wire_format("openai-chat").request_from_wire({"messages": chat_messages(values)})
    system: list[JsonObject] = request.get("system") or []
    said = [("user", message["content"]) for message in request["messages"]]
    return [("user", system), *said] if system else said


def _unique(messages: list[JsonObject]) -> list[JsonObject]:
    """Spans without ids may look alike."""
    found: dict[str, JsonObject] = {}
    for message in messages:
        name = message["message_id"]
        while name in found:
            name = deterministic_uuid(f"{name}-again")
        found[name] = {**message, "message_id": name}
    return list(found.values())
