"""Handlers for events around the messages: session start and end, changes, compaction, agents, and all others."""

import re
from typing import Any

from palaver.importers._shared.findings import UNKNOWN_EVENT
from palaver.importers.github_copilot.events.content import blob
from palaver.importers.github_copilot.events.event_types import TEXT_FIELDS, TYPED_BY_USER
from palaver.importers.github_copilot.events.session import (
    INTO_CONVERSATION,
    MAPPED,
    Conversation,
    Disposition,
    keep_unmapped,
)
from palaver.importers.github_copilot.events.usage import token_counts
from palaver.model import build
from palaver.model.build import JsonObject

_COMPACTION_MAPPED = frozenset({"summaryContent", "compactionTokensUsed"})


def housekeeping(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Keep an event whole as a hidden message."""
    conversation.append_opaque(event, data)
    return MAPPED


def unknown_event(conversation: Conversation, event: JsonObject, data: Any) -> Disposition:
    kind = event.get("type")
    conversation.session.note(UNKNOWN_EVENT, f"type {kind!r:.80}")
    block = build.opaque(kind=kind if isinstance(kind, str) and kind else "event", raw=data)
    conversation.append_system(event, [block], {}, is_hidden=True)
    return MAPPED


def text_event(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Map an event with text, of the user if a person typed it, else of the system."""
    field = TEXT_FIELDS[event["type"]]
    text = data.get(field)
    if not isinstance(text, str) or not text:
        return housekeeping(conversation, event, data)
    metadata: JsonObject = {"event": event["type"]}
    keep_unmapped(metadata, data, frozenset({field}))
    if event["type"] in TYPED_BY_USER:
        metadata["author_kind"] = "human"
        conversation.append(event, "user", [build.text(text)], metadata)
    else:
        conversation.append_system(event, [build.text(text)], metadata)
    return MAPPED


def permission_completed(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Map a decision; a refusal may carry a reason as text."""
    match data.get("result"):
        case {"feedback": str(why)} if why:
            content = [build.text(why), build.opaque(kind=event["type"], raw=data)]
            conversation.append(event, "user", content, {"author_kind": "human", "event": event["type"]})
            return MAPPED
        case {"message": str(why)} | {"reason": str(why)} if why:
            content = [build.text(why), build.opaque(kind=event["type"], raw=data)]
            conversation.append_system(event, content, {"event": event["type"]})
            return MAPPED
        case _:
            return housekeeping(conversation, event, data)


def server_auth(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Map a server's request for authentication without client secrets, headers, and keys in its address."""
    if isinstance((address := data.get("serverUrl")), str):
        data["serverUrl"] = _public_address(address)
    for name, secret in (("staticClientConfig", "clientSecret"), ("httpResponse", "headers")):
        if isinstance((holder := data.get(name)), dict):
            holder.pop(secret, None)
        else:
            data.pop(name, None)
    return housekeeping(conversation, event, data)


def _public_address(address: str) -> str:
    """Return an address without its query, fragment, user name and password."""
    scheme, mark, rest = re.split("[?#]", address, maxsplit=1)[0].rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def binary_asset(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Map bytes that prompts and results refer to by asset id."""
    block = blob({name: value for name, value in data.items() if name != "assetId"})
    metadata: JsonObject = {"event": event["type"]}
    if (name := data.get("assetId")) is not None:
        metadata["assetId"] = name
    conversation.append_system(event, [block], metadata, is_hidden=True)
    return MAPPED


def session_start(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Take the session's properties from its first start; later starts and resumptions become messages."""
    session = conversation.session
    if isinstance((model := data.get("selectedModel")), str) and model:
        conversation.model = model
    is_first = session.started is None and event["type"] == "session.start"
    if isinstance((context := data.get("context")), dict) and (is_first or not session.context):
        session.context = context
    if is_first:
        session.started = data
        conversation.observe_time(event)
        if data.get("vscodeVersion") is not None:
            conversation.platform_metadata["kept_as"] = "transcript"
            conversation.conversation_id = f"{session.session_id}:transcript"
        return INTO_CONVERSATION
    conversation.status = None
    return housekeeping(conversation, event, data)


def context_changed(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    if not conversation.session.context:
        conversation.session.context = dict(data)
    return housekeeping(conversation, event, data)


def session_shutdown(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Record the totals of a session's end, which count from its start and not from the previous end."""
    entry: JsonObject = dict(data)
    if time := conversation.observe_time(event):
        entry["timestamp"] = time
    conversation.session.shutdowns.append(entry)
    conversation.status = "error" if data.get("shutdownType") == "error" else "completed"
    return INTO_CONVERSATION


def model_changed(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    for name in ("newModel", "chosenModel"):
        if isinstance((model := data.get(name)), str):
            conversation.model = model or None
    return housekeeping(conversation, event, data)


def title_changed(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    match data:
        case {"title": str(title), **rest} if (
            title and not rest and conversation.platform_metadata.get("title") is None
        ):
            conversation.platform_metadata["title"] = title
            conversation.observe_time(event)
            return INTO_CONVERSATION
        case {"title": str(title)} if title:
            conversation.platform_metadata["title"] = title
        case _:
            pass
    return housekeeping(conversation, event, data)


def partition_created(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    conversation.platform_metadata.setdefault("partitions", []).append(data)
    conversation.platform_metadata["kept_as"] = "jetbrains"
    conversation.observe_time(event)
    conversation.observe_time({"timestamp": data.get("createdAt")})
    return INTO_CONVERSATION


def snapshot_rewind(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    if isinstance((event_id := data.get("upToEventId")), str):
        conversation.rewind(event_id)
    return housekeeping(conversation, event, data)


def compaction_complete(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Map the summary that replaced earlier messages in the model's context."""
    text = data.get("summaryContent")
    metadata: JsonObject = {"event": event["type"]}
    content: list[JsonObject] = []
    if isinstance(text, str) and text:
        metadata["is_compact_summary"] = True
        content = [build.text(text)]
    elif isinstance((error := data.get("error")), str) and error:
        content = [build.text(error)]
    if not content:
        return housekeeping(conversation, event, data)
    keep_unmapped(metadata, data, _COMPACTION_MAPPED)
    used = data.get("compactionTokensUsed")
    counts = token_counts(used)
    if used is not None:
        metadata["usage"] = used
    message = conversation.append_system(event, content, metadata)
    if counts:
        message["tokens"] = counts
    if "is_compact_summary" in metadata:
        conversation.summaries.append(
            build.summary(
                summary_id=message["message_id"], type="automatic", text=text or "", timestamp=message["timestamp"]
            )
        )
    return MAPPED


def agent_started(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    session = conversation.session
    call_id, agent_id = data.get("toolCallId"), _agent_id(event, data)
    if agent_id:
        session.agent_starts[agent_id] = data
        if isinstance(call_id, str):
            session.agent_of_call[call_id] = agent_id
    return housekeeping(conversation, event, data)


def agent_finished(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    agent_id = _agent_id(event, data)
    agent = conversation.session.agents.get(agent_id) if agent_id else None
    if agent is not None:
        agent.status = "error" if event["type"] == "subagent.failed" else "completed"
        agent.platform_metadata["agent_result"] = data
    handler = text_event if event["type"] in TEXT_FIELDS else housekeeping
    return handler(conversation, event, data)


def _agent_id(event: JsonObject, data: JsonObject) -> str | None:
    """Return the agent's id, or in older versions the id of its call; None if there is neither."""
    for name in (event.get("agentId"), data.get("toolCallId")):
        if isinstance(name, str) and name:
            return name
    return None
