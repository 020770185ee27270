"""What the providers' own SDKs make of a stream, and every recorded stream of the samples."""

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from anthropic.lib.streaming import _beta_messages, _messages
from openai._models import construct_type_unchecked
from openai._types import omit
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent

from cassettes import SAMPLES
from palaver.streams import assemble, recognize
from palaver.streams.event_parsers import events_of
from streaming import all_streams, sse

Json = dict[str, Any]

IS_CUT = {
    "synthetic-responses-api/PT1H.json#167": ["cut_event", "incomplete_stream_end"],
    "synthetic-sse-bodies/PT1H.json#87": ["cut_event", "incomplete_stream_end"],
    "synthetic-stream-merge/log-2025-07-07-18-58-48.jsonl#41": ["incomplete_stream_end"],
}
"""Streams that the recorder cut off, with the issues that say so."""


class RecordedStream(NamedTuple):
    name: str
    wire_format: str
    body: bytes


@cache
def every_stream() -> list[RecordedStream]:
    """Every stream in the samples: of cassettes, of files, of claude-trace's logs and of Azure's."""
    if not SAMPLES.is_dir():
        return []
    found = [RecordedStream(call.name, wire_format, call.stream or b"") for wire_format, call in all_streams()]
    for file in sorted(SAMPLES.rglob("*.sse")):
        found += _recognized(file.name, [file.read_bytes()])
    for pattern in ("claude_trace/*/*[0-9].jsonl", "azure_openai/synthetic-*/PT1H.json"):
        for file in sorted(SAMPLES.glob(pattern)):
            name = f"{file.parent.name}/{file.name}"
            found += _recognized(name, _texts([_parsed(line) for line in file.read_text("utf-8").splitlines()]))
    return found


def _recognized(name: str, bodies: Iterable[Any]) -> Iterator[RecordedStream]:
    for number, body in enumerate(bodies):
        raw = body.encode() if isinstance(body, str) else body
        if raw and raw.startswith((b"event:", b"data:")):
            wire_format = recognize(events_of(raw))
            assert wire_format is not None, name
            yield RecordedStream(f"{name}#{number}", wire_format, raw)


def _parsed(text: str) -> Any:
    """The value of a text that is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value; a text that is an object in JSON, as in Azure's logs, counts as that object."""
    value = _parsed(value) if isinstance(value, str) and value.startswith("{") else value
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)


def data_of(body: bytes) -> list[Any]:
    """The data of every event but `[DONE]`."""
    return [json.loads(event.data) for event in events_of(body) if event.data != b"[DONE]"]


def sdk_results(wire_format: str, body: bytes) -> list[Json]:
    """What the SDK's accumulators give, all of them, without what they add of their own."""
    return _ORACLES[wire_format](body)


def _anthropic(body: bytes) -> list[Json]:
    return [
        anthropic_message(_messages.accumulate_event, body),
        anthropic_message(_beta_messages.accumulate_event, body, request_headers={}),
    ]


def anthropic_message(accumulate: Callable[..., Any], body: bytes, **more: Any) -> Json:
    """What one accumulator gives; the SDK itself passes over pings before it."""
    snapshot: Any = None
    buffers: dict[Any, Any] = {}
    for data in data_of(body):
        if data["type"] != "ping":
            snapshot = accumulate(event=data, current_snapshot=snapshot, json_bufs=buffers, **more)
    return snapshot.to_dict(mode="json")


def chat_completion(body: bytes) -> Json:
    """What the accumulator gives, without what only a stream has: the index of a call, and what the SDK parsed."""
    state: Any = ChatCompletionStreamState()
    for data in data_of(body):
        state.handle_chunk(construct_type_unchecked(type_=ChatCompletionChunk, value=data))
    made = state.current_completion_snapshot.to_dict(mode="json")
    for one in made["choices"]:
        for tool_call in one["message"].get("tool_calls") or ():
            tool_call.pop("index")
            tool_call["function"].pop("parsed_arguments", None)
    return made


def response_state(events: Iterable[Json]) -> Any:
    """The SDK's state after the events of a response."""
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    for one in events:
        state.handle_event(construct_type_unchecked(type_=ResponseStreamEvent, value=one))
    return state


def _response(body: bytes) -> list[Json]:
    events = data_of(body)
    made = response_state(events)._completed_response.to_dict(mode="json", warnings=False)
    for item in made["output"]:
        item.pop("parsed_arguments", None)
        for part in item.get("content") or ():
            part.pop("parsed", None)
    return [made, events[-1]["response"]]


def joined_chunks(chunks: list[Json]) -> Json:
    """Gemini's SDK has no accumulator: chunks joined part by part, text after text; of the rest the last counts."""
    joined, beside, candidate = [], {}, {}
    for one in chunks:
        beside |= {name: value for name, value in one.items() if name != "candidates"}
        (told,) = one["candidates"]
        candidate |= {name: value for name, value in told.items() if name != "content"}
        for part in told["content"]["parts"]:
            if part.keys() == {"text"} and joined and joined[-1].keys() == {"text"}:
                joined[-1] = {"text": joined[-1]["text"] + part["text"]}
            else:
                joined.append(part)
    return beside | {"candidates": [candidate | {"content": {"role": "model", "parts": joined}}]}


def without_filter_results(body: bytes, payload: Json) -> tuple[bytes, Json]:
    """Return a stream of Azure and what we make of it without the chunks that hold only results of its content filter.

    They have no id, and the SDK's accumulator fails on them; all other streams are returned unchanged.
    """
    if "prompt_filter_results" not in payload:
        return body, payload
    named = sse(*(chunk for chunk in data_of(body) if chunk["id"]), "[DONE]")
    made = assemble("openai_chat", named).payload
    assert [choice["message"] for choice in made["choices"]] == [choice["message"] for choice in payload["choices"]]
    return named, made


_ORACLES: dict[str, Callable[[bytes], list[Json]]] = {
    "anthropic": _anthropic,
    "openai_chat": lambda body: [chat_completion(body)],
    "openai_responses": _response,
    "gemini": lambda body: [joined_chunks(data_of(body))],
}
