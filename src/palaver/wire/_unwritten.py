"""Losses of a writer: fields of a part that a format has no place for, and what other formats kept beside it.

Provider data mixes what a payload said (`logit_bias`) with notes on how it said it (`shape`): only the former can be
lost. What every provider does anyway when nothing is said, such as `stream: false`, is not a loss either.
"""

from collections.abc import Collection, Iterator
from typing import Any

from palaver.model.build import JsonObject
from palaver.wire._contract import DEFAULT_LIMIT, Losses
from palaver.wire._places import escape_key

_DEFAULTS: JsonObject = {
    "stream": False,
    "answer_count": 1,
    "logprobs": False,
    "parallel_tool_calls": True,
    "output_format": {"type": "text"},
    "max_output_tokens": DEFAULT_LIMIT,
    "top_logprobs": 0,
    "store": False,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "background": False,
    "truncation": "disabled",
    "format": {"type": "text"},
    "status": "completed",
}
"""What every provider does anyway, under the name that the exchange or the format has for it."""
_COUNT_ENDINGS = ("_tokens", "_requests", "TokenCount")
_EMPTY_BUT_SAID = frozenset({"web_search_options"})
"""Objects that ask for something by being there."""
_THINKING_NOTES = frozenset({"thinking", "effort", "reasoning_effort", "thinkingBudget", "thinkingLevel"})
"""Words for how much a model thinks, of which an exchange has the level."""
_NOTES = frozenset({"shape", "_absent", "_form", "as_written", "arguments"})
"""Keys of provider data that record a spelling; the input of a call says what its `arguments` say."""
_CONTAINERS = frozenset(
    {
        *("message", "item", "function", "custom", "reasoning", "text", "stream_options", "image_url", "file"),
        *("prompt_tokens_details", "completion_tokens_details", "input_tokens_details", "output_tokens_details"),
        *("output_config", "cache_creation", "server_tool_use"),
        *("generationConfig", "thinkingConfig", "toolConfig", "functionCallingConfig", "systemInstruction", "content"),
        *("generation_config", "thinking_config", "tool_config", "function_calling_config", "system_instruction"),
        *("functionCall", "functionResponse", "inlineData", "fileData"),
        *("function_call", "function_response", "inline_data", "file_data"),
    }
)
"""Objects of which readers take some fields, and leave the others."""
_LABELS = "metadata"
"""An object whose names are the caller's own."""
_PROMPTS = ("message", "item")
"""Notes on the message of a block; in a system prompt, its role `system` goes without saying."""
_LISTS = frozenset({"choices", "candidates", "tools"})
"""Lists whose entries are lost one by one."""
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_FINISH_WORDS = frozenset({"finish_reason", "stop_reason", "finishReason", "status", "incomplete_details"})
PROMPT_ROLES = ("system", "developer")
"""Roles of the system prompt."""


def report_unwritten(
    part: JsonObject,
    written: Collection[str],
    pointer: str,
    losses: Losses,
    *,
    own: str,
    title: str,
    carried: Collection[str] = (),
) -> None:
    """Report the fields of a part that are not among the written ones, and the provider data of other formats.

    `own` is the name of the format that is written, `title` what people call it; `carried` are keys of provider data
    that are written nevertheless.
    """
    report_fields(part, written, pointer, losses, title=title)
    for name in part.get("provider_data") or {}:
        if name != own:
            report_provider_data(part, name, pointer, losses, title=title, carried=carried)


def prompt_role(message: JsonObject) -> str | None:
    """Return the role of the system prompt that a format noted with a turn in the midst of others; None for others."""
    for data in (message.get("provider_data") or {}).values():
        role = data.get("role") if isinstance(data, dict) else None
        if role in PROMPT_ROLES:
            return role
    return None


def report_fields(part: JsonObject, written: Collection[str], pointer: str, losses: Losses, *, title: str) -> None:
    """Report the fields of a part that are not among the written ones."""
    for key, value in part.items():
        if key == "provider_data" or key in written or value is None or _goes_without_saying(key, value):
            continue
        losses.drop(f"{pointer}/{escape_key(key)}", _lacks(title))


def report_provider_data(
    part: JsonObject, name: str, pointer: str, losses: Losses, *, title: str, carried: Collection[str] = ()
) -> None:
    """Report what one format kept with a part, but for the keys that were carried over."""
    data = (part.get("provider_data") or {}).get(name)
    if not isinstance(data, dict):
        return
    if part.get("finish_reason") in {"error", "unknown"}:  # the loss of the reason itself says it
        carried = {*carried, *_FINISH_WORDS}
    if data.get("stop_sequence") and data.get("stop_reason") == "stop_sequence":  # the sequence says it
        carried = {*carried, "stop_reason"}
    thinking = part.get("thinking")
    level = thinking["level"] if isinstance(thinking, dict) else None
    for where, key, value in _stated(data, f"{pointer}/provider_data/{escape_key(name)}", carried):
        if level is None or key not in _THINKING_NOTES:
            losses.drop(where, _lacks(title, key, value, is_answer="finish_reason" in part))
        else:
            losses.change(where, f"written as the level `{level}`")


def _stated(data: JsonObject, pointer: str, carried: Collection[str]) -> Iterator[tuple[str, str, Any]]:
    """Yield what a payload said: the pointer, the key and the value."""
    for key, value in data.items():
        is_empty = value in _NOTHING and key not in _EMPTY_BUT_SAID
        if key in _NOTES or key in carried or is_empty or _goes_without_saying(key, value):
            continue
        here = f"{pointer}/{escape_key(key)}"
        if key == _LABELS and isinstance(value, dict):
            yield from ((f"{here}/{escape_key(label)}", label, text) for label, text in value.items() if text)
        elif key in _CONTAINERS and isinstance(value, dict):
            is_prompt = key in _PROMPTS and value.get("role") == "system"
            yield from _stated(value, here, {*carried, "role"} if is_prompt else carried)
        elif key in _LISTS and isinstance(value, list):
            for number, entry in enumerate(value):
                if key != "tools" and isinstance(entry, dict):
                    yield from _stated(entry, f"{here}/{number}", carried)
                else:
                    yield f"{here}/{number}", key, entry
        else:
            yield here, key, value


def _goes_without_saying(key: str, value: Any) -> bool:
    is_zero_count = type(value) is int and value == 0 and key.endswith(_COUNT_ENDINGS)
    return (is_zero_count and key != "total_tokens") or (key in _DEFAULTS and _DEFAULTS[key] == value)


def _lacks(title: str, key: str = "", value: Any = None, *, is_answer: bool = False) -> str:
    match key, value:
        case "tools", _:
            return f"{title} does not {'repeat the tools of the request' if is_answer else 'run this tool'}"
        case "tool_choice", {"type": "allowed_tools"}:
            return f"{title} cannot limit the choice to some of the tools"
        case _:
            return f"{title} cannot express it"
