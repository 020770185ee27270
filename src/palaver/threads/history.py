"""What a request says: its system prompt and its turns, of which most were said in the request before.

A request repeats all that was said. To read it anew every time would take the square of the time, so the place in its
list up to which another request said the same, byte by byte, is looked up; only what follows is read.
"""

from dataclasses import dataclass
from typing import Any

from palaver.model.build import JsonObject
from palaver.threads.call import Call
from palaver.threads.chain import BEGINNING, dumped, following
from palaver.threads.marks import MOST_PLACES, PROMPTING, Marks, Place, Turn, ends_of
from palaver.threads.plainly import Message, plain_request, plain_texts
from palaver.wire import wire_format

_LISTS = {
    "openai-chat": "messages",
    "anthropic": "messages",
    "openai-responses": "input",
    "gemini": "contents",
}
PROMPTS = ("system", "instructions", "systemInstruction", "system_instruction")
"""Where a request has its system prompt, apart from its messages."""
_OWN = {
    "openai_chat": frozenset({"shape", "message"}),
    "openai_responses": frozenset({"shape", "item"}),
    "anthropic": frozenset({"_form", "_absent", "cache_control"}),
    "gemini": frozenset({"shape"}),
}
"""Notes of a wire format about how it was spelled, and marks for the cache, which move with every request."""
_EMPTY: tuple[Any, ...] = (None, [], {})
_NOTHING: dict[str, tuple[Any, ...]] = {"is_error": (*_EMPTY, False)}
_ROLES = ("user", "assistant", "tool", "function")


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

    def read(self, call: Call) -> tuple[Said, Marks]:
        """What a request says beyond what is known, and the marks to remember it by."""
        items = _items(call)
        marks = Marks(call.wire, items, _beginning(call), self._places)
        skipped, known = marks.skipped, marks.known
        has_prompt = known is None or (bool(call.session_id) and self._is_new_prompt(call, known))
        said = self._read(call, items[skipped:], known, has_prompt=has_prompt)
        marks.ends = ends_of(call.wire, items[skipped:], len(said.turns) - said.prompts, skipped)
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


def plain(block: JsonObject) -> JsonObject:
    """A block without what only tells how a format spelled it."""
    notes = block.get("provider_data")
    if not notes:
        return block
    kept = {name: _source_fields(name, held) for name, held in notes.items()}
    kept = {name: held for name, held in kept.items() if held}
    rest = {key: value for key, value in block.items() if key != "provider_data"}
    return {**rest, "provider_data": kept} if kept else rest


def _source_fields(wire: str, notes: JsonObject) -> JsonObject:
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
    if prompt is None or isinstance(prompt, str):
        return hash(prompt)
    if isinstance(prompt, list) and (texts := plain_texts(prompt)) is not None:
        return hash(tuple([block["text"] for block in texts]))
    return hash(dumped(prompt))


def _told(call: Call, tail: list[Any], *, has_prompt: bool) -> tuple[list[JsonObject], list[Message]]:
    """The system prompt, if it is asked for or among the messages, and the messages."""
    prompts = {key: call.request[key] for key in PROMPTS if key in call.request} if has_prompt else {}
    if (found := plain_request(call.wire, tail, prompts)) is not None:
        return found
    request = wire_format(call.wire).request_from_wire({**prompts, _LISTS[call.wire]: tail})
    return [plain(block) for block in request.get("system") or ()], [_message(one) for one in request["messages"]]


def _message(message: JsonObject) -> Message:
    """Role, content and metadata of a message as the source has it."""
    notes: JsonObject = {}
    for name, held in (message.get("provider_data") or {}).items():
        notes |= _source_fields(name, held)
    stated = notes.pop("role", message["role"])
    role = "system" if stated in PROMPTING else stated
    if role not in (*_ROLES, "system"):
        notes["role"] = stated
        role = message["role"]
    return role, [plain(block) for block in message["content"]], notes
