"""The recorded call of an answer in a terminal: its times beside the answer, and all that was sent for `--wire`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.text import Text

from palaver.archive.recorded_calls import FailedCall, RecordedCall, SentContext
from palaver.cli._terminal.layout import cut, wrapped
from palaver.cli._terminal.words import (
    counted,
    display_path,
    duration,
    escaped_line,
    escaped_text,
    gist,
    local_time,
    size,
)
from palaver.model.build import JsonObject

_LABEL_WIDTH = 10
_MAX_RETRIES = 10
_MAX_SETTING = 60
_SHOWN_PARAMETERS = 6


def timing_note(call: RecordedCall) -> str:
    """Return the times of a call in one line, such as `4.20 s, first token 0.81 s, 2 retries`; "" without any."""
    words = [duration(call.duration_ms / 1_000)] if call.duration_ms is not None else []
    words += _first(call)
    if call.retries:
        words.append(f"{len(call.retries)} {'retry' if len(call.retries) == 1 else 'retries'}")
    return ", ".join(words)


def recorded_call_lines(
    call: RecordedCall,
    context: SentContext,
    width: int | None,
    *,
    name: str,
    line: tuple[Path, int] | None,
    whole_tools: bool,
) -> Iterator[Text]:
    """Yield the lines that show a call; `name` is the recorded message as `ID:N`, `line` its place in a log."""
    for label, words, is_copied in _fields(call, context.settings, name, line):
        room = None if is_copied or width is None else width - _LABEL_WIDTH - 2
        lines = ("\n" + " " * (_LABEL_WIDTH + 2)).join(wrapped(words, room))
        yield Text.assemble((f"  {label:{_LABEL_WIDTH}}", "dim"), lines)
    yield Text()
    yield from _system_prompt(context.system_prompt, width)
    yield Text()
    yield from _tools(context.tools, width, is_whole=whole_tools)


def _fields(
    call: RecordedCall, settings: JsonObject, name: str, line: tuple[Path, int] | None
) -> Iterator[tuple[str, str, bool]]:
    """Yield labels with their words, and whether they are to be copied and stay on one line."""
    if call.url:
        yield "request", escaped_line(call.url), True
    if call.sent_at:
        yield "sent", _moment(call.sent_at), False
    if answered := _answered(call):
        yield "answered", answered, False
    for number, failed in enumerate(call.retries[:_MAX_RETRIES]):
        yield "retry of" if not number else "", _failed(failed), False
    if len(call.retries) > _MAX_RETRIES:
        yield "", f"and {len(call.retries) - _MAX_RETRIES:,} more", False
    if call.model:
        yield "model", escaped_line(call.model), False
    ids = (("request", call.request_id), ("answer", call.api_message_id))
    if named := ", ".join(f"{word} {escaped_line(value)}" for word, value in ids if value):
        yield "ids", named, True
    if stated := ", ".join(f"{escaped_line(key)} {_setting(settings[key])}" for key in settings):
        yield "settings", stated, False
    headers = call.metadata.get("request_headers")
    if isinstance(headers, dict) and isinstance(client := headers.get("user-agent"), str):
        yield "client", escaped_line(client), False
    yield "recorded", f"palaver show {name}", True
    if line is not None:
        yield "in", f"{display_path(line[0])}:{line[1]}", True


def _answered(call: RecordedCall) -> str:
    status = f"{call.status_code}" if call.status_code is not None else ""
    took = f"after {duration(call.duration_ms / 1_000)}" if call.duration_ms is not None else ""
    streamed = [f"streamed for {duration(call.stream_ms / 1_000)}"] if call.stream_ms is not None else []
    return ", ".join(filter(None, [" ".join(filter(None, [status, took])), *_first(call), *streamed]))


def _first(call: RecordedCall) -> list[str]:
    """Return when the first token came; where the log has only the time of the first chunk, that."""
    if call.time_to_first_token_ms is not None:
        return [f"first token {duration(call.time_to_first_token_ms / 1_000)}"]
    if call.time_to_first_chunk_ms is not None:
        return [f"first chunk {duration(call.time_to_first_chunk_ms / 1_000)}"]
    return []


def _failed(failed: FailedCall) -> str:
    what = " ".join(filter(None, [str(failed.status_code or ""), failed.category or ""]))
    took = f", after {duration(failed.duration_ms / 1_000)}" if failed.duration_ms is not None else ""
    return f"{_moment(failed.sent_at)}  {what or 'failed'}: {gist(failed.message) or 'no message'}{took}"


def _setting(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return cut(escaped_line(text), _MAX_SETTING)


def _system_prompt(blocks: list[JsonObject], width: int | None) -> Iterator[Text]:
    texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
    if not texts:
        yield Text("No system prompt was sent.", "dim")
        return
    amount = size(sum(len(text.encode(errors="replace")) for text in texts))
    yield Text.assemble(("system prompt", "bold"), (f"  {counted(len(texts), 'block')}, {amount}", "dim"))
    for number, text in enumerate(texts):
        if number:
            yield Text()
        room = None if width is None else width - 2
        yield Text("\n").join(Text(f"  {line}") for line in wrapped(escaped_text(text), room))


def _tools(tools: list[Any], width: int | None, *, is_whole: bool) -> Iterator[Text]:
    if not tools:
        yield Text("No tools were sent.", "dim")
        return
    more = "" if is_whole else "; --tools shows the definitions"
    yield Text.assemble(("tools", "bold"), (f"  {len(tools):,}{more}", "dim"))
    for tool in tools:
        tool_name, description, parameters = _described(tool)
        row = Text.assemble("  ", (escaped_line(tool_name), "cyan"), (f"({parameters})", "dim"))
        if description:
            row.append(f"  {gist(description)}")
        if width is not None:
            row.truncate(width, overflow="ellipsis")
        yield row
        if is_whole:
            whole = json.dumps(tool, indent=2, ensure_ascii=False, default=str)
            yield Text("\n").join(Text(f"    {line}", "dim") for line in escaped_text(whole).split("\n"))


def _described(tool: Any) -> tuple[str, str, str]:
    """Return name, description and parameters of a tool as any of the providers defines it."""
    fields = tool.get("function", tool) if isinstance(tool, dict) else {}
    if not isinstance(fields, dict):
        return "?", "", ""
    name = fields.get("name") or fields.get("type") or ", ".join(map(str, fields))
    schema = next((fields[key] for key in ("input_schema", "parameters") if isinstance(fields.get(key), dict)), {})
    names = list(schema.get("properties") or {})
    parameters = ", ".join(map(escaped_line, names[:_SHOWN_PARAMETERS])) + ", …" * (len(names) > _SHOWN_PARAMETERS)
    description = fields.get("description")
    return str(name), description if isinstance(description, str) else "", parameters


def _moment(timestamp: str) -> str:
    moment = local_time(timestamp)
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else escaped_line(timestamp)
