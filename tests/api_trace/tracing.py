"""What the tests of API traces share: records of a log, read to calls, and an import of them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from importing import Imported, check, import_folder, set_time
from palaver.importers.api_trace.reader import calls_in
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.threads.call import Call

Json = dict[str, Any]

SONNET = "claude-sonnet-4-5-20250929"
URL = "https://api.anthropic.com/v1/messages"


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def calls(folder: Path, *records: Any, name: str = "log.jsonl") -> tuple[list[Call], Run]:
    """The calls of a log, and what was noticed on the way."""
    path = folder / name
    path.write_bytes(lines(*records))
    run = Run(name)
    return list(calls_in(Source.at(path), run)), run


def call(folder: Path, record: Json) -> Call:
    (only,), run = calls(folder, record)
    assert run.ledger.mapped == run.ledger.read == 1
    return only


def imported(folder: Path, files: dict[str, bytes]) -> Imported:
    for name, raw in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
        set_time(path)
    made = import_folder(folder)
    check(made)
    return made


def asked(text: str = "Is it raining?", **more: Any) -> Json:
    return {"model": SONNET, "max_tokens": 100, "messages": [{"role": "user", "content": text}], **more}


def message(text: str = "It is.", message_id: str = "msg_1", **more: Any) -> Json:
    usage = {"input_tokens": 5, "output_tokens": 3}
    content = [{"type": "text", "text": text}]
    made = {"id": message_id, "type": "message", "role": "assistant", "model": SONNET, "content": content}
    return {**made, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage, **more}


def trace(request: Json | None = None, response: Any = None, **more: Any) -> Json:
    made = {"id": "trace-1", "timestamp": "2026-01-05T10:00:00Z", "duration_ms": 1500, "error": None}
    return {**made, "request": request or asked(), "response": response, **more}


def pair(body: Any = None, response: Json | None = None, *, url: str = URL, **more: Any) -> Json:
    request = {"timestamp": 1767607200.25, "method": "POST", "url": url, "headers": {}, "body": body or asked()}
    if response is not None:
        response = {"timestamp": 1767607202.5, "status_code": 200, "headers": {}, **response}
    return {"request": request, "response": response, "logged_at": "2026-01-05T10:00:03.000Z", **more}


def events(*texts: str, message_id: str = "msg_1") -> list[Json]:
    """A stream of Anthropic's."""
    start = {**message(message_id=message_id), "content": [], "stop_reason": None}
    start["usage"] = {"input_tokens": 5, "output_tokens": 1, "service_tier": "priority"}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": one}} for one in texts),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]


def sse(of: Iterable[Json]) -> str:
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in of)


def text_of(answer: Call) -> str:
    assert answer.response is not None
    return "".join(block["text"] for block in answer.response["content"])
