"""What rules look at: the messages of a document as columns, and what all documents of a conversation hold together.

Columns are made once for all rules, since a rule that asks about a whole column costs a fraction of one that asks about
each message. A conversation that comes in fragments is remembered by the hashes of its ids.
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

_NOTHING: JsonObject = {}
_NOBODY = object()
"""Stands above the first message: equal to no id."""
_INCOMPLETE = ("context_incomplete", "missing_parent", "is_compact_summary")
_id, _role, _timestamp, _content = (itemgetter(name) for name in ("message_id", "role", "timestamp", "content"))


Block = tuple[str, int, int]
"""A call of a tool or its result: the call's id, the number of the message, that of the block in it."""


class Named(NamedTuple):
    """Something that a message names, or refers to by name."""

    name: str
    path: Path
    place: str
    """Where its document is, in the words of whoever read it."""

    @classmethod
    def of(cls, block: Block, place: str) -> "Named":
        return cls(block[0], ("messages", block[1], "content", block[2]), place)


class Facts:
    """One document that meets the schema, by columns; `place` says where it is."""

    def __init__(self, document: JsonObject, thread: "Thread", place: str = "") -> None:
        messages: list[JsonObject] = document["messages"]
        self.document = document
        self.thread = thread
        """What came before this document."""
        self.place = place
        self.messages = messages
        self.ids: list[str] = list(map(_id, messages))
        self.roles: list[str] = list(map(_role, messages))
        self.times: list[str] = list(map(_timestamp, messages))
        self.contents: list[list[JsonObject]] = list(map(_content, messages))
        self.parents: list[str | None] = [message.get("parent_message_id") for message in messages]
        self.metadata: list[JsonObject] = [message.get("metadata") or _NOTHING for message in messages]
        self.calls: list[Block] = []
        self.results: list[Block] = []
        for index, content in enumerate(self.contents):
            for number, block in enumerate(content):
                kind = block["type"]
                if kind == "tool_use":
                    self.calls.append((block["id"], index, number))
                elif kind == "tool_result":
                    self.results.append((block["tool_use_id"], index, number))
        self._before: Sequence[int] | None = None
        self._positions: dict[str, int] | None = None

    @property
    def positions(self) -> dict[str, int]:
        """Where each id stands; the last of those that stand several times."""
        if self._positions is None:
            self._positions = dict(zip(self.ids, range(len(self.ids)), strict=True))
        return self._positions

    @property
    def is_in_order(self) -> bool:
        """Whether every message with a parent stands right behind it, as in a conversation without branches."""
        return isinstance(self.before, range)

    @property
    def before(self) -> Sequence[int]:
        """For each message, which one it follows: its parent, or the one above it; -1 where that is not here."""
        if self._before is None:
            in_line = range(-1, len(self.ids) - 1)
            following = zip(self.parents, (_NOBODY, *self.ids), strict=False)
            if all(parent is None or parent == above for parent, above in following):
                self._before = in_line
            else:
                places = self.positions.get
                found = zip(self.parents, in_line, strict=True)
                self._before = [above if parent is None else places(parent, -1) for parent, above in found]
        return self._before

    @property
    def is_sorted(self) -> bool:
        return all(earlier <= later for earlier, later in pairwise(self.times))


