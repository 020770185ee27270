"""Conversation documents from calls: many calls joined, or a single call in the literal form.

A message appears in the answer of one call and in the requests of all later ones. The answer has the most details; the
request in which a message was new has its time; later requests only show that it existed. Messages are ordered by
their depth in the conversation, so it does not matter which file contained which part. Branches follow as fragments,
and so do further calls that gave the same answer to the same messages.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.threads.agent_calls import AgentCalls
from palaver.threads.answers import answers_of, failure_of, platform_of
from palaver.threads.call import Call
from palaver.threads.chain import canonical_json, without_reminders
from palaver.threads.history import HistoryReader, without_format_notes
from palaver.threads.prefix_index import SYSTEM_ROLES
from palaver.wire import wire_format

FRAGMENT_BYTES = 1 << 25
_MAX_TITLE_LENGTH = 200


class MessageVersion(msgspec.Struct, frozen=True, gc=False):
    """One copy of a message, from one call.

    A msgspec struct, like the next two classes, because there are many and they are spilled to disk.
    """

    message_id: str
    parent_id: str | None
    depth: int
    role: str
    content: list[JsonObject]
    known_from: str
    """`request` or `history`; empty for answers and everything else known first-hand."""
    time: str | None
    metadata: JsonObject
    size_bytes: int
    tokens: JsonObject | None = None
    stream_position: int = 0
    """The number of answers before this one in the same stream."""


class CallHeader(msgspec.Struct, frozen=True, gc=False):
    """What one call states about the whole conversation."""

    time: str
    platform: JsonObject
    session: JsonObject
    tools: bytes | None = None
    """The digest of the tools that the model was offered."""
    caller: str = ""


class ToolDefinitions(msgspec.Struct, frozen=True, gc=False):
    """Tools that the model was offered, as the source spells them."""

    digest: bytes
    definitions: list[Any]


def conversation_documents(
    conversation_id: str,
    records: list[MessageVersion | CallHeader | ToolDefinitions],
    fallback_time: str,
    agent_calls: AgentCalls,
) -> Iterator[JsonObject]:
    """Yield the documents of a conversation: one, unless it branches, was repeated, or is too large."""
    versions = _ranked_versions(record for record in records if isinstance(record, MessageVersion))
    if not versions:
        return
    times = _times(versions, fallback_time)
    first = [copies[0] for copies in versions.values()]
    further = [copies for copies in versions.values() if len(copies) > 1]
    runs = list(_message_runs(first, times))
    for number in range(1, max(map(len, versions.values()))):
        further = [copies for copies in further if len(copies) > number]
        runs += _message_runs([copies[number] for copies in further], times)
    stated = [version.time for copies in versions.values() for version in copies if version.time]
    created_at = min([*stated, *(time for time, _ in times.values())])
    header = _header(records)
    title = _title(first)
    prompt = next((version for version in runs[0] if version.role == "user"), None)
    parent = agent_calls.parent_of(header.caller, conversation_id, prompt.content) if prompt else None
    session = header.session
    if prompt and parent:
        session = {**session, "parent_conversation_id": parent, "is_sidechain": True}
        written_by_model = msgspec.structs.replace(prompt, metadata={**prompt.metadata, "author_kind": "model"})
        runs[0] = [written_by_model if version is prompt else version for version in runs[0]]
    for sequence, run in enumerate(runs):
        fragment: JsonObject | None = None
        if len(runs) > 1:
            fragment = {"sequence": sequence, "final": sequence + 1 == len(runs), "start": run[0].depth}
        elif run[0].depth:
            fragment = {"sequence": 0, "final": True, "start": run[0].depth}
        yield build.conversation(
            conversation_id=conversation_id,
            title=title,
            platform=header.platform,
            session=session or None,
            created_at=created_at,
            updated_at=max(stated, default=None),
            messages=[_message(version, *times[version.message_id]) for version in run],
            fragment=fragment,
        )


def _ranked_versions(versions: Iterable[MessageVersion]) -> dict[str, list[MessageVersion]]:
    """Group versions by message id: the best first, then equal answers to other calls and versions that differ."""
    found: dict[str, list[MessageVersion]] = defaultdict(list)
    for version in versions:
        found[version.message_id].append(version)
    return {name: copies if len(copies) == 1 else _ranked(_by_origin(copies)) for name, copies in found.items()}


def _by_origin(copies: list[MessageVersion]) -> dict[str, list[MessageVersion]]:
    """Group the versions of one message by origin, dropping those with equal content."""
    versions: dict[str, list[MessageVersion]] = {}
    for version in copies:
        # One call may be logged twice, in two rows or two files.
        key = version.known_from or f"={version.metadata.get('api_message_id') or version.metadata.get('request_id')}"
        held = versions.setdefault(key, [])
        same = next((at for at, other in enumerate(held) if other.content == version.content), None)
        if same is None:
            held.append(version)
        else:
            held[same] = min(held[same], version, key=_earlier if version.known_from else _fuller)
    return versions


def _ranked(versions: dict[str, list[MessageVersion]]) -> list[MessageVersion]:
    """Return the best version first, then answers to other calls and versions with content that none before has."""
    if len(versions) == 1:
        (only,) = versions.values()
        if len(only) == 1:
            return only
    if _all_agree(versions):
        return versions[min(versions, key=_rank)]
    calls = [min(held, key=_fuller) for key, held in versions.items() if key.startswith("=")]
    chosen = set(map(id, calls))
    others = [version for held in versions.values() for version in held if id(version) not in chosen]
    ranked = sorted(calls, key=_earlier)
    seen = {_comparable_block(block) for version in ranked for block in version.content}
    for version in sorted(others, key=lambda version: (version.known_from == "history", _earlier(version))):
        blocks = set(map(_comparable_block, version.content))
        if not ranked or not blocks <= seen:
            ranked.append(version)
            seen |= blocks
    return ranked


def _all_agree(versions: dict[str, list[MessageVersion]]) -> bool:
    """Return whether there is at most one answer and all requests agree with it, as is nearly always the case."""
    copies = [held[0] for held in versions.values() if len(held) == 1]
    return (
        len(copies) == len(versions)
        and sum(key.startswith("=") for key in versions) <= 1
        and all(version.content == copies[0].content for version in copies)
    )


def _rank(key: str) -> int:
    """Rank origins: first-hand, then the request in which the message was new, then later requests."""
    return ("request", "history").index(key) if not key.startswith("=") else -1


def _comparable_block(block: JsonObject) -> bytes:
    """Return a block as bytes without signatures and surrounding blanks, which vary between copies."""
    fields = {key: value.strip() if isinstance(value, str) else value for key, value in block.items()}
    fields.pop("signature", None)
    return canonical_json(fields)


def _earlier(version: MessageVersion) -> tuple[Any, ...]:
    return version.time is None, version.time or "", _fuller(version)


def _fuller(version: MessageVersion) -> tuple[Any, ...]:
    return -len(version.content), -version.size_bytes, canonical_json([version.metadata, version.tokens, version.time])


def _times(versions: dict[str, list[MessageVersion]], fallback: str) -> dict[str, tuple[str, bool]]:
    """Return the time of each message and whether it is inferred; inferred times precede all later messages."""
    copies = sorted((copies[0] for copies in versions.values()), key=lambda version: -version.depth)
    earliest: dict[str, str] = {}
    times: dict[str, tuple[str, bool]] = {}
    for version in copies:
        time = version.time or earliest.get(version.message_id)
        if time is not None and version.parent_id is not None:
            earliest[version.parent_id] = min(time, earliest.get(version.parent_id, time))
        times[version.message_id] = time or "", version.time is None
    known = [time for time, _ in times.values() if time]
    latest = max(known) if known else fallback
    return {name: (time or latest, is_inferred) for name, (time, is_inferred) in times.items()}


def _message_runs(copies: list[MessageVersion], times: dict[str, tuple[str, bool]]) -> Iterator[list[MessageVersion]]:
    """Yield runs of messages, each one level deeper than the previous, following parents where possible.

    Further answers to a request that no message continues follow the first one.
    """
    copies, alternatives = _split_alternatives(copies)
    ordered = sorted(
        copies,
        key=lambda version: (version.depth, times[version.message_id], *_place(version), version.message_id),
    )
    runs: list[list[MessageVersion]] = []
    by_end: dict[str, list[MessageVersion]] = {}
    by_depth: dict[int, list[MessageVersion]] = {}
    for version in ordered:
        run = by_end.pop(version.parent_id, None) if version.parent_id else by_depth.pop(version.depth - 1, None)
        if run is None or run[-1].depth != version.depth - 1:
            run = []
            runs.append(run)
        run.append(version)
        by_end[version.message_id] = by_depth[version.depth] = run
    if alternatives:
        runs = [[copy for one in run for copy in (one, *alternatives.get(one.message_id, ()))] for run in runs]
    return chain.from_iterable(map(_pieces, runs))


def _split_alternatives(
    copies: list[MessageVersion],
) -> tuple[list[MessageVersion], dict[str, list[MessageVersion]]]:
    """Return the messages to arrange in runs, and the further answers to put after them, by the first answer's id."""
    answers: dict[tuple[str | None, str], list[MessageVersion]] = defaultdict(list)
    for version in copies:
        if "completion_index" in version.metadata and not version.known_from:
            answers[version.parent_id, str(version.metadata.get("request_id"))].append(version)
    if not answers:
        return copies, {}
    continued = {version.parent_id for version in copies}
    alternatives: dict[str, list[MessageVersion]] = {}
    for versions in answers.values():
        first, *others = sorted(versions, key=_place)
        alternatives[first.message_id] = [version for version in others if version.message_id not in continued]
    moved = {version.message_id for versions in alternatives.values() for version in versions}
    return [version for version in copies if version.message_id not in moved], alternatives


