"""Assigns calls to conversations by their content.

The id of a conversation is derived from the caller and from everything up to the model's first answer. That is known
from the first call with its answer and from the request of every later call, so each call can be assigned without
any other, in any order and from any file. A call that lacks both becomes a conversation of its own.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from types import TracebackType
from typing import Any, Self, cast

import msgspec
import orjson

from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.ids import deterministic_uuid
from palaver.storage.spill import LIMIT_BYTES, GroupSpill
from palaver.threads.agent_calls import AgentCalls
from palaver.threads.answers import Answer, answers_of, failure_of, platform_of
from palaver.threads.call import Call
from palaver.threads.chain import Chain, canonical_json, chain_after
from palaver.threads.documents import CallHeader, MessageVersion, ToolDefinitions, author_kind, conversation_documents
from palaver.threads.history import HistoryReader, RequestTurns
from palaver.threads.prefix_index import Position, Turn

Note = Callable[..., None]

UNTHREADED = finding_kind(
    "unthreaded",
    "note",
    "A call with missing parts cannot be joined to its conversation; it became a conversation of its own.",
)
_MAX_REMEMBERED = 1 << 18


class Threads:
    """Collects the calls of one source and returns their conversations."""

    def __init__(self, platform: str, note: Note, time: str, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._platform = platform
        self._note = note
        self._time = time
        self._limit_bytes = limit_bytes
        self._spill = GroupSpill(limit_bytes)
        self._waiting = GroupSpill(limit_bytes)
        """Calls that continue a response not seen yet, by its id."""
        self._has_waiting = False
        self._history_reader = HistoryReader()
        self._responses: dict[str, Position] = {}
        self._agent_calls = AgentCalls()
        self._tools: set[tuple[str, bytes]] = set()
        self._digests: dict[int, bytes] = {}
        """Digests of tool lists by the hash of their spelling, as thousands of calls offer the same tools."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spill.close()
        self._waiting.close()

    def add(self, call: Call) -> None:
        previous = call.request.get("previous_response_id")
        if not isinstance(previous, str) or not previous:
            self._add(call, None)
        elif (position := self._responses.get(previous)) is not None:
            self._add(call, position)
        else:
            self._has_waiting = True
            self._waiting.add(previous, call, len(canonical_json([call.request, call.response])))

    def documents(self) -> Iterator[JsonObject]:
        """Yield the documents of all conversations. No call can be added afterwards."""
        self._add_waiting()
        for conversation_id, records in self._spill.groups():
            yield from conversation_documents(conversation_id, records, self._time, self._agent_calls)

    def _add_waiting(self) -> None:
        """Add the calls that waited for another response; those whose response never came stay alone."""
        has_moved = True
        while self._has_waiting and has_moved:
            waiting, self._waiting = self._waiting, GroupSpill(self._limit_bytes)
            self._has_waiting = has_moved = False
            with waiting:
                for previous, calls in waiting.groups():
                    has_moved |= previous in self._responses
                    for call in calls:
                        self.add(call)
        with self._waiting as waiting:
            for _, calls in waiting.groups():
                for call in calls:
                    self._add_alone(call, "the response it continues is not in this source")

    def _add(self, call: Call, after: Position | None, conversation_id: str = "") -> None:
        """Add a call after a known position; without a conversation's id, to the one that its content belongs to."""
        conversation_id = self._add_threaded(call, after, conversation_id)
        for later in call.following:
            self._add(later, after, conversation_id)

    def _add_threaded(self, call: Call, after: Position | None, conversation_id: str) -> str:
        """Add a call, and return the id of its conversation, or "" if it stays alone."""
        if call.is_request_cut:
            self._add_alone(call, "the request is truncated")
            return ""
        if after is not None and (instructions := call.request.get("instructions")):
            call.answer = {**call.answer, "instructions": instructions}
        reader = self._history_reader
        request, prefixes = reader.read_new(call) if after is None else (reader.read_whole(call), None)
        turns = request.turns if after is None else _rebased(request.turns, after)
        end = _end(turns, after or request.known_position)
        digest = self._tools_digest(call)
        call.answer = {**call.answer, "sent": _sent(call, end, request.prompt_id, digest)}
        answers = answers_of(call)
        conversation_id = conversation_id or (after or request.known_position or _START).conversation_id
        if not conversation_id:
            conversation_id = self._conversation_id(call, turns, end, answers)
        if not conversation_id:
            self._add_alone(call, "the answer is truncated" if answers else "no answer", end)
            return ""
        if prefixes is not None:
            prefixes.remember(request.turns, conversation_id)
        self._store_turns(conversation_id, call, request, turns)
        position = self._store_answers(conversation_id, call, answers, end)
        if prefixes is not None and answers:
            prefixes.remember_answer(answers[0].content, position)
        self._store_header(conversation_id, call, digest)
        if call.wire == "openai-responses" and isinstance(name := (call.response or {}).get("id"), str):
            if len(self._responses) > _MAX_REMEMBERED:
                self._responses.clear()
            self._responses[name] = position
        return conversation_id

    def _conversation_id(self, call: Call, turns: list[Turn], end: Position, answers: list[Answer]) -> str:
        """Return the conversation's id, or "" if the model's first answer is not known."""
        first = next((turn.chain for turn in turns if turn.role == "assistant"), None)
        if first is None and answers and not call.is_answer_cut:
            first = chain_after(end.chain, "assistant", answers[0].content)
        if first is None:
            return ""
        return deterministic_uuid(f"{self._platform}-{call.caller}-{call.session_id}-{first.hex()}")

    def _store_turns(self, conversation_id: str, call: Call, request: RequestTurns, turns: list[Turn]) -> None:
        if request.system is not None:
            turn = request.system
            name, size_bytes = turn.chain.hex(), _estimated_size(turn.content)
            node = MessageVersion(name, None, 0, "system", turn.content, "request", call.started_at, {}, size_bytes)
            self._store(conversation_id, node)
        fresh = max(0, len(turns) - request.fresh_count)
        for index, turn in enumerate(turns):
            if turn.role == "assistant":
                self._agent_calls.add(_caller(call), conversation_id, turn.content)
            is_fresh = index >= fresh
            metadata = turn.metadata | _unanswered(call) if index + 1 == len(turns) else turn.metadata
            self._store(
                conversation_id,
                MessageVersion(
                    turn.chain.hex(),
                    turn.before.hex() or None,
                    turn.depth,
                    turn.role,
                    turn.content,
                    "request" if is_fresh else "history",
                    call.started_at if is_fresh else None,
                    metadata,
                    _estimated_size(turn.content),
                ),
            )

    def _store_answers(self, conversation_id: str, call: Call, answers: list[Answer], end: Position) -> Position:
        """Store the answers and the error, if any; return the position after the first answer."""
        position = Position(end.chain, end.depth, conversation_id)
        parent = end.chain.hex() or None
        for answer in answers:
            self._agent_calls.add(_caller(call), conversation_id, answer.content)
            chain = chain_after(end.chain, "assistant", answer.content)
            time = call.ended_at or call.started_at
            node = (chain.hex(), parent, end.depth, "assistant", answer.content, "", time, answer.metadata)
            size_bytes = _estimated_size(answer.content)
            self._store(conversation_id, MessageVersion(*node, size_bytes, answer.tokens, call.stream_position))
            if not answer.number:
                position = Position(chain, end.depth + 1, conversation_id)
        if call.error is not None:
            self._store(conversation_id, _failure(call, position.chain.hex() or None, position.depth))
        return position

    def _store_header(self, conversation_id: str, call: Call, digest: bytes | None) -> None:
        if digest is not None and (conversation_id, digest) not in self._tools:
            if len(self._tools) > _MAX_REMEMBERED:
                self._tools.clear()
            self._tools.add((conversation_id, digest))
            tools = call.request["tools"]
            self._spill.add(conversation_id, ToolDefinitions(digest, tools), 3 * len(canonical_json(tools)))
        session: JsonObject = {"session_id": call.session_id} if call.session_id else {}
        time = call.ended_at or call.started_at or ""
        header = CallHeader(time, platform_of(call, self._platform), session, digest, _caller(call))
        self._spill.add(conversation_id, header, 500)

    def _tools_digest(self, call: Call) -> bytes | None:
        """Return the digest of the tools that a request offers, or None if it offers none."""
        tools = call.request.get("tools")
        if not isinstance(tools, list) or not tools:
            return None
        try:
            spelling = hash(orjson.dumps(tools))
        except TypeError:  # half of a surrogate pair, or an integer past 64 bits
            return _digest_of(cast("list[Any]", tools))
        digest = self._digests.get(spelling)
        if digest is None:
            if len(self._digests) > _MAX_REMEMBERED:
                self._digests.clear()
            digest = self._digests[spelling] = _digest_of(cast("list[Any]", tools))
        return digest

    def _store(self, conversation_id: str, node: MessageVersion) -> None:
        self._spill.add(conversation_id, node, 2 * node.size_bytes)

    def _add_alone(self, call: Call, reason: str, end: Position | None = None) -> None:
        """Store a call that cannot be joined with others as a conversation of its own, with ids from the call's id."""
        self._note(UNTHREADED, call.where, f"the call {call.call_id}: {reason}")
        request = self._history_reader.read_whole(call)
        conversation_id = deterministic_uuid(f"{self._platform}-{call.caller}-{call.call_id}")
        parent: str | None = None
        turns = [*([request.system] if request.system else []), *request.turns]
        digest = self._tools_digest(call)
        prompt_id = f"{call.call_id}-0" if turns and turns[0].role == "system" else ""
        call.answer = {**call.answer, "sent": _sent(call, end, prompt_id, digest)}
        for index, turn in enumerate(turns):
            name = f"{call.call_id}-{index}"
            metadata = {"author_kind": author_kind(turn.role, turn.content), **turn.metadata}
            if call.is_request_cut:
                metadata["context_incomplete"] = True
            if index + 1 == len(turns):
                metadata |= _unanswered(call)
            size_bytes = _estimated_size(turn.content)
            node = MessageVersion(
                name, parent, index, turn.role, turn.content, "", call.started_at, metadata, size_bytes
            )
            self._store(conversation_id, node)
            parent = name
        depth = len(turns)
        time = call.ended_at or call.started_at
        last = parent
        for answer in answers_of(call):
            name = f"{call.call_id}-response" + (f"-{answer.number}" if answer.number else "")
            node = (name, last, depth, "assistant", answer.content, "", time, answer.metadata)
            size_bytes = _estimated_size(answer.content)
            self._store(conversation_id, MessageVersion(*node, size_bytes, answer.tokens, call.stream_position))
            if not answer.number:
                parent = name
        if call.error is not None:
            self._store(conversation_id, _failure(call, parent, depth + (parent != last)))
        self._store_header(conversation_id, call, digest)


