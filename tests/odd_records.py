"""Records of traces with everything that formats can say, and with everything that may be wrong with an answer."""

import json

PNG = "iVBORw0KGgo="
ASKED = {"role": "user", "content": "hi"}
TEXT = {"type": "text", "text": "some text"}


def odd_record(name, response, *messages, error=None, **request):
    return {
        "id": name,
        "timestamp": "2026-02-20T10:00:00Z",
        "duration_ms": 5,
        "request": {"model": "m", "messages": list(messages or (ASKED,)), **request},
        "response": response,
        "error": error,
    }


def stream(*datas):
    return {"stream": True, "sse_lines": [f"data: {json.dumps(data)}" for data in datas]}


CALL = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
FAILED = {"type": "web_search_tool_result_error", "error_code": "unavailable"}
STARTED = {"type": "message_start", "message": {"id": "a", "model": "c", "content": []}}
BLOCK = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
CUT_INPUT = {"type": "input_json_delta", "partial_json": '{"command": "rm'}
CUT_CALL = (
    STARTED,
    {"type": "content_block_start", "index": 0, "content_block": BLOCK},
    {"type": "content_block_delta", "index": 0, "delta": CUT_INPUT},
)
ODD_RECORDS = [
    odd_record("error", None, error={"type": "overloaded_error", "message": "Overloaded"}),
    odd_record("raw", {"raw": "<html>502</html>"}, system="You are a pirate"),
    odd_record("text", "no JSON"),
    odd_record("partial", stream({"id": "c", "choices": [{"delta": {"content": "part"}}]}), error="reset"),
    odd_record("cut", stream(*CUT_CALL), system=[TEXT]),
    odd_record("event", stream(*CUT_CALL, {"type": "error", "error": {"message": "Overloaded"}})),
    odd_record("two", stream(STARTED, {"type": "message_start", "message": {"id": "b", "model": "c", "content": []}})),
    odd_record("choices", {"choices": [{"index": n, "message": {"content": "AB"[n]}} for n in (1, 0)]}),
    odd_record(
        "server", {"content": [CALL, {"type": "web_search_tool_result", "tool_use_id": "s", "content": FAILED}]}
    ),
    odd_record("choices", None, {"role": "tool", "content": "a result without a call"}),
    {"id": "gemini", "request": {"contents": [{"parts": [{"text": "hi"}]}]}, "response": {"candidates": []}},
    {"id": "responses", "request": {"input": "hi"}, "response": {"output": [{"type": "web_search_call", "id": "w"}]}},
    {"id": "nothing", "request": None, "response": {"content": [{"type": "text", "text": "An answer alone."}]}},
    {"id": "string", "request": json.dumps({"messages": [ASKED]}), "response": {"choices": []}},
]

_BLOCKS = [
    TEXT,
    {"type": "thinking", "thinking": "some thought", "signature": "s"},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}},
    CALL,
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": FAILED},
    {"type": "mcp_tool_use", "id": "m", "name": "n", "server_name": "z", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "m", "is_error": True, "content": [TEXT]},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "document", "title": "t", "source": {"type": "text", "media_type": "text/plain", "data": "some document"}},
    {"type": "tool_result", "tool_use_id": "a", "content": [TEXT, {"type": "image", "source": {}}], "is_error": True},
]
_PARTS = [
    TEXT,
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
    {"type": "input_audio", "input_audio": {"data": PNG, "format": "wav"}},
    {"type": "file", "file": {"filename": "n", "file_data": f"data:application/pdf;base64,{PNG}"}},
    {"type": "refusal", "refusal": "some refusal"},
    {"type": "video_url", "video_url": {"url": "u"}},
]
_CALLS = [
    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
    {"id": "c2", "type": "custom", "custom": {"name": "p", "input": "some input"}},
]
_ITEMS = [
    {"role": "user", "content": "hi"},
    {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "u"}]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "some summary"}]},
    {"type": "function_call", "id": "f", "call_id": "c", "name": "n", "arguments": '{"a":1}'},
    {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "some output"}]},
    {"type": "custom_tool_call", "call_id": "d", "name": "p", "input": "some input"},
    {"type": "web_search_call", "id": "w", "status": "failed", "action": {"type": "search", "query": "q"}},
    {"type": "code_interpreter_call", "id": "ci", "code": "c", "outputs": [{"type": "logs", "logs": "some logs"}]},
    {"type": "mcp_call", "id": "mc", "name": "n", "arguments": "{}", "error": {"message": "m"}, "output": "o"},
    {"type": "image_generation_call", "id": "ig", "result": PNG},
    {"type": "computer_call", "call_id": "cc", "action": {"type": "x"}},
    {"type": "computer_call_output", "call_id": "cc", "output": {"type": "computer_screenshot", "image_url": "u"}},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "some text"}]},
]
_GEMINI_PARTS = [
    {"text": "some text"},
    {"text": "some thought", "thought": True, "thoughtSignature": "s"},
    {"inlineData": {"mimeType": "image/png", "data": PNG}},
    {"functionCall": {"name": "f", "args": {"a": 1}, "id": "i"}},
    {"functionResponse": {"name": "f", "response": {"error": "x"}}},
    {"executableCode": {"language": "PYTHON", "code": "c"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "o"}},
]
_AUDIO = {"id": "a", "transcript": "some transcript", "data": PNG}
RICH_RECORDS = [
    odd_record(
        "claude",
        {"role": "assistant", "content": _BLOCKS},
        {"role": "user", "content": _BLOCKS},
        system=[TEXT],
        tools=[{"name": "f", "description": "d", "input_schema": {}}, {"type": "web_search_20250305", "name": "w"}],
    ),
    odd_record(
        "chat",
        {
            "choices": [
                {"index": 1, "message": {"content": "B", "tool_calls": _CALLS, "reasoning_content": "r"}},
                {"index": 0, "message": {"content": _PARTS, "audio": _AUDIO}, "error": {"message": "e"}},
            ]
        },
        {"role": "system", "content": _PARTS},
        {"role": "assistant", "content": None, "tool_calls": _CALLS},
        {"role": "tool", "tool_call_id": "c1", "content": _PARTS},
        {"role": "function", "name": "f", "content": "r"},
        tools=[{"type": "function", "function": {"name": "f", "parameters": {"x": 1}}}],
    ),
    {
        "id": "items",
        "request": {"instructions": "i", "input": _ITEMS, "tools": [{"type": "custom", "name": "p"}]},
        "response": {"id": "r", "output": _ITEMS[2:]},
    },
    {
        "id": "parts",
        "request": {
            "systemInstruction": {"parts": [{"text": "s"}]},
            "contents": [{"role": "user", "parts": _GEMINI_PARTS}],
            "tools": [{"functionDeclarations": [{"name": "f"}]}, {"googleSearch": {}}],
        },
        "response": {"candidates": [{"index": n, "content": {"parts": _GEMINI_PARTS}} for n in (1, 0)]},
        "error": {"message": "e"},
    },
]
