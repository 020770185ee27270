"""Logs with chunks for tests: written here, merged, and read again."""

import json
from pathlib import Path
from typing import Any

from palaver.sources.source import Source
from palaver.workflows.merge_streams import MergeResult, chunks_beside, merge
from streaming import sse

Json = dict[str, Any]

PING = {"type": "ping"}
END = (
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
)
AT = 1_772_431_200.0


def message(name: str, *pieces: str) -> list[Json]:
    """The events of a message with one text."""
    head = {
        "id": name,
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": {"input_tokens": 2},
    }
    return [
        {"type": "message_start", "message": head},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": one}} for one in pieces),
        {"type": "content_block_stop", "index": 0},
        *END,
    ]


def texts(*events: Any) -> list[str]:
    """An event a chunk."""
    return [sse(event).decode() for event in events]


def chunks(name: str | None, parts: list[str], at: float = AT + 2, step: float = 0.1) -> list[Json]:
    stated = {"request_id": name} if name else {}
    return [
        {"timestamp": round(at + number * step, 4), "chunk_data": part, **stated} for number, part in enumerate(parts)
    ]


def entry(at: float = AT, **response: Any) -> Json:
    """An entry whose answer was streamed; `request_id` stands at the top."""
    top = {"request_id": response.pop("request_id")} if "request_id" in response else {}
    request = {"timestamp": at, "method": "POST", "url": "https://example.com/v1/messages", "headers": {}}
    request["body"] = {"stream": True, "messages": []}
    headers = {"content-type": "text/event-stream", **response.pop("headers", {})}
    return {**top, "request": request, "response": {"timestamp": at + 2, "headers": headers, **response}}


class Merging:
    """Merges in a folder; keeps what came out."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.done: MergeResult | None = None
        self.lines: list[Json] = []
        self.raw = b""

    def __call__(self, log: list[Any], chunk_lines: list[Any] | None = None) -> list[Json]:
        """The entries that come out; strings stand in the files as they are."""
        path, _ = self.write(log, chunk_lines)
        out: list[bytes] = []
        source = Source.at(path)
        self.done = merge(source, chunks_beside(source), out.append)
        self.raw = b"".join(out)
        self.lines = [json.loads(line) for line in self.raw.splitlines()]
        assert all(line.endswith(b"\n") for line in out)
        return [line for line in self.lines if "error" not in line]

    def write(self, log: list[Any], chunk_lines: list[Any] | None) -> tuple[Path, Path]:
        path, beside = self._folder / "log.jsonl", self._folder / "log.stream.jsonl"
        path.write_bytes(_lines(log))
        beside.unlink(missing_ok=True)
        if chunk_lines is not None:
            beside.write_bytes(_lines(chunk_lines))
        return path, beside

    @property
    def errors(self) -> list[Json]:
        return [line["error"] for line in self.lines if "error" in line]

    def details(self, log: list[Any], chunk_lines: list[Any] | None = None) -> Json:
        """Of the only entry."""
        [made] = self(log, chunk_lines)
        return made["response"]["streaming_details"]

    def issues(self, log: list[Any], chunk_lines: list[Any] | None = None) -> list[str]:
        return [issue["type"] for issue in self.details(log, chunk_lines).get("issues", [])]


def _lines(values: list[Any]) -> bytes:
    return b"".join(_line(value) for value in values)


def _line(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode() + b"\n"


def said(made: Json) -> str:
    """The text that the details of an entry add up to."""
    pieces = (
        chunk["data"].get("delta", {}).get("text", "") for chunk in made["response"]["streaming_details"]["chunks"]
    )
    return "".join(pieces)