def _place(version: MessageVersion) -> tuple[int, int]:
    """Return the position among the messages of a stream, and among the answers to a request."""
    return version.stream_position, version.metadata.get("completion_index", 0)


def _pieces(run: list[MessageVersion]) -> Iterator[list[MessageVersion]]:
    """Split a run into pieces that fit into one document."""
    piece: list[MessageVersion] = []
    size_bytes = 0
    for version in run:
        if piece and size_bytes + version.size_bytes > FRAGMENT_BYTES:
            yield piece
            piece, size_bytes = [], 0
        piece.append(version)
        size_bytes += version.size_bytes
    yield piece


def _header(records: list[MessageVersion | CallHeader | ToolDefinitions]) -> CallHeader:
    """Merge the headers, taking each field from the latest call that states it."""
    tools = {record.digest: record.definitions for record in records if isinstance(record, ToolDefinitions)}
    headers = [record for record in records if isinstance(record, CallHeader)]
    platform: JsonObject = {}
    session: JsonObject = {}
    metadata: JsonObject = {}
    for header in sorted(headers, key=_header_order):
        metadata |= header.platform.get("metadata") or {}
        platform |= header.platform
        session |= header.session
        if header.tools:
            metadata.setdefault("tool_sets", {})[header.tools.hex()] = tools[header.tools]
    platform = {**platform, "metadata": metadata} if metadata else platform
    return CallHeader("", platform, session, caller=headers[0].caller if headers else "")


