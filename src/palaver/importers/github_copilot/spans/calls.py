"""A `chat` span as a call of a model's API, and a span of a tool as its run."""

from typing import Any

from palaver.importers.github_copilot.replays.messages import plain_id
from palaver.importers.github_copilot.replays.tools import Executed
from palaver.importers.github_copilot.spans.names import (
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
    TYPED,
)
from palaver.importers.github_copilot.spans.records import Record
from palaver.importers.github_copilot.spans.spoken import chat_messages, listed
from palaver.importers.github_copilot.spans.tokens import is_count, tokens_in
from palaver.model.build import JsonObject
from palaver.threads.call import Call
from palaver.wire._errors import error

_PLACED = frozenset({OPERATION, CONVERSATION, "gen_ai.request.model", "gen_ai.response.model", "gen_ai.response.id"})
_HELPERS = {"title": "title", "progressMessages": "progress", "promptCategorization": "categorization"}


def is_spoken(record: Record) -> bool:
    """Whether a span tells what was said to a model, or by it."""
    return any(record.attributes.get(name) for name in (INPUT, OUTPUT, SYSTEM, REASONING, TYPED))


def call_of(record: Record, session: str, *, api_id: str) -> Call:
    attributes = record.attributes
    messages, is_cut = _asked(attributes)
    request: JsonObject = {"messages": messages}
    if model := model_of(record):
        request["model"] = model
    tools, is_short = listed(attributes.get(TOOLS))
    if tools and not is_short:
        request["tools"] = tools
    answered, is_answer_cut = listed(attributes.get(OUTPUT))
    answers = chat_messages(answered, role="assistant")
    _take_reasoning(attributes, answers)
    about: JsonObject = {"attributes": facts_of(record), "span": span_of(record)}
    if is_short:
        about["attributes"][TOOLS] = attributes[TOOLS]
    if is_cut or is_answer_cut:
        about["context_incomplete"] = True
    if api_id:
        about["api_message_id"] = api_id
    name = record.text("gen_ai.agent.name") or record.text("copilot_chat.debug_name")
    return Call(
        call_id=record.span_id or record.where,
        wire="openai-chat",
        request=request,
        response={"choices": [_choice(one, number) for number, one in enumerate(answers)]} if answers else None,
        error=failure_of(record) if record.is_error or (not answers and record.text("error.type")) else None,
        started_at=record.started_at or None,
        ended_at=record.ended_at or None,
        duration_ms=record.duration_ms,
        is_answer_cut=is_answer_cut,
        session_id=session,
        model=record.text("gen_ai.response.model") or None,
        answer=about,
        helper=_HELPERS.get(name, ""),
        usage=tokens_in(attributes) or None,
        where=record.where,
    )


def executed_of(record: Record) -> Executed:
    attributes = record.attributes
    stated = record.text("gen_ai.tool.call.id")
    about: JsonObject = {"attributes": facts_of(record), "span": span_of(record)}
    if record.duration_ms is not None:
        about["duration_ms"] = record.duration_ms
    if stated and plain_id(stated) != stated:
        about["source_id"] = stated
    return Executed(
        call_id=plain_id(stated) or record.span_id or record.where,
        name=record.text("gen_ai.tool.name") or record.name.partition(" ")[2] or record.name or "unknown",
        given=attributes.get(ARGUMENTS),
        result=attributes.get(RESULT),
        is_error=record.is_error,
        started_at=record.started_at,
        ended_at=record.ended_at,
        about=about,
    )


def model_of(record: Record) -> str:
    return record.text("gen_ai.response.model") or record.text("gen_ai.request.model")


def facts_of(record: Record) -> JsonObject:
    """Attributes that have no place elsewhere."""
    return {
        name: value
        for name, value in record.attributes.items()
        if name not in CONTENT and not (name in _PLACED and isinstance(value, str)) and not is_count(name)
    } | {name: value for name, value in record.attributes.items() if is_count(name) and not tokens_in({name: value})}


def span_of(record: Record) -> JsonObject:
    """Which span it is, and what it says beside its attributes."""
    named = {"trace_id": record.trace_id, "span_id": record.span_id, "parent_span_id": record.parent_id}
    return {**{key: value for key, value in named.items() if value}, "name": record.name, **record.about}


def failure_of(record: Record) -> JsonObject:
    status = record.about.get("status")
    message = status.get("message") if isinstance(status, dict) else None
    word = record.text("error.type")
    return error(message if isinstance(message, str) and message else word or "error", (word,) if word else ())


def _asked(attributes: JsonObject) -> tuple[list[Any], bool]:
    """The messages of a request, its system prompt first, and whether some are missing."""
    given, is_cut = listed(attributes.get(INPUT))
    messages = chat_messages(given)
    if not any(isinstance(one, dict) and one.get("role") == "system" for one in messages):
        prompt, is_short = listed(attributes.get(SYSTEM))
        stated = [one.get("content") if isinstance(one, dict) else one for one in prompt]
        texts = [text for text in stated if isinstance(text, str)]
        if prompt and len(texts) == len(prompt):
            messages.insert(0, {"role": "system", "content": "\n".join(texts)})
        elif prompt:
            messages.insert(0, {"role": "system", "content": prompt})
        is_cut |= is_short
    if not given and (typed := attributes.get(TYPED)):
        messages.append({"role": "user", "content": typed if isinstance(typed, str) else [typed]})
        is_cut = True
    return messages, is_cut


def _take_reasoning(attributes: JsonObject, answers: list[Any]) -> None:
    thought = attributes.get(REASONING)
    if isinstance(thought, str) and thought:
        if not answers:
            answers.append({"role": "assistant", "content": ""})
        if isinstance(answers[0], dict):
            answers[0].setdefault("reasoning_content", thought)


def _choice(message: Any, number: int) -> JsonObject:
    choice: JsonObject = {"index": number, "message": message}
    if isinstance(message, dict) and isinstance(reason := message.pop("finish_reason", None), str):
        choice["finish_reason"] = reason
    return choice
