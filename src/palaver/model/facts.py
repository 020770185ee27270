"""What rules look at: the messages of one document as columns, and the state of a whole conversation.

Columns are built once for all rules: scanning a column costs a fraction of visiting each message. Of a conversation
that comes in fragments, only hashes of its ids are remembered.
"""

from array import array
from collections.abc import Sequence
from itertools import pairwise
from operator import ge, itemgetter
from typing import Any, NamedTuple

from palaver.model.build import JsonObject
from palaver.model.metrics import MetricsTally
from palaver.model.rules import Path

Key = str | int

_NO_METADATA: JsonObject = {}
_NO_MESSAGE = object()
"""The predecessor of the first message; equal to no id."""
_INCOMPLETE = ("context_incomplete", "missing_parent", "is_compact_summary")
_id, _role, _timestamp, _content = (itemgetter(name) for name in ("message_id", "role", "timestamp", "content"))


ToolBlock = tuple[str, int, int]
"""A tool call or its result: the id of the call, the index of the message, the index of the block in it."""


class Reference(NamedTuple):
    """An id that a document defines or refers to, and its path there."""

    name: str
    path: Path
    location: str
    """The document, as its reader describes it."""

    @classmethod
    def to_block(cls, block: ToolBlock, location: str) -> "Reference":
        return cls(block[0], ("messages", block[1], "content", block[2]), location)


class Facts:
    """A document that is valid against the schema, as columns; `location` describes where it was read."""

    def __init__(self, document: JsonObject, thread: "Thread", location: str = "") -> None:
        messages: list[JsonObject] = document["messages"]
        self.document = document
        self.thread = thread
        """The conversation up to this document, which is not part of it yet."""
        self.location = location
        self.messages = messages
        self.ids: list[str] = list(map(_id, messages))
        self.roles: list[str] = list(map(_role, messages))
        self.times: list[str] = list(map(_timestamp, messages))
        self.contents: list[list[JsonObject]] = list(map(_content, messages))
        self.parents: list[str | None] = [message.get("parent_message_id") for message in messages]
        self.metadata: list[JsonObject] = [message.get("metadata") or _NO_METADATA for message in messages]
        self.calls: list[ToolBlock] = []
        self.results: list[ToolBlock] = []
        for index, content in enumerate(self.contents):
            for number, block in enumerate(content):
                kind = block["type"]
                if kind == "tool_use":
                    self.calls.append((block["id"], index, number))
                elif kind == "tool_result":
                    self.results.append((block["tool_use_id"], index, number))
        self._predecessors: Sequence[int] | None = None
        self._positions: dict[str, int] | None = None

    @property
    def positions(self) -> dict[str, int]:
        """The index of each message id; of a duplicate id, the last index."""
        if self._positions is None:
            self._positions = dict(zip(self.ids, range(len(self.ids)), strict=True))
        return self._positions

    @property
    def is_linear(self) -> bool:
        """Whether every message with a parent directly follows it, as in a conversation without branches."""
        return isinstance(self.predecessors, range)

    @property
    def predecessors(self) -> Sequence[int]:
        """For each message the index of its parent, or without one, of the message above; -1 if it is elsewhere."""
        if self._predecessors is None:
            in_line = range(-1, len(self.ids) - 1)
            following = zip(self.parents, (_NO_MESSAGE, *self.ids), strict=False)
            if all(parent is None or parent == above for parent, above in following):
                self._predecessors = in_line
            else:
                position_of = self.positions.get
                found = zip(self.parents, in_line, strict=True)
                self._predecessors = [above if parent is None else position_of(parent, -1) for parent, above in found]
        return self._predecessors

    @property
    def is_sorted(self) -> bool:
        return all(earlier <= later for earlier, later in pairwise(self.times))


def _call_id(metadata: JsonObject) -> str | None:
    """Return the id of the call that a message answers: the API's id of the answer, else the log's of the request."""
    return metadata.get("api_message_id") or metadata.get("request_id")


