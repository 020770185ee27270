"""With `redact`, neither the log nor its journal ever has a key of a body, however the body and the key are cut."""

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import palaver
from cassettes import needs_samples
from palaver.redact.body_mask import MAX_HELD_BYTES, BodyMask
from palaver.streams.exchange import FinishedExchange
from palaver.streams.journal import CHUNK, REQUEST_BODY, read_frames
from planted_keys import KEYS, MASK, PlantedKey
from stream_oracles import every_stream

URL = "https://api.example.com/v1/messages"
GEMINI_URL = "https://api.example.com/v1beta/models/gemini-x:streamGenerateContent"
SSE = "text/event-stream; charset=utf-8"
JSON = "application/json"
BEGUN = 1_751_914_728.0


def sse(*events: Any, name: bool = False, end: str = "\n") -> bytes:
    lines = [
        *((f"event: {data['type']}{end}" if name else "") + f"data: {json.dumps(data)}{end}{end}" for data in events)
    ]
    return "".join(lines).encode()


def anthropic(fragments: Iterable[str], *, kind: str = "text", field: str = "text", end: str = "\n") -> bytes:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    return sse(
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": kind, field: ""}},
        *(
            {"type": "content_block_delta", "index": 0, "delta": {"type": f"{field}_delta", field: fragment}}
            for fragment in fragments
        ),
        {"type": "ping"},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
        {"type": "message_stop"},
        name=True,
        end=end,
    )


def anthropic_input(fragments: Iterable[str]) -> bytes:
    return anthropic(fragments, kind="tool_use", field="partial_json")


def anthropic_crlf(fragments: Iterable[str]) -> bytes:
    return anthropic(fragments, kind="thinking", field="thinking", end="\r\n")


