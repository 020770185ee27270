"""Threads: interactions in one file that follow each other within a while are one conversation."""

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

from palaver.importers.github_copilot.completions.messages import PLATFORM, Told
from palaver.model import build
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import milliseconds_of
from palaver.spill import LIMIT_BYTES, Spill

Json = dict[str, Any]

DEFAULT_MODEL = "copilot-codex"
_OVERHEAD_BYTES = 2_000


class Threads:
    """Takes interactions in whatever order; gives conversations. In memory are their times, and a part of the rest."""

    def __init__(self, window_seconds: float, limit_bytes: int = LIMIT_BYTES // 2) -> None:
        self._window_ms = window_seconds * 1000
        self._limit_bytes = limit_bytes
        self._all = Spill(limit_bytes)
        self._times: dict[str, array[int]] = {}
        self._count = 0

    def add(self, one: Told, size_bytes: int) -> None:
        self._times.setdefault(_place(one), array("q")).append(milliseconds_of(one.time))
        self._count += 1
        self._all.add(str(self._count), one, size_bytes + _OVERHEAD_BYTES)

    def documents(self) -> Iterator[Json]:
        begins = {place: self._begins(times) for place, times in self._times.items()}
        with self._all, Spill(self._limit_bytes) as threads:
            for _, interactions in self._all.groups():
                for one in interactions:
                    place = _place(one)
                    number = bisect_right(begins[place], milliseconds_of(one.time))
                    threads.add(f"{number} {place}", one, _OVERHEAD_BYTES)
            for _, interactions in threads.groups():
                yield _document(sorted(interactions, key=lambda one: one.time))

    def _begins(self, times: "array[int]") -> list[int]:
        """When each thread begins."""
        begins: list[int] = []
        before: int | None = None
        for time in sorted(times):
            if before is None or time - before > self._window_ms:
                begins.append(time)
            before = time
        return begins


def _place(one: Told) -> str:
    """Where it happened: in a file, else in whatever is known instead."""
    return f"{one.who} {one.file}" if one.file else f"{one.who}\n{one.language}"


def _document(interactions: list[Told]) -> Json:
    first = interactions[0]
    model = first.model or DEFAULT_MODEL
    messages: list[Json] = []
    for one in interactions:
        own = {name: value for name, value in one.environment.items() if first.environment.get(name) != value}
        for message in one.messages:
            if message["role"] == "assistant" and (one.model or DEFAULT_MODEL) != model:
                message["metadata"]["model_override"] = one.model or DEFAULT_MODEL
            if own:
                message["metadata"]["environment"] = own
        messages += one.messages
    platform: Json = {"name": PLATFORM}
    if version := next((one.version for one in interactions if one.version), ""):
        platform["version"] = version
    platform["model"] = model
    if first.environment:
        platform["metadata"] = first.environment
    return build.conversation(
        conversation_id=_conversation_id(first),
        platform=platform,
        context=_context(interactions),
        created_at=first.time,
        updated_at=max(one.ended_at for one in interactions),
        messages=messages,
    )


def _conversation_id(first: Told) -> str:
    if first.is_inferred:  # a file alone would name all conversations about it
        return conversation_uuid(PLATFORM, "", first.name)
    return conversation_uuid(PLATFORM, first.time, first.file or first.name)


def _context(interactions: list[Told]) -> Json | None:
    environment: Json = {}
    if editor := next((one.editor for one in interactions if one.editor), ""):
        environment["editor"] = editor
    if system := next((one.system for one in interactions if one.system), ""):
        environment["os"] = system
    custom: Json = {"file": interactions[0].file} if interactions[0].file else {}
    if cursor := next((one.cursor for one in interactions if one.cursor), None):
        custom["cursor"] = cursor
    context = {"environment": environment, "custom": custom}
    return {name: value for name, value in context.items() if value} or None
