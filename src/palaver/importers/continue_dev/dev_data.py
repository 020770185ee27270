"""Events that Continue logs on the machine, line by line: what they tell of sessions, and what belongs to none."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from palaver.errors import PalaverError
from palaver.importers.continue_dev.content import without_thoughts
from palaver.importers.continue_dev.events import Event, record_of
from palaver.importers.continue_dev.fields import text_of
from palaver.importers.continue_dev.layout import EVENTS
from palaver.importers.continue_dev.prompts import call_mark, completion_text
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp
from palaver.sources.damage import NOT_AN_OBJECT, repair
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import UNREADABLE_SIDE_FILE

_LARGEST_HELD_BYTES = 1 << 26
_CHATS = frozenset({"chatInteraction", "chatFeedback"})
_BASE = frozenset(
    {"timestamp", "userId", "userAgent", "eventName", "schema", "sessionId", "prompt", "completion", "feedback"}
    | {"modelTitle", "modelProvider", "selectedProfileId"}
)
_TOLD = frozenset(
    {"timestamp", "userId", "userAgent", "eventName", "schema", "toolCallId", "functionName", "functionParams"}
    | {"toolCallArgs", "output", "selectedProfileId"}
)
"""What is told of a call already, by its message or by the session."""


class Ref(NamedTuple):
    """Where a line is, so that its prompt need not be in memory."""

    source: Source
    offset: int
    size: int
    mark: int
    """Tells the event from another on the same line."""
    value: JsonObject | None = None
    """The line itself, where it cannot be read again as it stands."""

    def load(self) -> JsonObject:
        if self.value is not None:
            return self.value
        try:
            is_plain = self.source.is_plain_file()
            with self.source.open(self.offset if is_plain else 0) as stream:
                if not is_plain:
                    _pass_over(stream, self.offset)
                raw = stream.read(self.size)
        except (PalaverError, OSError):
            return {}
        rows = [unwrapped(value)[1] for value in repair(raw).values if isinstance(value, dict)]
        return next((row for row in rows if _mark(row) == self.mark), {})


class Interaction(NamedTuple):
    """A call of the model within a session, or what the user thought of one."""

    time: str
    exact: int
    """Tells its prompt and its completion from others."""
    agent: str
    title: str
    is_feedback: bool
    """Whether it was logged for the user's thumb, some time after the answer."""
    feedback: bool | None
    facts: JsonObject
    ref: Ref


class ToolUse(NamedTuple):
    """A call of a tool, by whomever."""

    time: str
    agent: str
    facts: JsonObject
    """Whether it was allowed, and whether it went well."""
    output: int
    """Tells what came back from other results."""
    ref: Ref


class DevData:
    """What the events tell of sessions."""

    def __init__(self) -> None:
        self.interactions: dict[str, list[Interaction]] = {}
        self.tool_uses: dict[str, list[ToolUse]] = {}

    def read(self, files: Iterable[Source], run: Run, *, joins_only: bool = False) -> Iterator[JsonObject]:
        """Take in the events; those that belong to no session are handed out as conversations or as usage records."""
        for file in files:
            label = "/".join(file.name.split("/")[-2:])
            try:
                is_held = _is_held(file)
                with file.open() as stream:
                    lines = JsonLines(stream, run, label=label)
                    for value in lines:
                        if not isinstance(value, dict):
                            run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
                            continue
                        name, row = name_and_row(value, file)
                        event = Event(name, row, file, lines, readable_timestamp(row.get("timestamp")))
                        if not self._take(event, is_held=is_held) and not joins_only:
                            yield from _handed_out(event, run)
            except (PalaverError, OSError) as error:
                run.note(UNREADABLE_SIDE_FILE, file.name, str(error), kept=False)

    def _take(self, event: Event, *, is_held: bool) -> bool:
        """Take an event in if it is about a session or a call of a tool."""
        name, row = event.name, event.row
        has_words = name in _CHATS and bool(text_of(row, "prompt") or text_of(row, "completion"))
        if has_words and (session_id := text_of(row, "sessionId")):
            self.interactions.setdefault(session_id, []).append(_interaction(event, _ref(event, is_held=is_held)))
            return True
        if name == "toolUsage" and (call_id := text_of(row, "toolCallId")):
            use = ToolUse(
                event.time,
                text_of(row, "userAgent"),
                {field: value for field, value in row.items() if field not in _TOLD and value is not None},
                hash(output_text(row.get("output"))),
                _ref(event, is_held=is_held),
            )
            self.tool_uses.setdefault(call_id, []).append(use)
            return True
        return False


def _handed_out(event: Event, run: Run) -> Iterator[JsonObject]:
    document, usage = record_of(event, run)
    run.mapped()
    if usage is not None:
        run.used(usage)
    if document is not None:
        yield document


def words_of(completion: str) -> str:
    """What the model said in the end, without its thoughts."""
    return without_thoughts(completion_text(completion)).said.strip()


def output_text(output: Any) -> str | None:
    """The text of a tool's output, as its message has it; None where it is not a list of texts."""
    if not isinstance(output, list):
        return None
    texts: list[str] = []
    for one in output:
        match one:
            case {"content": str(text)}:
                texts.append(text)
            case _:
                return None
    return "\n\n".join(texts)


def name_and_row(value: JsonObject, file: Source) -> tuple[str, JsonObject]:
    """The event's name, by its own word or else by the file's, and its fields."""
    name, row = unwrapped(value)
    return name or EVENTS.get(file.stem, file.stem), row


def unwrapped(value: JsonObject) -> tuple[str, JsonObject]:
    """An event, also of a file that another program got them sent to."""
    match value:
        case {"name": str(name), "data": dict(data), "schema": _, **around}:
            return text_of(data, "eventName") or name, {**around, **data}
        case _:
            return text_of(value, "eventName"), value


def _interaction(event: Event, ref: Ref) -> Interaction:
    row = event.row
    prompt, completion = text_of(row, "prompt"), text_of(row, "completion")
    feedback = row.get("feedback")
    return Interaction(
        event.time,
        call_mark(prompt, completion),
        text_of(row, "userAgent"),
        text_of(row, "modelTitle") or text_of(row, "modelName"),
        event.name == "chatFeedback",
        feedback if isinstance(feedback, bool) else None,
        {field: value for field, value in row.items() if field not in _BASE and value is not None},
        ref,
    )


def _is_held(file: Source) -> bool:
    """Whether the lines of a file stay in memory: it cannot be read once more from the middle, and is not large."""
    return not (file.can_move and (file.is_plain_file() or file.size_bytes > _LARGEST_HELD_BYTES))


def _ref(event: Event, *, is_held: bool) -> Ref:
    lines = event.lines
    raw = lines.raw
    is_whole = raw.startswith(b"{") and raw.endswith((b"}", b"}\r"))
    return Ref(event.file, lines.offset, len(raw), _mark(event.row), None if is_whole and not is_held else event.row)


def _mark(row: JsonObject) -> int:
    return hash((call_mark(text_of(row, "prompt"), text_of(row, "completion")), text_of(row, "toolCallId")))


def _pass_over(stream: Any, size: int) -> None:
    while size > 0 and (piece := stream.read(min(size, 1 << 20))):
        size -= len(piece)