class Thread:
    """What is known of one conversation after some of its documents: its ids, and references without a target yet."""

    def __init__(self, *, now: str, is_single_document: bool = True) -> None:
        self.now = now
        """The time of the check, as a canonical timestamp; anything later lies in the future."""
        self.is_single_document = is_single_document
        """Whether the conversation comes as one document, not as fragments."""
        self.header: JsonObject = {}
        """The newest document; rules use its header, not its messages."""
        self.location = ""
        self.messages = 0
        self.has_user = False
        self.is_incomplete = False
        """Whether earlier messages are known to be missing: pruned, compacted, or in another conversation."""
        self.has_missing_fragments = False
        """Whether some of its documents never came."""
        self.last_time = ""
        self.last_role = ""
        self.totals = MetricsTally()
        self.duplicate_ids: list[Reference] = []
        self.duplicate_calls: list[Reference] = []
        self.cycles: list[Reference] = []
        self._ids: set[Key] = set()
        self._answers: set[int] = set()
        """Hashes of message id and API call, for messages of fragments."""
        self._calls: set[Key] = set()
        self._unanswered_calls: dict[Key, Reference] = {}
        self._orphan_results: dict[Key, list[Reference]] = {}
        self._missing_parents: dict[Key, list[Reference]] = {}
        self._covered: dict[Key, Reference] = {}
        self._links = (array("q"), array("q"))
        self._has_forward_links = False

    @property
    def unanswered_calls(self) -> list[Reference]:
        """Tool calls without a result."""
        return list(self._unanswered_calls.values())

    @property
    def orphan_results(self) -> list[Reference]:
        """Tool results without a call."""
        return [result for results in self._orphan_results.values() for result in results]

    @property
    def missing_parents(self) -> list[Reference]:
        """Parent links to messages that do not exist."""
        return [link for links in self._missing_parents.values() for link in links]

    @property
    def missing_covered_messages(self) -> list[Reference]:
        """References of summaries to messages that do not exist."""
        return [covered for key, covered in self._covered.items() if key not in self._ids]

    def add(self, facts: Facts) -> None:
        """Add a document, after the rules that check single documents have run."""
        self.header = facts.document
        self.location = facts.location
        self.messages += len(facts.messages)
        self.has_user = self.has_user or "user" in facts.roles
        self.totals.add_counted(facts.messages, facts.times, len(facts.calls))
        self._add_messages(facts)
        self._add_tools(facts)
        self._add_summaries(facts)
        if not self.is_incomplete and (self._missing_parents or self._orphan_results or not self.is_single_document):
            self.is_incomplete = any(metadata.get(name) for metadata in facts.metadata for name in _INCOMPLETE)
        if facts.messages:
            self.last_time, self.last_role = facts.times[-1], facts.roles[-1]

    def _keys(self, names: list[str]) -> Sequence[Key]:
        return names if self.is_single_document else list(map(hash, names))

    def _add_messages(self, facts: Facts) -> None:
        keys = self._keys(facts.ids)
        distinct = set(keys)
        if len(distinct) < len(keys) or not self._ids.isdisjoint(distinct):
            here: set[Key] = set()
            for index, key in enumerate(keys):
                if key in here or (key in self._ids and not self._is_legitimate_repeat(facts, index)):
                    self.duplicate_ids.append(
                        Reference(facts.ids[index], ("messages", index, "message_id"), facts.location)
                    )
                here.add(key)
        if not self.is_single_document:
            for key in [key for key in self._missing_parents if key in distinct]:
                del self._missing_parents[key]
                self._has_forward_links = True
            answers = zip(facts.ids, facts.metadata, strict=True)
            self._answers.update(hash((name, call)) for name, metadata in answers if (call := _call_id(metadata)))
        self._ids |= distinct
        if not facts.is_linear:
            self._add_links(facts)
        if not self.is_single_document:
            self._links[0].extend(map(hash, facts.ids))
            self._links[1].extend(0 if parent is None else hash(parent) for parent in facts.parents)

    def _is_legitimate_repeat(self, facts: Facts, index: int) -> bool:
        """Return whether an id repeats since another call had the same answer, or described the message differently."""
        metadata = facts.metadata[index]
        call = _call_id(metadata)
        return "known_from" in metadata or (bool(call) and hash((facts.ids[index], call)) not in self._answers)

    def _add_links(self, facts: Facts) -> None:
        parents = set(facts.parents)
        parents.discard(None)
        if not self._ids.issuperset(self._keys([parent for parent in parents if parent is not None])):
            for index, parent in enumerate(facts.parents):
                if parent is not None and (key := parent if self.is_single_document else hash(parent)) not in self._ids:
                    link = Reference(parent, ("messages", index, "parent_message_id"), facts.location)
                    self._missing_parents.setdefault(key, []).append(link)
        # If every parent precedes its children, no cycle is possible.
        if any(map(ge, facts.predecessors, range(len(facts.ids)))):
            found = names_in_cycles(dict(zip(facts.ids, facts.parents, strict=True)))
            self.cycles += [
                Reference(name, ("messages", facts.positions[name], "parent_message_id"), facts.location)
                for name in found
            ]

    def _add_tools(self, facts: Facts) -> None:
        if not (facts.calls or facts.results):
            return
        calls = self._keys([call[0] for call in facts.calls])
        results = self._keys([result[0] for result in facts.results])
        fresh, answered = set(calls), set(results)
        if len(fresh) < len(calls) or not self._calls.isdisjoint(fresh):
            known = set(self._calls)
            for key, call in zip(calls, facts.calls, strict=True):
                if key in known:
                    self.duplicate_calls.append(Reference.to_block(call, facts.location))
                known.add(key)
        done = (self._calls & fresh) - self._unanswered_calls.keys()
        self._calls |= fresh
        for key in answered & self._unanswered_calls.keys():
            del self._unanswered_calls[key]
        if not answered.issuperset(fresh):
            early = self._orphan_results.keys()  # from an earlier fragment
            for key, call in zip(calls, facts.calls, strict=True):
                if key not in answered and key not in early and key not in done:
                    self._unanswered_calls[key] = Reference.to_block(call, facts.location)
        for key in fresh & self._orphan_results.keys():
            del self._orphan_results[key]
        if not self._calls.issuperset(answered):
            for key, result in zip(results, facts.results, strict=True):
                if key not in self._calls:
                    self._orphan_results.setdefault(key, []).append(Reference.to_block(result, facts.location))

    def _add_summaries(self, facts: Facts) -> None:
        for number, summary in enumerate(facts.document.get("summaries") or ()):
            covered: list[str] = summary.get("covers_messages") or []
            for index, (key, name) in enumerate(zip(self._keys(covered), covered, strict=True)):
                path = ("summaries", number, "covers_messages", index)
                self._covered.setdefault(key, Reference(name, path, facts.location))

    def close(self) -> None:
        """Look for cycles of parent links through several fragments."""
        if self._has_forward_links and not self.cycles:
            names, parents = self._links
            links = {name: parent or None for name, parent in zip(names, parents, strict=True)}
            found = names_in_cycles(links)
            self.cycles += [Reference(f"{len(found)} messages", ("messages",), self.location) for _ in found[:1]]


def names_in_cycles(links: dict[Any, Any]) -> list[Any]:
    """Return the names whose links lead back to themselves."""
    done: set[Any] = set()
    circular: list[Any] = []
    for name in links:
        walked: dict[Any, None] = {}
        at = name
        while at is not None and at not in done and at not in walked:
            walked[at] = None
            at = links.get(at)
        if at in walked:
            path = list(walked)
            circular += path[path.index(at) :]
        done.update(walked)
    return circular
