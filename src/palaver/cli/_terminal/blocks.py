"""Message blocks in a terminal: text in full, every other block folded to one line unless the options show it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from palaver.cli._terminal.layout import cut, wrapped
from palaver.cli._terminal.words import counted, escaped_line, escaped_text, gist, size
from palaver.model.build import JsonObject

INDENT = 2
_MAX_GIST = 100
"""Characters shown of a call where no width limits it."""
_MAIN_ARGUMENTS = (
    *("command", "cmd", "file_path", "notebook_path", "pattern", "query", "q", "url", "path", "description"),
    *("prompt", "subject", "message", "skill", "name", "title", "code", "script"),
)
"""The arguments that best summarize a call, the best first."""


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """How much is shown, and how wide."""

    width: int | None = None
    thinking: bool = False
    tools: bool = False
    everything: bool = False
    tokens: bool = False
    agents: bool = False
    revisions: bool = False
    ids: bool = False
    markdown: bool = False
    """Whether the Markdown of models is rendered; it is printed as stored otherwise."""
    target: int | None = None
    """Key of the message that was asked for."""

    def narrower(self, by: int) -> "DisplayOptions":
        return replace(self, width=None if self.width is None else max(self.width - by, 20))


def block_lines(
    block: JsonObject, options: DisplayOptions, project: str | None = None, result: JsonObject | None = None
) -> Iterator[Text]:
    """Yield the lines of one block, indented; a call together with its result."""
    match block:
        case {"type": "text", "text": str(text)}:
            yield from _text(block, text, options)
        case {"type": "thinking"}:
            yield from _thinking(block, options)
        case {"type": "tool_use", "name": str(name), "input": arguments}:
            yield from _call(name, arguments, result, options, project)
        case {"type": "tool_result"}:
            yield _aligned(Text("result", "cyan"), gist(result_text(block), _MAX_GIST), _outcome(block), options)
            if options.tools:
                yield from _result(block, options)
        case {"type": "code", "code": str(code)}:
            yield _note(options, "code", _code_position(block))
            yield from _indented(escaped_text(code).split("\n"), 2 * INDENT)
        case {"type": "image"}:
            yield _note(options, "image", *_binary_details(block), gist(block.get("alt_text") or ""))
        case {"type": "file"}:
            text = block.get("text") or ""
            yield _note(
                options, "file", gist(block.get("name") or ""), *_binary_details(block), measured(text) if text else ""
            )
            if options.everything and text:
                yield from _indented(wrapped(escaped_text(text), _text_width(options, 2 * INDENT)), 2 * INDENT, "dim")
        case _:
            yield from _other(block, options)


def measured(text: str) -> str:
    lines = text.rstrip("\n").count("\n") + 1
    if not text.strip():
        return "empty"
    return counted(lines, "line") if lines > 1 else counted(len(text.rstrip("\n")), "character")


def result_text(block: JsonObject) -> str:
    """Return the text of a result, with a placeholder for every image and file."""
    content = block["content"]
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content:
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image" | "file" as kind}:
                texts.append(f"[{', '.join([kind, *_binary_details(part)])}]")
            case _:
                texts.append(_compact(part))
    return "\n".join(texts)


def _outcome(result: JsonObject | None) -> Text:
    """Return whether a call succeeded, and how much it returned."""
    if result is None:
        return Text("no result", "dim magenta")
    status = ("error", "bold red") if result.get("is_error") else ("ok", "green")
    return Text.assemble(status, (f", {measured(result_text(result))}", "dim"))


def _call_gist(arguments: Any, project: str | None) -> str:
    """Return the main argument of a call on one line."""
    if not isinstance(arguments, dict):
        return gist(_compact(arguments))
    key = next((key for key in _MAIN_ARGUMENTS if isinstance(arguments.get(key), str) and arguments[key].strip()), None)
    if key is None:
        text = next((value for value in arguments.values() if isinstance(value, str) and value.strip()), None)
        return gist(text if text is not None else _compact(arguments) if arguments else "")
    words = _relative(arguments[key], project)
    if key == "pattern" and isinstance(arguments.get("path"), str):
        words = f"{words} in {_relative(arguments['path'], project)}"
    return gist(words)


def _relative(path: str, project: str | None) -> str:
    for end in ("/", "\\"):
        if project and path.startswith(project.rstrip("/\\") + end):
            return path[len(project.rstrip("/\\")) + 1 :]
    return path


def _rendered(text: str, options: DisplayOptions) -> list[Text]:
    """Return the lines of Markdown; none if it is to be shown as stored."""
    if not options.markdown:
        return []
    from palaver.cli._terminal.markdown import is_renderable, markdown_lines

    if not is_renderable(text):
        return []
    lines = markdown_lines(text, _text_width(options))
    return [Text.assemble(" " * INDENT, line) if line else Text() for line in lines]


def _text(block: JsonObject, text: str, options: DisplayOptions) -> Iterator[Text]:
    if text.strip():
        yield from _rendered(text, options) or _indented(wrapped(escaped_text(text), _text_width(options)), INDENT)
    if citations := block.get("citations"):
        yield _note(options, counted(len(citations), "citation"))
        if options.everything:
            yield from _indented([gist(_compact(citation)) for citation in citations], 2 * INDENT, "dim")


def _thinking(block: JsonObject, options: DisplayOptions) -> Iterator[Text]:
    thought = block.get("thinking") or ""
    if not thought.strip():
        yield _note(options, "thinking", "withheld")
    elif options.thinking:
        yield from _indented(wrapped(escaped_text(thought), _text_width(options)), INDENT, "dim italic")
    else:
        yield _note(options, "thinking", measured(thought))


def _call(
    name: str, arguments: Any, result: JsonObject | None, options: DisplayOptions, project: str | None
) -> Iterator[Text]:
    yield _aligned(Text(escaped_line(name), "bold"), _call_gist(arguments, project), _outcome(result), options)
    if not options.tools:
        return
    for key, value in arguments.items() if isinstance(arguments, dict) else [("", arguments)]:
        text = escaped_text(value if isinstance(value, str) else _compact(value))
        if "\n" in text:
            yield from _indented([f"{escaped_line(key)}:"], 2 * INDENT, "cyan")
            yield from _indented(text.rstrip("\n").split("\n"), 3 * INDENT, "cyan")
        else:
            yield from _indented(
                wrapped(f"{escaped_line(key)}: {text}", _text_width(options, 2 * INDENT)), 2 * INDENT, "cyan"
            )
    if result is not None:
        yield from _result(result, options)


def _result(result: JsonObject, options: DisplayOptions) -> Iterator[Text]:
    text = escaped_text(result_text(result)).rstrip("\n")
    width = _text_width(options, 2 * INDENT + 2)
    for line in text.split("\n") if text else []:
        for piece in wrapped(line, width) if width else [line]:
            yield Text.assemble(" " * 2 * INDENT, ("│ ", "dim"), (piece, "red" if result.get("is_error") else "dim"))


def _other(block: JsonObject, options: DisplayOptions) -> Iterator[Text]:
    kind, raw = (block["kind"], block["raw"]) if block["type"] == "opaque" else (block["type"], block)
    if options.everything:
        yield _note(options, escaped_line(kind))
        text = json.dumps(raw, indent=2, ensure_ascii=False)
        yield from _indented(escaped_text(text).split("\n"), 2 * INDENT, "dim")
    else:
        yield _note(options, escaped_line(kind), gist(_compact(raw)))


def _aligned(name: Text, words: str, outcome: Text, options: DisplayOptions) -> Text:
    """Return a call on one line, with its outcome right-aligned if the width is limited."""
    line = Text(" " * INDENT).append_text(name).append("  ")
    if options.width is None:
        return line.append(cut(words, _MAX_GIST)).append("  " if words else "").append_text(outcome)
    words_width = max(options.width - line.cell_len - outcome.cell_len - 2, 1)
    words = cut(words, words_width)
    return line.append(words).append(" " * (words_width - cell_len(words) + 2)).append_text(outcome)


def _binary_details(block: JsonObject) -> list[str]:
    """Return the media type of an image or file, and its size or address."""
    source = block.get("source") or {}
    media_type = block.get("media_type") or source.get("media_type")
    words = [escaped_line(media_type)] if isinstance(media_type, str) else []
    match source:
        case {"type": "base64", "data": str(data)}:
            words.append(size(len(data.rstrip("=")) * 3 // 4))
        case {"data": str(address)}:
            words.append(gist(address))
        case _:
            pass
    return words


def _code_position(block: JsonObject) -> str:
    lines = block.get("line_range") or {}
    name = escaped_line(block.get("file_path") or "")
    if lines.get("start"):
        name += f":{lines['start']}" + (f"-{lines['end']}" if lines.get("end") else "")
    return "  ".join(filter(None, [name, escaped_line(block.get("language") or "")]))


def _note(options: DisplayOptions, kind: str, *words: str) -> Text:
    line = "  ".join(filter(None, [kind, ", ".join(filter(None, words))]))
    return Text(" " * INDENT + cut(line, _text_width(options)), "dim")


def _indented(lines: list[str], indent: int, style: str = "") -> Iterator[Text]:
    for line in lines:
        yield Text.assemble(" " * indent, (line, style)) if line else Text()


def _text_width(options: DisplayOptions, indent: int = INDENT) -> int | None:
    return None if options.width is None else options.width - indent


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
