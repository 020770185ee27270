"""Sessions of 2023, when Continue was a program of steps: the whole state, with a timeline of nodes.

A node holds a step, perhaps an observation (what came of it), its depth below other steps, and whether the user deleted
it. What was typed and what a model answered become messages of their own; any other step (an edit, a command, a search,
an error) becomes a message of the harness with what the step showed, and the step itself in an `opaque` block.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers.continue_dev.fields import text_of
from palaver.importers.continue_dev.layout import index_row
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.redact.policy import MASK
from palaver.redact.text import is_secret_name, mask_text
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.run import MaskedRun, Run
from palaver.sources.source import Source

BAD_STEP = finding_kind("bad-step", "error", "A node of a session's timeline is not a step; it is quarantined.")

PATH = ("history", "timeline")
_TYPED = "User Input"
_IGNORED_STATE = frozenset(
    {"history", "session_info", "config", "slash_commands", "context_providers", "meilisearch_url", "active"}
    | {"adding_highlighted_code"}
)
_BASE_FIELDS = frozenset(
    {"name", "hide", "description", "system_message", "chat_context", "manage_own_chat_context", "class_name"}
)
_CHAT_FIELDS = _BASE_FIELDS | {"messages", "prompt", "completion_options"}
"""Fields of a step that only asks a model."""


def has_timeline(source: Source) -> bool:
    match source.parsed_head():
        case {"history": {"timeline": list(nodes), **history}}:
            return "current_index" in history or any(isinstance(node, dict) and "step" in node for node in nodes)
        case _:
            return False


def step_nodes(elements: JsonElements, run: Run) -> Iterator[JsonObject]:
    """Yield the nodes that hold a step, without secrets; refuse the others."""
    masked = MaskedRun(run, mask_text)
    for node in elements:
        match node:
            case {"step": dict()}:
                yield _without_secrets(node)
            case _:
                masked.quarantined(BAD_STEP, elements.raw, elements.where())


def is_typed(node: JsonObject) -> bool:
    """Return whether the step is what a person typed; other steps repeat it in the same field."""
    step = node["step"]
    return isinstance(step.get("user_input"), str) and (
        step.get("name") == _TYPED or node.get("observation") == {"user_input": step["user_input"]}
    )


def message_of(node: JsonObject) -> tuple[build.Role, list[build.Block], JsonObject, JsonObject]:
    """Return role, blocks and metadata of a node's message, and its other fields as those of a history item."""
    step: JsonObject = dict(node["step"])
    metadata: JsonObject = {}
    if step.pop("hide", None) is True:
        metadata["hidden"] = True
    if node.get("deleted") is True:
        metadata["on_active_path"] = False
    is_chat = step.pop("manage_own_chat_context", None) is True
    fields = {name: value for name, value in node.items() if name not in {"step", "deleted"} and value not in _EMPTY}
    role: build.Role
    if is_typed(node):
        role, text = "user", step.pop("user_input")
        if fields.get("observation") == {"user_input": text}:
            del fields["observation"]
        if (items := step.pop("context_items", None)) is not None:
            fields["contextItems"] = [*map(_context_item, items)] if isinstance(items, list) else items
        blocks = [build.text(text)]
    elif (answer := _answer(step, is_chat=is_chat)) is not None:
        role, text = "assistant", answer
        blocks = [build.text(text)]
    else:
        role, text = "system", text_of(step, "description")
        blocks = [build.text(text)] if text else []
    _drop_repetitions(step, text)
    rest = {name: value for name, value in step.items() if value not in _NOTHING}
    if role == "system":
        observed = {"observation": fields.pop("observation")} if "observation" in fields else {}
        if observed or rest.keys() - {"name"} or not blocks:
            blocks.append(build.opaque(kind="step", raw={**rest, **observed}))
            rest = {"name": rest["name"]} if "name" in rest else {}
    if rest:
        fields["step"] = rest
    return role, blocks, metadata, fields


_NOTHING: tuple[Any, ...] = (None, "", [], {})
_EMPTY = (*_NOTHING, False, 0)
"""What most nodes and the state say, and says nothing."""


def _answer(step: JsonObject, *, is_chat: bool) -> str | None:
    """Return the text of a step that only asked a model; None for any other step."""
    match step.get("chat_context"):
        case [{"role": "assistant", "content": str(text), **rest}] if not rest.get("function_call"):
            return text if step.keys() <= _CHAT_FIELDS else None
        case [] | None:
            text = text_of(step, "description")
            return text if text and is_chat and step.keys() <= _CHAT_FIELDS else None
        case _:
            return None


def _drop_repetitions(step: JsonObject, text: str) -> None:
    """Remove from a step what the text of its message repeats."""
    for name in ("description", "message"):
        if text_of(step, name).strip() == text.strip():
            step.pop(name, None)
    match step.get("chat_context"):
        case [{"content": str(said), **rest}] if said == text and not rest.get("function_call"):
            del step["chat_context"]
        case _:
            pass


def _context_item(item: Any) -> Any:
    """Return an item that was attached to a prompt, in the spelling of later versions."""
    match item:
        case {"description": {"id": {"provider_title": provider, "item_id": item_id}, **described}, **rest}:
            kept = {name: value for name, value in rest.items() if value not in _EMPTY}
            return {**described, **kept, "id": {"providerTitle": provider, "itemId": item_id}}
        case _:
            return item


def session_header(state: JsonObject) -> tuple[JsonObject, Any]:
    """Return the fields around a timeline in the spelling of later versions, and the row of the index among them."""
    header = {name: value for name, value in state.items() if name not in _IGNORED_STATE and value not in _EMPTY}
    history, info, config = state.get("history"), state.get("session_info"), state.get("config")
    if isinstance(history, dict):
        header |= {name: value for name, value in history.items() if name != PATH[-1]}
    if isinstance(config, dict):
        header |= {name: config[name] for name in ("system_message", "temperature") if config.get(name) is not None}
    row = index_row(info)
    if row is not None:
        header |= {"sessionId": row.session_id, "title": row.title, "workspaceDirectory": row.workspace}
    elif info is not None:
        header["session_info"] = info
    return _without_secrets(header), row


def _without_secrets(value: Any) -> Any:
    """Return a value without the texts of secret names: a step may hold the whole settings of its model."""
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: MASK if isinstance(held, str) and held and _is_secret(name) else _without_secrets(held)
        for name, held in value.items()
    }


def _is_secret(name: str) -> bool:
    return is_secret_name(name) and name not in {"session_id", "sessionId"}