def chat_chunk(delta: Any, *, index: int = 0, finish_reason: str | None = None) -> Any:
    choice = {"index": index, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-0123456789abcdef0123456789abcdef", "object": "chat.completion.chunk", "choices": [choice]}


def chat(fragments: Iterable[str]) -> bytes:
    events = [chat_chunk({"content": fragment}) for fragment in fragments]
    return sse(chat_chunk({"role": "assistant"}), *events, chat_chunk({}, finish_reason="stop")) + b"data: [DONE]\n\n"


def chat_arguments(fragments: Iterable[str]) -> bytes:
    first = {"index": 1, "id": "call_1", "type": "function", "function": {"name": "run", "arguments": ""}}
    calls = [first, *({"index": 1, "function": {"arguments": fragment}} for fragment in fragments)]
    return sse(*(chat_chunk({"tool_calls": [call]}) for call in calls), chat_chunk({}, finish_reason="tool_calls"))


def responses(fragments: Sequence[str]) -> bytes:
    item = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    deltas = ({"type": "response.output_text.delta", **item, "delta": fragment} for fragment in fragments)
    done = {"type": "response.output_text.done", **item, "text": "".join(fragments)}
    return sse({"type": "response.created", "response": {"id": "resp_1", "output": []}}, *deltas, done, name=True)


def candidates(fragments: Iterable[str]) -> list[Any]:
    parts = [{"content": {"parts": [{"text": fragment}], "role": "model"}, "index": 0} for fragment in fragments]
    return [{"candidates": [part], "modelVersion": "gemini-x", "responseId": "abc"} for part in parts]


def gemini(fragments: Iterable[str]) -> bytes:
    return sse(*candidates(fragments), end="\r\n")


def gemini_array(fragments: Iterable[str]) -> bytes:
    return json.dumps(candidates(fragments), indent=2).encode().replace(b"\n  },\n", b"\n  }\n,\n")


class Format(NamedTuple):
    build: Callable[[list[str]], bytes]
    media_type: str = SSE
    url: str = URL


STREAMS = {
    "anthropic": Format(anthropic),
    "anthropic_input": Format(anthropic_input),
    "anthropic_crlf": Format(anthropic_crlf),
    "chat": Format(chat),
    "chat_arguments": Format(chat_arguments),
    "responses": Format(responses),
    "gemini": Format(gemini),
    "gemini_array": Format(gemini_array, JSON, GEMINI_URL),
}
PLAIN = {
    "json": Format(lambda fragments: json.dumps({"text": "".join(fragments), "n": [1.50]}, indent=1).encode(), JSON),
    "text": Format(lambda fragments: "".join(fragments).encode(), "text/plain"),
}


class Logged(NamedTuple):
    line: dict[str, Any]
    text: bytes
    """The line as it is in the log."""
    finished: FinishedExchange


def record(
    form: Format, body: bytes, cuts: Iterable[int] = (), *, redact: bool = True, expected: bytes | None = None
) -> Logged:
    """Record a body that is cut at some places; the journal never has anything but a beginning of what is expected."""
    places = [0, *sorted({cut for cut in cuts if 0 < cut < len(body)}), len(body)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with palaver.ExchangeLog(folder, redact=redact, clock=lambda: BEGUN) as log:
            exchange = log.start("POST", form.url, [("content-type", JSON)])
            exchange.respond(200, [("content-type", form.media_type)])
            (journal,) = folder.glob("journal/*/*.part")
            for number, (start, end) in enumerate(pairwise(places)):
                exchange.receive(body[start:end], BEGUN + number / 8)
                if expected is not None:
                    kept = b"".join(frame.payload for frame in read_frames(journal) if frame.kind == CHUNK)
                    assert expected.startswith(kept)
            finished = exchange.finish()
        (path,) = folder.glob("log-*.jsonl")
        text = path.read_bytes()
    assert finished.unwritten == ""
    return Logged(json.loads(text), text, finished)


def body_of(logged: Logged) -> bytes:
    response = logged.line["response"]
    return response["body_raw"].encode() if "body_raw" in response else json.dumps(response["body"], indent=1).encode()


def masked_fragments(fragments: list[str], key: PlantedKey, written: str) -> list[str]:
    """Return fragments without the keys in them, each of which has its mask where it begins."""
    text = "".join(fragments)
    secrets: list[tuple[int, int]] = []
    start = text.find(written)
    while start >= 0:
        secrets.append((start + len(written) - len(as_input(key.secret, written, key)), start + len(written)))
        start = text.find(written, start + len(written))
    place = 0
    found: list[str] = []
    for fragment in fragments:
        kept = ""
        for position in range(place, place + len(fragment)):
            if any(position == first for first, _ in secrets):
                kept += MASK
            if not any(first <= position < end for first, end in secrets):
                kept += text[position]
        found.append(kept)
        place += len(fragment)
    return found


def as_input(text: str, written: str, key: PlantedKey) -> str:
    """Return a text as it is written: as it is, or as a part of JSON."""
    return text if written == key.text else json.dumps(text)[1:-1]


def cut_text(text: str, cuts: Iterable[int]) -> list[str]:
    places = [0, *sorted({cut % len(text) for cut in cuts} - {0}), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def as_sent(name: str, text: str, key: PlantedKey) -> tuple[str, str]:
    """Return a text as a format sends it, and the key as it is written there."""
    if name in {"anthropic_input", "chat_arguments"}:
        return json.dumps({"a": text}), json.dumps(key.text)[1:-1]
    return text, key.text


harmless = st.text(st.sampled_from("abcxyzsk \n\"'\\.,\u00e9\u2603\U0001f511{}[]:"), max_size=12)
beginnings = harmless.map(lambda text: text and text + " ")
ends = st.sampled_from(["", " ", "\n", ", ", '"', ")", " and so on"])
cuts = st.lists(st.integers(0, 10_000), max_size=6)


class Case(NamedTuple):
    kind: str
    before: str
    after: str
    is_twice: bool
    text_cuts: list[int]
    body_cuts: list[int]

    def text(self) -> str:
        key = KEYS[self.kind].text
        return self.before + key + (f" then {key}" if self.is_twice else "") + self.after


cases = st.builds(Case, st.sampled_from(sorted(KEYS)), beginnings, ends, st.booleans(), cuts, cuts)


@pytest.mark.parametrize("name", STREAMS)
@given(cases)
def test_cut_anywhere_the_log_and_the_journal_have_no_key_and_the_rest_is_unchanged(name: str, case: Case) -> None:
    form, key = STREAMS[name], KEYS[case.kind]
    text, written = as_sent(name, case.text(), key)
    fragments = cut_text(text, case.text_cuts)
    body = form.build(fragments)
    expected = form.build(masked_fragments(fragments, key, written))
    places = [cut % len(body) for cut in case.body_cuts]
    logged = record(form, body, places, expected=expected)
    assert body_of(logged) == expected
    assert key.secret.encode() not in logged.text
    unmasked = record(form, body, places, redact=False)
    assert timing(logged) == timing(unmasked), "every event has the type and the time that it came with"


def timing(logged: Logged) -> Any:
    details = logged.line["response"]["streaming_details"]
    events = [
        {field: event[field] for field in ("sequence", "timestamp", "event_type", "chunk_timing_ms")}
        for event in details["chunks"]
    ]
    return events, {field: value for field, value in details.items() if field not in ("chunks", "network_chunks")}


@pytest.mark.parametrize("name", PLAIN)
@given(cases)
def test_a_body_that_is_no_stream_has_no_key(name: str, case: Case) -> None:
    form, key = PLAIN[name], KEYS[case.kind]
    body, expected = form.build([case.text()]), form.build([case.text().replace(key.secret, MASK)])
    logged = record(form, body, (cut % len(body) for cut in case.body_cuts), expected=expected)
    assert body_of(logged) == expected
    assert key.secret.encode() not in logged.text


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("kind", KEYS)
def test_a_key_of_single_characters_in_single_bytes_is_masked(name: str, kind: str) -> None:
    form, key = STREAMS[name], KEYS[kind]
    text, written = as_sent(name, f"so: {key.text} end", key)
    for size in (1, 2, 3, 5, 7, len(key.text)):
        fragments = [text[start : start + size] for start in range(0, len(text), size)]
        body = form.build(fragments)
        expected = form.build(masked_fragments(fragments, key, written))
        places = range(0, len(body), 1 if size == 5 else 17)
        assert body_of(record(form, body, places)) == expected


def test_events_under_another_media_type_are_masked() -> None:
    fragments = [*KEYS["google"].text, " end"]
    body, expected = chat(fragments), chat(masked_fragments(fragments, KEYS["google"], KEYS["google"].text))
    for media_type in ("", "text/plain", JSON):
        assert body_of(record(Format(chat, media_type), body, range(6, len(body), 9))) == expected


def test_two_texts_that_alternate_are_kept_apart() -> None:
    key = KEYS["openai"]
    parts = list(pairwise([*range(0, len(key.text), 4), len(key.text)]))
    events = [chat_chunk({"content": key.text[start:end]}, index=index) for start, end in parts for index in (0, 1)]
    logged = record(STREAMS["chat"], sse(*events))
    contents = [
        event["data"]["choices"][0]["delta"]["content"]
        for event in logged.line["response"]["streaming_details"]["chunks"]
    ]
    assert contents == [MASK, MASK, *[""] * (len(events) - 2)]


@pytest.mark.parametrize("name", STREAMS)
def test_a_false_alarm_leaves_every_byte(name: str) -> None:
    form = STREAMS[name]
    for text in ("ask-it", "sk-no key", "Bearer of news", "-----BEGIN", "AKI", "eyJhbGciOiJub25lIn0", "cafe", "\\u00"):
        for fragments in ([*text, " and on"], [*text], [text[:2], text[2:]]):
            body = form.build(fragments)
            assert body_of(record(form, body, range(0, len(body), 13), expected=body)) == body


def test_the_time_of_each_chunk_is_kept() -> None:
    key = KEYS["github"]
    fragments = [*key.text, " done"]
    body = anthropic(fragments)
    ends = [place + 2 for place in range(len(body)) if body.startswith(b"\n\n", place)]
    masked, unmasked = (record(STREAMS["anthropic"], body, ends, redact=redact) for redact in (True, False))
    assert timing(masked) == timing(unmasked)
    for logged in (masked, unmasked):
        assert logged.line["response"]["streaming_details"]["network_chunks"] == len(ends)
    assert masked.finished.first_chunk == unmasked.finished.first_chunk == BEGUN


def test_little_is_held_back_though_a_text_never_goes_on() -> None:
    mask = BodyMask(SSE)
    released = len(b"".join(piece for piece, _ in mask.feed(sse(chat_chunk({"content": "s"})), 1.0)))
    assert released == 0
    sent = len(sse(chat_chunk({"content": "s"})))
    for number in range(2_000):
        event = sse(chat_chunk({"content": f"{number}. "}, index=1))
        sent += len(event)
        released += sum(len(piece) for piece, _ in mask.feed(event, 2.0))
        assert sent - released <= MAX_HELD_BYTES
    rest = b"".join(
        piece for piece, _ in (*mask.feed(sse(chat_chunk({"content": "k-planted_here0 or"})), 3.0), *mask.close())
    )
    assert b"planted" not in rest
    assert b'"content": " or"' in rest or b'"content": "[masked] or"' in rest


def test_a_very_long_event_is_masked_as_it_comes() -> None:
    text = "word " * 40_000
    body = responses([text, f"the key {KEYS['google'].text} {text}"])
    expected = body.replace(KEYS["google"].text.encode(), MASK.encode())
    mask = BodyMask(SSE)
    pieces: list[bytes] = []
    for start in range(0, len(body), 1_000):
        pieces += [piece for piece, _ in mask.feed(body[start : start + 1_000], 1.0)]
        assert start + 1_000 - len(b"".join(pieces)) <= MAX_HELD_BYTES + 2_000
    assert b"".join((*pieces, *(piece for piece, _ in mask.close()))) == expected


@pytest.mark.parametrize("name", ["anthropic", "chat", "gemini", "gemini_array"])
def test_a_stream_that_is_cut_off_amid_a_key_has_none_of_it(name: str) -> None:
    form, key = STREAMS[name], KEYS["anthropic"]
    body = form.build(["it is s", "k-", key.text[3:20], key.text[20:]])
    ends = [body.index(json.dumps(part)[1:-1].encode()) for part in (key.text[3:20], key.text[20:])]
    for end in range(ends[0] + 9, len(body), 5):
        kept = body_of(record(form, body[:end], (end - 30,)))
        assert b"ant-api" not in kept
        assert b"Inv_ent" not in kept


def test_lines_that_are_no_json_are_masked() -> None:
    key = KEYS["private_key"]
    lines = [f"data: {line}" for line in key.text.split("\n")]
    body = ("event: note\n: sk-planted_here0\n" + "\n".join(lines) + "\n\ndata: after\n\n").encode()
    kept = body_of(record(STREAMS["chat"], body, range(len(body))))
    assert kept == f"event: note\n: {MASK}\ndata: {MASK}\ndata: \ndata: \ndata: \n\ndata: after\n\n".encode()


def test_lines_of_json_are_a_stream_of_fragments() -> None:
    fragments = ["the key sk", "-planted", "_here0 is", " it"]
    body = b"".join(json.dumps({"response": fragment}).encode() + b"\n" for fragment in fragments)
    mask = BodyMask("application/x-ndjson")
    kept = b"".join(piece for piece, _ in (*mask.feed(body, 1.0), *mask.close()))
    assert [json.loads(line)["response"] for line in kept.splitlines()] == [f"the key {MASK}", "", " is", " it"]


@pytest.mark.parametrize("kind", KEYS)
def test_strings_that_are_whole_are_not_taken_for_fragments_of_one_text(kind: str) -> None:
    key = KEYS[kind]
    commands = [key.text, "ls -l", key.text, key.text, "0123abcd", key.text]
    kept = [command.replace(key.secret, MASK) for command in commands]
    for build, media_type in ((gemini_calls, SSE), (gemini_calls_array, JSON), (batch_results, "application/jsonl")):
        body, expected = build(commands), build(kept)
        for cuts in ((), range(1, len(body), 7)):
            mask = BodyMask(media_type)
            places = [0, *cuts, len(body)]
            pieces = [piece for start, end in pairwise(places) for piece, _ in mask.feed(body[start:end], 1.0)]
            assert b"".join((*pieces, *(piece for piece, _ in mask.close()))) == expected


def gemini_calls(commands: Iterable[str]) -> bytes:
    return sse(*map(gemini_call, commands), end="\r\n")


def gemini_calls_array(commands: Iterable[str]) -> bytes:
    return json.dumps(list(map(gemini_call, commands))).encode()


def gemini_call(command: str) -> Any:
    call = {"functionCall": {"name": "run", "args": {"options": [{"command": command}]}}}
    return {"candidates": [{"content": {"parts": [call], "role": "model"}, "index": 0}]}


def batch_results(texts: Iterable[str]) -> bytes:
    results = [{"custom_id": "a", "result": {"message": {"content": [{"text": text}]}}} for text in texts]
    return b"".join(json.dumps(result).encode() + b"\n" for result in results)


def test_what_the_exchange_returns_and_the_body_of_the_request_are_masked(tmp_path: Path) -> None:
    key = KEYS["openai"].text
    body = json.dumps({"model": "claude-x", "messages": [{"role": "user", "content": f"my key: {key}"}]}).encode()
    with palaver.ExchangeLog(tmp_path, redact=True) as log:
        exchange = log.start("POST", URL, [("content-type", JSON)])
        exchange.send(body[:70])
        exchange.send(body[70:])
        exchange.end_request()
        exchange.respond(200, [("content-type", SSE)])
        exchange.receive(anthropic([f"your key: {key[:7]}", f"{key[7:]}, I see"]))
        (journal,) = tmp_path.glob("journal/*/*.part")
        assert [frame.payload for frame in read_frames(journal) if frame.kind == REQUEST_BODY] == [
            body.replace(key.encode(), MASK.encode())
        ]
        assert key[3:].encode() not in journal.read_bytes()
        finished = exchange.finish()
    assert finished.payload["content"] == [{"type": "text", "text": f"your key: {MASK}, I see"}]
    assert finished.requested_model == "claude-x"


@needs_samples
def test_recorded_streams_without_keys_stay_byte_for_byte() -> None:
    for stream in every_stream():
        mask = BodyMask(JSON if stream.body.lstrip().startswith(b"[") else SSE)
        pieces = [
            piece
            for start in range(0, len(stream.body), 100)
            for piece, _ in mask.feed(stream.body[start : start + 100], 1.0)
        ]
        assert b"".join((*pieces, *(piece for piece, _ in mask.close()))) == stream.body, stream.name
