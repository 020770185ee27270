"""Tools that OpenAI and Google run themselves, and items of Responses that stand for calls and results."""

import pytest

from cooking import cook, received, sent

PNG = "iVBORw0KGgo="
PNG_LABEL = "sha256:4c4b6a3be1314ab8"
ANSWER = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ok"}]}


def responses_record(*output, given="hi"):
    return {"id": "r1", "request": {"model": "m", "input": given}, "response": {"output": list(output)}}


def outline(pieces):
    """Return each piece as its role, and its call, its result or its text."""
    made = []
    for piece in pieces:
        calls = [(call["name"], call["arguments"], call["id"]) for call in piece["tool_calls"] or ()]
        result = [(piece["content"], piece["tool_use_id"], piece["is_error"])] if piece["role"] == "tool_result" else []
        made.append((piece["role"], *calls, *result) if calls or result else (piece["role"], piece["content"]))
    return made


@pytest.mark.parametrize(
    ("item", "pieces"),
    [
        (
            {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
            [("tool_use", ("web_search", {"type": "search", "query": "q"}, "w"))],
        ),
        (
            {"type": "web_search_call", "id": "w", "status": "failed", "action": {"type": "search", "query": "q"}},
            [
                ("tool_use", ("web_search", {"type": "search", "query": "q"}, "w")),
                ("tool_result", ("failed", "w", True)),
            ],
        ),
        (
            {"type": "code_interpreter_call", "id": "c", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]},
            [("tool_use", ("code_interpreter", {"code": "1+1"}, "c")), ("tool_result", ("2", "c", False))],
        ),
        (
            {"type": "code_interpreter_call", "id": "c", "code": "1+1", "container_id": "k", "outputs": None},
            [("tool_use", ("code_interpreter", {"code": "1+1", "container_id": "k"}, "c"))],
        ),
        (
            {"type": "file_search_call", "id": "f", "queries": ["q"], "results": [{"file_id": "x"}]},
            [
                ("tool_use", ("file_search", {"queries": ["q"]}, "f")),
                ("tool_result", ('{"file_id": "x"}', "f", False)),
            ],
        ),
        (
            {"type": "mcp_call", "id": "m", "server_label": "s", "name": "n", "arguments": '{"a":1}', "output": "res"},
            [("tool_use", ("n", {"a": 1}, "m")), ("tool_result", ("res", "m", False))],
        ),
        (
            {"type": "mcp_call", "id": "m", "name": "n", "arguments": '{"a":', "output": None, "error": "no such tool"},
            [("tool_use", ("n", {"raw": '{"a":'}, "m")), ("tool_result", ("no such tool", "m", True))],
        ),
        (
            {
                "type": "mcp_call",
                "id": "m",
                "name": "n",
                "arguments": "",
                "output": "part",
                "error": {"message": "gone"},
            },
            [("tool_use", ("n", {}, "m")), ("tool_result", ("part\ngone", "m", True))],
        ),
        (
            {"type": "image_generation_call", "id": "i", "status": "completed", "result": PNG},
            [("tool_use", ("image_generation", {}, "i")), ("tool_result", (f"[image: {PNG_LABEL}]", "i", False))],
        ),
        (
            {"type": "local_shell_call", "id": "x", "call_id": "l", "action": {"command": ["ls"]}},
            [("tool_use", ("local_shell", {"command": ["ls"]}, "l"))],
        ),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("keeps_order", [False, True])
def test_an_item_is_a_call_with_its_result_before_the_answer(item, pieces, keeps_order):
    made = cook(responses_record(item, ANSWER), keeps_order=keeps_order)
    expected = [*pieces, ("assistant", "ok")]
    if item.get("call_id") and not keeps_order:
        expected = [("assistant", "ok"), *pieces]  # the caller runs it after the answer
    assert outline(received(made)) == expected
    repeated = cook(responses_record(given=[item, ANSWER]), keeps_order=keeps_order)
    assert outline(sent(repeated)) == expected


def test_results_of_the_caller_answer_their_calls():
    screenshot = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}
    items = [
        {"type": "computer_call", "id": "x", "call_id": "c", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "c", "output": screenshot},
        {"type": "local_shell_call", "id": "y", "call_id": "l", "action": {"command": ["ls"]}},
        {"type": "local_shell_call_output", "id": "l", "output": "files"},
    ]
    assert outline(sent(cook(responses_record(given=items)))) == [
        ("tool_use", ("computer", {"type": "screenshot"}, "c")),
        ("tool_result", (f"[image: {PNG_LABEL}]", "c", False)),
        ("tool_use", ("local_shell", {"command": ["ls"]}, "l")),
        ("tool_result", ("files", "l", False)),
    ]


def test_items_that_are_neither_a_call_nor_a_result_stay_json():
    made = received(cook(responses_record({"type": "mcp_list_tools", "id": "l", "tools": []})))
    assert outline(made) == [("assistant", '{"type": "mcp_list_tools", "id": "l", "tools": []}')]


@pytest.mark.parametrize(("outcome", "is_error"), [("OUTCOME_OK", False), ("OUTCOME_FAILED", True)])
def test_code_that_gemini_ran_is_a_call_with_its_result(outcome, is_error):
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "print(2)"}},
        {"codeExecutionResult": {"outcome": outcome, "output": "2"}},
        {"text": "ok"},
    ]
    request = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    made = cook({"id": "g", "request": request, "response": {"candidates": [{"content": {"parts": parts}}]}})
    call, result, answer = received(made)
    assert call["tool_calls"][0]["name"] == "code_execution"
    assert call["tool_calls"][0]["arguments"] == {"language": "PYTHON", "code": "print(2)"}
    assert (result["content"], result["tool_use_id"]) == ("2", call["tool_calls"][0]["id"])
    assert result["is_error"] is is_error
    assert answer["content"] == "ok"
