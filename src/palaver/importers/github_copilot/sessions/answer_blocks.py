"""The parts of an answer as blocks, in order.

Text fragments and inline references up to the next other part form one text block. Each edit becomes a code block with
its file and lines. Calls and thoughts that only the recorded rounds contain are added as hidden blocks.
"""

from typing import Any

from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.importers.github_copilot.sessions.kinds import SHOWN_KINDS, SILENT_KINDS
from palaver.importers.github_copilot.sessions.tool_calls import Call, CallBlocks, Round, joined_text, match_calls
from palaver.importers.github_copilot.sessions.unmapped_fields import Note, is_blank, unmapped_fields, with_unmapped
from palaver.importers.github_copilot.sessions.vscode_values import (
    base_name,
    is_plain_uri,
    line_range_of,
    location_of,
    path_of,
)
from palaver.model import build
from palaver.model.build import JsonObject

_LAYOUT_FLAGS = frozenset({"supportThemeIcons", "supportHtml", "supportAlertSyntax", "isTrusted"})


_MAX_MISSES = 200


_CLEAR = "clearToPreviousToolInvocation"
_INVOCATIONS = frozenset({"toolInvocationSerialized", "toolInvocation"})


class AnswerBlocks:
    """Builds the blocks of one answer."""

    def __init__(self, calls: CallBlocks, note: Note) -> None:
        self.blocks: list[JsonObject] = []
        self.silent_parts: list[Any] = []
        """Parts that show no content."""
        self.discarded: list[Any] = []
        """Parts that the answer retracted."""
        self._calls = calls
        self._note = note
        self._text = TextBuilder()

    def add(self, response: Any, rounds: list[Round]) -> None:
        parts = self._parts_of(response)
        kinds = _kinds(parts)
        if _CLEAR in kinds:
            parts = self._without_cleared(parts)
            kinds = _kinds(parts)
        invocations = [part for part, kind in zip(parts, kinds, strict=True) if kind in _INVOCATIONS]
        calls = [call for model_round in rounds for call in model_round.calls]
        shown = match_calls(invocations, calls)
        hidden: dict[int, list[Call | str]] = {}
        if len(shown) < len(calls) or any(model_round.thought for model_round in rounds):
            thoughts = [
                joined_text(part.get("value")) for part, kind in zip(parts, kinds, strict=True) if kind == "thinking"
            ]
            hidden = _hidden_steps(rounds, shown, TextSearch("\n".join(thoughts)))
        shown_count = 0
        for part, kind in zip(parts, kinds, strict=True):
            if kind not in _INVOCATIONS:
                self._add(part, kind)
                continue
            if shown_count == 0:
                self._add_hidden(hidden.pop(-1, ()))
            self._append(self._calls.shown_call(part, shown.get(shown_count)))
            self._add_hidden(hidden.pop(shown_count, ()))
            shown_count += 1
        for steps in hidden.values():
            self._add_hidden(steps)
        self._flush_text()

    def _parts_of(self, response: Any) -> list[Any]:
        match response:
            case None:
                return []
            case list():
                return response
            case str():
                return [response]
            case _:
                self._append_unknown("response", response)
                return []

    def _without_cleared(self, parts: list[Any]) -> list[Any]:
        remaining: list[Any] = []
        for part in parts:
            if _kind(part) != _CLEAR:
                remaining.append(part)
                continue
            ends = range(len(remaining), 0, -1)
            start = next((end for end in ends if _kind(remaining[end - 1]) in _INVOCATIONS), 0)
            self.discarded += remaining[start:]
            self.silent_parts.append(part)
            del remaining[start:]
        return remaining

    def _add(self, part: Any, kind: str | None) -> None:
        if kind is None:
            if isinstance(part, str):
                self._text.add(part)
                return
            is_text = isinstance(part, dict) and part.get("kind") is None and self._text.add_markdown(part)
            if not is_text and part is not None:
                self._append_unknown("part", part)
        elif kind in SILENT_KINDS:
            self.silent_parts.append(part)
        elif not self._add_kind(kind, part):
            if kind in SHOWN_KINDS:
                self._append(build.opaque(kind=kind, raw=part))
            else:
                self._append_unknown(kind, part)

    def _add_kind(self, kind: str, part: JsonObject) -> bool:
        """Add a part whose kind has its own block type; return False if it has none, or the shape does not fit."""
        match kind:
            case "inlineReference":
                self._text.add_reference(part)
            case "codeblockUri":
                self._text.add_position(part)
            case "thinking":
                return self._add_thinking(part)
            case "markdownContent" | "markdownVuln":
                extra = {name: value for name, value in part.items() if name != "content"}
                if kind == "markdownContent":
                    del extra["kind"]
                match part.get("content"):
                    case dict() as content:
                        return self._text.add_markdown(content, extra)
                    case str() as content:
                        return self._text.add_markdown({"value": content}, extra)
                    case _:
                        return False
            case "textEditGroup" | "textEdit":
                blocks = edit_blocks(part)
                for block in blocks:
                    self._append(block)
                return bool(blocks)
            case _:
                return False
        return True

    def _add_thinking(self, part: JsonObject) -> bool:
        value = part.get("value")
        if not value:
            self.silent_parts.append(part)  # marks the end of the reasoning
            return True
        text = joined_text(value)
        if not text or (isinstance(value, list) and not all(isinstance(piece, str) for piece in value)):
            return False
        self._append(with_unmapped(build.thinking(text), part, {"kind", "value"}))
        return True

    def _add_hidden(self, steps: "list[Call | str] | tuple[()]") -> None:
        for step in steps:
            if isinstance(step, Call):
                self._append(self._calls.hidden_call(step))
            else:
                self._append({**build.thinking(step), "hidden": True})

    def _append(self, block: JsonObject) -> None:
        if (text := self._text.take_block()) is not None:
            self.blocks.append(text)
        self.blocks.append(block)

    def _flush_text(self) -> None:
        if (text := self._text.take_block()) is not None:
            self.blocks.append(text)

    def _append_unknown(self, kind: str, raw: Any) -> None:
        self._note(UNKNOWN_BLOCK, f"part {kind!r:.80}")
        self._append(build.opaque(kind=kind or "part", raw=raw))


