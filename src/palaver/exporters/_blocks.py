"""Blocks as Markdown: words as they are, thoughts and tools folded away, bytes only named."""

import html
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import orjson

from palaver.exporters._prose import code, fenced, inline, one_line, prose
from palaver.model.build import JsonObject
from palaver.model.text import is_encoded, strings

_GIST = 80


def block(value: JsonObject, calls: dict[str, str]) -> Iterator[str]:
    """The parts of one block; `calls` knows the names of tools by the ids of their calls, and learns new ones."""
    match value["type"]:
        case "text":
            if value["text"]:
                yield prose(value["text"])
            yield from _sources(value.get("citations") or [])
        case "thinking":
            yield _folded("Thinking", [prose(value["thinking"]) if value["thinking"] else "*withheld by the provider*"])
        case "tool_use":
            calls[value["id"]] = value["name"]
            title = f"Call of {_html_code(value['name'])}{_gist(next(strings(value['input']), ''))}"
            yield _folded(title, _given(value["input"]))
        case "tool_result":
            name = calls.get(value["tool_use_id"])
            title = f"{'Error' if value.get('is_error') else 'Result'}{f' of {_html_code(name)}' if name else ''}"
            parts = list(_returned(value["content"]))
            yield _folded(f"{title}{_gist(_first_words(value['content']))}", parts or ["*nothing*"])
        case _:
            yield from _leaf(value)


def _leaf(value: JsonObject) -> Iterator[str]:
    """A block that holds no others."""
    match value["type"]:
        case "text":
            yield fenced(value["text"])
        case "code":
            if value.get("file_path"):
                yield f"{code(value['file_path'])}{_lines(value.get('line_range') or {})}:"
            yield fenced(value["code"], value.get("language") or "")
        case "image":
            yield _picture(value["source"], value.get("alt_text") or "")
        case "file":
            yield from _file(value)
        case "opaque":
            yield f"{code(value['kind'])}, kept as it was:"
            yield fenced(_json(value["raw"]), "json")
        case _:
            yield fenced(_json(value), "json")


def _folded(title: str, parts: list[str]) -> str:
    return "\n\n".join([f"<details>\n<summary>{title}</summary>", *parts, "</details>"])


def _gist(words: str) -> str:
    """A title's second half: the beginning of some words, on one line."""
    line = one_line(words[: 4 * _GIST])
    if not line:
        return ""
    return f": {html.escape(line if len(line) <= _GIST else f'{line[:_GIST]}…')}"


def _html_code(text: str) -> str:
    return f"<code>{html.escape(one_line(text))}</code>"


def _first_words(content: str | list[JsonObject]) -> str:
    if isinstance(content, str):
        return content
    return next((value["text"] for value in content if value.get("type") == "text"), "")


def _given(arguments: JsonObject) -> list[str]:
    """A tool's input: long texts as they are, one by one, behind all that fits on a line each."""
    short: list[str] = []
    long: list[str] = []
    for name, value in arguments.items():
        if isinstance(value, str) and "\n" in value and not is_encoded(value):
            long += [f"{code(name)}:", fenced(value)]
        elif isinstance(value, dict | list) and value:
            long += [f"{code(name)}:", fenced(_json(value), "json")]
        else:
            told = without_bytes(value)
            short.append(f"{one_line(name)}: {told if isinstance(told, str) else _json(told)}")
    return ([fenced("\n".join(short))] if short else []) + long or ["*no arguments*"]


def _returned(content: str | list[JsonObject]) -> Iterator[str]:
    """What a tool gave back; results within results are told one after the other."""
    stack: list[Any] = [content]
    while stack:
        match stack.pop():
            case str(text):
                if text:
                    yield fenced(text)
            case list() as values:
                stack += reversed(values)
            case {"type": "tool_result", "content": inner}:
                stack.append(inner)
            case {"type": "tool_use", "name": str(name), "input": dict() as arguments}:
                yield f"Call of {code(name)}:"
                yield from _given(arguments)
            case {"type": "thinking", "thinking": str(thought)}:
                yield fenced(thought)
            case value:
                yield from _leaf(value)


def _lines(line_range: JsonObject) -> str:
    match line_range:
        case {"start": int(start), "end": int(end)}:
            return f", lines {start} to {end}"
        case {"start": int(start)}:
            return f", from line {start}"
        case _:
            return ""


def _picture(source: JsonObject, alt_text: str) -> str:
    match source:
        case {"type": "url" | "file", "data": str(address)} if not is_encoded(address):
            return f"![{inline(alt_text)}]({_target(address)})"
        case _:
            described = f": {inline(alt_text)}" if alt_text else ""
            return f"*[picture, {_bytes(source)}]*{described}"


def _file(value: JsonObject) -> Iterator[str]:
    name = value.get("name") or ""
    media_type = value.get("media_type") or ""
    match value.get("source"):
        case {"type": "url" | "file", "data": str(address)} if not is_encoded(address):
            yield f"File: [{inline(name or address)}]({_target(address)})"
        case dict() as source:
            yield f"File: {inline(name)} *[{_bytes({'media_type': media_type, **source})}]*"
        case _:
            yield f"File: {inline(name or 'without a name')}{f' ({inline(media_type)})' if media_type else ''}"
    if text := value.get("text"):
        yield _folded("Text of the file", [fenced(text)])


def _sources(citations: list[JsonObject]) -> Iterator[str]:
    """The addresses that a text cites, each once."""
    found: dict[str, str] = {}
    stack: list[Any] = list(reversed(citations))
    while stack:
        match stack.pop():
            case dict() as fields:
                address = fields.get("url")
                if isinstance(address, str) and address.startswith(("https://", "http://")):
                    title = fields.get("title") or fields.get("name")
                    found.setdefault(address, title if isinstance(title, str) else address)
                stack += reversed(fields.values())
            case list() as items:
                stack += reversed(items)
            case _:
                pass
    if found:
        yield "Sources:"
        yield "\n".join(f"{number}. [{inline(found[at])}]({_target(at)})" for number, at in enumerate(found, 1))


def _target(address: str) -> str:
    """An address as the target of a link, which no character of it can end."""
    return f"<{quote(address, safe='/:?#@!$&()*+,;=%~[]' + chr(39))}>"


def _bytes(source: JsonObject) -> str:
    size = len(source["data"]) * 3 // 4
    return f"{inline(source.get('media_type') or 'unknown type')}, {size:,} bytes"


def without_bytes(value: Any) -> Any:
    """A JSON value with words in place of base64, copied without recursion."""
    top: list[Any] = [value]
    stack: list[Any] = [top]
    while stack:
        holder = stack.pop()
        if isinstance(holder, dict) and holder.get("type") == "base64" and isinstance(holder.get("data"), str):
            holder["data"] = _named(holder["data"])
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, str):
                holder[key] = _named(item) if is_encoded(item) else item
            elif isinstance(item, dict | list):
                holder[key] = item.copy()
                stack.append(holder[key])
    return top[0]


def _named(encoded: str) -> str:
    return f"[{len(encoded):,} characters of data]"


def _json(value: Any) -> str:
    value = without_bytes(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # integers past 64 bits, or nested too deeply
        pass
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except RecursionError:
        return "\n".join(strings(value))
