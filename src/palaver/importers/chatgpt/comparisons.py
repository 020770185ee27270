"""`model_comparisons.json`: two answers that were shown side by side, as a conversation that ends in two branches."""

from typing import Any

Json = dict[str, Any]

_TURNS = ("original_turn", "new_turn")
_NOT_KEPT = frozenset(
    {"id", "conversation_id", "create_time", "content", "user_id", "workspace_id", "storage_protocol"}
)


def is_comparison(value: Any) -> bool:
    match value:
        case {"content": {"input": {"prompt_convo": dict()}}}:
            return True
        case _:
            return False


def as_conversation(row: Any) -> Json | None:
    """The comparison in the shape of an export's conversation; None for what is none."""
    match row:
        case {"content": {"input": {"prompt_convo": {"messages": list(prompts)}}, **rest}}:
            output = rest.get("output")
        case _:
            return None
    mapping: Json = {}
    last: str | None = None
    for message in prompts:
        last = _hang(mapping, message, last)
    output = output if type(output) is dict else {}
    second = output.get("feedback_step_2")
    compared = second if type(second) is dict else {}
    ends: dict[str, str | None] = {}
    for turn in _TURNS:
        end = last
        answers = compared.get(turn)
        for message in answers if type(answers) is list else ():
            end = _hang(mapping, message, end)
        ends[turn] = end
    whole = row.get("conversation_id")
    return {
        "conversation_id": f"{whole}:comparison-{row.get('id')}",
        "create_time": row.get("create_time"),
        "mapping": mapping,
        "current_node": ends["new_turn" if compared.get("completion_comparison_rating") == "new" else "original_turn"],
        "compared_conversation_id": whole,
        "comparison": {
            **{name: value for name, value in output.items() if name != "feedback_step_2"},
            **{name: value for name, value in compared.items() if name not in _TURNS or type(value) is not list},
        },
        **{name: value for name, value in row.items() if name not in _NOT_KEPT},
    }


def _hang(mapping: Json, message: Any, parent: str | None) -> str:
    """Put a message below another one, under its own id where that is free."""
    stated = message.get("id") if type(message) is dict else None
    key = stated if type(stated) is str and stated and stated not in mapping else f"message-{len(mapping)}"
    while key in mapping:
        key += "'"
    mapping[key] = {"message": message, "parent": parent}
    return key
