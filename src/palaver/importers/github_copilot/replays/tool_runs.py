"""Tool runs, which a log records besides the messages, and their attachment to the messages that hold the calls."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid


@dataclass(slots=True)
class ToolRun:
    """A run of a tool."""

    call_id: str
    name: str
    arguments: Any = None
    """An object, or JSON as text; None if they were not recorded."""
    result: Any = None
    """A text, or several; None if it was not recorded."""
    is_error: bool = False
    started_at: str = ""
    ended_at: str = ""
    metadata: JsonObject = field(default_factory=dict[str, Any])
    """Other fields, for the result's metadata."""
    is_emitted: bool = False

    @property
    def has_content(self) -> bool:
        return self.arguments is not None or self.result is not None


def add_run(runs: dict[str, ToolRun], run: ToolRun) -> ToolRun:
    """Register a run and return it, or return an equal one that is registered already.

    A different run with the same call id gets an id of its own.
    """
    call_id = run.call_id
    if runs.get(call_id) == run:
        return runs[call_id]
    while run.call_id in runs:
        run.call_id = f"{call_id}-again" if run.call_id == call_id else f"{call_id}-again-{len(runs)}"
        run.metadata.setdefault("source_id", call_id)
    runs[run.call_id] = run
    return run


def parse_arguments(arguments: Any) -> JsonObject:
    """Return arguments as an object; anything else goes under `raw`."""
    if isinstance(arguments, str):
        try:
            parsed: Any = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return {"raw": arguments}
        return parsed if isinstance(parsed, dict) else {"raw": arguments}
    if isinstance(arguments, dict):
        return arguments
    return {} if arguments is None else {"raw": arguments}


def attach_runs(messages: list[JsonObject], runs: dict[str, ToolRun], *, at_the_end: bool = False) -> list[JsonObject]:
    """Return the messages with what is known of their tool runs; a result that is missing follows its call."""
    if not runs:
        return messages
    results = {block["tool_use_id"] for message in messages for block in _blocks(message, "tool_result")}
    attached: list[JsonObject] = []
    trailing: list[JsonObject] = []
    for message in messages:
        attached.append(_with_run_metadata(message, runs))
        for block in _blocks(message, "tool_use"):
            run = runs.get(block["id"])
            if run is not None and not run.is_emitted and run.call_id not in results and run.result is not None:
                (trailing if at_the_end else attached).append(
                    result_message(run, message["message_id"], message["timestamp"])
                )
            if run is not None:
                run.is_emitted = True
    for call_id in results:
        if call_id in runs:
            runs[call_id].is_emitted = True
    return [*attached, *trailing]


def standalone_messages(runs: Iterable[ToolRun], time: str) -> list[JsonObject]:
    """Return messages with the calls and results of runs whose answer is not known."""
    messages: list[JsonObject] = []
    parent: str | None = None
    for number, run in enumerate(runs):
        run.is_emitted = True
        started = run.started_at or run.ended_at
        name = deterministic_uuid(f"github_copilot-tool-{run.call_id}-{started}-{'' if started else number}")
        metadata: JsonObject = {"author_kind": "model", "context_incomplete": True}
        if not started:
            metadata["timestamp_inferred"] = True
        message = build.message(
            message_id=name,
            parent_message_id=parent,
            role="assistant",
            timestamp=started or time,
            content=[build.tool_use(id=run.call_id, name=run.name, input=parse_arguments(run.arguments))],
            metadata=metadata,
        )
        messages.append(message)
        parent = name
        if run.result is not None or run.metadata:
            messages.append(result_message(run, name, started or time))
            parent = messages[-1]["message_id"]
    return messages


def result_message(run: ToolRun, parent: str, time: str) -> JsonObject:
    ended = run.ended_at or run.started_at
    metadata: JsonObject = {"author_kind": "tool"}
    if not ended:
        metadata["timestamp_inferred"] = True
    return build.message(
        message_id=deterministic_uuid(f"{parent}-{run.call_id}-result"),
        parent_message_id=parent,
        role="tool",
        timestamp=ended or time,
        content=[
            build.tool_result(
                tool_use_id=run.call_id,
                content=_result(run.result),
                is_error=run.is_error,
                metadata=run.metadata or None,
            )
        ],
        metadata=metadata,
    )


def _result(result: Any) -> str | list[JsonObject]:
    match result:
        case None:
            return ""
        case str():
            return result
        case [str(only)]:
            return only
        case list():
            return [
                build.text(part) if isinstance(part, str) else build.opaque(kind="result", raw=part) for part in result
            ]
        case _:
            return [build.opaque(kind="result", raw=result)]


def _blocks(message: JsonObject, kind: str) -> list[JsonObject]:
    return [block for block in message["content"] if block["type"] == kind]


def _with_run_metadata(message: JsonObject, runs: dict[str, ToolRun]) -> JsonObject:
    """Return a message with the fields of their runs added to its results."""
    if not any(block["tool_use_id"] in runs for block in _blocks(message, "tool_result")):
        return message
    content: list[JsonObject] = []
    for block in message["content"]:
        run = runs.get(block["tool_use_id"]) if block["type"] == "tool_result" else None
        if run is None:
            content.append(block)
            continue
        metadata = {**run.metadata, **(block.get("metadata") or {})}
        if run.result is not None and not _contains(block["content"], run.result):
            metadata["result"] = run.result  # the log's text differs from the request's
        known = {**block, "is_error": block["is_error"] or run.is_error}
        content.append({**known, "metadata": metadata} if metadata else known)
    return {**message, "content": content}


def _contains(content: str | list[JsonObject], result: Any) -> bool:
    text = content if isinstance(content, str) else "".join(str(block.get("text") or "") for block in content)
    parts = result if isinstance(result, list) else [result]
    return all(isinstance(part, str) and part.strip() in text for part in parts)
