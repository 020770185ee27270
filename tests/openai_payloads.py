"""Payloads of OpenAI's two formats that hold everything they can say, and the same ones damaged in every way."""

import copy

from hypothesis import strategies as st

PICTURE = "data:image/png;base64,AAAA"

CHAT_REQUEST = {
    "model": "gpt-5.4",
    "temperature": 0.5,
    "top_p": None,
    "seed": 3,
    "stop": "END",
    "n": 2,
    "max_tokens": 100,
    "reasoning_effort": "minimal",
    "stream": True,
    "tools": [
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"a": 1}, "strict": True}},
        {"type": "custom", "custom": {"name": "g", "description": "x", "format": {"type": "text"}}},
        {"type": "function", "function": {"name": "h"}},
        {"type": "browser"},
    ],
    "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
    "messages": [
        {"role": "system", "content": "S", "name": "n"},
        {"role": "developer", "content": [{"type": "text", "text": "D", "cache_control": {"type": "ephemeral"}}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "hi"},
                {"type": "image_url", "image_url": {"url": PICTURE, "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "reasoning_content": "think",
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}, "index": 0},
                {"id": "call_2", "type": "custom", "custom": {"name": "g", "input": "free"}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "res"},
        {
            "role": "tool",
            "tool_call_id": "call_2",
            "content": [{"type": "text", "text": "r1"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}],
        },
        {"role": "system", "content": "mid"},
        {"role": "assistant", "content": "x", "reasoning": "r", "reasoning_details": [{"type": "reasoning.text"}]},
        {"role": "user", "content": ""},
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "no"}],
            "audio": {"id": "audio_1"},
        },
        {"role": "assistant", "function_call": {"name": "old", "arguments": ""}, "content": ""},
        {"role": "function", "name": "old", "content": "out"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": "not json"}}]},
        {"role": "tool", "content": None},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}, {"type": "text", "text": "q"}],
        },
        {"role": "assistant", "content": "no", "refusal": "I cannot"},
        {"role": "critic", "content": "hm"},
    ],
}
CHAT_REQUEST_IN_OLDER_FORM = {
    "model": "gpt-4",
    "messages": [{"role": "user", "content": "q"}],
    "functions": [{"name": "a", "parameters": {"type": "object"}}, {"name": "b"}],
    "function_call": {"name": "a"},
    "stop": ["a", "b"],
    "max_completion_tokens": 5,
    "max_tokens": 6,
}
CHAT_RESPONSE = {
    "id": "c1",
    "object": "chat.completion",
    "created": 5,
    "model": "gpt",
    "choices": [
        {
            "index": 0,
            "finish_reason": "function_call",
            "logprobs": {"content": []},
            "message": {
                "role": "assistant",
                "content": "see",
                "refusal": None,
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {"start_index": 0, "end_index": 3, "title": "t", "url": "https://x"},
                    }
                ],
                "audio": {"id": "a", "data": "QQ==", "expires_at": 1, "transcript": "hey"},
                "reasoning_text": "mm",
                "reasoning_opaque": "xx",
                "tool_calls": [
                    {
                        "id": "c",
                        "type": "function",
                        "function": {"name": "f", "arguments": "{}"},
                        "extra_content": {"google": {"thought_signature": "s"}},
                    }
                ],
            },
        },
        {"index": 1, "finish_reason": "stop", "message": {"role": "assistant", "content": "other"}},
    ],
    "usage": {
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": None},
        "completion_tokens_details": {"reasoning_tokens": 5},
    },
    "service_tier": "default",
    "prompt_filter_results": [],
}
RESPONSES_REQUEST = {
    "model": "gpt-5.4",
    "instructions": "I",
    "reasoning": {"effort": "xhigh", "summary": "detailed", "context": "auto"},
    "store": False,
    "previous_response_id": None,
    "max_output_tokens": 9,
    "temperature": 1,
    "text": {"format": {"type": "text"}},
    "include": ["reasoning.encrypted_content"],
    "tools": [
        {"type": "web_search"},
        {"type": "function", "name": "f", "parameters": {"a": 1}, "strict": False, "defer_loading": True},
        {"type": "custom", "name": "g", "format": {"type": "text"}},
        {"type": "function", "name": "k", "parameters": None, "strict": None},
    ],
    "tool_choice": {"type": "custom", "name": "g"},
    "input": [
        {"role": "developer", "content": "dev"},
        {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "s"}]},
        {"role": "user", "content": "q"},
        {"type": "additional_tools", "role": "developer", "tools": []},
        {
            "type": "message",
            "role": "user",
            "id": "msg_u",
            "status": "completed",
            "content": [
                {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "input_image", "image_url": PICTURE, "detail": "high"},
                {"type": "input_image", "file_id": "f1", "image_url": None},
                {"type": "input_file", "file_url": "https://x/a.pdf"},
                {"type": "input_file", "file_data": "QUJD", "filename": "b.txt"},
                {"type": "input_audio", "input_audio": {"data": "QQ==", "format": "mp3"}},
            ],
        },
        {
            "type": "reasoning",
            "id": "rs_a",
            "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
            "encrypted_content": "enc",
        },
        {
            "type": "message",
            "role": "assistant",
            "id": "msg_a",
            "status": "completed",
            "phase": "commentary",
            "content": [
                {
                    "type": "output_text",
                    "text": "x",
                    "annotations": [
                        {"type": "url_citation", "start_index": 0, "end_index": 1, "title": "t", "url": "u"}
                    ],
                    "logprobs": [],
                },
                {"type": "output_text", "text": "y", "annotations": []},
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {"role": "assistant", "content": "again"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "third"}]},
        {"type": "web_search_call", "id": "ws", "status": "completed", "action": {"type": "search", "query": "q"}},
        {
            "type": "function_call",
            "call_id": "call_1",
            "id": "fc_1",
            "name": "f",
            "arguments": '{"a": 1}',
            "status": "completed",
            "namespace": "n",
        },
        {"type": "custom_tool_call", "call_id": "call_2", "name": "g", "input": "free"},
        {"type": "function_call", "name": "f", "arguments": ""},
        {
            "type": "function_call_output",
            "call_id": "call_1",
            "output": [
                {"type": "input_text", "text": "o"},
                {"type": "input_image", "image_url": "https://x/i.png"},
                {"type": "input_file", "file_id": "f2"},
            ],
        },
        {"type": "custom_tool_call_output", "call_id": "call_2", "output": "co"},
        {"type": "function_call_output", "output": "third"},
        {"role": "developer", "content": "mid"},
        {"type": "item_reference", "id": "msg_x"},
        {"type": "mcp_call", "id": "mcp", "name": "n", "server_label": "s", "arguments": "{}", "output": "out"},
        {
            "type": "reasoning",
            "id": "rs_b",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "full"}],
            "status": None,
        },
        {"type": "message", "role": "assistant", "id": "m0", "status": "completed", "content": []},
        {"type": "mcp_approval_response", "approval_request_id": "a", "approve": True},
        {"role": "user", "content": []},
    ],
}
RESPONSES_RESPONSE = {
    "id": "resp_a",
    "object": "response",
    "created_at": 1.5,
    "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
    "error": None,
    "instructions": [{"role": "user", "content": "x"}],
    "model": "m",
    "output": [
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "t"}]},
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "a", "annotations": [], "logprobs": []},
                {
                    "type": "output_text",
                    "text": "b",
                    "annotations": [{"type": "file_path", "file_id": "f", "index": 3}],
                },
            ],
        },
        {
            "type": "message",
            "id": "m2",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "refusal", "refusal": "no"}],
        },
        {
            "type": "function_call",
            "id": "fc",
            "call_id": "call_9",
            "name": "f",
            "arguments": '{"z":[1,2]}',
            "status": "completed",
        },
        {"type": "function_call_output", "id": "o", "call_id": "call_9", "output": "x", "status": "completed"},
        {"type": "image_generation_call", "id": "i", "status": "completed", "result": "AAAA"},
        {"type": "custom_tool_call", "id": "ct", "call_id": "k", "name": "g", "input": "t"},
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 1},
        "output_tokens": 9,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 10,
    },
    "metadata": {},
}

