"""Rows of the UI log (`ui_messages.json`): who wrote them, their texts, and the blocks they become.

Other tools write rows of a different shape into the same file: `{id, type, content}`, `{author, text}`.
"""

from typing import Any, Literal, NamedTuple

from palaver.importers._cline_family.blocks import block_of, image_from_url
from palaver.importers._cline_family.requests import parse_json_text
from palaver.importers._cline_family.task import time_of
from palaver.model import build
from palaver.model.build import JsonObject

Speaker = Literal["human", "model", "tool", "harness"]

LONG_TEXT = 40
"""Minimum length of a text that is distinctive enough to compare by itself."""
_MAX_JSON_LENGTH = 1 << 16
"""Longer JSON in a text is a file that a tool read, and is not parsed."""
REQUEST = "api_req_started"
REASONING = "reasoning"
TASK_KINDS = frozenset({"text", "task"})

_HUMAN_KINDS = frozenset({"user_feedback", "user_feedback_diff", "user_edit_todos"})
MODEL_TEXT_KINDS = frozenset({"text", "completion_result", "plan_completion_result", REASONING})
"""Rows that hold only text written by the model."""
CALL_TOOLS = {
    "tool": "",
    "command": "execute_command",
    "use_mcp_server": "use_mcp_tool",
    "followup": "ask_followup_question",
    "browser_action_launch": "browser_action",
    "browser_action": "browser_action",
    "use_subagents": "use_subagents",
    "new_task": "new_task",
}
"""The tool of each kind of row that shows a call; "" if the row names it."""
OUTPUT = "command_output"
_RESULT_KINDS = frozenset(
    {OUTPUT, "mcp_server_response", "browser_action_result", "subtask_result", "codebase_search_result"}
)
CHECKPOINTS = frozenset({"checkpoint_saved", "checkpoint_created"})
"""Rows that hold only the hash of a checkpoint."""
_CHANGES_SUFFIX = "HAS_CHANGES"
_OWN_FIELDS = frozenset({"ts", "type", "ask", "say", "text", "images", "reasoning", "partial"})
_DISPLAY_FIELDS = frozenset(
    {
        *("conversationHistoryIndex", "conversationHistoryDeletedRange", "modelInfo", "isAnswered", "isProtected"),
        *("progressStatus", "apiProtocol", "lastCheckpointHash", "isCheckpointCheckedOut", "checkpoint", "seq"),
        *("epoch", "commandCompleted", "metadata"),
    }
)
"""Fields about how a row is displayed, or handled elsewhere."""
_HANDLED_FIELDS = _OWN_FIELDS | _DISPLAY_FIELDS
PLAIN_FIELDS = _HANDLED_FIELDS - {"images", "reasoning"}


class Row:
    """A row with its derived properties."""

    __slots__ = ("is_plain", "kind", "position", "raw", "speaker", "text", "value")

    def __init__(self, position: int, raw: JsonObject, kind: str, *, is_first: bool = False) -> None:
        self.position = position
        self.raw = raw
        self.kind = kind
        """The value of `ask` or `say`; "" for a row of another shape."""
        self.speaker, has_json = _KINDS.get(kind, _DEFAULT_KIND)
        if is_first:
            self.speaker, has_json = "human", False
        self.text = text_of(raw, kind)
        self.value = parse_json_text(self.text) if has_json else None
        """The parsed text if it is JSON, else None."""
        self.is_plain = PLAIN_FIELDS.issuperset(raw)
        """Whether it holds nothing but text."""

    @property
    def time(self) -> str:
        return time_of(self.raw.get("ts"))

    @property
    def is_result(self) -> bool:
        return self.kind in _RESULT_KINDS

    def texts(self) -> list[str]:
        """Return its text, or every text inside it if it is JSON, and its reasoning."""
        found = [self.text]
        if self.value is not None:
            found = texts_in(self.value)
            found += inner_texts(found)
        if isinstance((thought := self.raw.get("reasoning")), str):
            found.append(thought)
        return found

    def rest(self) -> JsonObject:
        """Return the unmapped fields, to keep in the metadata of its message."""
        return {name: value for name, value in self.raw.items() if name not in _HANDLED_FIELDS and _has_value(value)}


def _has_value(value: Any) -> bool:
    return value is not False and value not in (None, "", [], {})


def text_of(raw: JsonObject, kind: str) -> str:
    text = raw.get("text")
    if not isinstance(text, str):
        return ""
    return text.removesuffix(_CHANGES_SUFFIX) if kind == "completion_result" else text


def speaker_of(kind: str) -> Speaker:
    return _KINDS.get(kind, _DEFAULT_KIND)[0]


_DEFAULT_KIND: tuple[Speaker, bool] = ("harness", True)
_KINDS: dict[str, tuple[Speaker, bool]] = {
    **dict.fromkeys(_RESULT_KINDS, ("tool", False)),
    **dict.fromkeys(MODEL_TEXT_KINDS, ("model", False)),
    **dict.fromkeys(_HUMAN_KINDS, ("human", False)),
    **dict.fromkeys((*CALL_TOOLS, "plan_mode_respond", "act_mode_respond"), ("model", True)),
    "user_feedback_diff": ("human", True),
    "browser_action_result": ("tool", True),
    REQUEST: ("harness", False),
}
"""The author of each kind of row, and whether its text may be JSON; other kinds come from the extension."""


