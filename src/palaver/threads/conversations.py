"""Conversations out of calls: each call finds its own by what was said in it.

The id of a conversation comes from who asked and from all that was said up to the model's first answer. It stands in
the first call with its answer, and in the request of every later one, so that each call can be put in its place
without knowing any other, in whatever order and from whatever file. A call that lacks both stays alone.
"""

from collections.abc import Callable, Iterator
from hashlib import blake2b
from types import TracebackType
from typing import Any, Self

import msgspec
import orjson

from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.ids import deterministic_uuid
from palaver.storage.spill import LIMIT_BYTES, Spill
from palaver.threads.answers import Answer, answers_of, failure_of, platform_of
from palaver.threads.call import Call
from palaver.threads.chain import Chain, dumped, following
from palaver.threads.history import Histories, Said
from palaver.threads.marks import Place, Turn
from palaver.threads.telling import Header, Node, Tools, author_of, told

Note = Callable[..., None]

UNTHREADED = finding_kind(
    "unthreaded",
    "note",
    "A call cannot be joined with others of its conversation, as some of it is missing; it is a conversation alone.",
)
_MOST_REMEMBERED = 1 << 18


class Threads:
    """Takes the calls of one source, gives its conversations."""

    def __init__(self, platform: str, note: Note, time: str, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._platform = platform
        self._note = note
        self._time = time
        self._limit_bytes = limit_bytes
        self._spill = Spill(limit_bytes)
        self._waiting = Spill(limit_bytes)
        """Calls that continue a response which was not seen yet, by its id."""
        self._has_waiting = False
        self._histories = Histories()
        self._responses: dict[str, Place] = {}
        self._tools: set[tuple[str, bytes]] = set()
        self._digests: dict[int, bytes] = {}
        """Of tools as they are spelled: thousands of calls offer the same."""

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
        elif (place := self._responses.get(previous)) is not None:
            self._add(call, place)
        else:
            self._has_waiting = True
            self._waiting.add(previous, call, len(dumped([call.request, call.response])))

    def documents(self) -> Iterator[JsonObject]:
        """All conversations; no call can be added any more."""
        self._settle()
        for conversation_id, records in self._spill.groups():
            yield from told(conversation_id, records, self._time)

    def _settle(self) -> None:
        """Add the calls that wait for another one, those after it one by one; the rest stay alone."""
        has_moved = True
        while self._has_waiting and has_moved:
            waiting, self._waiting = self._waiting, Spill(self._limit_bytes)
            self._has_waiting = has_moved = False
            with waiting:
                for previous, calls in waiting.groups():
                    has_moved |= previous in self._responses
                    for call in calls:
                        self.add(call)
        with self._waiting as waiting:
            for _, calls in waiting.groups():
                for call in calls:
                    self._add_alone(call, "the response that it continues is not in this source")

    def _add(self, call: Call, after: Place | None) -> None:
        if call.is_request_cut:
            self._add_alone(call, "the request is cut off")
            return
        if after is not None and (instructions := call.request.get("instructions")):
            call.answer = {**call.answer, "instructions": instructions}
        said, marks = self._histories.read(call) if after is None else (self._histories.read_whole(call), None)
        answers = answers_of(call)
        turns = said.turns if after is None else _moved(said.turns, after)
        end = _end(turns, after or said.known)
        conversation_id = (after or said.known or _NOWHERE).conversation_id
        if not conversation_id:
            conversation_id = self._identity(call, turns, end, answers)
        if not conversation_id:
            self._add_alone(call, "the answer is cut off" if answers else "there is no answer")
            return
        if marks is not None:
            marks.remember(said.turns, conversation_id)
        self._keep_turns(conversation_id, call, said, turns)
        place = self._keep_answers(conversation_id, call, answers, end)
        if marks is not None and answers:
            marks.expect(answers[0].content, place)
        self._keep_header(conversation_id, call)
        if call.wire == "openai-responses" and isinstance(name := (call.response or {}).get("id"), str):
            if len(self._responses) > _MOST_REMEMBERED:
                self._responses.clear()
            self._responses[name] = place

    def _identity(self, call: Call, turns: list[Turn], end: Place, answers: list[Answer]) -> str:
        """The conversation's id; empty where the model's first words are not known."""
        first = next((turn.chain for turn in turns if turn.role == "assistant"), None)
        if first is None and answers and not call.is_answer_cut:
            first = following(end.chain, "assistant", answers[0].content)
        if first is None:
            return ""
        return deterministic_uuid(f"{self._platform}-{call.caller}-{call.session_id}-{first.hex()}")

    def _keep_turns(self, conversation_id: str, call: Call, said: Said, turns: list[Turn]) -> None:
        if said.system is not None:
            turn = said.system
            name, size_bytes = turn.chain.hex(), _size_of(turn.content)
            node = Node(name, None, 0, "system", turn.content, "request", call.started_at, {}, size_bytes)
            self._keep(conversation_id, node)
        fresh = max(0, len(turns) - said.fresh)
        for index, turn in enumerate(turns):
            is_fresh = index >= fresh
            metadata = turn.metadata | _unanswered(call) if index + 1 == len(turns) else turn.metadata
            self._keep(
                conversation_id,
                Node(
                    turn.chain.hex(),
                    turn.before.hex() or None,
                    turn.depth,
                    turn.role,
                    turn.content,
                    "request" if is_fresh else "history",
                    call.started_at if is_fresh else None,
                    metadata,
                    _size_of(turn.content),
                ),
            )

    def _keep_answers(self, conversation_id: str, call: Call, answers: list[Answer], end: Place) -> Place:
        """Keep what came back; gives the place behind it."""
        place = Place(end.chain, end.depth, conversation_id)
        parent = end.chain.hex() or None
        for answer in answers:
            chain = following(end.chain, "assistant", answer.content)
            metadata = answer.metadata if not answer.number else {**answer.metadata, "completion_index": answer.number}
            time = call.ended_at or call.started_at
            node = (chain.hex(), parent, end.depth, "assistant", answer.content, "", time, metadata)
            self._keep(conversation_id, Node(*node, _size_of(answer.content), answer.tokens))
            if not answer.number:
                place = Place(chain, end.depth + 1, conversation_id)
        if call.error is not None:
            self._keep(conversation_id, _failure(call, place.chain.hex() or None, place.depth))
        return place

    def _keep_header(self, conversation_id: str, call: Call) -> None:
        digest: bytes | None = None
        tools = call.request.get("tools")
        if isinstance(tools, list) and tools:
            digest = self._digest(tools)
            if (conversation_id, digest) not in self._tools:
                if len(self._tools) > _MOST_REMEMBERED:
                    self._tools.clear()
                self._tools.add((conversation_id, digest))
                self._spill.add(conversation_id, Tools(digest, tools), 3 * len(dumped(tools)))
        session: JsonObject = {"session_id": call.session_id} if call.session_id else {}
        if call.helper:
            session["is_sidechain"] = True
        time = call.ended_at or call.started_at or ""
        self._spill.add(conversation_id, Header(time, platform_of(call, self._platform), session, digest), 500)

    def _digest(self, tools: list[Any]) -> bytes:
        try:
            spelled = hash(orjson.dumps(tools))
        except TypeError:  # half of a surrogate pair, or an integer past 64 bits
            return _digest_of(tools)
        digest = self._digests.get(spelled)
        if digest is None:
            if len(self._digests) > _MOST_REMEMBERED:
                self._digests.clear()
            digest = self._digests[spelled] = _digest_of(tools)
        return digest

    def _keep(self, conversation_id: str, node: Node) -> None:
        self._spill.add(conversation_id, node, 2 * node.size_bytes)

    def _add_alone(self, call: Call, reason: str) -> None:
        """A call that cannot be joined with others: a conversation of its own, under the log's id of the request."""
        self._note(UNTHREADED, call.where, f"the call {call.call_id}: {reason}")
        said = self._histories.read_whole(call)
        conversation_id = deterministic_uuid(f"{self._platform}-{call.caller}-{call.call_id}")
        parent: str | None = None
        turns = [*([said.system] if said.system else []), *said.turns]
        for index, turn in enumerate(turns):
            name = f"{call.call_id}-{index}"
            metadata = {"author_kind": author_of(turn.role, turn.content), **turn.metadata}
            if call.is_request_cut:
                metadata["context_incomplete"] = True
            if index + 1 == len(turns):
                metadata |= _unanswered(call)
            size_bytes = _size_of(turn.content)
            node = Node(name, parent, index, turn.role, turn.content, "", call.started_at, metadata, size_bytes)
            self._keep(conversation_id, node)
            parent = name
        depth = len(turns)
        time = call.ended_at or call.started_at
        last = parent
        for answer in answers_of(call):
            name = f"{call.call_id}-response" + (f"-{answer.number}" if answer.number else "")
            node = (name, last, depth, "assistant", answer.content, "", time, answer.metadata)
            self._keep(conversation_id, Node(*node, _size_of(answer.content), answer.tokens))
            if not answer.number:
                parent = name
        if call.error is not None:
            self._keep(conversation_id, _failure(call, parent, depth + (parent != last)))
        self._keep_header(conversation_id, call)


_NOWHERE = Place(b"", 0, "")


def _unanswered(call: Call) -> JsonObject:
    """What a log says of a call to which nothing came back: there is no answer that could tell it."""
    if call.response is not None or call.error is not None:
        return {}
    return {"unanswered": {"request_id": call.call_id, **call.answer}}


def _digest_of(tools: list[Any]) -> bytes:
    return blake2b(dumped(tools), digest_size=16).digest()


def _size_of(content: list[JsonObject]) -> int:
    """About how many bytes a message takes: its texts and pictures, and something for all else."""
    size_bytes = 800
    for block in content:
        text = block.get("text") or block.get("thinking")
        size_bytes += len(text) + 100 if isinstance(text, str) else len(dumped(block))
    return size_bytes


def _moved(turns: list[Turn], after: Place) -> list[Turn]:
    """The turns of a request that continues a response: what was said before is not repeated in it."""
    moved: list[Turn] = []
    chain: Chain = after.chain
    depth = after.depth
    for turn in turns:
        if turn.role == "system" and not turn.before:
            continue  # instructions hold for one request only: the answer's metadata has them
        after_turn = following(chain, turn.role, turn.content)
        moved.append(msgspec.structs.replace(turn, chain=after_turn, before=chain, depth=depth))
        chain, depth = after_turn, depth + 1
    return moved


def _end(turns: list[Turn], known: Place | None) -> Place:
    if turns:
        return Place(turns[-1].chain, turns[-1].depth + 1, "")
    return known or _NOWHERE


def _failure(call: Call, parent: str | None, depth: int) -> Node:
    """What the service said instead of an answer."""
    content, metadata = failure_of(call)
    name = deterministic_uuid(f"{parent}-{call.call_id}-error")
    size_bytes = _size_of(content)
    return Node(name, parent, depth, "system", content, "", call.ended_at or call.started_at, metadata, size_bytes)
