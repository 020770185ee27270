"""Output for UI rows that the API history does not contain: messages of their own, or parts of an answer."""

from collections.abc import Iterable

from palaver.importers._cline_family.history_search import USAGE_TOTALS, HistoryWindow
from palaver.importers._cline_family.requests import Request, cost_of, parse_json_text
from palaver.importers._cline_family.task import Task, keep_unmapped, time_of
from palaver.importers._cline_family.ui_rows import (
    CALL_TOOLS,
    CHECKPOINTS,
    LONG_TEXT,
    MODEL_TEXT_KINDS,
    REASONING,
    REQUEST,
    Row,
    blocks_of,
    images_of,
    parse_foreign_row,
    texts_in,
)
from palaver.importers._cline_family.user_text import is_sent_form, may_be_rewritten
from palaver.importers._cline_family.user_turns import UserTurn
from palaver.model import build
from palaver.model.build import JsonObject

_ROLES: dict[str, build.Role] = {"human": "user", "model": "assistant", "tool": "user", "harness": "system"}
_ENVIRONMENT = "<environment_details>"


class RowWriter:
    """Writes rows one by one; the last message stays open, since the next row may continue it."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.window = HistoryWindow()
        self.paired: set[int] = set()
        """Positions of requests that have an answer in the history."""
        self.consumed: set[int] = set()
        """Positions of rows used elsewhere."""
        self._answer: JsonObject | None = None
        self._reasoning: list[JsonObject] = []
        """Blocks to insert before the content of the answer."""
        self._calls: list[JsonObject] = []
        """Calls of the answer."""
        self._call_rows = 0
        """Number of rows of the turn that show a call."""
        self._open_message: JsonObject | None = None
        """The last message, while the next row may continue it."""
        self._growing_field: tuple[JsonObject, str] | None = None
        """The block and field whose text is collected in `_pieces`."""
        self._pieces: list[str] = []
        self._unassigned_request: Request | None = None
        """An unmatched request whose usage belongs to no message yet."""
        self._call_id = ""
        self._human_texts: set[str] = set()
        """User texts already written from rows."""
        self._rewritten: list[str] = []
        """User texts that the history words differently, until their messages are found."""

    def begin_turn(self, answer: JsonObject) -> None:
        self._answer, self._call_rows, self._call_id = answer, 0, ""
        self._calls = self.window.begin_turn(answer)

    def end_turn(self) -> None:
        if self._answer is not None and self._reasoning:
            self._answer["content"][:0] = self._reasoning
            self._reasoning = []
        self._answer, self._calls = None, []
        self.window.end_turn()

    def flush_text(self) -> None:
        """Store the collected text in its block."""
        if self._growing_field is not None:
            block, name = self._growing_field
            block[name] = "".join(self._pieces)
            self._growing_field = None

    def write(self, row: Row) -> bool:
        """Write a row that is not a text of the answer; return False if it is folded."""
        kind = row.kind
        if not kind:
            return self._write_foreign(row)
        if kind in CHECKPOINTS or row.position in self.consumed:
            return False
        if not row.is_plain and isinstance((details := row.raw.get("contextCondense")), dict):
            return self._write_summary(row, details)
        is_text = row.value is None and row.speaker == "model" and kind not in MODEL_TEXT_KINDS
        if is_text and self.window.is_answer(row.text, row.raw):
            return False
        if kind in CALL_TOOLS:
            return self._write_call(row)
        if self.window.has_row(row):
            if row.speaker == "human" and self.window.is_rewritten(row.text):
                self._rewritten.append(row.text.strip())
            return False
        if kind == REASONING and self._answer is not None:
            self._reasoning.append(build.thinking(row.text))
            return True
        return self._write_message(row)

    def restore_typed(self, messages: Iterable[JsonObject]) -> None:
        """Let messages show what the user typed; what the model got instead goes to `sent_as`."""
        for message in messages if self._rewritten else ():
            if message["metadata"]["author_kind"] != "human":
                continue
            for block in message["content"]:
                if block["type"] != "text":
                    continue
                sent = block["text"]
                typed = next((typed for typed in self._rewritten if is_sent_form(sent.strip(), typed)), None)
                if typed is not None:
                    block["text"] = typed
                    message["metadata"].setdefault("sent_as", []).append(sent)
                    self._rewritten.remove(typed)

    def write_request(self, request: Request, raw: JsonObject) -> bool:
        """Write a request; return False if it is matched, since its answer carries its details."""
        self.flush_request()
        self._open_message, self._call_id = None, ""
        is_paired = request.position in self.paired
        prompt = request.details.pop("request", None)
        if isinstance(prompt, str) and not self.window.has_request(prompt, is_paired=is_paired):
            self._write_prompt(Row(request.position, raw, REQUEST), prompt)
        if is_paired:
            return False
        if request.has_usage:
            self._unassigned_request = request
        else:
            self._write_unanswered(Row(request.position, raw, REQUEST), request)
        return True

    def _write_prompt(self, row: Row, prompt: str) -> None:
        """Write the prompt of a request that is missing from the history."""
        at = prompt.find(_ENVIRONMENT)
        blocks = [prompt] if at <= 0 else [prompt[:at].strip(), prompt[at:].strip()]
        blocks[0] = blocks[0].replace("] Result:\n\n", "] Result:\n", 1)
        turn = UserTurn(self._task, self._message_id(row))
        for message in turn.messages(list(blocks)):
            if all(self._is_written(block.get("text", "").strip()) for block in message["content"]):
                continue
            message["metadata"]["ui"] = row.kind
            self._task.add(message, row.time)

    def _is_written(self, text: str) -> bool:
        """Return whether a text of the user was written from a row, perhaps in the words that were typed."""
        return text in self._human_texts or any(
            may_be_rewritten(typed) and is_sent_form(text, typed) for typed in self._human_texts
        )

    def _write_unanswered(self, row: Row, request: Request) -> None:
        """Write a request without an answer as a system message."""
        details = request.details
        text = details.get("streamingFailedMessage")
        content = [build.text(text)] if isinstance(text, str) and text else [build.opaque(kind=row.kind, raw=details)]
        message = self._message(row, "system", "harness", content)
        for name in ("cancelReason", "streamingFailedMessage"):
            if details.get(name):
                message["metadata"][name] = details[name]
        self._task.add(message, row.time)

    def flush_request(self) -> None:
        """Write the usage of an answered request whose answer is lost."""
        if self._unassigned_request is None:
            return
        request, self._unassigned_request = self._unassigned_request, None
        message = build.message(
            message_id=f"{self._task.task_id}:ui:{request.position}:usage",
            role="system",
            timestamp="",
            content=[build.opaque(kind=REQUEST, raw=request.details)],
            metadata={"author_kind": "harness", "ui": REQUEST},
        )
        self._set_usage(message, request)
        self._open_message = None
        self._task.add(message, time_of(request.ts))

    def _set_usage(self, message: JsonObject, request: Request) -> None:
        if tokens := request.tokens(self._task.platform):
            message["tokens"] = tokens
        if cost := request.cost():
            message["cost"] = cost

    def _write_call(self, row: Row) -> bool:
        """Add new details to the matching call of the answer, or write the row as a message."""
        row_texts = row.texts() if row.is_plain else [*row.texts(), *texts_in(row.rest())]
        texts = [text for text in row_texts if len(text) >= LONG_TEXT and len(text.strip()) >= LONG_TEXT]
        new_texts = {text for text in texts if not self.window.has_text(text)}
        number, self._call_rows = self._call_rows, self._call_rows + 1
        if not (self._calls or (texts and not new_texts)) or not (row.is_plain or self.window.has_images(row)):
            return self._write_message(row)
        if new_texts:
            metadata = self._calls[min(number, len(self._calls) - 1)].setdefault("metadata", {})
            metadata.setdefault("ui", []).append(_new_fields(row, new_texts))
        return False

    def _write_summary(self, row: Row, details: JsonObject) -> bool:
        """Write a summary that is missing from the history."""
        text = details.get("summary")
        rest = {name: value for name, value in details.items() if name != "summary"}
        content = [build.text(text)] if isinstance(text, str) and text else [build.opaque(kind=row.kind, raw=details)]
        message = self._message(row, "system", "harness", content)
        message["metadata"] |= {"is_compact_summary": True, "contextCondense": rest}
        if cost := cost_of(details.get("cost")):
            message["cost"] = cost
        self._open_message = None
        self._task.add(message, row.time)
        if isinstance(text, str) and text:
            self._task.summaries.append(
                build.summary(
                    summary_id=message["message_id"], type="automatic", text=text, timestamp=message["timestamp"]
                )
            )
        return True

    def _write_message(self, row: Row) -> bool:
        """Write a row as a message, or append it to the open one."""
        is_result = row.is_result and bool(self._call_id)
        if is_result:
            content = [build.tool_result(tool_use_id=self._call_id, content=row.text), *images_of(row)]
        else:
            content = blocks_of(row, f"{self._message_id(row)}:call")
        if row.kind in CALL_TOOLS:
            call = next(block for block in content if block["type"] == "tool_use")
            self._call_id = call["id"]
            self._task.known_calls.add(self._call_id)
            self._task.calls.add(call["name"], self._call_id)
        elif row.speaker == "human":
            self._human_texts.add(row.text.strip())
        if not content:
            if not row.rest():
                return False
            content = [build.opaque(kind=row.kind, raw=row.rest())]
        author = "harness" if row.is_result and not self._call_id else row.speaker
        if self._continues_message(row, author):
            self._extend_message(content)
            return True
        message = self._message(row, _ROLES[author], author, content)
        if author == "model":
            match row.raw.get("modelInfo"):
                case {"modelId": str(model)} if model:
                    pass
                case _:
                    model = self._task.turn_model
            if model:
                message["metadata"]["model_override"] = model
            if self._unassigned_request is not None:
                self._set_usage(message, self._unassigned_request)
                self._unassigned_request = None
        if row.kind in USAGE_TOTALS and isinstance((details := parse_json_text(row.raw.get("text"))), dict):
            self._set_usage(message, Request(row.position, 0, details))
        self._open_message = message
        self._task.add(message, row.time)
        return True

    def _continues_message(self, row: Row, author: str) -> bool:
        """Return whether a row continues the open message: an answer, or output of a command."""
        if self._open_message is None or not self._task.messages or self._task.messages[-1] is not self._open_message:
            return False
        metadata = self._open_message["metadata"]
        is_same = author in {"model", "tool"} or (row.is_result and metadata["ui"] == row.kind)
        return is_same and metadata["author_kind"] == author and not row.rest()

    def _extend_message(self, content: list[JsonObject]) -> None:
        if self._open_message is None:
            return
        content_so_far: list[JsonObject] = self._open_message["content"]
        for block in content:
            last = content_so_far[-1]
            if block["type"] == last["type"] == "tool_result" and block["tool_use_id"] == last["tool_use_id"]:
                self._append_text(last, "content", block["content"])
            elif block["type"] == last["type"] == "text" and self._open_message["metadata"]["author_kind"] == "harness":
                self._append_text(last, "text", block["text"])
            else:
                content_so_far.append(block)

    def _append_text(self, block: JsonObject, name: str, more: str) -> None:
        """Append a text to the one in a block, on a new line."""
        if self._growing_field is None or self._growing_field[0] is not block:
            self.flush_text()
            self._growing_field, self._pieces = (block, name), [block[name]]
        if not self._pieces[-1].endswith("\n"):
            self._pieces.append("\n")
        if more:
            self._pieces.append(more)

    def _write_foreign(self, row: Row) -> bool:
        found = parse_foreign_row(row.raw)
        texts = [block["text"] for block in found.content if block["type"] == "text"]
        if len(texts) == len(found.content) and all(map(self.window.history.has_anywhere, texts)):
            return False
        message = build.message(
            message_id=self._message_id(row),
            role=found.role,
            timestamp="",
            content=found.content,
            metadata={"author_kind": found.author},
        )
        keep_unmapped(message["metadata"], found.rest)
        self._open_message = None
        self._task.add(message, found.time)
        return True

    def _message(self, row: Row, role: build.Role, author: str, content: list[JsonObject]) -> JsonObject:
        metadata: JsonObject = {"author_kind": author, "ui": row.kind}
        keep_unmapped(metadata, row.rest())
        return build.message(
            message_id=self._message_id(row), role=role, timestamp="", content=content, metadata=metadata
        )

    def _message_id(self, row: Row) -> str:
        return f"{self._task.task_id}:ui:{row.position}"


def _new_fields(row: Row, new_texts: set[str]) -> JsonObject:
    """Return the fields of a call's row that contain one of the new texts."""
    fields = {name: value for name, value in row.raw.items() if name != "text"}
    if isinstance(row.value, dict):
        fields |= row.value
    found = {name: value for name, value in fields.items() if not new_texts.isdisjoint(texts_in(value))}
    return {"kind": row.kind, **found} if isinstance(row.value, dict) else {row.kind: row.text, **found}
