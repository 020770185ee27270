"""One call as one conversation, in the literal form of the mapping specification: ids made of the request's id."""

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.threads.answers import answers_of, failure_of, platform_of
from palaver.threads.call import Call
from palaver.threads.history import Histories, plain
from palaver.threads.telling import author_of
from palaver.wire import wire_format

_PROMPTING = {"system", "developer"}


def literal_document(call: Call, platform: str, time: str) -> JsonObject:
    """`<id>-<number>` for what stands in the request, `<id>-response` for what came back; nothing is joined."""
    started = call.started_at or time
    ended = call.ended_at or started
    messages = [
        _message(f"{call.call_id}-{number}", role, started, content, {"author_kind": author_of(role, content)} | about)
        for number, (role, content, about) in enumerate(_said(call))
    ]
    for answer in answers_of(call):
        name = f"{call.call_id}-response" + (f"-{answer.number}" if answer.number else "")
        message = _message(name, "assistant", ended, answer.content, answer.metadata)
        if answer.tokens:
            message["tokens"] = answer.tokens
        messages.append(message)
    if call.error is not None:
        messages.append(_message(f"{call.call_id}-error", "system", ended, *failure_of(call)))
    told = platform_of(call, platform)
    if tools := call.request.get("tools"):
        told.setdefault("metadata", {})["tools"] = tools
    duration_ms = call.duration_ms
    is_counted = duration_ms is not None and duration_ms >= 0 and duration_ms == int(duration_ms)
    return build.conversation(
        conversation_id=call.call_id,
        platform=told,
        session={"session_id": call.session_id} if call.session_id else None,
        created_at=started,
        updated_at=max(started, ended),
        messages=messages,
        metrics={"duration_ms": int(duration_ms)} if is_counted and duration_ms is not None else None,
    )


def _said(call: Call) -> list[tuple[str, list[JsonObject], JsonObject]]:
    """Role, content and metadata of every message in the request, system prompts one by one."""
    said = Histories().read_whole(call)
    turns = [*([said.system] if said.system else []), *said.turns]
    given = call.request.get("messages")
    prompts = 0
    if call.wire == "openai-chat" and isinstance(given, list):
        while prompts < len(given) and isinstance(given[prompts], dict) and given[prompts].get("role") in _PROMPTING:
            prompts += 1
    if prompts < 2 or len(turns) - 1 != len(given or ()) - prompts:
        return [(turn.role, turn.content, turn.metadata) for turn in turns]
    wire = wire_format(call.wire)
    apart = [wire.request_from_wire({"messages": [message]}).get("system") or [] for message in (given or ())[:prompts]]
    return [
        *(("system", [plain(block) for block in blocks], {}) for blocks in apart),
        *((turn.role, turn.content, turn.metadata) for turn in turns[1:]),
    ]


def _message(name: str, role: str, time: str, content: list[JsonObject], metadata: JsonObject) -> JsonObject:
    return build.message(
        message_id=name,
        role=role,  # pyright: ignore[reportArgumentType] - one of the roles, from `history`
        timestamp=time,
        content=content or [build.text("")],
        metadata=metadata,
    )
