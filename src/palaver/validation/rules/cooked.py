"""Rules about cooked files: references resolve, requests form trees, and nothing is stored twice."""

from collections.abc import Callable, Iterable, Iterator

from palaver.model.build import JsonObject
from palaver.model.facts import names_in_cycles
from palaver.model.ids import message_hash, tool_hash
from palaver.model.rules import Fault, on_cooked


@on_cooked("cooked-missing-message", "error")
def missing_message(cooked: JsonObject) -> Iterator[Fault]:
    """A request refers to a missing message."""
    known = _ids(cooked["messages"])
    for name in ("request_messages", "response_messages"):
        yield from _dangling_references(cooked, name, known, "message")


@on_cooked("cooked-missing-tool", "error")
def missing_tool(cooked: JsonObject) -> Iterator[Fault]:
    """A request refers to a missing tool."""
    yield from _dangling_references(cooked, "tools", _ids(cooked["tools"]), "tool")


def _dangling_references(cooked: JsonObject, name: str, known: set[str], noun: str) -> Iterator[Fault]:
    for index, request in enumerate(cooked["requests"]):
        if not known.issuperset(request[name]):
            for number, reference in enumerate(request[name]):
                if reference not in known:
                    sentence = f"Request {index} refers to the {noun} {reference!r:.80}, which is missing"
                    yield Fault(("requests", index, name, number), sentence)


@on_cooked("cooked-missing-parent", "error")
def missing_parent(cooked: JsonObject) -> Iterator[Fault]:
    """A request continues a missing request."""
    known = _ids(cooked["requests"])
    for index, request in enumerate(cooked["requests"]):
        parent = request["parent_id"]
        if parent is not None and parent not in known:
            sentence = f"Request {index} continues {parent!r:.80}, which is missing"
            yield Fault(("requests", index, "parent_id"), sentence)


@on_cooked("cooked-parent-cycle", "error")
def parent_cycle(cooked: JsonObject) -> Iterator[Fault]:
    """A request continues itself, or parent links form a cycle."""
    requests = cooked["requests"]
    links = {request["id"]: request["parent_id"] for request in reversed(requests)}
    circular = set(names_in_cycles(links))
    for index, request in enumerate(requests):
        # Of several requests with one id, references mean the first.
        if request["id"] in circular:
            circular.remove(request["id"])
            is_own = request["parent_id"] == request["id"]
            sentence = (
                f"Request {index} continues itself" if is_own else f"The parents of request {index} lead back to it"
            )
            yield Fault(("requests", index, "parent_id"), sentence)


@on_cooked("cooked-duplicate-id", "error")
def duplicate_id(cooked: JsonObject) -> Iterator[Fault]:
    """Two messages, two tools or two requests have the same id."""
    for part in ("messages", "tools", "requests"):
        for index, first in _repeated(entry["id"] for entry in cooked[part]):
            sentence = (
                f"{_noun(part, index)} has the id of {_noun(part, first).lower()}: {cooked[part][index]['id']!r:.80}"
            )
            yield Fault((part, index, "id"), sentence)


@on_cooked("cooked-orphan-result", "warning")
def orphan_result(cooked: JsonObject) -> Iterator[Fault]:
    """A tool result refers to no call."""
    calls = {call.get("id") for message in cooked["messages"] for call in message["tool_calls"] or ()} - {None}
    for index, message in enumerate(cooked["messages"]):
        if message["role"] == "tool_result" and message["tool_use_id"] not in calls:
            call_id = message["tool_use_id"]
            sentence = (
                f"Message {index} is a tool result without a call id"
                if call_id is None
                else f"Message {index} is the result of {call_id!r:.80}, but no call has this id"
            )
            yield Fault(("messages", index, "tool_use_id"), sentence)


@on_cooked("cooked-not-deduplicated", "note")
def not_deduplicated(cooked: JsonObject) -> Iterator[Fault]:
    """Two messages or two tools are identical and should be one."""
    hashes: dict[str, Callable[[JsonObject], str]] = {"messages": message_hash, "tools": tool_hash}
    for part, hash_of in hashes.items():
        for index, first in _repeated(map(hash_of, cooked[part])):
            yield Fault((part, index), f"{_noun(part, index)} is the same as {_noun(part, first).lower()}")


def _repeated(names: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the index of each repeated name, with the index of its first occurrence."""
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            yield index, first[name]


def _noun(part: str, index: int) -> str:
    return f"{part.removesuffix('s').capitalize()} {index}"


def _ids(entries: list[JsonObject]) -> set[str]:
    return {entry["id"] for entry in entries}


RULES = (
    missing_message,
    missing_tool,
    missing_parent,
    parent_cycle,
    duplicate_id,
    orphan_result,
    not_deduplicated,
)
