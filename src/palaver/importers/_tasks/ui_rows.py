"""One row of the interface: who made it, what it says, and the blocks that it becomes where nothing else says it."""

from dataclasses import dataclass
from typing import Any, Literal

from palaver.importers._tasks.blocks import image_of_address
from palaver.importers._tasks.requests import payload
from palaver.importers._tasks.task import time_of
from palaver.model import build
from palaver.model.timestamps import milliseconds_of

Json = dict[str, Any]
Speaker = Literal["human", "model", "tool", "harness"]

LONG = 40
"""A line of this length says something of its own."""
_PARSED = 1 << 16
"""JSON in a text that is longer is a file that a tool read."""
REQUEST = "api_req_started"
REASONING = "reasoning"
TASK_KINDS = frozenset({"text", "task"})

_HUMAN = frozenset({"user_feedback", "user_feedback_diff", "user_edit_todos"})
_SPOKEN = frozenset(
    {"text", "completion_result", "plan_completion_result", "plan_mode_respond", "act_mode_respond", REASONING}
)
_CALLS = {
    "tool": "",
    "command": "execute_command",
    "use_mcp_server": "use_mcp_tool",
    "followup": "ask_followup_question",
    "browser_action_launch": "browser_action",
    "browser_action": "browser_action",
    "use_subagents": "use_subagents",
    "new_task": "new_task",
}
_RESULTS = frozenset(
    {"command_output", "mcp_server_response", "browser_action_result", "subtask_result", "codebase_search_result"}
)
CHECKPOINTS = frozenset({"checkpoint_saved", "checkpoint_created"})
"""Rows that hold nothing but the name of a state of the files."""
_CHANGED = "HAS_CHANGES"
_OWN_FIELDS = frozenset({"ts", "type", "ask", "say", "text", "images", "reasoning", "partial"})
_SHOWN_ONLY = frozenset(
    {
        *("conversationHistoryIndex", "conversationHistoryDeletedRange", "modelInfo", "isAnswered", "isProtected"),
        *("progressStatus", "apiProtocol", "lastCheckpointHash", "isCheckpointCheckedOut", "checkpoint", "seq"),
        *("epoch", "commandCompleted", "metadata"),
    }
)
"""Fields that are about how a row is shown, or of which another place tells."""
_TOLD = _OWN_FIELDS | _SHOWN_ONLY
_OF_PLAIN_ROWS = _TOLD - {"images", "reasoning"}


@dataclass(slots=True)
class Row:
    position: int
    raw: Json
    kind: str
    """The word behind `ask` or `say`; empty for a row of another shape."""
    ts: int
    speaker: Speaker
    text: str
    value: Any
    """Its text as JSON, where it is; else None."""

    @property
    def time(self) -> str:
        return time_of(self.raw.get("ts"))

    @property
    def is_call(self) -> bool:
        return self.kind in _CALLS

    @property
    def is_result(self) -> bool:
        return self.kind in _RESULTS

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to it but its text."""
        return self.raw.keys() <= _OF_PLAIN_ROWS

    def texts(self) -> list[str]:
        """Its text, or every text in it where it is JSON, and its reasoning."""
        found = texts_in(self.value) if self.value is not None else [self.text]
        if type(thought := self.raw.get("reasoning")) is str:
            found.append(thought)
        return found

    def rest(self) -> Json:
        """The fields that a message of its own keeps."""
        return {name: value for name, value in self.raw.items() if name not in _TOLD and _says_something(value)}


def _says_something(value: Any) -> bool:
    return value is not False and value not in (None, "", [], {})


def row_of(raw: Json, position: int, *, is_first: bool) -> Row:
    manner = raw.get("type")
    kind = raw.get(manner) if manner == "say" or manner == "ask" else ""  # noqa: PLR1714 - it may be anything
    if type(kind) is not str:
        kind = ""
    speaker = "human" if is_first and kind in TASK_KINDS else _SPEAKERS.get(kind, "harness")
    text = raw.get("text")
    if type(text) is not str:
        text = ""
    elif kind == "completion_result":
        text = text.removesuffix(_CHANGED)
    has_json = kind in _WITH_JSON or (speaker == "harness" and kind != REQUEST)
    ts = raw.get("ts")
    number = ts if type(ts) is int and 0 < ts < 1 << 53 else 0
    if not (number or kind) and (time := time_of(raw.get("timestamp"))):
        number = milliseconds_of(time)
    return Row(position, raw, kind, number, speaker, text, payload(text) if has_json else None)


_WITH_JSON = frozenset(
    {*_CALLS, "plan_mode_respond", "act_mode_respond", "user_feedback_diff", "browser_action_result"}
)
_SPEAKERS: dict[str, Speaker] = {
    **dict.fromkeys(_RESULTS, "tool"),
    **dict.fromkeys((*_SPOKEN, *_CALLS), "model"),
    **dict.fromkeys(_HUMAN, "human"),
}
"""Who made a row, by its kind; all others are the program's."""


def blocks_of(row: Row, call_id: str) -> list[Json]:
    """The blocks of a row that is no result; none where it says nothing."""
    made: list[Json] = []
    if type(thought := row.raw.get("reasoning")) is str and thought:
        made.append(build.thinking(thought))
    text = row.text
    if row.kind in _CALLS:
        made.append(_call(row, call_id))
    elif row.kind == REASONING:
        if text:
            made.append(build.thinking(text))
    elif type(row.value) is dict:
        made += _payload_blocks(row.kind, row.value)
    elif text.strip():
        made.append(build.text(text))
    return [*made, *images_of(row)]


def _payload_blocks(kind: str, value: Json) -> list[Json]:
    """What a row says in JSON: its words as text, an edit as code, all else as it is."""
    match value:
        case {"diff": str(diff), **rest}:
            path = rest.pop("path", None)
            made = [build.code(diff, language="diff", file_path=path if type(path) is str else None)]
        case {"response": str(words), **rest}:
            made = [build.text(words)]
        case _:
            made = [build.text(words) for words in value.values() if type(words) is str and len(words) >= LONG]
            rest = {name: one for name, one in value.items() if type(one) is not str or len(one) < LONG}
    rest = {name: one for name, one in rest.items() if _says_something(one)}
    return [*made, build.opaque(kind=kind, raw=rest)] if rest else made


def images_of(row: Row) -> list[Json]:
    images = row.raw.get("images")
    return [image_of_address(image) for image in images if type(image) is str] if type(images) is list else []


def _call(row: Row, call_id: str) -> Json:
    name = _CALLS[row.kind]
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
    """Every text in a JSON value, at any depth, also those in JSON that is written in a text; the last ones first."""
    found: list[str] = []
    stack = [value]
    while stack:
        value = stack.pop()
        kind = value.__class__
        if kind is str:
            found.append(value)
            if len(value) < _PARSED and value.startswith(('{"', '[{"')) and (inner := payload(value)) is not None:
                stack.append(inner)
        elif kind is dict:
            stack += value.values()
        elif kind is list:
            stack += value
    return found
