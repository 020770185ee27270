"""Exchanges as Hypothesis makes them, and the law that every wire format keeps: read(write(x)) = x minus the losses."""

import copy
import json

from hypothesis import strategies as st

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
words = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=10)
numbers = st.integers(-(2**53), 2**53) | st.booleans() | st.none() | texts
inputs = st.dictionaries(
    words,
    st.recursive(numbers, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2)),
    max_size=3,
)
PNG = "iVBORw0KGgo="


def block(kind, **fields):
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


def source(media_type):
    return st.just({"type": "base64", "media_type": media_type, "data": PNG}) | st.fixed_dictionaries(
        {"type": st.just("url"), "data": words.map(lambda name: f"https://pictures.example/{name}.png")}
    )


text_blocks = block("text", text=texts)
image_blocks = block("image", source=source("image/png"))
file_blocks = block("file", source=st.just({"type": "base64", "media_type": "application/pdf", "data": PNG})).flatmap(
    lambda made: st.just(made) | words.map(lambda name: {**made, "name": f"{name}.pdf"})
)
thinking_blocks = block("thinking", thinking=texts) | block("thinking", thinking=texts, signature=words)
call_blocks = block("tool_use", id=words.map("call_{}".format), name=words, input=inputs)
result_blocks = block(
    "tool_result",
    tool_use_id=words.map("call_{}".format),
    content=texts | st.lists(text_blocks, min_size=1, max_size=2),
    is_error=st.booleans(),
)
BLOCKS = {
    "user": text_blocks | image_blocks | file_blocks | result_blocks,
    "assistant": text_blocks | thinking_blocks | call_blocks,
    "tool": result_blocks,
}


def _named_once(messages):
    """Calls and results keep their pairs; no call has the id of another one."""
    seen = set()
    for message in messages:
        for part in message["content"]:
            if part["type"] == "tool_use":
                while part["id"] in seen:
                    part["id"] += "x"
                seen.add(part["id"])
    return messages


messages = st.lists(
    st.sampled_from(["user", "assistant", "tool"]).flatmap(
        lambda role: st.fixed_dictionaries(
            {"role": st.just(role), "content": st.lists(BLOCKS[role], min_size=1, max_size=3)}
        )
    ),
    min_size=1,
    max_size=5,
).map(_named_once)
tools = st.lists(
    st.fixed_dictionaries(
        {
            "name": words,
            "parameters": st.just({"type": "object", "properties": {"place": {"type": "string"}}}),
            "strict": st.booleans(),
        },
        optional={"description": texts},
    ),
    min_size=1,
    max_size=2,
)
choices = st.sampled_from(["auto", "none", "required"]).map(lambda kind: {"type": kind}) | words.map(
    lambda name: {"type": "specific", "name": name}
)
sampling = st.fixed_dictionaries(
    {},
    optional={
        "temperature": st.sampled_from([0, 0.5, 1]),
        "top_p": st.sampled_from([0.1, 1]),
        "top_k": st.integers(1, 50),
        "stop_sequences": st.lists(words, min_size=1, max_size=2),
        "seed": st.integers(0, 99),
        "presence_penalty": st.sampled_from([-1, 0.5]),
        "frequency_penalty": st.sampled_from([-0.5, 2]),
    },
).filter(bool)
output_formats = (
    st.just({"type": "text"})
    | st.just({"type": "json"})
    | st.fixed_dictionaries(
        {"type": st.just("json_schema"), "json_schema": st.just({"type": "object", "properties": {}})},
        optional={"name": words.map("n_{}".format), "description": texts, "strict": st.booleans()},
    )
)


def requests(models):
    """Canonical requests to one of some models."""
    return st.fixed_dictionaries(
        {"model": st.sampled_from(models), "messages": messages},
        optional={
            "system": st.lists(text_blocks, min_size=1, max_size=2),
            "thinking": st.fixed_dictionaries(
                {"level": st.sampled_from(["none", "low", "med", "high"]), "include_summary": st.booleans()}
            ),
            "tools": tools,
            "tool_choice": choices,
            "max_output_tokens": st.integers(1, 100_000) | st.just(-1),
            "sampling": sampling,
            "output_format": output_formats,
            "parallel_tool_calls": st.booleans(),
            "answer_count": st.integers(1, 3),
            "logprobs": st.booleans(),
            "top_logprobs": st.integers(0, 5),
            "user": words,
            "metadata": st.dictionaries(words, texts, min_size=1, max_size=2),
            "store": st.booleans(),
            "service_tier": st.sampled_from(["auto", "flex", "standard_only", "ultrafast", "standard"]),
            "stream": st.booleans(),
        },
    )


