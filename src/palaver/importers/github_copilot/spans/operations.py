"""Spans by operation: `chat` as an API call, `execute_tool` as a tool run, `invoke_agent` as prompts and answers."""

from itertools import pairwise
from typing import Any

from palaver.importers.github_copilot.replays.chat_messages import plain_id
from palaver.importers.github_copilot.replays.tool_runs import ToolRun
from palaver.importers.github_copilot.spans.attributes import (
    ARGUMENTS,
    CONTENT,
    CONVERSATION,
    INPUT,
    OPERATION,
    OUTPUT,
    REASONING,
    RESULT,
    SYSTEM,
    TOOLS,
    USER_REQUEST,
    is_token_count,
    token_counts,
)
from palaver.importers.github_copilot.spans.message_attributes import attribute_values, chat_messages
from palaver.importers.github_copilot.spans.records import Record
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid
from palaver.threads.call import Call
from palaver.wire import wire_format
from palaver.wire._errors import exchange_error

_MAPPED_ATTRIBUTES = frozenset(
    {OPERATION, CONVERSATION, "gen_ai.request.model", "gen_ai.response.model", "gen_ai.response.id"}
)
_HELPERS = {"title": "title", "progressMessages": "progress", "promptCategorization": "categorization"}


def has_messages(record: Record) -> bool:
    """Return whether the span recorded any content of the conversation."""
    return any(record.attributes.get(name) for name in (INPUT, OUTPUT, SYSTEM, REASONING, USER_REQUEST))


def call_of(record: Record, session: str, *, api_id: str) -> Call:
    attributes = record.attributes
    messages, is_cut = _request_messages(attributes)
    request: JsonObject = {"messages": messages}
    if model := model_of(record):
        request["model"] = model
    tools, is_truncated = attribute_values(attributes.get(TOOLS))
    if tools and not is_truncated:
        request["tools"] = tools
    answered, is_answer_cut = attribute_values(attributes.get(OUTPUT))
    answers = chat_messages(answered, role="assistant")
    _add_reasoning(attributes, answers)
    metadata: JsonObject = {"attributes": other_attributes(record), "span": span_fields(record)}
    if is_truncated:
        metadata["attributes"][TOOLS] = attributes[TOOLS]
    if is_cut or is_answer_cut:
        metadata["context_incomplete"] = True
    if api_id:
        metadata["api_message_id"] = api_id
    name = record.text("gen_ai.agent.name") or record.text("copilot_chat.debug_name")
    return Call(
        call_id=record.span_id or record.where,
        wire="openai-chat",
        request=request,
        response={"choices": [_choice(answer, number) for number, answer in enumerate(answers)]} if answers else None,
        error=failure_of(record) if record.is_error or (not answers and record.text("error.type")) else None,
        started_at=record.started_at or None,
        ended_at=record.ended_at or None,
        duration_ms=record.duration_ms,
        is_answer_cut=is_answer_cut,
        session_id=session,
        model=record.text("gen_ai.response.model") or None,
        answer=metadata,
        helper=_HELPERS.get(name, ""),
        usage=token_counts(attributes) or None,
        where=record.where,
    )


def tool_run_of(record: Record) -> ToolRun:
    attributes = record.attributes
    stated = record.text("gen_ai.tool.call.id")
    metadata: JsonObject = {"attributes": other_attributes(record), "span": span_fields(record)}
    if record.duration_ms is not None:
        metadata["duration_ms"] = record.duration_ms
    if stated and plain_id(stated) != stated:
        metadata["source_id"] = stated
    return ToolRun(
        call_id=plain_id(stated) or record.span_id or record.where,
        name=record.text("gen_ai.tool.name") or record.name.partition(" ")[2] or record.name or "unknown",
        arguments=attributes.get(ARGUMENTS),
        result=attributes.get(RESULT),
        is_error=record.is_error,
        started_at=record.started_at,
        ended_at=record.ended_at,
        metadata=metadata,
    )


def model_of(record: Record) -> str:
    return record.text("gen_ai.response.model") or record.text("gen_ai.request.model")


def other_attributes(record: Record) -> JsonObject:
    """Return the attributes that are not mapped to other fields."""
    return {
        name: value
        for name, value in record.attributes.items()
        if name not in CONTENT
        and not (name in _MAPPED_ATTRIBUTES and isinstance(value, str))
        and not is_token_count(name)
    } | {
        name: value
        for name, value in record.attributes.items()
        if is_token_count(name) and not token_counts({name: value})
    }


def span_fields(record: Record) -> JsonObject:
    """Return the ids of a span and its fields other than attributes."""
    named = {"trace_id": record.trace_id, "span_id": record.span_id, "parent_span_id": record.parent_id}
    return {**{key: value for key, value in named.items() if value}, "name": record.name, **record.extra_fields}


def failure_of(record: Record) -> JsonObject:
    status = record.extra_fields.get("status")
    message = status.get("message") if isinstance(status, dict) else None
    error_type = record.text("error.type")
    return exchange_error(
        message if isinstance(message, str) and message else error_type or "error", (error_type,) if error_type else ()
    )