_ODD = [
    None,
    "",
    0,
    -1,
    True,
    1.5,
    "text",
    "{}",
    "none",
    [],
    [None],
    {},
    {"type": "text"},
    {"shape": {"absent": ["id"]}},
]


@st.composite
def damaged(draw, payload):
    """The payload with a few values replaced, taken out, doubled, moved or added."""
    made = copy.deepcopy(payload)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from([place for place in _places(made) if place]))
        holder = made
        for step in way:
            holder = holder[step]
        odd = copy.deepcopy(draw(st.sampled_from(_ODD)))
        match draw(st.sampled_from(["replace", "remove", "double", "move", "add"])):
            case "replace":
                holder[last] = odd
            case "remove":
                del holder[last]
            case "double" if isinstance(holder, list):
                holder.insert(last, copy.deepcopy(holder[last]))
            case "move" if isinstance(holder, list):
                holder.append(holder.pop(last))
            case _ if isinstance(holder, dict):
                holder[draw(st.sampled_from(["extra", "shape", "name", "id", "type", "content"]))] = odd
            case _:
                holder.append(odd)
    return made


def _places(value, way=()):
    yield way
    match value:
        case dict():
            for key, inner in value.items():
                yield from _places(inner, (*way, key))
        case list():
            for index, inner in enumerate(value):
                yield from _places(inner, (*way, index))
        case _:
            pass


def bare(value):
    """An exchange's part without what only a provider knows."""
    match value:
        case dict():
            return {key: bare(inner) for key, inner in value.items() if key != "provider_data"}
        case list():
            return [bare(inner) for inner in value]
        case _:
            return value
