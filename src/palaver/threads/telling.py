"""A conversation told from the calls that it is made of: every message once, in its place, at its time.

A message stands in the answer of one call and in the requests of all that follow. Its answer knows most of it; a
request in which it was new knows when it was said; a later one knows only that it was said before. Messages stand as
deep as they are in the conversation, so that it does not matter in which file a part of it was found. Where it
branches, the branches follow as fragments; so do further calls that gave the same answer to the same words.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import msgspec

from palaver.model import build
from palaver.model.build import JsonObject
from palaver.threads.chain import dumped, without_reminders

FRAGMENT_BYTES = 1 << 25
_TITLE_LETTERS = 200


class Node(msgspec.Struct, frozen=True, gc=False):
    """One telling of a message. A struct, as the next two: there are many, and they go to a file and back."""

    message_id: str
    parent_id: str | None
    depth: int
    role: str
    content: list[JsonObject]
    known_from: str
    """`request` or `history`; empty where it is an answer, or anything else that is known first hand."""
    time: str | None
    metadata: JsonObject
    size_bytes: int
    tokens: JsonObject | None = None


class Header(msgspec.Struct, frozen=True, gc=False):
    """What one call says of the conversation as a whole."""

    time: str
    platform: JsonObject
    session: JsonObject
    tools: bytes | None = None
    """Which tools the model was offered."""


class Tools(msgspec.Struct, frozen=True, gc=False):
    """Tools that a model was offered, in the source's own words."""

    digest: bytes
    definitions: list[Any]


def told(conversation_id: str, records: list[Node | Header | Tools], fallback_time: str) -> Iterator[JsonObject]:
    """The documents of one conversation: one, unless it branches, was repeated, or is too large for one."""
    versions = _versions(record for record in records if isinstance(record, Node))
    if not versions:
        return
    times = _times(versions, fallback_time)
    first = [nodes[0] for nodes in versions.values()]
    further = [nodes for nodes in versions.values() if len(nodes) > 1]
    runs = list(_runs(first, times))
    for number in range(1, max(map(len, versions.values()))):
        further = [nodes for nodes in further if len(nodes) > number]
        runs += _runs([nodes[number] for nodes in further], times)
    stated = [node.time for nodes in versions.values() for node in nodes if node.time]
    created_at = min([*stated, *(time for time, _ in times.values())])
    header = _header(records)
    title = _title(first)
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
            session=header.session or None,
            created_at=created_at,
            updated_at=max(stated, default=None),
            messages=[_message(node, *times[node.message_id]) for node in run],
            fragment=fragment,
        )


def _versions(nodes: Iterable[Node]) -> dict[str, list[Node]]:
    """Of every message, what is known best; behind it, answers in the same words to other calls, and what differs."""
    found: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        found[node.message_id].append(node)
    return {name: told if len(told) == 1 else _ranked(_by_origin(told)) for name, told in found.items()}


def _by_origin(nodes: list[Node]) -> dict[str, list[Node]]:
    """Tellings of one message: of each origin, those that differ."""
    versions: dict[str, list[Node]] = {}
    for node in nodes:
        # Two tellings of one call, as two rows or two files may give them, are one.
        key = node.known_from or f"={node.metadata.get('api_message_id') or node.metadata.get('request_id')}"
        held = versions.setdefault(key, [])
        same = next((at for at, other in enumerate(held) if other.content == node.content), None)
        if same is None:
            held.append(node)
        else:
            held[same] = min(held[same], node, key=_earlier if node.known_from else _fuller)
    return versions


def _ranked(versions: dict[str, list[Node]]) -> list[Node]:
    """The best first; of the others, those that answer another call, or say anything that none before them says."""
    if len(versions) == 1:
        (only,) = versions.values()
        if len(only) == 1:
            return only
    if _say_the_same(versions):
        return versions[min(versions, key=_rank)]
    calls = [min(held, key=_fuller) for key, held in versions.items() if key.startswith("=")]
    chosen = set(map(id, calls))
    others = [node for held in versions.values() for node in held if id(node) not in chosen]
    ranked = sorted(calls, key=_earlier)
    said = {_words(block) for node in ranked for block in node.content}
    for node in sorted(others, key=lambda node: (node.known_from == "history", _earlier(node))):
        words = set(map(_words, node.content))
        if not ranked or not words <= said:
            ranked.append(node)
            said |= words
    return ranked


def _say_the_same(versions: dict[str, list[Node]]) -> bool:
    """Whether there is one answer at most, and requests that say nothing else, as nearly always."""
    nodes = [held[0] for held in versions.values() if len(held) == 1]
    return (
        len(nodes) == len(versions)
        and sum(key.startswith("=") for key in versions) <= 1
        and all(node.content == nodes[0].content for node in nodes)
    )


def _rank(key: str) -> int:
    """First hand, then from the request in which it was new, then from a later one."""
    return ("request", "history").index(key) if not key.startswith("=") else -1


