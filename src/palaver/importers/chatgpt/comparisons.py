"""`model_comparisons.json`: two answers that were shown side by side, as a conversation that ends in two branches."""

from typing import Any

from palaver.model.build import JsonObject

_TURNS = ("original_turn", "new_turn")
_NOT_KEPT = frozenset({
    *("id", "conversation_id", "create_time", "user_id", "workspace_id", "storage_protocol", "metadata"),
})  # fmt: skip
"""Ids, and what the network knew about the user."""


def is_comparison(value: Any) -> bool:
    match value:
        case {"content": {"input": {"prompt_convo": dict()}}}:
            return True
        case _:
            return False


def as_conversation(row: Any) -> JsonObject | None:
    """The comparison in the shape of an export's conversation; None for what is none."""
    match row:
        case {"content": {"input": {"prompt_convo": {"messages": list(prompts), **convo}, **asked}, **content}, **rest}:
            output = content.pop("output", None)
        case _:
            return None
    mapping: JsonObject = {}
    last: str | None = None
    for message in prompts:
        last = _hang(mapping, message, last)
    told = output if isinstance(output, dict) else {"output": output}
    second = told.get("feedback_step_2")
    compared = second if isinstance(second, dict) else {}
    ends: dict[str, str | None] = {}
    for turn in _TURNS:
        ends[turn] = last
        answers = compared.get(turn)
        for message in answers if isinstance(answers, list) else ():
            ends[turn] = _hang(mapping, message, ends[turn])
    kept = {name: value for name, value in told.items() if name != "feedback_step_2" or value is not compared}
    kept |= {name: value for name, value in compared.items() if name not in _TURNS or not isinstance(value, list)}
    for fields in (convo, asked, content):
        kept |= {name: value for name, value in fields.items() if name not in _NOT_KEPT and value is not None}
    whole = rest.get("conversation_id")
    return {
        **{name: value for name, value in rest.items() if name not in _NOT_KEPT},
        "conversation_id": f"{whole}:comparison-{rest.get('id')}",
        "create_time": rest.get("create_time"),
        "mapping": mapping,
        "current_node": ends["new_turn" if compared.get("completion_comparison_rating") == "new" else "original_turn"],
        "compared_conversation_id": whole,
        "comparison": kept,
    }


def _hang(mapping: JsonObject, message: Any, parent: str | None) -> str:
    """Put a message below another one, under its own id where that is free."""
    stated = message.get("id") if isinstance(message, dict) else None
    key = stated if isinstance(stated, str) and stated and stated not in mapping else f"message-{len(mapping)}"
    while key in mapping:
        key += "'"
    mapping[key] = {"message": message, "parent": parent}
    return key
