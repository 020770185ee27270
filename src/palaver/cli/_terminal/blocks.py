"""The blocks of a message in a terminal: text as it is, everything else folded to a line unless it is asked for."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from palaver.cli._terminal.words import counted, gist, plain, size, visible
from palaver.cli._terminal.wrapping import cut, wrapped
from palaver.model.build import JsonObject

INDENT = 2
_GIST = 100
"""How much of a call is told where no width limits it."""
_TELLING = (
    *("command", "cmd", "file_path", "notebook_path", "pattern", "query", "q", "url", "path", "description"),
    *("prompt", "subject", "message", "skill", "name", "title", "code", "script"),
)
"""The arguments that say most about a call, the best first."""


@dataclass(frozen=True, slots=True)
class Look:
    """How much is shown, and how wide."""

    width: int | None = None
    thinking: bool = False
    tools: bool = False
    everything: bool = False
    tokens: bool = False
    sidechains: bool = False
    revisions: bool = False
    ids: bool = False

    def narrower(self, by: int) -> "Look":
        return replace(self, width=None if self.width is None else max(self.width - by, 20))


def lines_of(
    block: JsonObject, look: Look, project: str | None = None, result: JsonObject | None = None
) -> Iterator[Text]:
    """What is shown of one block, indented; a call together with its result."""
    match block:
        case {"type": "text", "text": str(text)}:
            yield from _text(block, text, look)
        case {"type": "thinking"}:
            yield from _thinking(block, look)
        case {"type": "tool_use", "name": str(name), "input": arguments}:
            yield from _call(name, arguments, result, look, project)
        case {"type": "tool_result"}:
            yield _aligned(Text("result", "yellow"), gist(result_text(block), _GIST), told(block), look)
            if look.tools:
                yield from _result(block, look)
        case {"type": "code", "code": str(code)}:
            yield _note(look, "code", _place_of_code(block))
            yield from _indented(visible(code).split("\n"), 2 * INDENT)
        case {"type": "image"}:
            yield _note(look, "image", *_binary(block), gist(block.get("alt_text") or ""))
        case {"type": "file"}:
            text = block.get("text") or ""
            yield _note(look, "file", gist(block.get("name") or ""), *_binary(block), measured(text) if text else "")
            if look.everything and text:
                yield from _indented(wrapped(visible(text), _room(look, 2 * INDENT)), 2 * INDENT, "dim")
        case _:
            yield from _other(block, look)


def measured(text: str) -> str:
    lines = text.rstrip("\n").count("\n") + 1
    if not text.strip():
        return "empty"
    return counted(lines, "line") if lines > 1 else counted(len(text.rstrip("\n")), "character")


def result_text(block: JsonObject) -> str:
    """The words of a result; whatever else it holds is told in its place."""
    content = block["content"]
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image" | "file" as kind}:
                texts.append(f"[{', '.join([kind, *_binary(part)])}]")
            case _:
                texts.append(_compact(part))
    return "\n".join(texts)


def told(result: JsonObject | None) -> Text:
    """How a call ended, and how much came back."""
    if result is None:
        return Text("no result", "dim yellow")
    mark = ("error", "bold red") if result.get("is_error") else ("ok", "green")
    return Text.assemble(mark, (f", {measured(result_text(result))}", "dim"))


def gist_of_call(arguments: Any, project: str | None) -> str:
    """What a call is about, on one line: its most telling argument."""
    if not isinstance(arguments, dict):
        return gist(_compact(arguments))
    key = next((key for key in _TELLING if isinstance(arguments.get(key), str) and arguments[key].strip()), None)
    if key is None:
        text = next((value for value in arguments.values() if isinstance(value, str) and value.strip()), None)
        return gist(text if text is not None else _compact(arguments) if arguments else "")
    words = _inside(arguments[key], project)
    if key == "pattern" and isinstance(arguments.get("path"), str):
        words = f"{words} in {_inside(arguments['path'], project)}"
    return gist(words)


def _inside(path: str, project: str | None) -> str:
    for end in ("/", "\\"):
        if project and path.startswith(project.rstrip("/\\") + end):
            return path[len(project.rstrip("/\\")) + 1 :]
    return path


def _text(block: JsonObject, text: str, look: Look) -> Iterator[Text]:
    if text.strip():
        yield from _indented(wrapped(visible(text), _room(look)), INDENT)
    if citations := block.get("citations"):
        yield _note(look, counted(len(citations), "citation"))
        if look.everything:
            yield from _indented([gist(_compact(citation)) for citation in citations], 2 * INDENT, "dim")


def _thinking(block: JsonObject, look: Look) -> Iterator[Text]:
    thought = block.get("thinking") or ""
    if not thought.strip():
        yield _note(look, "thinking", "withheld")
    elif look.thinking:
        yield from _indented(wrapped(visible(thought), _room(look)), INDENT, "dim italic")
    else:
        yield _note(look, "thinking", measured(thought))


def _call(name: str, arguments: Any, result: JsonObject | None, look: Look, project: str | None) -> Iterator[Text]:
    yield _aligned(Text(plain(name), "bold"), gist_of_call(arguments, project), told(result), look)
    if not look.tools:
        return
    for key, value in arguments.items() if isinstance(arguments, dict) else [("", arguments)]:
        text = visible(value if isinstance(value, str) else _compact(value))
        if "\n" in text:
            yield from _indented([f"{plain(key)}:"], 2 * INDENT, "cyan")
            yield from _indented(text.rstrip("\n").split("\n"), 3 * INDENT, "cyan")
        else:
            yield from _indented(wrapped(f"{plain(key)}: {text}", _room(look, 2 * INDENT)), 2 * INDENT, "cyan")
    if result is not None:
        yield from _result(result, look)


def _result(result: JsonObject, look: Look) -> Iterator[Text]:
    text = visible(result_text(result)).rstrip("\n")
    room = _room(look, 2 * INDENT + 2)
    for line in text.split("\n") if text else []:
        for piece in wrapped(line, room) if room else [line]:
            yield Text.assemble(" " * 2 * INDENT, ("│ ", "dim"), (piece, "red" if result.get("is_error") else "dim"))


def _other(block: JsonObject, look: Look) -> Iterator[Text]:
    kind, raw = (block["kind"], block["raw"]) if block["type"] == "opaque" else (block["type"], block)
    if look.everything:
        yield _note(look, plain(kind))
        told_whole = json.dumps(raw, indent=2, ensure_ascii=False)
        yield from _indented(visible(told_whole).split("\n"), 2 * INDENT, "dim")
    else:
        yield _note(look, plain(kind), gist(_compact(raw)))


def _aligned(name: Text, words: str, outcome: Text, look: Look) -> Text:
    """A call on one line; where there is a width, its outcome stands at the right."""
    line = Text(" " * INDENT).append_text(name).append("  ")
    if look.width is None:
        return line.append(cut(words, _GIST)).append("  " if words else "").append_text(outcome)
    room = max(look.width - line.cell_len - outcome.cell_len - 2, 1)
    words = cut(words, room)
    return line.append(words).append(" " * (room - cell_len(words) + 2)).append_text(outcome)


def _binary(block: JsonObject) -> list[str]:
    """What a picture or file is: its type, and its size or where it is."""
    source = block.get("source") or {}
    media_type = block.get("media_type") or source.get("media_type")
    words = [plain(media_type)] if isinstance(media_type, str) else []
    match source:
        case {"type": "base64", "data": str(data)}:
            words.append(size(len(data.rstrip("=")) * 3 // 4))
        case {"data": str(address)}:
            words.append(gist(address))
        case _:
            pass
    return words


def _place_of_code(block: JsonObject) -> str:
    lines = block.get("line_range") or {}
    name = plain(block.get("file_path") or "")
    if lines.get("start"):
        name += f":{lines['start']}" + (f"-{lines['end']}" if lines.get("end") else "")
    return "  ".join(filter(None, [name, plain(block.get("language") or "")]))


def _note(look: Look, kind: str, *words: str) -> Text:
    line = "  ".join(filter(None, [kind, ", ".join(filter(None, words))]))
    return Text(" " * INDENT + cut(line, _room(look)), "dim")


def _indented(lines: list[str], indent: int, style: str = "") -> Iterator[Text]:
    for line in lines:
        yield Text.assemble(" " * indent, (line, style)) if line else Text()


def _room(look: Look, indent: int = INDENT) -> int | None:
    return None if look.width is None else look.width - indent


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