def _words(block: JsonObject) -> bytes:
    """What a block says: seals change, and so do blanks at the ends."""
    said = {key: value.strip() if isinstance(value, str) else value for key, value in block.items()}
    said.pop("signature", None)
    return dumped(said)


def _earlier(node: Node) -> tuple[Any, ...]:
    return node.time is None, node.time or "", _fuller(node)


def _fuller(node: Node) -> tuple[Any, ...]:
    return -len(node.content), -node.size_bytes, dumped([node.metadata, node.tokens, node.time])


def _times(versions: dict[str, list[Node]], fallback: str) -> dict[str, tuple[str, bool]]:
    """When each message was said, and whether that is known: else not after anything that follows it."""
    nodes = sorted((nodes[0] for nodes in versions.values()), key=lambda node: -node.depth)
    earliest: dict[str, str] = {}
    times: dict[str, tuple[str, bool]] = {}
    for node in nodes:
        time = node.time or earliest.get(node.message_id)
        if time is not None and node.parent_id is not None:
            earliest[node.parent_id] = min(time, earliest.get(node.parent_id, time))
        times[node.message_id] = time or "", node.time is None
    known = [time for time, _ in times.values() if time]
    latest = max(known) if known else fallback
    return {name: (time or latest, is_inferred) for name, (time, is_inferred) in times.items()}


def _runs(nodes: list[Node], times: dict[str, tuple[str, bool]]) -> Iterator[list[Node]]:
    """Messages in runs, each one deeper than the one before it: along parents as far as they lead."""
    ordered = sorted(nodes, key=lambda node: (node.depth, times[node.message_id], node.message_id))
    runs: list[list[Node]] = []
    by_end: dict[str, list[Node]] = {}
    by_depth: dict[int, list[Node]] = {}
    for node in ordered:
        run = by_end.pop(node.parent_id, None) if node.parent_id else by_depth.pop(node.depth - 1, None)
        if run is None or run[-1].depth != node.depth - 1:
            run = []
            runs.append(run)
        run.append(node)
        by_end[node.message_id] = by_depth[node.depth] = run
    return chain.from_iterable(map(_pieces, runs))


def _pieces(run: list[Node]) -> Iterator[list[Node]]:
    """A run in pieces of a size that a document may have."""
    piece: list[Node] = []
    size_bytes = 0
    for node in run:
        if piece and size_bytes + node.size_bytes > FRAGMENT_BYTES:
            yield piece
            piece, size_bytes = [], 0
        piece.append(node)
        size_bytes += node.size_bytes
    yield piece


def _header(records: list[Node | Header | Tools]) -> Header:
    """Every field from the latest call that states it."""
    tools = {record.digest: record.definitions for record in records if isinstance(record, Tools)}
    headers = [record for record in records if isinstance(record, Header)]
    platform: JsonObject = {}
    session: JsonObject = {}
    metadata: JsonObject = {}
    for header in sorted(headers, key=lambda one: (one.time, dumped([one.platform, one.session]), one.tools or b"")):
        metadata |= header.platform.get("metadata") or {}
        platform |= header.platform
        session |= header.session
        if header.tools:
            metadata["tools"] = tools[header.tools]
    return Header("", {**platform, "metadata": metadata} if metadata else platform, session)


def _title(nodes: list[Node]) -> str | None:
    """What a person said first."""
    for node in sorted(nodes, key=lambda node: (node.depth, node.message_id)):
        if node.role == "user" and author_of(node.role, node.content) == "human":
            texts = [without_reminders(block["text"]) for block in node.content if block["type"] == "text"]
            if words := " ".join(texts).split():
                return " ".join(words)[:_TITLE_LETTERS]
    return None


def _message(node: Node, time: str, is_inferred: bool) -> JsonObject:  # noqa: FBT001 - a pair of `_times`
    metadata = node.metadata
    if node.known_from:
        metadata = {"author_kind": author_of(node.role, node.content), "known_from": node.known_from, **metadata}
    if is_inferred and node.time is None:
        metadata = {**metadata, "timestamp_inferred": True}
    return build.message(
        message_id=node.message_id,
        parent_message_id=node.parent_id,
        role=node.role,  # pyright: ignore[reportArgumentType] - one of the roles, from `history`
        timestamp=node.time or time,
        content=node.content or [build.text("")],
        tokens=node.tokens,
        metadata=metadata,
    )


def author_of(role: str, content: list[JsonObject]) -> str:
    """Who wrote what stands in a request."""
    if role == "assistant":
        return "model"
    if role in {"tool", "function"} or any(block["type"] == "tool_result" for block in content):
        return "tool"
    if role == "system":
        return "harness"
    texts = [block["text"] for block in content if block["type"] == "text"]
    is_injected = (
        bool(texts) and len(texts) == len(content) and not any(without_reminders(one).strip() for one in texts)
    )
    return "harness" if is_injected else "human"
