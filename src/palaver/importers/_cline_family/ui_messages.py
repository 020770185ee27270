"""Rows of the interface that say what nothing else says, as messages of their own or as parts of an answer."""

from palaver.importers._cline_family.foreign_rows import foreign_of
from palaver.importers._cline_family.nearby import SUMS, Nearby
from palaver.importers._cline_family.requests import Request, cost_of, payload
from palaver.importers._cline_family.task import Task, keep_rest, time_of
from palaver.importers._cline_family.turns import UserTurn
from palaver.importers._cline_family.ui_rows import (
    CALLS,
    CHECKPOINTS,
    LONG,
    REASONING,
    REQUEST,
    SPOKEN,
    Row,
    blocks_of,
    images_of,
    texts_in,
)
from palaver.model import build
from palaver.model.build import JsonObject

_ROLES: dict[str, build.Role] = {"human": "user", "model": "assistant", "tool": "user", "harness": "system"}
_ENVIRONMENT = "<environment_details>"


class Teller:
    """Tells rows one by one; what it is told last may still be joined with the next."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.nearby = Nearby()
        self.paired: set[int] = set()
        """Rows of requests that have an answer there."""
        self.told: set[int] = set()
        """Rows that something else was made of."""
        self._answer: JsonObject | None = None
        self._thoughts: list[JsonObject] = []
        """What goes before everything else in the answer."""
        self._calls: list[JsonObject] = []
        """Those of the answer."""
        self._told_calls = 0
        self._joined: JsonObject | None = None
        """The last message, as long as the next row may be part of it."""
        self._growing: tuple[JsonObject, str] | None = None
        """A block, and the field of it that `_pieces` are the text of."""
        self._pieces: list[str] = []
        self._unspent: Request | None = None
        """A request whose tokens are no message's yet."""
        self._call_id = ""
        self._said: set[str] = set()
        """What the person said, as far as rows told it."""

    def begin_turn(self, answer: JsonObject) -> None:
        self._answer, self._told_calls, self._call_id = answer, 0, ""
        self._calls = self.nearby.begin_turn(answer)

    def end_turn(self) -> None:
        if self._answer is not None and self._thoughts:
            self._answer["content"][:0] = self._thoughts
            self._thoughts = []
        self._answer, self._calls = None, []
        self.nearby.end_turn()

    def settle(self) -> None:
        """Write down what has grown so far."""
        if self._growing is not None:
            block, name = self._growing
            block[name] = "".join(self._pieces)
            self._growing = None

    def tell(self, row: Row) -> bool:
        """Tell a row that is no text of the answer; false where it is folded, since something else says the same."""
        kind = row.kind
        if not kind:
            return self._tell_foreign(row)
        if kind in CHECKPOINTS or row.position in self.told:
            return False
        if not row.is_plain and isinstance((about := row.raw.get("contextCondense")), dict):
            return self._tell_summary(row, about)
        is_text = row.value is None and row.speaker == "model" and kind not in SPOKEN
        if is_text and self.nearby.is_answer(row.text, row.raw):
            return False
        if kind in CALLS:
            return self._tell_call(row)
        if self.nearby.says(row):
            return False
        if kind == REASONING and self._answer is not None:
            self._thoughts.append(build.thinking(row.text))
            return True
        return self._tell_new(row)

    # -- requests -----------------------------------------------------------------------------------------------------

    def tell_request(self, request: Request, raw: JsonObject) -> bool:
        """Tell a request; false where its answer has all that is to say of it."""
        self.spend()
        self._joined, self._call_id = None, ""
        is_paired = request.position in self.paired
        asked = request.facts.pop("request", None)
        if isinstance(asked, str) and not self.nearby.says_request(asked, is_paired=is_paired):
            self._tell_asked(Row(request.position, raw, REQUEST), asked)
        if is_paired:
            return False
        if request.is_alive:
            self._unspent = request
        else:
            self._tell_event(Row(request.position, raw, REQUEST), request)
        return True

    def _tell_asked(self, row: Row, asked: str) -> None:
        """What was sent with a request, where the history lost it."""
        at = asked.find(_ENVIRONMENT)
        blocks = [asked] if at <= 0 else [asked[:at].strip(), asked[at:].strip()]
        blocks[0] = blocks[0].replace("] Result:\n\n", "] Result:\n", 1)
        turn = UserTurn(self._task, self._name(row))
        for message in turn.messages(list(blocks)):
            if all(block.get("text", "").strip() in self._said for block in message["content"]):
                continue
            message["metadata"]["ui"] = row.kind
            self._task.add(message, row.time)

    def _tell_event(self, row: Row, request: Request) -> None:
        """A request that got no answer."""
        facts = request.facts
        words = facts.get("streamingFailedMessage")
        content = [build.text(words)] if isinstance(words, str) and words else [build.opaque(kind=row.kind, raw=facts)]
        message = self._message(row, "system", "harness", content)
        for name in ("cancelReason", "streamingFailedMessage"):
            if facts.get(name):
                message["metadata"][name] = facts[name]
        self._task.add(message, row.time)

    def spend(self) -> None:
        """Tell of a request that was answered, although no answer is left."""
        if self._unspent is None:
            return
        request, self._unspent = self._unspent, None
        message = build.message(
            message_id=f"{self._task.task_id}:ui:{request.position}:usage",
            role="system",
            timestamp="",
            content=[build.opaque(kind=REQUEST, raw=request.facts)],
            metadata={"author_kind": "harness", "ui": REQUEST},
        )
        self._charge(message, request)
        self._joined = None
        self._task.add(message, time_of(request.ts))

    def _charge(self, message: JsonObject, request: Request) -> None:
        if tokens := request.tokens(self._task.platform):
            message["tokens"] = tokens
        if cost := request.cost():
            message["cost"] = cost

    # -- other rows ---------------------------------------------------------------------------------------------------

    def _tell_call(self, row: Row) -> bool:
        told = row.texts() if row.is_plain else [*row.texts(), *texts_in(row.rest())]
        texts = [text for text in told if len(text) >= LONG and len(text.strip()) >= LONG]
        fresh = {text for text in texts if not self.nearby.has_near(text)}
        number, self._told_calls = self._told_calls, self._told_calls + 1
        if not (self._calls or (texts and not fresh)) or not (row.is_plain or self.nearby.has_images(row)):
            return self._tell_new(row)
        if fresh:
            about = self._calls[min(number, len(self._calls) - 1)].setdefault("metadata", {})
            about.setdefault("ui", []).append(_fresh_part(row, fresh))
        return False

    def _tell_summary(self, row: Row, about: JsonObject) -> bool:
        """A summary of which the history has nothing."""
        words = about.get("summary")
        rest = {name: value for name, value in about.items() if name != "summary"}
        content = [build.text(words)] if isinstance(words, str) and words else [build.opaque(kind=row.kind, raw=about)]
        message = self._message(row, "system", "harness", content)
        message["metadata"] |= {"is_compact_summary": True, "contextCondense": rest}
        if cost := cost_of(about.get("cost")):
            message["cost"] = cost
        self._joined = None
        self._task.add(message, row.time)
        if isinstance(words, str) and words:
            self._task.summaries.append(
                build.summary(
                    summary_id=message["message_id"], type="automatic", text=words, timestamp=message["timestamp"]
                )
            )
        return True

    def _tell_new(self, row: Row) -> bool:
        """A row as a message of its own, or as a part of the one before it of the same turn."""
        is_result = row.is_result and bool(self._call_id)
        if is_result:
            content = [build.tool_result(tool_use_id=self._call_id, content=row.text), *images_of(row)]
        else:
            content = blocks_of(row, f"{self._name(row)}:call")
        if row.kind in CALLS:
            call = next(block for block in content if block["type"] == "tool_use")
            self._call_id = call["id"]
            self._task.known_calls.add(self._call_id)
            self._task.calls.add(call["name"], self._call_id)
        elif row.speaker == "human":
            self._said.add(row.text.strip())
        if not content:
            if not row.rest():
                return False
            content = [build.opaque(kind=row.kind, raw=row.rest())]
        author = "harness" if row.is_result and not self._call_id else row.speaker
        if self._is_continued(row, author):
            self._join(content)
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
            if self._unspent is not None:
                self._charge(message, self._unspent)
                self._unspent = None
        if row.kind in SUMS and isinstance((facts := payload(row.raw.get("text"))), dict):
            self._charge(message, Request(row.position, 0, facts))
        self._joined = message
        self._task.add(message, row.time)
        return True

    def _is_continued(self, row: Row, author: str) -> bool:
        """Whether a row goes on with the message before: an answer, or what a command wrote."""
        if self._joined is None or not self._task.messages or self._task.messages[-1] is not self._joined:
            return False
        about = self._joined["metadata"]
        is_same = author in {"model", "tool"} or (row.is_result and about["ui"] == row.kind)
        return is_same and about["author_kind"] == author and not row.rest()

    def _join(self, content: list[JsonObject]) -> None:
        if self._joined is None:
            return
        held: list[JsonObject] = self._joined["content"]
        for block in content:
            last = held[-1]
            if block["type"] == last["type"] == "tool_result" and block["tool_use_id"] == last["tool_use_id"]:
                self._grow(last, "content", block["content"])
            elif block["type"] == last["type"] == "text" and self._joined["metadata"]["author_kind"] == "harness":
                self._grow(last, "text", block["text"])
            else:
                held.append(block)

    def _grow(self, block: JsonObject, name: str, more: str) -> None:
        """Put a text behind the one in a block, on a line of its own."""
        if self._growing is None or self._growing[0] is not block:
            self.settle()
            self._growing, self._pieces = (block, name), [block[name]]
        if not self._pieces[-1].endswith("\n"):
            self._pieces.append("\n")
        if more:
            self._pieces.append(more)

    def _tell_foreign(self, row: Row) -> bool:
        found = foreign_of(row.raw)
        texts = [block["text"] for block in found.content if block["type"] == "text"]
        if len(texts) == len(found.content) and all(map(self.nearby.known.has_anywhere, texts)):
            return False
        message = build.message(
            message_id=self._name(row),
            role=found.role,
            timestamp="",
            content=found.content,
            metadata={"author_kind": found.author},
        )
        keep_rest(message["metadata"], found.rest)
        self._joined = None
        self._task.add(message, found.time)
        return True

    def _message(self, row: Row, role: build.Role, author: str, content: list[JsonObject]) -> JsonObject:
        metadata: JsonObject = {"author_kind": author, "ui": row.kind}
        keep_rest(metadata, row.rest())
        return build.message(message_id=self._name(row), role=role, timestamp="", content=content, metadata=metadata)

    def _name(self, row: Row) -> str:
        return f"{self._task.task_id}:ui:{row.position}"


def _fresh_part(row: Row, fresh: set[str]) -> JsonObject:
    """Of what a row says about a call, the fields that say something new."""
    told = {name: value for name, value in row.raw.items() if name != "text"}
    if isinstance(row.value, dict):
        told |= row.value
    found = {name: value for name, value in told.items() if not fresh.isdisjoint(texts_in(value))}
    return {"kind": row.kind, **found} if isinstance(row.value, dict) else {row.kind: row.text, **found}
