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
    },
).filter(bool)


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
            "max_output_tokens": st.integers(1, 100_000),
            "sampling": sampling,
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
        "usage": st.fixed_dictionaries(
            {"input_tokens": counts, "output_tokens": counts},
            optional={"thinking_tokens": counts, "cached_tokens": counts, "total_tokens": counts},
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
    """Whether what was read is what was written, minus the losses."""
    expected = copy.deepcopy(written)
    for loss in losses:
        _put(expected, loss.pointer, ANYTHING if loss.change == "changed" else _GONE)
    return _equal(_swept(expected), read)


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


def _equal(expected, read):
    if expected is ANYTHING:
        return True
    match expected:
        case dict():
            keys = expected.keys() | (read.keys() if isinstance(read, dict) else set())
            return isinstance(read, dict) and all(
                _equal(expected[key], read.get(key))
                if key in expected and (key in read or expected[key] is ANYTHING)
                else key not in expected and not read.get(key)
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
