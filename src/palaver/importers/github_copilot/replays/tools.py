"""Tools that were run: what a log says of a call and its result beside the messages, brought to where they stand."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import deterministic_uuid


@dataclass(slots=True)
class Executed:
    """One run of a tool."""

    call_id: str
    name: str
    given: Any = None
    """Its arguments: an object, or JSON as a text; None where they were not recorded."""
    result: Any = None
    """A text, or several; None where it was not recorded."""
    is_error: bool = False
    started_at: str = ""
    ended_at: str = ""
    about: JsonObject = field(default_factory=dict[str, Any])
    """What else is said of it, for the result's metadata."""
    is_told: bool = False

    @property
    def has_content(self) -> bool:
        return self.given is not None or self.result is not None


def keep(executed: dict[str, Executed], run: Executed) -> Executed:
    """Take a run, or find the one that says the same.

    One more of the same call gets a name of its own, since no message can tell them apart.
    """
    stated = run.call_id
    if executed.get(stated) == run:
        return executed[stated]
    while run.call_id in executed:
        run.call_id = f"{stated}-again" if run.call_id == stated else f"{stated}-again-{len(executed)}"
        run.about.setdefault("source_id", stated)
    executed[run.call_id] = run
    return run


def arguments(given: Any) -> JsonObject:
    """Arguments as an object; what is none stands under `raw`."""
    if isinstance(given, str):
        try:
            parsed: Any = orjson.loads(given)
        except orjson.JSONDecodeError:
            return {"raw": given}
        return parsed if isinstance(parsed, dict) else {"raw": given}
    if isinstance(given, dict):
        return given
    return {} if given is None else {"raw": given}


def complete(
    messages: list[JsonObject], executed: dict[str, Executed], *, at_the_end: bool = False
) -> list[JsonObject]:
    """The messages with what is known of their tools; a result that none of them has follows its call."""
    if not executed:
        return messages
    results = {block["tool_use_id"] for message in messages for block in _blocks(message, "tool_result")}
    found: list[JsonObject] = []
    behind: list[JsonObject] = []
    for message in messages:
        found.append(_with_facts(message, executed))
        for block in _blocks(message, "tool_use"):
            run = executed.get(block["id"])
            if run is not None and not run.is_told and run.call_id not in results and run.result is not None:
                (behind if at_the_end else found).append(
                    result_message(run, message["message_id"], message["timestamp"])
                )
            if run is not None:
                run.is_told = True
    for call_id in results:
        if call_id in executed:
            executed[call_id].is_told = True
    return [*found, *behind]


def alone(runs: Iterable[Executed], time: str) -> list[JsonObject]:
    """Calls and results of tools whose model's words are not known."""
    messages: list[JsonObject] = []
    parent: str | None = None
    for number, run in enumerate(runs):
        run.is_told = True
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
            content=[build.tool_use(id=run.call_id, name=run.name, input=arguments(run.given))],
            metadata=metadata,
        )
        messages.append(message)
        parent = name
        if run.result is not None or run.about:
            messages.append(result_message(run, name, started or time))
            parent = messages[-1]["message_id"]
    return messages


def result_message(run: Executed, parent: str, time: str) -> JsonObject:
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
                metadata=run.about or None,
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
            return [build.text(one) if isinstance(one, str) else build.opaque(kind="result", raw=one) for one in result]
        case _:
            return [build.opaque(kind="result", raw=result)]


def _blocks(message: JsonObject, kind: str) -> list[JsonObject]:
    return [block for block in message["content"] if block["type"] == kind]


def _with_facts(message: JsonObject, executed: dict[str, Executed]) -> JsonObject:
    """The same message, its results with what is known of their runs."""
    if not any(block["tool_use_id"] in executed for block in _blocks(message, "tool_result")):
        return message
    content: list[JsonObject] = []
    for block in message["content"]:
        run = executed.get(block["tool_use_id"]) if block["type"] == "tool_result" else None
        if run is None:
            content.append(block)
            continue
        about = {**run.about, **(block.get("metadata") or {})}
        if run.result is not None and not _says(block["content"], run.result):
            about["result"] = run.result  # the log has it in other words than the request
        known = {**block, "is_error": block["is_error"] or run.is_error}
        content.append({**known, "metadata": about} if about else known)
    return {**message, "content": content}


def _says(content: str | list[JsonObject], result: Any) -> bool:
    told = content if isinstance(content, str) else "".join(str(block.get("text") or "") for block in content)
    texts = result if isinstance(result, list) else [result]
    return all(isinstance(text, str) and text.strip() in told for text in texts)