counts = st.integers(0, 10_000)
answer_content = st.lists(BLOCKS["assistant"], max_size=3).map(
    lambda content: _named_once([{"content": content}])[0]["content"]
)
finish_reasons = st.sampled_from(["stop", "length", "tool_use", "content_filter", "error", "unknown"])
alternatives = st.lists(
    st.fixed_dictionaries({"content": answer_content, "finish_reason": finish_reasons}), min_size=1, max_size=2
).map(lambda answers: [{"index": number, **answer} for number, answer in enumerate(answers, 1)])
responses = st.fixed_dictionaries(
    {"content": answer_content, "finish_reason": finish_reasons},
    optional={
        "alternatives": alternatives,
        "model": words,
        "response_id": words,
        "created_at": st.sampled_from(["2026-01-01T00:00:00.000Z", "1970-01-01T00:00:01.500Z"]),
        "service_tier": st.sampled_from(["priority", "standard", "flex", "batch"]),
        "usage": st.fixed_dictionaries(
            {"input_tokens": counts, "output_tokens": counts},
            optional={
                "thinking_tokens": counts,
                "cached_tokens": counts,
                "cache_write_tokens": counts,
                "total_tokens": counts,
            },
        ),
    },
)


class _Anything:
    """Stands where something was changed: it equals whatever is there, also nothing."""

    def __repr__(self):
        return "…"


ANYTHING = _Anything()
_GONE = object()


def agrees(written, losses, read):
    """Whether what was read is what was written, minus the losses.

    A limit of tokens that was never stated may be made up: Anthropic requires one.
    """
    expected = copy.deepcopy(written)
    for loss in losses:
        _put(expected, loss.pointer, ANYTHING if loss.change == "changed" else _GONE)
    expected = canonical(_swept(expected))
    read = canonical(read)
    if expected.get("max_output_tokens") is None:
        expected.pop("max_output_tokens", None)
        read.pop("max_output_tokens", None)
    return _equal(expected, read)


_NOTES = {"shape", "_absent", "_form", "as_written", "arguments"}
_SAID_BY_DEFAULT = {
    "stream": False,
    "answer_count": 1,
    "logprobs": False,
    "parallel_tool_calls": True,
    "output_format": {"type": "text"},
    "tool_choice": {"type": "auto"},
    "max_output_tokens": -1,
    "store": False,
    "top_logprobs": 0,
    "service_tier": "auto",
}
_SAID_BY_DEFAULT_OF_A_FORMAT = {
    "background": False,
    "truncation": "disabled",
    "format": {"type": "text"},
    "status": "completed",
    **dict.fromkeys(("presence_penalty", "frequency_penalty"), 0),
    "stop_reason": "stop_sequence",  # the sequence itself says it
}
_STANDARD_TIERS = ("default", "standard", "standard_only")


def canonical(part):
    """A request or response without what goes without saying, and without notes on spelling.

    What OpenAI's two formats share is not told apart by the one that it was read from.
    """
    part = _without_notes(part)
    part = {key: value for key, value in part.items() if _SAID_BY_DEFAULT.get(key, _GONE) != value}
    if part.get("service_tier") in _STANDARD_TIERS:  # every provider has its own word for it
        part["service_tier"] = "standard"
    for message in part["messages"] if isinstance(part.get("messages"), list) else ():
        if isinstance(message, dict) and message.get("role") == "user" and _are_results(message.get("content")):
            message["role"] = "tool"  # results of tools come from either, by the provider
    if isinstance(part.get("messages"), list):
        part["messages"] = list(_split(part["messages"]))
    _hoist_probabilities(part)
    usage = part.get("usage")
    if isinstance(usage, dict):
        counts = [usage.get(name) or 0 for name in ("input_tokens", "output_tokens", "thinking_tokens")]
        if usage.get("cache_write_tokens") == 0:
            del usage["cache_write_tokens"]
        if ANYTHING not in counts and usage.get("total_tokens") == sum(counts):
            part["usage"] = {key: value for key, value in usage.items() if key != "total_tokens"}
    return part


def _split(messages):
    """The messages with each result of a tool in one of its own; other providers have one for all in a row."""
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "tool" and _are_results(message.get("content")):
            yield from ({**message, "content": [block]} for block in message["content"])
        else:
            yield message


def _are_results(content):
    blocks = content if isinstance(content, list) else []
    return bool(blocks) and all(isinstance(block, dict) and block["type"] == "tool_result" for block in blocks)


def _hoist_probabilities(response):
    """Chat has the probabilities of tokens beside an answer, Responses beside its texts."""
    for block in response["content"] if isinstance(response.get("content"), list) else ():
        data = block.get("provider_data", {}).get("openai", {}) if isinstance(block, dict) else {}
        if "logprobs" in data:
            entries = data.pop("logprobs")
            response.setdefault("provider_data", {}).setdefault("openai", {})["choices"] = [
                {"logprobs": {"content": entries}}
            ]
            if not data:
                del block["provider_data"]