def _header_order(header: CallHeader) -> tuple[str, bytes, bytes]:
    return header.time, canonical_json([header.platform, header.session]), header.tools or b""


def _title(copies: list[MessageVersion]) -> str | None:
    """Return the start of the first message that a person wrote."""
    for version in sorted(copies, key=lambda version: (version.depth, version.message_id)):
        if version.role == "user" and author_kind(version.role, version.content) == "human":
            texts = [without_reminders(block["text"]) for block in version.content if block["type"] == "text"]
            if words := " ".join(texts).split():
                return " ".join(words)[:_MAX_TITLE_LENGTH]
    return None


def _message(version: MessageVersion, time: str, is_inferred: bool) -> JsonObject:  # noqa: FBT001 - a pair of `_times`
    metadata = version.metadata
    if version.known_from:
        metadata = {
            "author_kind": author_kind(version.role, version.content),
            "known_from": version.known_from,
            **metadata,
        }
    if is_inferred and version.time is None:
        metadata = {**metadata, "timestamp_inferred": True}
    return build.message(
        message_id=version.message_id,
        parent_message_id=version.parent_id,
        role=version.role,  # pyright: ignore[reportArgumentType] - one of the roles, from `history`
        timestamp=version.time or time,
        content=version.content or [build.text("")],
        tokens=version.tokens,
        metadata=metadata,
    )