class Thread:
    """What the documents of one conversation held so far: its ids, and what still waits for its counterpart."""

    def __init__(self, *, now: str, is_whole: bool = True) -> None:
        self.now = now
        """The time of judging, in the schema's spelling: what is later lies in the future."""
        self.is_whole = is_whole
        """Whether one document is all there is."""
        self.header: JsonObject = {}
        """The document that came last, without its messages."""
        self.place = ""
        self.messages = 0
        self.has_user = False
        self.is_incomplete = False
        """Whether earlier messages are known to be missing: pruned, compacted, or left in another conversation."""
        self.is_cut = False
        """Whether some of its documents were never seen."""
        self.last_time = ""
        self.last_role = ""
        self.totals = MetricsTally()
        self.repeated_ids: list[Named] = []
        self.repeated_calls: list[Named] = []
        self.circles: list[Named] = []
        self._ids: set[Key] = set()
        self._answers: set[int] = set()
        """Messages of fragments with the call that they answer."""
        self._calls: set[Key] = set()
        self._open_calls: dict[Key, Named] = {}
        self._loose_results: dict[Key, list[Named]] = {}
        self._loose_parents: dict[Key, list[Named]] = {}
        self._covered: dict[Key, Named] = {}
        self._links = (array("q"), array("q"))
        self._has_forward_links = False

    @property
    def open_calls(self) -> list[Named]:
        """Calls of tools without a result."""
        return list(self._open_calls.values())

    @property
    def loose_results(self) -> list[Named]:
        """Results of tools without a call."""
        return [result for results in self._loose_results.values() for result in results]

    @property
    def loose_parents(self) -> list[Named]:
        """Parent links that lead to no message."""
        return [link for links in self._loose_parents.values() for link in links]

    @property
    def loose_summaries(self) -> list[Named]:
        """Messages that a summary stands for, and that are not there."""
        return [covered for key, covered in self._covered.items() if key not in self._ids]

    def add(self, facts: Facts) -> None:
        """Take in a document; rules that look at it alone were asked before."""
        self.header = facts.document
        self.place = facts.place
        self.messages += len(facts.messages)
        self.has_user = self.has_user or "user" in facts.roles
        self.totals.add_counted(facts.messages, facts.times, len(facts.calls))
        self._add_messages(facts)
        self._add_tools(facts)
        self._add_summaries(facts)
        if not self.is_incomplete and (self._loose_parents or self._loose_results or not self.is_whole):
            self.is_incomplete = any(metadata.get(name) for metadata in facts.metadata for name in _INCOMPLETE)
        if facts.messages:
            self.last_time, self.last_role = facts.times[-1], facts.roles[-1]

    def _keys(self, names: list[str]) -> Sequence[Key]:
        return names if self.is_whole else list(map(hash, names))

    def _add_messages(self, facts: Facts) -> None:
        keys = self._keys(facts.ids)
        distinct = set(keys)
        if len(distinct) < len(keys) or not self._ids.isdisjoint(distinct):
            here: set[Key] = set()
            for index, key in enumerate(keys):
                if key in here or (key in self._ids and not self._is_told_again(facts, index)):
                    self.repeated_ids.append(Named(facts.ids[index], ("messages", index, "message_id"), facts.place))
                here.add(key)
        if not self.is_whole:
            for key in [key for key in self._loose_parents if key in distinct]:
                del self._loose_parents[key]
                self._has_forward_links = True
            answers = zip(facts.ids, facts.metadata, strict=True)
            self._answers.update(
                hash((name, call)) for name, metadata in answers if (call := metadata.get("api_message_id"))
            )
        self._ids |= distinct
        if not facts.is_in_order:
            self._add_links(facts)
        if not self.is_whole:
            self._links[0].extend(map(hash, facts.ids))
            self._links[1].extend(0 if parent is None else hash(parent) for parent in facts.parents)

    def _is_told_again(self, facts: Facts, index: int) -> bool:
        """Whether a message comes again since another call had the same words as its answer, or told it differently."""
        metadata = facts.metadata[index]
        call = metadata.get("api_message_id")
        return "known_from" in metadata or (bool(call) and hash((facts.ids[index], call)) not in self._answers)

    def _add_links(self, facts: Facts) -> None:
        parents = set(facts.parents)
        parents.discard(None)
        if not self._ids.issuperset(self._keys([parent for parent in parents if parent is not None])):
            for index, parent in enumerate(facts.parents):
                if parent is not None and (key := parent if self.is_whole else hash(parent)) not in self._ids:
                    link = Named(parent, ("messages", index, "parent_message_id"), facts.place)
                    self._loose_parents.setdefault(key, []).append(link)
        # Where every parent stands above its children, no circle is possible.
        if any(map(ge, facts.before, range(len(facts.ids)))):
            found = circles(dict(zip(facts.ids, facts.parents, strict=True)))
            self.circles += [
                Named(name, ("messages", facts.positions[name], "parent_message_id"), facts.place) for name in found
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
                    self.repeated_calls.append(Named.of(call, facts.place))
                known.add(key)
        done = (self._calls & fresh) - self._open_calls.keys()
        self._calls |= fresh
        for key in answered & self._open_calls.keys():
            del self._open_calls[key]
        if not answered.issuperset(fresh):
            early = self._loose_results.keys()  # of a fragment that came before
            for key, call in zip(calls, facts.calls, strict=True):
                if key not in answered and key not in early and key not in done:
                    self._open_calls[key] = Named.of(call, facts.place)
        for key in fresh & self._loose_results.keys():
            del self._loose_results[key]
        if not self._calls.issuperset(answered):
            for key, result in zip(results, facts.results, strict=True):
                if key not in self._calls:
                    self._loose_results.setdefault(key, []).append(Named.of(result, facts.place))

    def _add_summaries(self, facts: Facts) -> None:
        for number, summary in enumerate(facts.document.get("summaries") or ()):
            covered: list[str] = summary.get("covers_messages") or []
            for index, (key, name) in enumerate(zip(self._keys(covered), covered, strict=True)):
                path = ("summaries", number, "covers_messages", index)
                self._covered.setdefault(key, Named(name, path, facts.place))

    def close(self) -> None:
        """Look for circles of links that lead through several fragments."""
        if self._has_forward_links and not self.circles:
            names, parents = self._links
            links = {name: parent or None for name, parent in zip(names, parents, strict=True)}
            found = circles(links)
            self.circles += [Named(f"{len(found)} messages", ("messages",), self.place) for _ in found[:1]]


def circles(links: dict[Any, Any]) -> list[Any]:
    """All names whose links lead back to themselves."""
    done: set[Any] = set()
    circular: list[Any] = []
    for name in links:
        walked: dict[Any, None] = {}
        at = name
        while at is not None and at not in done and at not in walked:
            walked[at] = None
            at = links.get(at)
        if at in walked:
            on_the_way = list(walked)
            circular += on_the_way[on_the_way.index(at) :]
        done.update(walked)
    return circular
