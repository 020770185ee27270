"""What a request says: its system prompt and its turns, of which most were said in the request before.

A request repeats all that was said. To read it anew every time would take the square of the time, so the place in its
list up to which another request said the same, byte by byte, is looked up; only what follows is read.
"""

from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from palaver.threads.call import Call
from palaver.threads.chain import BEGINNING, Chain, dumped, following
from palaver.threads.plainly import Message, only_text, plain_request, plain_texts
from palaver.wire import wire_format
from palaver.wire._openai_responses_items import role_of_item

Json = dict[str, Any]

MOST_PLACES = 1 << 16
"""How many places are remembered; when there are more, all are forgotten, and requests are read whole again."""
_LISTS = {
    "openai-chat": "messages",
    "anthropic": "messages",
    "openai-responses": "input",
    "gemini": "contents",
}
PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction")
"""Where a request has its system prompt, apart from its messages."""
_PROMPTING = ("system", "developer")
_OWN = {
    "openai_chat": frozenset({"shape", "message"}),
    "openai_responses": frozenset({"shape", "item"}),
    "anthropic": frozenset({"_form", "_absent", "cache_control"}),
    "gemini": frozenset({"shape"}),
}
"""Notes of a wire format about how it was spelled, and marks for the cache, which move with every request."""
_EMPTY: tuple[Any, ...] = (None, [], {})
_NOTHING: dict[str, tuple[Any, ...]] = {"is_error": (*_EMPTY, False)}
_MARKED = ("text", "tool_use", "tool_result")
"""Blocks that say the same with a mark for the cache and without."""
_ROLES = ("user", "assistant", "tool", "function")


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where in a conversation a request's list has come to."""

    chain: Chain
    depth: int
    """How many messages come before the next one."""
    conversation_id: str


class Turn(msgspec.Struct, frozen=True, gc=False):
    role: str
    content: list[Json]
    chain: Chain
    before: Chain
    depth: int
    metadata: Json


@dataclass(slots=True)
class Said:
    """What a request adds to what is known."""

    system: Turn | None
    """The system prompt, where it is not part of the chain."""
    turns: list[Turn]
    known: Place | None
    """Where the turns go on from; None where they are all that was said."""
    fresh: int
    """How many turns of the end were not said before: all behind the last one of the model."""
    prompts: int
    """How many of the turns are the system prompt: 1 or 0."""


class Histories:
    """Reads the requests of many calls."""

    def __init__(self) -> None:
        self._places: dict[int, Place] = {}
        self._prompts: set[int] = set()

    def read_whole(self, call: Call) -> Said:
        """All that a request says, though much of it may be known."""
        return self._read(call, _items(call), None, has_prompt=True)

    def read(self, call: Call) -> tuple[Said, "Marks"]:
        """What a request says beyond what is known, and the marks to remember it by."""
        items = _items(call)
        marks = Marks(call.wire, items, _beginning(call), self._places)
        skipped, known = marks.skipped, marks.known
        has_prompt = known is None or (bool(call.session_id) and self._is_new_prompt(call, known))
        said = self._read(call, items[skipped:], known, has_prompt=has_prompt)
        marks.ends = _ends(call.wire, items[skipped:], len(said.turns) - said.prompts, skipped)
        return said, marks

    def _is_new_prompt(self, call: Call, known: Place) -> bool:
        """Whether a conversation that goes on has another system prompt than before."""
        mark = hash((known.conversation_id, *(_prompt_mark(call.request.get(name)) for name in PROMPTS)))
        if mark in self._prompts:
            return False
        if len(self._prompts) > MOST_PLACES:
            self._prompts.clear()
        self._prompts.add(mark)
        return True

    def _read(self, call: Call, tail: list[Any], known: Place | None, *, has_prompt: bool) -> Said:
        prompt, messages = _told(call, tail, has_prompt=has_prompt)
        chain, depth = (known.chain, known.depth) if known else (BEGINNING, 0)
        system: Turn | None = None
        turns: list[Turn] = []
        if prompt:
            system = Turn("system", prompt, following(BEGINNING, "system", prompt), BEGINNING, 0, {})
            if known is None:
                depth += 1
            if not call.session_id:
                turns.append(system)
                chain, system = system.chain, None
        fresh = len(turns)
        for role, content, metadata in messages:
            after = following(chain, role, content)
            turns.append(Turn(role, content, after, chain, depth, metadata))
            chain, depth = after, depth + 1
            fresh = 0 if role == "assistant" else fresh + 1
        return Said(system, turns, known, fresh, len(turns) - len(messages))


