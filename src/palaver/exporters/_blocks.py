"""Blocks as Markdown: text unchanged, thoughts and tools folded, encoded data replaced by a description."""

import html
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import orjson

from palaver.exporters._prose import code, fenced, inline, one_line, prose
from palaver.model.block_text import is_encoded, strings
from palaver.model.build import JsonObject

_GIST_CHARACTERS = 80


def block_markdown(value: JsonObject, calls: dict[str, str]) -> Iterator[str]:
    """Yield the paragraphs of a block; `calls` maps call ids to tool names, and is extended by new calls."""
    match value["type"]:
        case "text":
            if value["text"]:
                yield prose(value["text"])
            yield from _cited_sources(value.get("citations") or [])
        case "thinking":
            yield _folded("Thinking", [prose(value["thinking"]) if value["thinking"] else "*withheld by the provider*"])
        case "tool_use":
            calls[value["id"]] = value["name"]
            title = f"Tool call {_html_code(value['name'])}{_gist(next(strings(value['input']), ''))}"
            yield _folded(title, _input_markdown(value["input"]))
        case "tool_result":
            name = calls.get(value["tool_use_id"])
            title = f"Tool {'error' if value.get('is_error') else 'result'}{f' {_html_code(name)}' if name else ''}"
            parts = list(_result_markdown(value["content"]))
            yield _folded(f"{title}{_gist(_first_text(value['content']))}", parts or ["*empty*"])
        case _:
            yield from _leaf_markdown(value)


def _leaf_markdown(value: JsonObject) -> Iterator[str]:
    """Yield the paragraphs of a block that holds no other blocks."""
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
            yield f"{code(value['kind'])}, unchanged:"
            yield fenced(_json(value["raw"]), "json")
        case _:
            yield fenced(_json(value), "json")


def _folded(title: str, parts: list[str]) -> str:
    return "\n\n".join([f"<details>\n<summary>{title}</summary>", *parts, "</details>"])


def _gist(text: str) -> str:
    """Return the end of a summary line: the beginning of a text, on one line."""
    line = one_line(text[: 4 * _GIST_CHARACTERS])
    if not line:
        return ""
    return f": {html.escape(line if len(line) <= _GIST_CHARACTERS else f'{line[:_GIST_CHARACTERS]}…')}"


def _html_code(text: str) -> str:
    return f"<code>{html.escape(one_line(text))}</code>"


def _first_text(content: str | list[JsonObject]) -> str:
    if isinstance(content, str):
        return content
    return next((value["text"] for value in content if value.get("type") == "text"), "")


def _input_markdown(arguments: JsonObject) -> list[str]:
    """Return the paragraphs of a tool's input: first all short values, one per line, then each long value."""
    short: list[str] = []
    long: list[str] = []
    for name, value in arguments.items():
        if isinstance(value, str) and "\n" in value and not is_encoded(value):
            long += [f"{code(name)}:", fenced(value)]
        elif isinstance(value, dict | list) and value:
            long += [f"{code(name)}:", fenced(_json(value), "json")]
        else:
            shown = without_encoded_data(value)
            short.append(f"{one_line(name)}: {shown if isinstance(shown, str) else _json(shown)}")
    return ([fenced("\n".join(short))] if short else []) + long or ["*no arguments*"]


def _result_markdown(content: str | list[JsonObject]) -> Iterator[str]:
    """Yield the paragraphs of a tool's result; nested results follow one another."""
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
                yield f"Tool call {code(name)}:"
                yield from _input_markdown(arguments)
            case {"type": "thinking", "thinking": str(thought)}:
                yield fenced(thought)
            case value:
                yield from _leaf_markdown(value)


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
            return f"![{inline(alt_text)}]({link_target(address)})"
        case _:
            described = f": {inline(alt_text)}" if alt_text else ""
            return f"*[picture, {_data_description(source)}]*{described}"


def _file(value: JsonObject) -> Iterator[str]:
    name = value.get("name") or ""
    media_type = value.get("media_type") or ""
    match value.get("source"):
        case {"type": "url" | "file", "data": str(address)} if not is_encoded(address):
            yield f"File: [{inline(name or address)}]({link_target(address)})"
        case dict() as source:
            yield f"File: {inline(name)} *[{_data_description({'media_type': media_type, **source})}]*"
        case _:
            yield f"File: {inline(name or 'unnamed')}{f' ({inline(media_type)})' if media_type else ''}"
    if text := value.get("text"):
        yield _folded("Text of the file", [fenced(text)])


def _cited_sources(citations: list[JsonObject]) -> Iterator[str]:
    """Yield the addresses that a text cites, each once, as a numbered list."""
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
        yield "\n".join(f"{number}. [{inline(found[at])}]({link_target(at)})" for number, at in enumerate(found, 1))


def link_target(address: str) -> str:
    """Return an address as a link target, quoted so that no character ends it."""
    return f"<{quote(address, safe='/:?#@!$&()*+,;=%~[]' + chr(39))}>"


def _data_description(source: JsonObject) -> str:
    size = len(source["data"]) * 3 // 4
    return f"{inline(source.get('media_type') or 'unknown type')}, {size:,} bytes"


def without_encoded_data(value: Any) -> Any:
    """Return a copy of a JSON value with descriptions in place of base64, made without recursion."""
    top: list[Any] = [value]
    stack: list[Any] = [top]
    while stack:
        holder = stack.pop()
        if isinstance(holder, dict) and holder.get("type") == "base64" and isinstance(holder.get("data"), str):
            holder["data"] = _data_placeholder(holder["data"])
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, str):
                holder[key] = _data_placeholder(item) if is_encoded(item) else item
            elif isinstance(item, dict | list):
                holder[key] = item.copy()
                stack.append(holder[key])
    return top[0]


def _data_placeholder(encoded: str) -> str:
    return f"[{len(encoded):,} characters of data]"


def _json(value: Any) -> str:
    value = without_encoded_data(value)
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # integers beyond 64 bits, or too deeply nested
        pass
    try:
        return json.dumps(value, indent=2, ensure_ascii=False)
    except RecursionError:
        return "\n".join(strings(value))