_START = Position(b"", 0, "")


def _caller(call: Call) -> str:
    """Return whose calls may be related: those of one caller, and of one session where it is stated."""
    return f"{call.caller}\n{call.session_id}"


def _sent(call: Call, end: Position | None, prompt_id: str, tools: bytes | None) -> JsonObject:
    """Return when a request was sent, a hash by which its repetitions are found, and its system prompt and tools."""
    sent: JsonObject = {"at": call.started_at or call.ended_at or ""}
    if end is not None and end.chain:
        sent["request"] = blake2b(_caller(call).encode() + end.chain, digest_size=16).hexdigest()
    if prompt_id:
        sent["system_prompt"] = prompt_id
    if tools is not None:
        sent["tools"] = tools.hex()
    return sent


def _unanswered(call: Call) -> JsonObject:
    """Return metadata for the last message of a call without a response, as no answer can carry it."""
    if call.response is not None or call.error is not None:
        return {}
    helper: JsonObject = {"helper": call.helper} if call.helper else {}
    return {"unanswered": {"request_id": call.call_id, **call.answer}, **helper}


def _digest_of(tools: list[Any]) -> bytes:
    return blake2b(canonical_json(tools), digest_size=16).digest()


def _estimated_size(content: list[JsonObject]) -> int:
    """Estimate the size of a message from its texts and images, plus overhead."""
    size_bytes = 800
    for block in content:
        text = block.get("text") or block.get("thinking")
        size_bytes += len(text) + 100 if isinstance(text, str) else len(canonical_json(block))
    return size_bytes


def _rebased(turns: list[Turn], after: Position) -> list[Turn]:
    """Return the turns of a request that continues a response, with chains and depths counted from there."""
    rebased: list[Turn] = []
    chain: Chain = after.chain
    depth = after.depth
    for turn in turns:
        if turn.role == "system" and not turn.before:
            continue  # instructions hold for one request only: the answer's metadata has them
        after_turn = chain_after(chain, turn.role, turn.content)
        rebased.append(msgspec.structs.replace(turn, chain=after_turn, before=chain, depth=depth))
        chain, depth = after_turn, depth + 1
    return rebased


def _end(turns: list[Turn], known: Position | None) -> Position:
    if turns:
        return Position(turns[-1].chain, turns[-1].depth + 1, "")
    return known or _START


def _failure(call: Call, parent: str | None, depth: int) -> MessageVersion:
    """Return the message for an error that came instead of an answer, or cut it short."""
    content, metadata = failure_of(call)
    name = deterministic_uuid(f"{parent}-{call.call_id}-error")
    size_bytes = _estimated_size(content)
    return MessageVersion(
        name, parent, depth, "system", content, "", call.ended_at or call.started_at, metadata, size_bytes
    )
