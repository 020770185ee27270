"""What a message says: its fragments and files, into UCS blocks.

Older messages have no fragments but `content`, with `thinking_content` (in exports: `reasoning_content`) and
`search_results` beside it. A fragment's own fields that have no place in a block stand on it as `source_fields`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind

Note = Callable[[FindingKind, str], None]
"""Told of a finding, with words for it."""

_TEXTS = frozenset({"REQUEST", "RESPONSE", "TEMPLATE_RESPONSE"})
_ASKED = ("queries", "query", "urls", "url", "links", "link")
"""Fields in which a fragment says what the model looked for."""
_SHOWN = ("title", "url", "snippet")
_CITATION = re.compile(r"\[citation:([0-9]{1,9})\]")


def role_of(message: JsonObject) -> build.Role | None:
    """Who speaks, by the kinds of the fragments, else by the role that is stated; None where neither says it."""
    kinds = [kind for fragment in _listed(message.get("fragments")) if (kind := _kind(fragment))]
    if "REQUEST" in kinds:
        return "user"
    if any(kind in _TEXTS or kind == "THINK" or _is_call(kind) for kind in kinds):
        return "assistant"
    if "FILE" in kinds:
        return "user"
    return stated_role(message)


def stated_role(message: JsonObject) -> build.Role | None:
    match message.get("role"):
        case str() as role:
            return _ROLES.get(role.lower())
        case _:
            return None


_ROLES: dict[str, build.Role] = {"user": "user", "assistant": "assistant", "system": "system", "tool": "tool"}


@dataclass(slots=True)
class Content:
    """The blocks of one message."""

    message_id: str
    note: Note
    blocks: list[JsonObject] = field(default_factory=list[JsonObject])
    mapped: set[str] = field(default_factory=set[str])
    """The fields of the message that the blocks are made of."""
    _cited: dict[int, list[JsonObject]] = field(default_factory=dict[int, list[JsonObject]])
    _files: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])

    def add(self, message: JsonObject) -> None:
        self._add_files(message)
        self.mapped.add("fragments")
        fragments = message.get("fragments")
        if not isinstance(fragments, list | None):
            self._add_unknown("fragments", fragments)
        fragments = _listed(fragments) or self._older(message)
        for index, fragment in enumerate(fragments):
            self._note_results(index, fragment)
        for index, fragment in enumerate(fragments):
            self._add_fragment(index, fragment)
        if not self.blocks:
            self.blocks.append(build.text(""))

    def _older(self, message: JsonObject) -> list[JsonObject]:
        """What a message without fragments says, as fragments."""
        made: list[JsonObject] = []
        if isinstance(results := message.get("search_results"), list) and results:
            made.append({"type": "SEARCH", "results": results})
            self.mapped.add("search_results")
        for name, kind in (("thinking_content", "THINK"), ("reasoning_content", "THINK"), ("content", "RESPONSE")):
            if isinstance(text := message.get(name), str):
                self.mapped.add(name)
                if text:
                    made.append({"type": kind, "content": text})
        return made

    # -- fragments --------------------------------------------------------------------------------------------------

    def _add_fragment(self, index: int, fragment: Any) -> None:
        kind = _kind(fragment)
        if kind in _TEXTS and _has_text(fragment):
            text = fragment.get("content") or ""
            block = build.text(text, citations=self._citations(text))
            left_out = {"content"} if kind == "TEMPLATE_RESPONSE" else {"content", "type"}
            self.blocks.append(_with_rest(block, fragment, left_out))
        elif kind == "THINK" and _has_text(fragment):
            block = build.thinking(fragment.get("content") or "")
            self.blocks.append(_with_rest(block, fragment, {"content", "type"}))
        elif kind == "FILE" and isinstance(fragment.get("files"), list) and fragment["files"]:
            made = [block for entry in fragment["files"] if (block := self._add_file(entry))]
            rest = _rest(fragment, {"type", "files"})
            if rest and made:
                made[0].setdefault("source_fields", {})["fragment"] = rest
            elif rest:
                self._add_unknown(kind, fragment)
        elif kind and _is_call(kind) and _has_text(fragment):
            self._add_call(index, kind, fragment)
        else:
            self._add_unknown(kind or "fragment", fragment)

    def _add_unknown(self, kind: str, raw: Any) -> None:
        self.note(UNKNOWN_BLOCK, f"fragment {kind!r:.80}")
        self.blocks.append(build.opaque(kind=kind, raw=raw))

    # -- what the model looked up -----------------------------------------------------------------------------------

    def _add_call(self, index: int, kind: str, fragment: JsonObject) -> None:
        """A search, or a page that was opened: the call, and the result where the source kept one."""
        call_id = self._call_id(index)
        asked = {name: fragment[name] for name in _ASKED if fragment.get(name) is not None}
        call = build.tool_use(id=call_id, name=kind.lower(), input=asked)
        name, results = _results(fragment)
        if results is None and not fragment.get("content"):
            self.blocks.append(_with_rest(call, fragment, {"type", *asked}))
            return
        self.blocks.append(call)
        told = [fragment["content"]] if fragment.get("content") else []
        told += [_told(result) for result in results or ()]
        metadata: JsonObject = {"results": results} if results is not None else {}
        if rest := _rest(fragment, {"type", "content", name, *asked}):
            metadata["source_fields"] = rest
        self.blocks.append(build.tool_result(tool_use_id=call_id, content="\n\n".join(told), metadata=metadata or None))

    def _call_id(self, index: int) -> str:
        return f"{self.message_id}:{index}"

    def _note_results(self, index: int, fragment: Any) -> None:
        kind = _kind(fragment)
        if not (kind and _is_call(kind)):
            return
        for result in _results(fragment)[1] or ():
            match result:
                case {"cite_index": int(number)}:
                    found = {name: result[name] for name in ("url", "title") if isinstance(result.get(name), str)}
                    found["tool_use_id"] = self._call_id(index)
                    self._cited.setdefault(number, []).append(found)
                case _:
                    pass

    def _citations(self, text: str) -> list[JsonObject] | None:
        """The marks in a text, with their places in code points and the one result that each stands for."""
        citations: list[JsonObject] = []
        for mark in _CITATION.finditer(text):
            number = int(mark[1])
            found = self._cited.get(number, [])
            is_sure = len({result.get("url") for result in found}) == 1
            citations.append(
                {"start": mark.start(), "end": mark.end(), "cite_index": number, **(found[0] if is_sure else {})}
            )
        return citations or None

    # -- files ------------------------------------------------------------------------------------------------------

    def _add_files(self, message: JsonObject) -> None:
        self.mapped.add("files")
        match message.get("files"):
            case None:
                pass
            case list() as files:
                for entry in files:
                    self._add_file(entry)
            case odd:
                self._add_unknown("files", odd)

    def _add_file(self, entry: Any) -> JsonObject | None:
        """The block of an attachment; the export names one twice, on the message and in a fragment."""
        if not isinstance(entry, dict):
            self._add_unknown("file", entry)
            return None
        id_name = "file_id" if "file_id" in entry else "id"
        title = "file_name" if "file_name" in entry else "name"
        left_out: set[str] = set()
        file_id = name = None
        if isinstance(stated := entry.get(id_name), str) and stated:
            file_id = stated
            left_out.add(id_name)
        if isinstance(stated := entry.get(title), str):
            name = stated
            left_out.add(title)
        rest = _rest(entry, left_out)
        if file_id and (earlier := self._files.get(file_id)):
            fields = {"name": name, **rest}
            known = {"name": earlier.get("name"), **earlier.get("source_fields", {})}
            if all(known.get(key, value) == value for key, value in fields.items()):
                if rest:
                    earlier["source_fields"] = {**earlier.get("source_fields", {}), **rest}
                return earlier
        block = build.file(source=build.source("file", file_id) if file_id else None, name=name)
        if rest:
            block["source_fields"] = rest
        self.blocks.append(block)
        if file_id:
            self._files[file_id] = block
        return block


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _kind(fragment: Any) -> str:
    match fragment:
        case {"type": str(kind)}:
            return kind
        case _:
            return ""


def _is_call(kind: str) -> bool:
    return kind in {"SEARCH", "READ_LINK"} or kind.startswith("TOOL_")


def _has_text(fragment: JsonObject) -> bool:
    return isinstance(fragment.get("content"), str | None)


def _results(fragment: JsonObject) -> tuple[str, list[Any] | None]:
    """What a call gave back, several results or one, and the field that says so."""
    match fragment:
        case {"results": list() as results}:
            return "results", results
        case {"result": dict() | str() as result}:
            return "result", [result]
        case _:
            return "", None


def _told(result: Any) -> str:
    """A result in words, so that it can be searched."""
    match result:
        case dict():
            return "\n".join(result[name] for name in _SHOWN if isinstance(result.get(name), str))
        case str():
            return result
        case _:
            return ""


def _with_rest(block: JsonObject, fragment: JsonObject, left_out: set[str]) -> JsonObject:
    if rest := _rest(fragment, left_out):
        block["source_fields"] = rest
    return block


def _rest(fields: JsonObject, left_out: set[str]) -> JsonObject:
    """The fields that a block has no place for, without those that say nothing."""
    return {name: value for name, value in fields.items() if name not in left_out and value not in (None, [], "")}