class TextSearch:
    """A text in which others are looked up, mostly in their order.

    Each search starts after the previous hit. After `_MAX_MISSES` misses, everything counts as absent, which bounds the
    cost.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._without_spacing: str | None = None
        self._position = self._misses = 0

    def __contains__(self, text: object) -> bool:
        needle = text.strip() if isinstance(text, str) else ""
        if not needle:
            return True
        if self._misses >= _MAX_MISSES:
            return False
        if (position := self._text.find(needle, self._position)) >= 0:
            self._position = position + len(needle)
            return True
        self._misses += 1
        if self._without_spacing is None:
            self._without_spacing = _without_spacing(self._text)
        return needle in self._text or _without_spacing(needle) in self._without_spacing


def _without_spacing(text: str) -> str:
    """Strip spaces and backticks: those around a reference differ from the ones in the model's own text."""
    return "".join(text.replace("`", " ").split())


def _kinds(parts: list[Any]) -> list[str | None]:
    """Return the kind of each part; None where it is not a string."""
    return [kind if isinstance(part, dict) and isinstance((kind := part.get("kind")), str) else None for part in parts]


def _kind(part: Any) -> str | None:
    return _kinds([part])[0]


def _hidden_steps(rounds: list[Round], shown: dict[int, Call], thoughts: TextSearch) -> "dict[int, list[Call | str]]":
    """Return calls and thoughts that no part shows, by the index of the shown call they follow; -1 for the start."""
    positions = {id(call): index for index, call in shown.items()}
    hidden: dict[int, list[Call | str]] = {}
    position = -1
    for model_round in rounds:
        if model_round.thought not in thoughts:
            hidden.setdefault(position, []).append(model_round.thought)
        for call in model_round.calls:
            if call.is_shown:
                position = positions[id(call)]
            else:
                hidden.setdefault(position, []).append(call)
    return hidden


def edit_blocks(part: JsonObject) -> list[JsonObject]:
    """Return a code block for each edit of a group, in order; an empty list unless all of them are text edits."""
    path = path_of(part.get("uri"))
    groups = part.get("edits")
    if not path or not isinstance(groups, list):
        return []
    blocks: list[JsonObject] = []
    for group in groups:
        for edit in group if isinstance(group, list) else [group]:
            block = _edit_block(edit, path)
            if block is None:
                return []
            blocks.append(block)
    if blocks:
        mapped = {"edits", "uri"} if is_plain_uri(part["uri"]) else {"edits"}
        blocks[0].setdefault("source_fields", {}).update(unmapped_fields(part, mapped))
    return blocks


def _edit_block(edit: Any, path: str) -> JsonObject | None:
    match edit:
        case {"text": str(text), "range": dict(text_range)}:
            block = build.code(text, file_path=path, line_range=line_range_of(text_range))
            block["source_fields"] = unmapped_fields(edit, {"text"})
            return block
        case _:
            return None


class TextBuilder:
    """Assembles a text block from consecutive fragments and inline references."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._citations: list[JsonObject] = []
        self._fields: list[JsonObject] = []

    def add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)

    def add_markdown(self, content: JsonObject, extra: JsonObject | None = None) -> bool:
        """Add a fragment with its other fields; return False if it has no text."""
        text = content.get("value")
        if not isinstance(text, str):
            return False
        self.add(text)
        fields = {
            name: value
            for name, value in content.items()
            if name != "value"
            and (value or not is_blank(value))
            and (not isinstance(value, bool) or name not in _LAYOUT_FLAGS)
        }
        if extra:
            fields = {**extra, **fields}
        if fields and self._fields[-1:] != [fields]:
            self._fields.append(fields)
        return True

    def add_reference(self, part: JsonObject) -> None:
        """Add a label for a file or symbol, so that the texts around it do not run together."""
        start = self._length
        self.add(f"`{_reference_label(part)}`")
        self._citations.append({"start": start, "end": self._length, **part})

    def add_position(self, part: JsonObject) -> None:
        """Record a part that has a position but no text."""
        self._citations.append({"start": self._length, "end": self._length, **part})

    def take_block(self) -> JsonObject | None:
        """Return a block of what was added, or None if nothing was, and start a new one."""
        if not (self._pieces or self._citations):
            return None
        block = build.text("".join(self._pieces), citations=self._citations or None)
        if self._fields:
            block["source_fields"] = {"parts": self._fields}
        self.__init__()
        return block


def _reference_label(part: JsonObject) -> str:
    if isinstance((name := part.get("name")), str) and name:
        return name
    match part.get("inlineReference"):
        case {"name": str(name)} if name:
            return name
        case str(address) if address:
            return base_name(address)
        case reference:
            path, _ = location_of(reference)
            return base_name(path) or path or "reference"