def _without_notes(value):
    match value:
        case dict():
            kept = {
                key: _provider_data(inner)
                if key == "provider_data" and isinstance(inner, dict)
                else _without_notes(inner)
                for key, inner in value.items()
            }
            return {key: inner for key, inner in kept.items() if key != "provider_data" or inner}
        case list():
            return [_without_notes(inner) for inner in value]
        case _:
            return value


def _provider_data(data):
    said = {name: _said(value) for name, value in data.items()}
    for value in list(said.values()):
        if isinstance(value, dict) and value.get("role") == "system":
            said["role"] = value.pop("role")  # a system prompt amid the messages, which three formats have
    openai = [said.pop(name) for name in ("openai_chat", "openai_responses") if said.get(name) not in (None, {})]
    return {name: value for name, value in {**said, "openai": _shared(*openai)}.items() if value}


def _said(value):
    match value:
        case dict():
            kept = {key: _said(inner) for key, inner in value.items() if key not in _NOTES}
            kept = {key: inner for key, inner in kept.items() if inner not in (None, "", [], {})}
            return {key: inner for key, inner in kept.items() if not _goes_without_saying(key, inner)}
        case list():
            kept = [_said(inner) for inner in value]
            return kept if any(inner not in (None, "", [], {}) for inner in kept) else []
        case _:
            return value


def _goes_without_saying(key, value):
    is_zero_count = value == 0 and key.endswith(("_tokens", "_requests", "TokenCount")) and key != "total_tokens"
    return is_zero_count or {**_SAID_BY_DEFAULT, **_SAID_BY_DEFAULT_OF_A_FORMAT}.get(key, _GONE) == value


def _shared(data=None):
    """What one of OpenAI's formats said, in the words that the other has for it."""
    words = {"custom_tool_call": "custom"}
    made = {}
    for key, value in (data or {}).items():
        match key, value:
            case "text" | "reasoning", dict():
                made |= {
                    {"effort": "reasoning_effort"}.get(inner, inner): word
                    for inner, word in value.items()
                    if inner not in ("summary", "generate_summary")  # `thinking` says whether there is one
                }
            case "message" | "item", dict():
                made |= {inner: word for inner, word in value.items() if (inner, word) != ("role", "system")}
            case "type", str():
                made[key] = words.get(value, value)
            case _:
                made[key] = value
    return made


def _put(value, pointer, mark):
    *way, last = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for part in way:
        if value is ANYTHING or value is _GONE:
            return
        value = value[int(part)] if isinstance(value, list) else value[part]
    if value is ANYTHING or value is _GONE:
        return
    key = int(last) if isinstance(value, list) else last
    # Something may have been put where nothing was.
    assert isinstance(value, list) or key in value or mark is ANYTHING, f"{pointer} leads nowhere"
    value[key] = mark


def _swept(value):
    match value:
        case dict():
            swept = {key: _swept(inner) for key, inner in value.items() if inner is not _GONE}
            # What held nothing else goes with its last part.
            return {
                key: inner
                for key, inner in swept.items()
                if inner not in ({}, []) or inner == value[key] or key == "content"
            }
        case list():
            return [_swept(inner) for inner in value if inner is not _GONE]
        case _:
            return value


def _is_free(value):
    """Whether all of a value was changed."""
    return value is ANYTHING or (isinstance(value, dict) and bool(value) and all(map(_is_free, value.values())))


def _equal(expected, read):
    if expected is ANYTHING:
        return True
    match expected:
        case dict():
            keys = expected.keys() | (read.keys() if isinstance(read, dict) else set())
            return isinstance(read, dict) and all(
                _is_free(expected[key]) or (key in read and _equal(expected[key], read[key]))
                if key in expected
                else not read.get(key)
                for key in keys
            )
        case list():
            return isinstance(read, list) and _equal_lists(expected, read)
        case _:
            return type(expected) is type(read) and expected == read


def _equal_lists(expected, read):
    """Something that was changed may have become several, or none."""
    if not expected:
        return not read
    if expected[0] is ANYTHING:
        return any(_equal_lists(expected[1:], read[count:]) for count in range(len(read) + 1))
    return bool(read) and _equal(expected[0], read[0]) and _equal_lists(expected[1:], read[1:])


def lost_words(written, losses, payload):
    """Texts of what was written that are not in the payload, although no loss says that they were dropped."""
    kept = copy.deepcopy(written)
    for loss in losses:
        if loss.change == "dropped":
            _put(kept, loss.pointer, _GONE)
    told = json.dumps(payload, ensure_ascii=False)
    return [word for word in _words(_swept(kept)) if json.dumps(word, ensure_ascii=False)[1:-1] not in told]


def _words(value):
    match value:
        case {"type": "text", "text": str(text)}:
            yield text
        case {"type": "thinking", "thinking": str(text)}:
            yield text
        case {"type": "tool_result", "content": str(text)}:
            yield text
        case dict():
            for inner in value.values():
                yield from _words(inner)
        case list():
            for inner in value:
                yield from _words(inner)
        case _:
            pass
