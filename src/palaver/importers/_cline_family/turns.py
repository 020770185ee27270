"""A user's turn in the API history: the results of tools, the person's words, and what the program added."""

from typing import Any

from palaver.importers._cline_family.blocks import block_of, result_content, with_rest
from palaver.importers._cline_family.environment import Environment, environment_in, is_environment
from palaver.importers._cline_family.results import Header, failed, header_of, may_tell, stated_status, subtask_of
from palaver.importers._cline_family.task import Task
from palaver.importers._cline_family.wrappers import Part, feedback_in, has_wrapper, parts
from palaver.importers._shared.findings import UNKNOWN_BLOCK
from palaver.model import build
from palaver.model.build import JsonObject

_REFUSED = frozenset({"error", "denied"})
_OF_RESULTS = frozenset({"type", "tool_use_id", "content"})


class UserTurn:
    """Sorts the blocks of one turn by who made them."""

    def __init__(self, task: Task, name: str) -> None:
        self._task = task
        self._name = name
        self._results: list[JsonObject] = []
        self._human: list[JsonObject] = []
        self._context: list[JsonObject] = []
        self._wrappers: list[str] = []
        self._fields: list[JsonObject] = []
        """What blocks of text say beside their text."""
        self._is_incomplete = False
        self._open: JsonObject | None = None
        """The result of text that images may still belong to."""
        self._waits = False
        """Whether that one's body is yet to come."""
        self.environment: Environment = {}

    def messages(self, raw: list[Any]) -> list[JsonObject]:
        """The messages of the turn, at least one."""
        is_marked: bool | None = None
        for one in raw:
            kind = one.get("type") if isinstance(one, dict) else None
            if kind == "tool_result":
                if self._open is not None:
                    self._end()
                self._results.append(self.native_result(one))
                continue
            text = one.get("text") if kind == "text" else one
            if not isinstance(text, str):
                self._add_other(kind, one)
                continue
            if text is not one and len(one) > 2:
                self._keep_fields(one)
            if is_environment(text):
                if self._open is not None:
                    self._end()
                self._add_environment(text)
            elif header := header_of(text, self._task.calls):
                self._begin(header)
            elif self._waits:
                self._body(text)
            else:
                self._end()
                if is_marked is None:
                    is_marked = any(map(self._is_mark, raw))
                self._add_text(text, is_marked=is_marked)
        return self._made()

    def _is_mark(self, raw: Any) -> bool:
        """Whether a block tells that no other text of its turn can be the person's: a result, words in a wrapper."""
        kind = raw.get("type") if isinstance(raw, dict) else None
        if kind == "tool_result":
            return True
        text = raw.get("text") if kind == "text" else raw
        if not isinstance(text, str) or is_environment(text):
            return False
        return header_of(text, self._task.calls) is not None or has_wrapper(text)

    def _keep_fields(self, raw: JsonObject) -> None:
        if fields := {key: value for key, value in raw.items() if key not in {"type", "text"} and value}:
            self._fields.append(fields)

    # -- results -----------------------------------------------------------------------------------------------------

    def native_result(self, raw: JsonObject) -> JsonObject:
        """A result that names its call."""
        stated = raw.get("tool_use_id")
        if isinstance(stated, str) and stated:
            call_id = stated
            self._task.calls.close(call_id)
            if call_id not in self._task.known_calls:
                self._is_incomplete = True
        else:
            call_id = self._call_of("")
        content, text = result_content(raw.get("content"))
        description = ""
        if header := header_of(_first_text(content), self._task.calls):
            description = header.description
            text = text[len(f"[{description}] Result:") :].removeprefix("\n")
            content = _without_header(content, header)
        block = build.tool_result(tool_use_id=call_id, content=content, is_error=raw.get("is_error") is True)
        self._judge(block, text, description)
        if _OF_RESULTS.issuperset(raw) and call_id is stated:
            return block
        taken = ["type", "content"]
        taken += ["is_error"] if isinstance(raw.get("is_error"), bool) else []
        taken += ["tool_use_id"] if call_id is stated else []
        return with_rest(block, raw, *taken)

    def _begin(self, header: Header) -> None:
        """A result of text begins; its body may be in the same block, or the next one."""
        self._end()
        self._open = build.tool_result(tool_use_id=self._call_of(header.name), content=header.body)
        self._open["metadata"] = {"description": header.description}
        self._waits = not header.body
        self._results.append(self._open)
        if header.body:
            self._judge(self._open, header.body, header.description)

    def _body(self, text: str) -> None:
        self._waits = False
        if self._open is not None:
            self._open["content"] = text
            self._judge(self._open, text, "")

    def _end(self) -> None:
        self._open = None
        self._waits = False

    def _call_of(self, name: str) -> str:
        call_id = self._task.calls.take(name)
        if call_id is None:
            self._is_incomplete = True
            return f"{self._name}:lost{len(self._results) + 1}"
        return call_id

    def _judge(self, block: JsonObject, text: str, description: str) -> None:
        """What a result says of itself: that it failed, which task it ended, what the person said to it."""
        about: JsonObject = {"description": description} if description else {}
        said = _judge_beginning(block, text, about) if may_tell(text) else ""
        if said:
            self._say(Part("human", said, "feedback"))
        elif spoken := feedback_in(text):
            self._say(spoken)
            self._open = None  # images that follow are the person's
        if about:
            block["metadata"] = {**block.get("metadata", {}), **about}

    # -- words -------------------------------------------------------------------------------------------------------

    def _add_text(self, text: str, *, is_marked: bool) -> None:
        found = parts(text, is_wrapped_elsewhere=is_marked)
        if len(found) == 1 and not found[0].wrapper:
            found = [found[0]._replace(text=text)]
        elif not found and text:
            self._context.append(build.text(text))
        for part in found:
            if part.author == "human":
                self._say(part)
            else:
                self._context.append(build.text(part.text))

    def _say(self, part: Part) -> None:
        self._human.append(build.text(part.text))
        if part.wrapper and part.wrapper not in self._wrappers:
            self._wrappers.append(part.wrapper)

    def _add_environment(self, text: str) -> None:
        self._context.append(build.text(text))
        self.environment = environment_in(text)
        self._task.note_environment(self.environment)

    def _add_other(self, kind: Any, raw: Any) -> None:
        if kind != "image" and kind != "document":  # noqa: PLR1714 - it may be anything
            self._end()
            self._context.append(self._unknown(raw))
            return
        block = block_of(raw)
        if block["type"] == "opaque":
            self._context.append(self._unknown(raw))
        elif self._open is None:
            self._human.append(block)
        else:
            content = self._open["content"]
            if isinstance(content, str):
                content = self._open["content"] = [build.text(content)] if content else []
            content.append(block)

    def _unknown(self, raw: Any) -> JsonObject:
        made = block_of(raw)
        if made["type"] == "opaque":
            self._task.run.note(UNKNOWN_BLOCK, self._name, f"block {made['kind']!r:.80}")
        return made

    # -- messages ----------------------------------------------------------------------------------------------------

    def _made(self) -> list[JsonObject]:
        found: list[JsonObject] = []
        if self._results:
            metadata: JsonObject = {"author_kind": "tool"}
            if self._is_incomplete:
                metadata["context_incomplete"] = True
            found.append(self._message(":result", self._results, metadata))
        if self._human:
            metadata = {"author_kind": "human"}
            if self._wrappers:
                metadata["wrapper"] = self._wrappers[0] if len(self._wrappers) == 1 else self._wrappers
            found.append(self._message("", self._human, metadata))
        if self._context or not found:
            metadata = {"author_kind": "harness"}
            if self.environment:
                metadata["environment"] = self.environment
            found.append(self._message(":context", self._context or [build.text("")], metadata))
        if self._fields:
            found[0]["metadata"]["source_fields"] = {"blocks": self._fields}
        return found

    def _message(self, suffix: str, content: list[JsonObject], metadata: JsonObject) -> JsonObject:
        return {
            "message_id": self._name + suffix,
            "role": "user",
            "timestamp": "",
            "content": content,
            "metadata": metadata,
        }


def _judge_beginning(block: JsonObject, text: str, about: JsonObject) -> str:
    """Note what a result says of itself where it begins; the person's words in it are returned."""
    status, said = stated_status(text)
    if status:
        about["status"] = status
    if status in _REFUSED or failed(text):
        block["is_error"] = True
    if subtask := subtask_of(text):
        about["subtask_id"] = subtask
    return said


def _first_text(content: str | list[JsonObject]) -> str:
    """The text that a result begins with."""
    if isinstance(content, str):
        return content
    first = content[0] if content else {}
    return first["text"] if first.get("type") == "text" else ""


def _without_header(content: str | list[JsonObject], header: Header) -> str | list[JsonObject]:
    """The content without the words that it begins with."""
    if isinstance(content, str):
        return header.body
    rest = list(content[1:])
    return ([{**content[0], "text": header.body}, *rest] if header.body else rest) or ""