class Marks:
    """The places of one request's list, by hashes over all that comes before them."""

    def __init__(self, wire: str, items: list[Any], beginning: int, places: dict[int, Place]) -> None:
        self._places = places
        self._items, self._wire = items, wire
        self._hashes: list[int] = []
        self.skipped = 0
        """How many items need not be read."""
        self.known: Place | None = None
        """Where these lead to."""
        self.ends: list[int] = []
        """Of each turn that was read, which item of the list ends it."""
        numbers = range(len(items))
        self._first = next((at for at in numbers if _is_models(wire, items[at])), -1)
        self._last = next((at for at in reversed(numbers) if _is_models(wire, items[at])), -1)
        try:
            self._hashes = _marks(wire, items, beginning)
        except TypeError:  # half of a surrogate pair, or an integer past 64 bits: this one is read whole
            return
        if self._first >= 0:
            self.skipped, self.known = self._deepest()
        # What is known was looked at before.
        if wire == "openai-chat" and any(map(_needs_others, items[self.skipped :])):
            self._hashes, self.skipped, self.known = [], 0, None

    def _deepest(self) -> tuple[int, Place | None]:
        """Up to where a list is known; what follows the model's last turn is always read.

        Before the first turn of the model, it is not known yet which conversation it is.
        """
        for at in range(self._last, self._first - 1, -1):
            if (place := self._places.get(self._hashes[at])) and self._is_between_turns(at):
                return at + 1, place
        return 0, None

    def remember(self, turns: list[Turn], conversation_id: str) -> None:
        """Note where each turn that was read leads to."""
        if not self._hashes:
            return
        if len(self._places) > MOST_PLACES:
            self._places.clear()
        for at, turn in zip(reversed(self.ends), reversed(turns), strict=False):
            if at >= self._first >= 0:
                self._places[self._hashes[at]] = Place(turn.chain, turn.depth + 1, conversation_id)

    def expect(self, answer: list[Json], place: Place) -> None:
        """Note where the list leads to with an answer behind it: so the next request has it, nearly always."""
        if self._hashes and (item := _repeated(self._wire, answer)) is not None:
            [mark] = _marks(self._wire, [item], self._hashes[-1])
            self._places[mark] = place

    def _is_between_turns(self, at: int) -> bool:
        """Whether a turn ends here: of the Responses API, several items may be one turn of the model."""
        following_item = self._items[at + 1] if at + 1 < len(self._items) else None
        if self._wire != "openai-responses":
            return not (isinstance(following_item, dict) and following_item.get("role") in _PROMPTING)
        return not (_is_models(self._wire, self._items[at]) and _is_models(self._wire, following_item))


def _marks(wire: str, items: list[Any], before: int) -> list[int]:
    """Hashes of all that was said up to each item. Only this process asks for them: its own are the quickest."""
    marks: list[int] = []
    for item in items:
        content = None
        if type(item) is dict and len(item) == 2 and type(item.get("role")) is str:
            content = item.get("content")
            if wire == "anthropic" and type(content) is list and content:
                # One text alone is the same as a string, which is seen at once where there is nothing else.
                block = content[0]
                if len(content) == 1 and type(block) is dict and len(block) == 2 and block.get("type") == "text":
                    content = block.get("text") or content
                else:
                    item, content = _unmarked(item, content)
        said = (item["role"], content) if type(content) is str else orjson.dumps(item)
        before = hash((before, said))
        marks.append(before)
    return marks


def _unmarked(item: Json, content: list[Any]) -> tuple[Json, Any]:
    """An item and its content without the mark for the cache, which stands in another message each time."""
    last = content[-1]
    if type(last) is not dict or "cache_control" not in last or last.get("type") not in _MARKED:
        return item, content
    last = {name: value for name, value in last.items() if name != "cache_control"}
    content = [*content[:-1], last]
    return {**item, "content": content}, (only_text(last) or content if len(content) == 1 else content)