def _request_messages(attributes: JsonObject) -> tuple[list[Any], bool]:
    """Return the messages of a request, the system prompt first, and whether any are missing."""
    given, is_cut = attribute_values(attributes.get(INPUT))
    messages = chat_messages(given)
    if not any(isinstance(message, dict) and message.get("role") == "system" for message in messages):
        prompt, is_truncated = attribute_values(attributes.get(SYSTEM))
        stated = [part.get("content") if isinstance(part, dict) else part for part in prompt]
        texts = [text for text in stated if isinstance(text, str)]
        if prompt and len(texts) == len(prompt):
            messages.insert(0, {"role": "system", "content": "\n".join(texts)})
        elif prompt:
            messages.insert(0, {"role": "system", "content": prompt})
        is_cut |= is_truncated
    if not given and (typed := attributes.get(USER_REQUEST)):
        messages.append({"role": "user", "content": typed if isinstance(typed, str) else [typed]})
        is_cut = True
    return messages, is_cut


def _add_reasoning(attributes: JsonObject, answers: list[Any]) -> None:
    reasoning = attributes.get(REASONING)
    if isinstance(reasoning, str) and reasoning:
        if not answers:
            answers.append({"role": "assistant", "content": ""})
        if isinstance(answers[0], dict):
            answers[0].setdefault("reasoning_content", reasoning)


def _choice(message: Any, number: int) -> JsonObject:
    choice: JsonObject = {"index": number, "message": message}
    if isinstance(message, dict) and isinstance(reason := message.pop("finish_reason", None), str):
        choice["finish_reason"] = reason
    return choice


def typed_prompts(agents: list[Record]) -> list[str]:
    """Return the prompts that a person typed, oldest first."""
    prompts = [prompt for agent in agents for prompt in chat_messages(attribute_values(agent.attributes.get(INPUT))[0])]
    contents = [prompt.get("content") for prompt in prompts if isinstance(prompt, dict)]
    return list(dict.fromkeys(text for text in contents if isinstance(text, str) and text.strip()))


def agent_messages(agents: list[Record], time: str) -> list[JsonObject]:
    """Return prompts and final answers of agents, for traces without the calls in between."""
    messages: list[JsonObject] = []
    for agent in agents:
        messages += _agent_messages(agent, INPUT, agent.started_at, time)
        messages += _agent_messages(agent, OUTPUT, agent.ended_at or agent.started_at, time)
    messages = _with_unique_ids(messages)
    for before, message in pairwise(messages):
        message["parent_message_id"] = before["message_id"]
    return messages


def missing_prompts(agents: list[Record], messages: list[JsonObject], time: str) -> list[JsonObject]:
    """Return typed prompts that no user message contains, as the exporter truncates long requests."""
    blocks = [block for message in messages if message["role"] == "user" for block in message["content"]]
    texts = "\n".join(block["text"] for block in blocks if block["type"] == "text")
    missing = [agent for agent in agents if any(prompt not in texts for prompt in typed_prompts([agent]))]
    return _with_unique_ids(
        [message for agent in missing for message in _agent_messages(agent, INPUT, agent.started_at, time)]
    )


def _agent_messages(agent: Record, name: str, stated: str, time: str) -> list[JsonObject]:
    messages: list[JsonObject] = []
    for number, (role, content) in enumerate(_agent_content(agent, name)):
        metadata: JsonObject = {"author_kind": "model" if role == "assistant" else "human", "span": span_fields(agent)}
        if name == OUTPUT:
            metadata["attributes"] = other_attributes(agent)
        if not stated:
            metadata["timestamp_inferred"] = True
        messages.append(
            build.message(
                message_id=deterministic_uuid(f"github_copilot-{agent.trace_id}-{agent.span_id}-{name}-{number}"),
                role=role,  # pyright: ignore[reportArgumentType] - one of the two that `_agent_content` returns
                timestamp=stated or time,
                content=content or [build.text("")],
                metadata=metadata,
            )
        )
    return messages


def _agent_content(agent: Record, name: str) -> list[tuple[str, list[JsonObject]]]:
    values = attribute_values(agent.attributes.get(name))[0]
    if name == OUTPUT:
        wire = wire_format("openai-chat")
        return [
            ("assistant", wire.response_from_wire({"choices": [{"message": message}]})["content"])
            for message in chat_messages(values, role="assistant")
        ]
    request = wire_format("openai-chat").request_from_wire({"messages": chat_messages(values)})
    system: list[JsonObject] = request.get("system") or []
    prompts = [("user", message["content"]) for message in request["messages"]]
    return [("user", system), *prompts] if system else prompts


def _with_unique_ids(messages: list[JsonObject]) -> list[JsonObject]:
    """Return the messages with unique ids; spans without ids may yield equal ones."""
    found: dict[str, JsonObject] = {}
    for message in messages:
        name = message["message_id"]
        while name in found:
            name = deterministic_uuid(f"{name}-again")
        found[name] = {**message, "message_id": name}
    return list(found.values())
