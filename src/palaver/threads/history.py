"""The system prompt and the turns of a request, most of which repeat the request before.

Reading every repetition would take quadratic time, so the longest prefix that an earlier request shares, byte by byte,
is looked up, and only the rest is read.
"""

from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from palaver.model.build import JsonObject
from palaver.threads.call import Call
from palaver.threads.chain import EMPTY_CHAIN, canonical_json, chain_after
from palaver.threads.plain_text import Message, plain_request, plain_text_blocks
from palaver.threads.prefix_index import MAX_POSITIONS, SYSTEM_ROLES, Position, RequestPrefixes, Turn, turn_ends
from palaver.wire import wire_format

_MESSAGE_FIELDS = {
    "openai-chat": "messages",
    "anthropic": "messages",
    "openai-responses": "input",
    "gemini": "contents",
}
PROMPT_FIELDS = ("system", "instructions", "systemInstruction", "system_instruction")
"""Fields that hold the system prompt apart from the messages."""
_FORMAT_NOTES = {
    "openai_chat": frozenset({"shape", "message"}),
    "openai_responses": frozenset({"shape", "item"}),
    "anthropic": frozenset({"_form", "_absent", "cache_control"}),
    "gemini": frozenset({"shape"}),
}
"""What the wire formats record about spelling, and cache markers, which move with every request."""
_EMPTY: tuple[Any, ...] = (None, [], {})
_UNINFORMATIVE: dict[str, tuple[Any, ...]] = {"is_error": (*_EMPTY, False)}
_ROLES = ("user", "assistant", "tool", "function")


@dataclass(slots=True)
class RequestTurns:
    """The turns that a request adds to those already known."""

    system: Turn | None
    """The system prompt, if it is not part of the chain."""
    turns: list[Turn]
    known_position: Position | None
    """The position that the turns continue from; None if they start the conversation."""
    fresh_count: int
    """How many turns at the end are new: all after the model's last turn."""
    prompt_count: int
    """How many of the turns are the system prompt: 0 or 1."""
    prompt_id: str = ""
    """The id of the message for the system prompt that was sent; "" if the conversation can have only one."""


class HistoryReader:
    """Reads the requests of many calls, skipping what earlier ones contained."""

    def __init__(self) -> None:
        self._positions: dict[int, Position] = {}
        self._seen_prompts: set[int] = set()
        self._prompt_ids: dict[int, str] = {}

    def read_whole(self, call: Call) -> RequestTurns:
        """Return all turns of a request, known or not."""
        return self._read(call, _items(call), None, has_prompt=True)

    def read_new(self, call: Call) -> tuple[RequestTurns, RequestPrefixes]:
        """Return the turns that are not known yet, and the prefixes under which to remember them."""
        items = _items(call)
        prefixes = RequestPrefixes(call.wire, items, _initial_hash(call), self._positions)
        skipped, known = prefixes.skipped_items, prefixes.known_position
        has_prompt = known is None or (bool(call.session_id) and self._is_new_prompt(call, known))
        added = self._read(call, items[skipped:], known, has_prompt=has_prompt)
        prefixes.turn_ends = turn_ends(call.wire, items[skipped:], len(added.turns) - added.prompt_count, skipped)
        return added, prefixes

    def _is_new_prompt(self, call: Call, known: Position) -> bool:
        """Return whether a known conversation has this system prompt for the first time."""
        prompt_hash = hash((known.conversation_id, _prompts_hash(call)))
        if prompt_hash in self._seen_prompts:
            return False
        if len(self._seen_prompts) > MAX_POSITIONS:
            self._seen_prompts.clear()
        self._seen_prompts.add(prompt_hash)
        return True

    def _prompt_id(self, call: Call, system: Turn | None) -> str:
        """Return the id of the message for the system prompt of a session, which may change with every request."""
        if not call.session_id:
            return ""
        # Chat Completions and Responses may have the prompt among the messages.
        messages = takewhile(lambda item: isinstance(item, dict) and item.get("role") in SYSTEM_ROLES, _items(call))
        prompts_hash = hash((_prompts_hash(call), *(_prompt_hash(item.get("content")) for item in messages)))
        if system is not None:
            if len(self._prompt_ids) > MAX_POSITIONS:
                self._prompt_ids.clear()
            self._prompt_ids[prompts_hash] = system.chain.hex()
        return self._prompt_ids.get(prompts_hash, "")

    def _read(self, call: Call, tail: list[Any], known: Position | None, *, has_prompt: bool) -> RequestTurns:
        prompt, messages = _parse_request(call, tail, has_prompt=has_prompt)
        chain, depth = (known.chain, known.depth) if known else (EMPTY_CHAIN, 0)
        system: Turn | None = None
        turns: list[Turn] = []
        if prompt:
            system = Turn("system", prompt, chain_after(EMPTY_CHAIN, "system", prompt), EMPTY_CHAIN, 0, {})
            if known is None:
                depth += 1
            if not call.session_id:
                turns.append(system)
                chain, system = system.chain, None
        fresh = len(turns)
        for role, content, metadata in messages:
            after = chain_after(chain, role, content)
            turns.append(Turn(role, content, after, chain, depth, metadata))
            chain, depth = after, depth + 1
            fresh = 0 if role == "assistant" else fresh + 1
        prompt_id = self._prompt_id(call, system)
        return RequestTurns(system, turns, known, fresh, len(turns) - len(messages), prompt_id)