def _repeated(wire: str, answer: list[Json]) -> Json | None:
    """An answer as a later request says it again, where it is text alone, which is read as the answer was."""
    text = only_text(answer[0]) if len(answer) == 1 else None
    if not text or wire not in ("openai-chat", "anthropic"):
        return None
    return {"role": "assistant", "content": text}


def plain(block: Json) -> Json:
    """A block without what only tells how a format spelled it."""
    notes = block.get("provider_data")
    if not notes:
        return block
    kept = {name: _source_fields(name, held) for name, held in notes.items()}
    kept = {name: held for name, held in kept.items() if held}
    rest = {key: value for key, value in block.items() if key != "provider_data"}
    return {**rest, "provider_data": kept} if kept else rest


def _source_fields(wire: str, notes: Json) -> Json:
    """What a source says beside what has a place here; that something is empty, or no error, says nothing."""
    own = _OWN.get(wire, frozenset())
    return {key: value for key, value in notes.items() if key not in own and value not in _NOTHING.get(key, _EMPTY)}


def _items(call: Call) -> list[Any]:
    given = call.request.get(_LISTS[call.wire])
    if isinstance(given, list):
        return given
    return [{"role": "user", "content": given}] if isinstance(given, str) and call.wire == "openai-responses" else []


def _beginning(call: Call) -> int:
    """What must be the same for two lists to lead to the same place."""
    look = bool if call.session_id else _prompt_mark
    return hash((call.wire, call.caller, call.session_id, *(look(call.request.get(name)) for name in PROMPTS)))


def _prompt_mark(prompt: Any) -> int:
    """A hash of a system prompt, which is long, and the same in every request."""
    if prompt is None or type(prompt) is str:
        return hash(prompt)
    if type(prompt) is list and (texts := plain_texts(prompt)) is not None:
        return hash(tuple([block["text"] for block in texts]))
    return hash(dumped(prompt))


def _told(call: Call, tail: list[Any], *, has_prompt: bool) -> tuple[list[Json], list[Message]]:
    """The system prompt, if it is asked for or among the messages, and the messages."""
    prompts = {key: call.request[key] for key in PROMPTS if key in call.request} if has_prompt else {}
    if (found := plain_request(call.wire, tail, prompts)) is not None:
        return found
    request = wire_format(call.wire).request_from_wire({**prompts, _LISTS[call.wire]: tail})
    return [plain(block) for block in request.get("system") or ()], [_message(one) for one in request["messages"]]


def _message(message: Json) -> Message:
    """Role, content and metadata of a message as the source has it."""
    notes: Json = {}
    for name, held in (message.get("provider_data") or {}).items():
        notes |= _source_fields(name, held)
    stated = notes.pop("role", message["role"])
    role = "system" if stated in _PROMPTING else stated
    if role not in (*_ROLES, "system"):
        notes["role"] = stated
        role = message["role"]
    return role, [plain(block) for block in message["content"]], notes


def _is_models(wire: str, item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    if (role := item.get("role")) is not None:
        return role in ("assistant", "model")
    return wire == "openai-responses" and role_of_item(item) == "assistant"


def _needs_others(item: Any) -> bool:
    """Whether a message can be understood only together with those before it: a call or a result without an id."""
    if not isinstance(item, dict):
        return True
    if item.get("role") in ("tool", "function"):
        return not isinstance(item.get("tool_call_id"), str)
    if "function_call" in item:
        return True
    calls = item.get("tool_calls")
    return isinstance(calls, list) and any(not isinstance(call, dict) or not call.get("id") for call in calls)


def _ends(wire: str, tail: list[Any], turns: int, skipped: int) -> list[int]:
    """Which item ends each turn; only the last one where that is not certain."""
    if wire == "openai-responses":
        ends = [
            at
            for at, item in enumerate(tail)
            if at + 1 == len(tail) or not (_is_models(wire, item) and _is_models(wire, tail[at + 1]))
        ]
    else:
        ends = list(range(len(tail)))
    ends = ends[len(ends) - turns :] if turns <= len(ends) else []
    if not ends:
        ends = [len(tail) - 1] if tail else []
    return [skipped + at for at in ends]
