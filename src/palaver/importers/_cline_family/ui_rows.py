"""One row of the interface: who made it, what it says, and the blocks that it becomes where nothing else says it."""

from typing import Any, Literal

from palaver.importers._cline_family.blocks import image_of_address
from palaver.importers._cline_family.requests import payload
from palaver.importers._cline_family.task import time_of
from palaver.model import build
from palaver.model.build import JsonObject

Speaker = Literal["human", "model", "tool", "harness"]

LONG = 40
"""A line of this length says something of its own."""
_PARSED = 1 << 16
"""JSON in a text that is longer is a file that a tool read."""
REQUEST = "api_req_started"
REASONING = "reasoning"
TASK_KINDS = frozenset({"text", "task"})

_HUMAN = frozenset({"user_feedback", "user_feedback_diff", "user_edit_todos"})
SPOKEN = frozenset({"text", "completion_result", "plan_completion_result", REASONING})
"""Words of the model, and nothing else."""
CALLS = {
    "tool": "",
    "command": "execute_command",
    "use_mcp_server": "use_mcp_tool",
    "followup": "ask_followup_question",
    "browser_action_launch": "browser_action",
    "browser_action": "browser_action",
    "use_subagents": "use_subagents",
    "new_task": "new_task",
}
"""The tool that is called, by the kind of a row."""
OUTPUT = "command_output"
_RESULTS = frozenset(
    {OUTPUT, "mcp_server_response", "browser_action_result", "subtask_result", "codebase_search_result"}
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
OF_PLAIN_ROWS = _TOLD - {"images", "reasoning"}


class Row:
    """A row that is looked at closely."""

    __slots__ = ("is_plain", "kind", "position", "raw", "speaker", "text", "value")

    def __init__(self, position: int, raw: JsonObject, kind: str, *, is_first: bool = False) -> None:
        self.position = position
        self.raw = raw
        self.kind = kind
        """The word behind `ask` or `say`; empty for a row of another shape."""
        self.speaker, has_json = _KINDS.get(kind, _OF_THE_PROGRAM)
        if is_first:
            self.speaker, has_json = "human", False
        self.text = text_of(raw, kind)
        self.value = payload(self.text) if has_json else None
        """Its text as JSON, where it is; else None."""
        self.is_plain = OF_PLAIN_ROWS.issuperset(raw)
        """Whether there is nothing to it but its text."""

    @property
    def time(self) -> str:
        return time_of(self.raw.get("ts"))

    @property
    def is_result(self) -> bool:
        return self.kind in _RESULTS

    def texts(self) -> list[str]:
        """Its text, or every text in it where it is JSON, and its reasoning."""
        found = [self.text]
        if self.value is not None:
            found = texts_in(self.value)
            found += inner_texts(found)
        if isinstance((thought := self.raw.get("reasoning")), str):
            found.append(thought)
        return found

    def rest(self) -> JsonObject:
        """The fields that a message of its own keeps."""
        return {name: value for name, value in self.raw.items() if name not in _TOLD and _says_something(value)}


def _says_something(value: Any) -> bool:
    return value is not False and value not in (None, "", [], {})


def text_of(raw: JsonObject, kind: str) -> str:
    text = raw.get("text")
    if not isinstance(text, str):
        return ""
    return text.removesuffix(_CHANGED) if kind == "completion_result" else text


def speaker_of(kind: str) -> Speaker:
    return _KINDS.get(kind, _OF_THE_PROGRAM)[0]


_OF_THE_PROGRAM: tuple[Speaker, bool] = ("harness", True)
_KINDS: dict[str, tuple[Speaker, bool]] = {
    **dict.fromkeys(_RESULTS, ("tool", False)),
    **dict.fromkeys(SPOKEN, ("model", False)),
    **dict.fromkeys(_HUMAN, ("human", False)),
    **dict.fromkeys((*CALLS, "plan_mode_respond", "act_mode_respond"), ("model", True)),
    "user_feedback_diff": ("human", True),
    "browser_action_result": ("tool", True),
    REQUEST: ("harness", False),
}
"""Who made a row of a kind, and whether its text may be JSON; all others are the program's."""


def blocks_of(row: Row, call_id: str) -> list[JsonObject]:
    """The blocks of a row that is no result; none where it says nothing."""
    made: list[JsonObject] = []
    if isinstance((thought := row.raw.get("reasoning")), str) and thought:
        made.append(build.thinking(thought))
    text = row.text
    if row.kind in CALLS:
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
    """What a row says in JSON: its words as text, an edit as code, all else as it is."""
    match value:
        case {"diff": str(diff), **rest}:
            path = rest.pop("path", None)
            made = [build.code(diff, language="diff", file_path=path if isinstance(path, str) else None)]
        case {"response": str(words), **rest}:
            made = [build.text(words)]
        case _:
            made = [build.text(words) for words in value.values() if isinstance(words, str) and len(words) >= LONG]
            rest = {name: one for name, one in value.items() if not isinstance(one, str) or len(one) < LONG}
    rest = {name: one for name, one in rest.items() if _says_something(one)}
    return [*made, build.opaque(kind=kind, raw=rest)] if rest else made


def images_of(row: Row) -> list[JsonObject]:
    images = row.raw.get("images")
    return [image_of_address(image) for image in images if isinstance(image, str)] if isinstance(images, list) else []


def _call(row: Row, call_id: str) -> JsonObject:
    name = CALLS[row.kind]
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
    """Every text in a JSON value, at any depth, the last ones first."""
    found: list[str] = []
    stack = [value]
    while stack:
        value = stack.pop()
        kind = value.__class__
        if kind is str:
            found.append(value)
        elif kind is dict:
            stack += value.values()
        elif kind is list:
            stack += value
    return found


def inner_texts(texts: list[str]) -> list[str]:
    """The texts in JSON that is written in some texts, at any depth."""
    found: list[str] = []
    for text in texts:
        if text.startswith(('{"', '[{"')) and len(text) < _PARSED and (value := payload(text)) is not None:
            inner = texts_in(value)
            found += [*inner, *inner_texts(inner)]
    return found
