"""A log of claude-trace: a line for each call, the answer as the stream that it was."""

from pathlib import Path

import orjson

from prose import Prose
from traffic import Json, Spoken, Truth, calls, counted

__all__ = ["generate_log"]

_PIECE = 60
_MODEL = "claude-sonnet-4-5-20250929"


def generate_log(folder: Path, megabytes: float, prose: Prose) -> Truth:
    truth = Truth()
    with (folder / "log-2026-03-01-00-00-00.jsonl").open("wb") as file:
        for call in calls(prose, truth, int(megabytes * 1_000_000)):
            file.write(counted(orjson.dumps(_pair(call), option=orjson.OPT_APPEND_NEWLINE), truth))
    return truth


def _pair(call: Spoken) -> Json:
    messages = [{"role": role, "content": [{"type": "text", "text": said}]} for role, said in call.history]
    messages[-1]["content"][0]["cache_control"] = {"type": "ephemeral"}
    body = {
        "model": _MODEL,
        "max_tokens": 32_000,
        "stream": True,
        "system": [{"type": "text", "text": call.prompt, "cache_control": {"type": "ephemeral"}}],
        "messages": messages,
        "metadata": {"user_id": f"user_{'0' * 64}_account__session_{call.conversation}"},
    }
    return {
        "request": {
            "timestamp": call.seconds,
            "method": "POST",
            "url": "https://api.anthropic.com/v1/messages?beta=true",
            "headers": {"content-type": "application/json", "anthropic-version": "2023-06-01"},
            "body": body,
        },
        "response": {
            "timestamp": call.seconds + 3,
            "status_code": 200,
            "headers": {"content-type": "text/event-stream; charset=utf-8", "request-id": f"req_{call.name}"},
            "body_raw": "".join(_events(call)),
        },
        "logged_at": "2026-03-01T00:00:00.000Z",
    }


def _events(call: Spoken) -> list[str]:
    usage = {"input_tokens": call.tokens[0], "output_tokens": 1}
    message = {"id": f"msg_{call.name}", "type": "message", "role": "assistant", "model": _MODEL, "content": []}
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": call.tokens[1]}}
    events: list[Json] = [{"type": "message_start", "message": {**message, "usage": usage}}, start, {"type": "ping"}]
    for at in range(0, len(call.answer), _PIECE):
        delta = {"type": "text_delta", "text": call.answer[at : at + _PIECE]}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    events += [{"type": "content_block_stop", "index": 0}, end, {"type": "message_stop"}]
    return [f"event: {event['type']}\ndata: {orjson.dumps(event).decode()}\n\n" for event in events]
