"""The parts of an answer, in their order, as blocks."""

from typing import Any

from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.importers.github_copilot.sessions.calls import CallBlocks
from palaver.importers.github_copilot.sessions.edits import edit_blocks
from palaver.importers.github_copilot.sessions.kept import Note, with_rest
from palaver.importers.github_copilot.sessions.kinds import SHOWN_KINDS, SILENT_KINDS
from palaver.importers.github_copilot.sessions.said import Said
from palaver.importers.github_copilot.sessions.texts import Text
from palaver.importers.github_copilot.sessions.tools import Call, Round, join, joined
from palaver.model import build
from palaver.model.build import JsonObject

_CLEAR = "clearToPreviousToolInvocation"
_INVOCATIONS = frozenset({"toolInvocationSerialized", "toolInvocation"})


class Content:
    """The blocks of one answer."""

    def __init__(self, calls: CallBlocks, note: Note) -> None:
        self.blocks: list[JsonObject] = []
        self.others: list[Any] = []
        """Parts that say nothing."""
        self.discarded: list[Any] = []
        """Parts that the answer took back."""
        self._calls = calls
        self._note = note
        self._text = Text()

    def add(self, response: Any, rounds: list[Round]) -> None:
        parts = self._listed(response)
        kinds = _kinds(parts)
        if _CLEAR in kinds:
            parts = self._without_taken_back(parts)
            kinds = _kinds(parts)
        invocations = [part for part, kind in zip(parts, kinds, strict=True) if kind in _INVOCATIONS]
        calls = [call for one in rounds for call in one.calls]
        shown = join(invocations, calls)
        hidden: dict[int, list[Call | str]] = {}
        if len(shown) < len(calls) or any(one.thought for one in rounds):
            thoughts = [
                joined(part.get("value")) for part, kind in zip(parts, kinds, strict=True) if kind == "thinking"
            ]
            hidden = _hidden(rounds, shown, Said("\n".join(thoughts)))
        number = 0
        for part, kind in zip(parts, kinds, strict=True):
            if kind not in _INVOCATIONS:
                self._add(part, kind)
                continue
            if number == 0:
                self._add_hidden(hidden.pop(-1, ()))
            self._block(self._calls.shown(part, shown.get(number)))
            self._add_hidden(hidden.pop(number, ()))
            number += 1
        for steps in hidden.values():
            self._add_hidden(steps)
        self._flush()

    def _listed(self, response: Any) -> list[Any]:
        match response:
            case None:
                return []
            case list():
                return response
            case str():
                return [response]
            case _:
                self._unknown("response", response)
                return []

    def _without_taken_back(self, parts: list[Any]) -> list[Any]:
        kept: list[Any] = []
        for part in parts:
            if _kind(part) != _CLEAR:
                kept.append(part)
                continue
            start = next((at for at in range(len(kept), 0, -1) if _kind(kept[at - 1]) in _INVOCATIONS), 0)
            self.discarded += kept[start:]
            self.others.append(part)
            del kept[start:]
        return kept

    def _add(self, part: Any, kind: str | None) -> None:
        if kind is None:
            if isinstance(part, str):
                self._text.add(part)
                return
            is_text = isinstance(part, dict) and part.get("kind") is None and self._text.add_markdown(part)
            if not is_text and part is not None:
                self._unknown("part", part)
        elif kind in SILENT_KINDS:
            self.others.append(part)
        elif not self._add_kind(kind, part):
            if kind in SHOWN_KINDS:
                self._block(build.opaque(kind=kind, raw=part))
            else:
                self._unknown(kind, part)

    def _add_kind(self, kind: str, part: JsonObject) -> bool:
        """Add a part of a kind that has a block of its own; False where it has none, or not the shape for it."""
        match kind:
            case "inlineReference":
                self._text.add_reference(part)
            case "codeblockUri":
                self._text.mark(part)
            case "thinking":
                return self._add_thought(part)
            case "markdownContent" | "markdownVuln":
                beside = {name: value for name, value in part.items() if name != "content"}
                if kind == "markdownContent":
                    del beside["kind"]
                match part.get("content"):
                    case dict() as content:
                        return self._text.add_markdown(content, beside)
                    case str() as content:
                        return self._text.add_markdown({"value": content}, beside)
                    case _:
                        return False
            case "textEditGroup" | "textEdit":
                blocks = edit_blocks(part)
                for block in blocks:
                    self._block(block)
                return bool(blocks)
            case _:
                return False
        return True

    def _add_thought(self, part: JsonObject) -> bool:
        value = part.get("value")
        if not value:
            self.others.append(part)  # it marks the end of the reasoning
            return True
        text = joined(value)
        if not text or (isinstance(value, list) and not all(isinstance(piece, str) for piece in value)):
            return False
        self._block(with_rest(build.thinking(text), part, {"kind", "value"}))
        return True

    def _add_hidden(self, steps: "list[Call | str] | tuple[()]") -> None:
        for step in steps:
            if isinstance(step, Call):
                self._block(self._calls.hidden(step))
            else:
                self._block({**build.thinking(step), "hidden": True})

    def _block(self, block: JsonObject) -> None:
        if (text := self._text.taken()) is not None:
            self.blocks.append(text)
        self.blocks.append(block)

    def _flush(self) -> None:
        if (text := self._text.taken()) is not None:
            self.blocks.append(text)

    def _unknown(self, kind: str, raw: Any) -> None:
        self._note(UNKNOWN_BLOCK, f"part {kind!r:.80}")
        self._block(build.opaque(kind=kind or "part", raw=raw))


def _kinds(parts: list[Any]) -> list[str | None]:
    """The kinds of parts, where they are names."""
    return [kind if isinstance(part, dict) and isinstance((kind := part.get("kind")), str) else None for part in parts]


def _kind(part: Any) -> str | None:
    return _kinds([part])[0]


def _hidden(rounds: list[Round], shown: dict[int, Call], thoughts: Said) -> "dict[int, list[Call | str]]":
    """Calls and thoughts that no part shows, by the place of the shown call that they came behind; -1 before all."""
    places = {id(call): index for index, call in shown.items()}
    hidden: dict[int, list[Call | str]] = {}
    at = -1
    for one in rounds:
        if one.thought not in thoughts:
            hidden.setdefault(at, []).append(one.thought)
        for call in one.calls:
            if call.is_shown:
                at = places[id(call)]
            else:
                hidden.setdefault(at, []).append(call)
    return hidden
