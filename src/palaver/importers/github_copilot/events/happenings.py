"""What happens around the messages: starts and ends, changes, compactions, agents, and everything else."""

import re
from typing import Any

from palaver.importers._shared.findings import UNKNOWN_EVENT
from palaver.importers.github_copilot.events.conversation import Conversation, keep_rest
from palaver.importers.github_copilot.events.disposition import FACT, MAPPED, Disposition
from palaver.importers.github_copilot.events.kinds import TEXTS, TYPED
from palaver.importers.github_copilot.events.media import blob
from palaver.importers.github_copilot.events.tokens import tokens_of
from palaver.model import build
from palaver.model.build import JsonObject

_COMPACTION_MAPPED = frozenset({"summaryContent", "compactionTokensUsed"})


def plain(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    conversation.keep_whole(event, data)
    return MAPPED


def unknown(conversation: Conversation, event: JsonObject, data: Any) -> Disposition:
    kind = event.get("type")
    conversation.session.note(UNKNOWN_EVENT, f"type {kind!r:.80}")
    named = kind if isinstance(kind, str) and kind else "event"
    conversation.say(event, [build.opaque(kind=named, raw=data)], {}, is_hidden=True)
    return MAPPED


def told(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """An event with words of its own."""
    field = TEXTS[event["type"]]
    text = data.get(field)
    if not isinstance(text, str) or not text:
        return plain(conversation, event, data)
    metadata: JsonObject = {"event": event["type"]}
    keep_rest(metadata, data, frozenset({field}))
    if event["type"] in TYPED:
        metadata["author_kind"] = "human"
        conversation.append(event, "user", [build.text(text)], metadata)
    else:
        conversation.say(event, [build.text(text)], metadata)
    return MAPPED


def permission(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """A refusal may have a reason in somebody's words."""
    match data.get("result"):
        case {"feedback": str(why)} if why:
            content = [build.text(why), build.opaque(kind=event["type"], raw=data)]
            conversation.append(event, "user", content, {"author_kind": "human", "event": event["type"]})
            return MAPPED
        case {"message": str(why)} | {"reason": str(why)} if why:
            content = [build.text(why), build.opaque(kind=event["type"], raw=data)]
            conversation.say(event, content, {"event": event["type"]})
            return MAPPED
        case _:
            return plain(conversation, event, data)


def without_secrets(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """What a server asks for may hold the secret of a client, headers, a key in an address: they are never kept."""
    if isinstance((address := data.get("serverUrl")), str):
        data["serverUrl"] = _without_keys(address)
    for name, secret in (("staticClientConfig", "clientSecret"), ("httpResponse", "headers")):
        if isinstance((holder := data.get(name)), dict):
            holder.pop(secret, None)
        else:
            data.pop(name, None)
    return plain(conversation, event, data)


def _without_keys(address: str) -> str:
    """An address without its query, and without the name and password that it may be opened with."""
    scheme, mark, rest = re.split("[?#]", address, maxsplit=1)[0].rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"


def asset(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Bytes to which prompts and results refer by the id of the asset."""
    block = blob({name: value for name, value in data.items() if name != "assetId"})
    metadata: JsonObject = {"event": event["type"]}
    if (name := data.get("assetId")) is not None:
        metadata["assetId"] = name
    conversation.say(event, [block], metadata, is_hidden=True)
    return MAPPED


# -- the session ----------------------------------------------------------------------------------------------------


def began(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """The first start says what the session is; later ones, and resumptions, have a place among the messages."""
    session = conversation.session
    if isinstance((model := data.get("selectedModel")), str) and model:
        conversation.model = model
    is_first = session.started is None and event["type"] == "session.start"
    if isinstance((context := data.get("context")), dict) and (is_first or not session.context):
        session.context = context
    if is_first:
        session.started = data
        conversation.seen_at(event)
        if data.get("vscodeVersion") is not None:
            conversation.facts["kept_as"] = "transcript"
            conversation.conversation_id = f"{session.session_id}:transcript"
        return FACT
    conversation.status = None
    return plain(conversation, event, data)


def moved(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    if not conversation.session.context:
        conversation.session.context = dict(data)
    return plain(conversation, event, data)


def ended(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """Totals count from the start of the session, not from the end before: each stands for itself."""
    entry: JsonObject = dict(data)
    if time := conversation.seen_at(event):
        entry["timestamp"] = time
    conversation.session.shutdowns.append(entry)
    conversation.status = "error" if data.get("shutdownType") == "error" else "completed"
    return FACT


def model_changed(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    for name in ("newModel", "chosenModel"):
        if isinstance((model := data.get(name)), str):
            conversation.model = model or None
    return plain(conversation, event, data)


def titled(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    match data:
        case {"title": str(title), **rest} if title and not rest and conversation.facts.get("title") is None:
            conversation.facts["title"] = title
            conversation.seen_at(event)
            return FACT
        case {"title": str(title)} if title:
            conversation.facts["title"] = title
        case _:
            pass
    return plain(conversation, event, data)


def partition(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    conversation.facts.setdefault("partitions", []).append(data)
    conversation.facts["kept_as"] = "jetbrains"
    conversation.seen_at(event)
    conversation.seen_at({"timestamp": data.get("createdAt")})
    return FACT


def rewound(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    if isinstance((event_id := data.get("upToEventId")), str):
        conversation.rewind(event_id)
    return plain(conversation, event, data)


def compacted(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    """What took the place of earlier messages in the model's context."""
    text = data.get("summaryContent")
    metadata: JsonObject = {"event": event["type"]}
    content: list[JsonObject] = []
    if isinstance(text, str) and text:
        metadata["is_compact_summary"] = True
        content = [build.text(text)]
    elif isinstance((error := data.get("error")), str) and error:
        content = [build.text(error)]
    if not content:
        return plain(conversation, event, data)
    keep_rest(metadata, data, _COMPACTION_MAPPED)
    used = data.get("compactionTokensUsed")
    counts = tokens_of(used)
    if used is not None:
        metadata["usage"] = used
    message = conversation.say(event, content, metadata)
    if counts:
        message["tokens"] = counts
    if "is_compact_summary" in metadata:
        conversation.summaries.append(
            build.summary(
                summary_id=message["message_id"], type="automatic", text=text or "", timestamp=message["timestamp"]
            )
        )
    return MAPPED


# -- agents ---------------------------------------------------------------------------------------------------------


def agent_began(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    session = conversation.session
    call_id, agent_id = data.get("toolCallId"), _agent_id(event, data)
    if agent_id:
        session.about_agents[agent_id] = data
        if isinstance(call_id, str):
            session.agent_of_call[call_id] = agent_id
    return plain(conversation, event, data)


def agent_ended(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    agent_id = _agent_id(event, data)
    agent = conversation.session.agents.get(agent_id) if agent_id else None
    if agent is not None:
        has_failed = event["type"] == "subagent.failed"
        agent.status = "error" if has_failed else "completed"
        agent.facts["agent_result"] = data
    return told(conversation, event, data) if event["type"] in TEXTS else plain(conversation, event, data)


def _agent_id(event: JsonObject, data: JsonObject) -> str | None:
    """An agent is known by its id, before that by its call."""
    for name in (event.get("agentId"), data.get("toolCallId")):
        if isinstance(name, str) and name:
            return name
    return None