def without_format_notes(block: JsonObject) -> JsonObject:
    """Return a block without the notes on how its format spelled it."""
    notes = block.get("provider_data")
    if not notes:
        return block
    fields = {name: _source_fields(name, held) for name, held in notes.items()}
    fields = {name: held for name, held in fields.items() if held}
    rest = {key: value for key, value in block.items() if key != "provider_data"}
    return {**rest, "provider_data": fields} if fields else rest


def _source_fields(wire: str, notes: JsonObject) -> JsonObject:
    """Return the fields of a source that were not mapped; empty values and `is_error: false` carry no information."""
    own = _FORMAT_NOTES.get(wire, frozenset())
    return {
        key: value for key, value in notes.items() if key not in own and value not in _UNINFORMATIVE.get(key, _EMPTY)
    }


def _items(call: Call) -> list[Any]:
    given = call.request.get(_MESSAGE_FIELDS[call.wire])
    if isinstance(given, list):
        return given
    return [{"role": "user", "content": given}] if isinstance(given, str) and call.wire == "openai-responses" else []


def _initial_hash(call: Call) -> int:
    """Return a hash of what must match for two equal lists to lead to the same position."""
    summarize = bool if call.session_id else _prompt_hash
    prompts = (summarize(call.request.get(name)) for name in PROMPT_FIELDS)
    return hash((call.wire, call.caller, call.session_id, *prompts))


def _prompts_hash(call: Call) -> int:
    return hash(tuple([_prompt_hash(call.request.get(name)) for name in PROMPT_FIELDS]))


def _prompt_hash(prompt: Any) -> int:
    """Return a hash of a system prompt, which is long and the same in nearly every request."""
    if prompt is None or isinstance(prompt, str):
        return hash(prompt)
    if isinstance(prompt, list) and (texts := plain_text_blocks(prompt)) is not None:
        return hash(tuple([block["text"] for block in texts]))
    return hash(canonical_json(prompt))


def _parse_request(call: Call, tail: list[Any], *, has_prompt: bool) -> tuple[list[JsonObject], list[Message]]:
    """Return the system prompt, if asked for or among the messages, and the messages."""
    prompts = {key: call.request[key] for key in PROMPT_FIELDS if key in call.request} if has_prompt else {}
    if (found := plain_request(call.wire, tail, prompts)) is not None:
        return found
    request = wire_format(call.wire).request_from_wire({**prompts, _MESSAGE_FIELDS[call.wire]: tail})
    prompt = [without_format_notes(block) for block in request.get("system") or ()]
    return prompt, [_message(message) for message in request["messages"]]


def _message(message: JsonObject) -> Message:
    """Return role, content and metadata of a message, with the role that the source states."""
    notes: JsonObject = {}
    for name, held in (message.get("provider_data") or {}).items():
        notes |= _source_fields(name, held)
    stated = notes.pop("role", message["role"])
    role = "system" if stated in SYSTEM_ROLES else stated
    if role not in (*_ROLES, "system"):
        notes["role"] = stated
        role = message["role"]
    return role, [without_format_notes(block) for block in message["content"]], notes