def author_kind(role: str, content: list[JsonObject]) -> str:
    """Return who wrote a message of a request: `human`, `model`, `tool` or `harness`."""
    if role == "assistant":
        return "model"
    if role in {"tool", "function"} or any(block["type"] == "tool_result" for block in content):
        return "tool"
    if role == "system":
        return "harness"
    texts = [block["text"] for block in content if block["type"] == "text"]
    is_injected = (
        bool(texts) and len(texts) == len(content) and not any(without_reminders(text).strip() for text in texts)
    )
    return "harness" if is_injected else "human"


def literal_document(call: Call, platform: str, time: str) -> JsonObject:
    """Return one call as one conversation, in the literal form of the mapping specification.

    Messages of the request get the id `<call id>-<number>`, the answer `<call id>-response`; nothing is joined.
    """
    started = call.started_at or time
    ended = call.ended_at or started
    messages = [
        _literal_message(
            f"{call.call_id}-{number}", role, started, content, {"author_kind": author_kind(role, content)} | metadata
        )
        for number, (role, content, metadata) in enumerate(_request_messages(call))
    ]
    for answer in answers_of(call):
        name = f"{call.call_id}-response" + (f"-{answer.number}" if answer.number else "")
        message = _literal_message(name, "assistant", ended, answer.content, answer.metadata)
        if answer.tokens:
            message["tokens"] = answer.tokens
        messages.append(message)
    if call.error is not None:
        messages.append(_literal_message(f"{call.call_id}-error", "system", ended, *failure_of(call)))
    stated_platform = platform_of(call, platform)
    if tools := call.request.get("tools"):
        stated_platform.setdefault("metadata", {})["tools"] = tools
    duration_ms = call.duration_ms
    is_counted = duration_ms is not None and duration_ms >= 0 and duration_ms == int(duration_ms)
    return build.conversation(
        conversation_id=call.call_id,
        platform=stated_platform,
        session={"session_id": call.session_id} if call.session_id else None,
        created_at=started,
        updated_at=max(started, ended),
        messages=messages,
        metrics={"duration_ms": int(duration_ms)} if is_counted and duration_ms is not None else None,
    )


def _request_messages(call: Call) -> list[tuple[str, list[JsonObject], JsonObject]]:
    """Return role, content and metadata of every message in the request, system prompts one by one."""
    request = HistoryReader().read_whole(call)
    turns = [*([request.system] if request.system else []), *request.turns]
    given = call.request.get("messages")
    prompts = 0
    if call.wire == "openai-chat" and isinstance(given, list):
        while prompts < len(given) and isinstance(given[prompts], dict) and given[prompts].get("role") in SYSTEM_ROLES:
            prompts += 1
    if prompts < 2 or len(turns) - 1 != len(given or ()) - prompts:
        return [(turn.role, turn.content, turn.metadata) for turn in turns]
    wire = wire_format(call.wire)
    system_prompts = [
        wire.request_from_wire({"messages": [message]}).get("system") or [] for message in (given or ())[:prompts]
    ]
    return [
        *(("system", [without_format_notes(block) for block in blocks], {}) for blocks in system_prompts),
        *((turn.role, turn.content, turn.metadata) for turn in turns[1:]),
    ]


def _literal_message(name: str, role: str, time: str, content: list[JsonObject], metadata: JsonObject) -> JsonObject:
    return build.message(
        message_id=name,
        role=role,  # pyright: ignore[reportArgumentType] - one of the roles, from `history`
        timestamp=time,
        content=content or [build.text("")],
        metadata=metadata,
    )