def blocks_of(row: Row, call_id: str) -> list[JsonObject]:
    """Return the blocks of a row that is not a result; empty if it holds nothing."""
    made: list[JsonObject] = []
    if isinstance((thought := row.raw.get("reasoning")), str) and thought:
        made.append(build.thinking(thought))
    text = row.text
    if row.kind in CALL_TOOLS:
        made.append(_call(row, call_id))
    elif row.kind == REASONING:
        if text:
            made.append(build.thinking(text))
    elif isinstance(row.value, dict):
        made += _payload_blocks(row.kind, row.value)
    elif text.strip():
        made.append(build.text(text))
    return [*made, *images_of(row)]


def _payload_blocks(kind: str, value: JsonObject) -> list[JsonObject]:
    """Return the blocks of a JSON payload: text, a diff as code, and the rest as an opaque block."""
    match value:
        case {"diff": str(diff), **rest}:
            path = rest.pop("path", None)
            made = [build.code(diff, language="diff", file_path=path if isinstance(path, str) else None)]
        case {"response": str(text), **rest}:
            made = [build.text(text)]
        case _:
            made = [build.text(text) for text in value.values() if isinstance(text, str) and len(text) >= LONG_TEXT]
            rest = {name: item for name, item in value.items() if not isinstance(item, str) or len(item) < LONG_TEXT}
    rest = {name: item for name, item in rest.items() if _has_value(item)}
    return [*made, build.opaque(kind=kind, raw=rest)] if rest else made


def images_of(row: Row) -> list[JsonObject]:
    images = row.raw.get("images")
    return [image_from_url(image) for image in images if isinstance(image, str)] if isinstance(images, list) else []


def _call(row: Row, call_id: str) -> JsonObject:
    name = CALL_TOOLS[row.kind]
    match row.value:
        case {"tool": str(tool), **arguments} if row.kind == "tool":
            return build.tool_use(id=call_id, name=tool, input=arguments)
        case {"type": str(tool), **arguments} if row.kind == "use_mcp_server":
            return build.tool_use(id=call_id, name=tool, input=arguments)
        case dict() as arguments:
            return build.tool_use(id=call_id, name=name or row.kind, input=arguments)
        case _:
            key = {"execute_command": "command", "ask_followup_question": "question"}.get(name, "text")
            return build.tool_use(id=call_id, name=name or row.kind, input={key: row.text} if row.text else {})


def texts_in(value: Any) -> list[str]:
    """Return every text in a JSON value, at any depth, last first."""
    found: list[str] = []
    stack = [value]
    while stack:
        value = stack.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            stack += value.values()
        elif isinstance(value, list):
            stack += value
    return found


def inner_texts(texts: list[str]) -> list[str]:
    """Return the texts in JSON inside these texts, at any depth."""
    found: list[str] = []
    for text in texts:
        if (
            text.startswith(('{"', '[{"'))
            and len(text) < _MAX_JSON_LENGTH
            and (value := parse_json_text(text)) is not None
        ):
            inner = texts_in(value)
            found += [*inner, *inner_texts(inner)]
    return found


_ASSISTANTS = frozenset({"assistant", "agent", "ai", "bot", "model"})
_USERS = frozenset({"user", "human"})
_TEXT_FIELDS = ("content", "text", "message")


class ForeignRow(NamedTuple):
    """A row that another tool wrote."""

    role: build.Role
    author: str
    content: list[JsonObject]
    time: str
    rest: JsonObject


def parse_foreign_row(raw: JsonObject) -> ForeignRow:
    """Interpret a row of another shape; one without any known field becomes an opaque block."""
    role: build.Role = "system"
    mapped: set[str] = set()
    for name in ("type", "role", "author"):
        stated = raw.get(name)
        if isinstance(stated, str) and stated.lower() in _ASSISTANTS | _USERS:
            role = "assistant" if stated.lower() in _ASSISTANTS else "user"
            mapped.add(name)
            break
    key = next((name for name in _TEXT_FIELDS if raw.get(name)), "")
    content = _content(raw.get(key)) if key else []
    if not content:
        return ForeignRow("system", "harness", [build.opaque(kind="row", raw=raw)], _time(raw)[0], {})
    time, name = _time(raw)
    mapped |= {key, name}
    rest = {name: value for name, value in raw.items() if name not in mapped}
    author = {"assistant": "model", "user": "human"}.get(role, "harness")
    return ForeignRow(role, author, content, time, rest)


def _content(value: Any) -> list[JsonObject]:
    match value:
        case str():
            return [build.text(value)]
        case {"text": str(text)} if len(value) == 1:
            return [build.text(text)]
        case list():
            return [block_of(item) for item in value]
        case _:
            return [block_of(value)]


def _time(raw: JsonObject) -> tuple[str, str]:
    """Return the time of a row and the field that states it, or two empty strings."""
    for name in ("ts", "timestamp"):
        if time := time_of(raw.get(name)):
            return time, name
    return "", ""
