"""Calls of tools that only the log of events knows: their sessions are gone, and a day's are one conversation."""

from collections.abc import Iterable, Iterator

from palaver.importers.continue_dev.dev_data import ToolUse, output_text
from palaver.importers.continue_dev.events import PLATFORM, platform_of
from palaver.importers.continue_dev.fields import kept, text_of
from palaver.importers.continue_dev.workspace import agent_of, context
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.wire.openai._calls import arguments_from

_MAPPED = frozenset(
    {"timestamp", "userAgent", "eventName", "userId", "toolCallId", "functionName", "toolCallArgs", "output"}
    | {"accepted", "succeeded"}
)


def lone_uses(calls: Iterable[tuple[str, list[ToolUse]]]) -> Iterator[JsonObject]:
    """Conversations of nothing but calls and what came back, one a day, and one of those without a time."""
    days: dict[str, list[tuple[str, list[ToolUse]]]] = {}
    for call_id, uses in calls:
        days.setdefault(uses[0].time[: len("2026-01-01")], []).append((call_id, uses))
    for day, found in sorted(days.items()):
        yield _conversation(day, sorted(found, key=lambda call: (_time(call[1][0]), call[0])))


def _conversation(day: str, calls: list[tuple[str, list[ToolUse]]]) -> JsonObject:
    messages: list[JsonObject] = []
    for call_id, uses in calls:
        told: list[JsonObject] = []
        for use in uses:
            told += _messages(call_id, use, told[-1]["message_id"] if told else None, len(told))
        messages += told
    agent = next((use.agent for _, uses in reversed(calls) for use in reversed(uses) if use.agent), "")
    platform = platform_of({"userAgent": agent} if agent else {})
    platform.setdefault("metadata", {}).update(recovered_from="dev_data", event="toolUsage")
    return build.conversation(
        conversation_id=conversation_uuid(PLATFORM, day, "toolUsage"),
        title="Tool calls of sessions that are gone",
        platform=platform,
        context=context(editor=agent_of(agent).editor),
        created_at=min(message["timestamp"] for message in messages),
        status="archived",
        messages=messages,
    )


def _time(use: ToolUse) -> str:
    return use.time or use.ref.source.written_at()


def _messages(call_id: str, use: ToolUse, parent: str | None, number: int) -> list[JsonObject]:
    """The model's call, and the tool's answer if there was one."""
    row = use.ref.load()
    time = _time(use)
    marks: JsonObject = {"context_incomplete": True, **({} if use.time else {"timestamp_inferred": True})}
    arguments = row.get("toolCallArgs")
    is_given = isinstance(arguments, (str, dict))
    call = build.tool_use(
        id=call_id, name=text_of(row, "functionName"), input=arguments_from(arguments) if is_given else {}
    )
    about = kept(row, _MAPPED if is_given else _MAPPED - {"toolCallArgs"})
    asked = build.message(
        message_id=f"{call_id}:{number}",
        parent_message_id=parent,
        role="assistant",
        timestamp=time,
        content=[call],
        metadata={"author_kind": "model", **marks, **about},
    )
    facts = {field: row[field] for field in ("accepted", "succeeded") if field in row}
    output = row.get("output")
    if output is None:
        asked["metadata"] |= {"tool_usage": facts} if facts else {}
        return [asked]
    text = output_text(output)
    rest = [{key: value for key, value in one.items() if key != "content"} for one in output] if text else output
    state: JsonObject = {"call_state": {"output": rest}} if rest and (not text or any(rest)) else {}
    result = build.tool_result(
        tool_use_id=call_id,
        content=text or "",
        is_error=row.get("succeeded") is False,
        metadata={**state, **({"tool_usage": facts} if facts else {})} or None,
    )
    answered = build.message(
        message_id=f"{call_id}:{number + 1}",
        parent_message_id=asked["message_id"],
        role="tool",
        timestamp=time,
        content=[result],
        metadata={"author_kind": "tool", **marks},
    )
    return [asked, answered]
