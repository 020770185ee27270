"""Fragments and files of a message as UCS blocks.

Older messages have no fragments but `content`, with `thinking_content` (in exports: `reasoning_content`) and
`search_results` beside it. Unmapped fields of a fragment go to `source_fields` of its block.
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
"""Callback that records a finding: its kind and a message."""

_TEXTS = frozenset({"REQUEST", "RESPONSE", "TEMPLATE_RESPONSE"})
_QUERY_FIELDS = ("queries", "query", "urls", "url", "links", "link")
"""Fields of a fragment with what the model looked for."""
_RESULT_FIELDS = ("title", "url", "snippet")
_CITATION = re.compile(r"\[citation:([0-9]{1,9})\]")


def role_of(message: JsonObject) -> build.Role | None:
    """Return the role implied by the types of the fragments, else the stated one, or None without either."""
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
    """Blocks of one message."""

    message_id: str
    note: Note
    blocks: list[JsonObject] = field(default_factory=list[JsonObject])
    mapped: set[str] = field(default_factory=set[str])
    """Fields of the message that the blocks cover."""
    _cited: dict[int, list[JsonObject]] = field(default_factory=dict[int, list[JsonObject]])
    _files: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])

    def add(self, message: JsonObject) -> None:
        self._add_files(message)
        self.mapped.add("fragments")
        fragments = message.get("fragments")
        if not isinstance(fragments, list | None):
            self._add_unknown("fragments", fragments)
        fragments = _listed(fragments) or self._older_fragments(message)
        for index, fragment in enumerate(fragments):
            self._index_results(index, fragment)
        for index, fragment in enumerate(fragments):
            self._add_fragment(index, fragment)
        if not self.blocks:
            self.blocks.append(build.text(""))

    def _older_fragments(self, message: JsonObject) -> list[JsonObject]:
        """Return the content of a message without fragments, as fragments."""
        fragments: list[JsonObject] = []
        if isinstance(results := message.get("search_results"), list) and results:
            fragments.append({"type": "SEARCH", "results": results})
            self.mapped.add("search_results")
        for name, kind in (("thinking_content", "THINK"), ("reasoning_content", "THINK"), ("content", "RESPONSE")):
            if isinstance(text := message.get(name), str):
                self.mapped.add(name)
                if text:
                    fragments.append({"type": kind, "content": text})
        return fragments

    def _add_fragment(self, index: int, fragment: Any) -> None:
        kind = _kind(fragment)
        if kind in _TEXTS and _has_text(fragment):
            text = fragment.get("content") or ""
            block = build.text(text, citations=self._citations(text))
            left_out = {"content"} if kind == "TEMPLATE_RESPONSE" else {"content", "type"}
            self.blocks.append(_with_unmapped(block, fragment, left_out))
        elif kind == "THINK" and _has_text(fragment):
            block = build.thinking(fragment.get("content") or "")
            self.blocks.append(_with_unmapped(block, fragment, {"content", "type"}))
        elif kind == "FILE" and isinstance(fragment.get("files"), list) and fragment["files"]:
            blocks = [block for entry in fragment["files"] if (block := self._add_file(entry))]
            rest = _unmapped(fragment, {"type", "files"})
            if rest and blocks:
                blocks[0].setdefault("source_fields", {})["fragment"] = rest
            elif rest:
                self._add_unknown(kind, fragment)
        elif kind and _is_call(kind) and _has_text(fragment):
            self._add_call(index, kind, fragment)
        else:
            self._add_unknown(kind or "fragment", fragment)

    def _add_unknown(self, kind: str, raw: Any) -> None:
        self.note(UNKNOWN_BLOCK, f"fragment {kind!r:.80}")
        self.blocks.append(build.opaque(kind=kind, raw=raw))

    def _add_call(self, index: int, kind: str, fragment: JsonObject) -> None:
        """Add the call of a search or an opened page, and its result if the source has one."""
        call_id = self._call_id(index)
        query = {name: fragment[name] for name in _QUERY_FIELDS if fragment.get(name) is not None}
        call = build.tool_use(id=call_id, name=kind.lower(), input=query)
        name, results = _results(fragment)
        if results is None and not fragment.get("content"):
            self.blocks.append(_with_unmapped(call, fragment, {"type", *query}))
            return
        self.blocks.append(call)
        texts = [fragment["content"]] if fragment.get("content") else []
        texts += [_result_text(result) for result in results or ()]
        metadata: JsonObject = {"results": results} if results is not None else {}
        if rest := _unmapped(fragment, {"type", "content", name, *query}):
            metadata["source_fields"] = rest
        self.blocks.append(
            build.tool_result(tool_use_id=call_id, content="\n\n".join(texts), metadata=metadata or None)
        )

    def _call_id(self, index: int) -> str:
        return f"{self.message_id}:{index}"

    def _index_results(self, index: int, fragment: Any) -> None:
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
        """Return the citations in a text: their positions in code points, and the result if it is unambiguous."""
        citations: list[JsonObject] = []
        for citation in _CITATION.finditer(text):
            number = int(citation[1])
            found = self._cited.get(number, [])
            is_unambiguous = len({result.get("url") for result in found}) == 1
            citations.append(
                {
                    "start": citation.start(),
                    "end": citation.end(),
                    "cite_index": number,
                    **(found[0] if is_unambiguous else {}),
                }
            )
        return citations or None

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
        """Return the block of an attachment, which an export lists twice: on the message and in a fragment."""
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
        rest = _unmapped(entry, left_out)
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
    """Return the field with a call's results, and the results, or None without any."""
    match fragment:
        case {"results": list() as results}:
            return "results", results
        case {"result": dict() | str() as result}:
            return "result", [result]
        case _:
            return "", None


def _result_text(result: Any) -> str:
    """Return the text of a result, so that it can be searched."""
    match result:
        case dict():
            return "\n".join(result[name] for name in _RESULT_FIELDS if isinstance(result.get(name), str))
        case str():
            return result
        case _:
            return ""


def _with_unmapped(block: JsonObject, fragment: JsonObject, left_out: set[str]) -> JsonObject:
    if rest := _unmapped(fragment, left_out):
        block["source_fields"] = rest
    return block


def _unmapped(fields: JsonObject, left_out: set[str]) -> JsonObject:
    """Return the fields that a block does not map, without empty ones."""
    return {name: value for name, value in fields.items() if name not in left_out and value not in (None, [], "")}
