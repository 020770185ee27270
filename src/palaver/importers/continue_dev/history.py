"""The items of a session's history as messages: thoughts and empty beginnings join the answer that follows them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from palaver.importers._shared.findings import MADE_CALL_ID, MADE_MESSAGE_ID
from palaver.importers.continue_dev.answers import answer_blocks, is_placeholder, thoughts_of
from palaver.importers.continue_dev.content import content_blocks, texts_in
from palaver.importers.continue_dev.context_items import Providers, attachment, mentions
from palaver.importers.continue_dev.editor_state import nodes_of, says_more
from palaver.importers.continue_dev.fields import add_fields, kept, text_of
from palaver.importers.continue_dev.open_calls import OpenCalls
from palaver.importers.continue_dev.tokens import tokens_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.timestamps import readable_timestamp

Note = Callable[[FindingKind, str, str], None]
"""Told of a finding, with the place in the session, and words where its meaning does not suffice."""

_AUTHORS = {"user": "human", "assistant": "model", "system": "harness", "tool": "tool", "function": "tool"}
_ITEM = frozenset(
    {"message", "contextItems", "editorState", "promptLogs", "toolCallStates", "toolCallState", "reasoning"}
    | {"appliedRules", "conversationSummary"}
)
_SETTLED = _ITEM | {"isGatheringContext"}
_MESSAGE = frozenset({"id", "role", "content", "toolCalls", "toolCallId", "usage"})


class Item(NamedTuple):
    place: int
    """Where in the history it stands."""
    around: JsonObject
    """All but the message."""
    message: JsonObject

    @property
    def role(self) -> str:
        return text_of(self.message, "role")

    @property
    def has_calls(self) -> bool:
        return bool(self.message.get("toolCalls")) or not self.around.keys().isdisjoint(
            {"toolCallStates", "toolCallState"}
        )


class History:
    """Makes messages of items, and gathers what they say about the whole conversation."""

    def __init__(self, session_id: str, note: Note) -> None:
        self.session_id = session_id
        self.messages: list[JsonObject] = []
        self.of_item: dict[int, JsonObject] = {}
        """The message that each item went into."""
        self.logs: list[tuple[int, Any]] = []
        """The prompt logs, by item."""
        self.calls = OpenCalls(session_id)
        self.linked: set[str] = set()
        """Messages that do not simply follow the one before them: their parents are known."""
        self.times: dict[str, str] = {}
        """The times that are known, by message."""
        self.last_time = ""
        self.summaries: list[tuple[JsonObject, str]] = []
        """Messages at which everything before was summarized, with the summaries."""
        self.providers = Providers()
        self.rules: dict[str, Any] = {}
        self.mapped = 0
        self.folded = 0
        self._note = note
        self._ids: set[str] = set()
        self._pending: list[tuple[Item, list[build.Block], JsonObject]] = []
        """Thoughts, and answers that nothing came of yet: part of the next answer if there is one."""
        self._lacks_ids = False

    def add(self, items: list[tuple[int, Any]]) -> None:
        """Take in items in a row, up to the end of a turn."""
        self.calls.expect(items)
        for place, item in items:
            self._add(place, item)
        self._flush()

    def free_id(self, wanted: str) -> str:
        """An id of our own making that no message has."""
        name = full = f"{self.session_id}:{wanted}"
        number = 1
        while name in self._ids:
            number += 1
            name = f"{full}-{number}"
        self._ids.add(name)
        return name

    def _add(self, place: int, value: Any) -> None:
        match value:
            case {"message": dict(message), **around}:
                item = Item(place, around, message)
            case {"role": str()}:
                item = Item(place, {}, value)
            case _:
                self._flush()
                self._append(Item(place, {}, {}), "system", [build.opaque(kind="history_item", raw=value)], {})
                return
        role = item.role
        if role == "thinking" and not item.has_calls:
            self._pending.append((item, *thoughts_of(item.around, item.message)))
        elif role == "assistant" and is_placeholder(item.around, item.message):
            self._pending.append((item, [], {}))
        elif role in {"assistant", "thinking"}:
            self._add_answer(item)
        else:
            self._flush(keeps_calls=role == "tool")
            self._add_other(item, role)

    def _add_answer(self, item: Item) -> None:
        self._finish_calls()
        pending, self._pending = self._pending, []
        metadata: JsonObject = {}
        blocks = [block for _, thoughts, _ in pending for block in thoughts]
        about = [one for _, _, one in pending if one]
        if item.role == "thinking":
            thoughts, one = thoughts_of(item.around, item.message)
            blocks += thoughts
            about += [one] if one else []
        else:
            blocks += answer_blocks(item.around, item.message, blocks)
        if about:
            metadata["thinking_items"] = about
        made = self._append(item, "assistant", blocks, metadata, before=[one for one, _, _ in pending])
        if self.calls.add(item.around, item.message, made):
            self._note(MADE_CALL_ID, made["message_id"], "")

    def _flush(self, *, keeps_calls: bool = False) -> None:
        """The end of a turn: thoughts and empty answers that nothing followed are an answer of their own."""
        if self._pending:
            pending, self._pending = self._pending, []
            blocks = [block for _, thoughts, _ in pending for block in thoughts]
            about = [one for _, _, one in pending if one]
            *before, last = [item for item, _, _ in pending]
            self._finish_calls()
            self._append(last, "assistant", blocks, {"thinking_items": about} if about else {}, before=before)
        elif not keeps_calls:
            self._finish_calls()

    def _finish_calls(self) -> None:
        for call_id, caller, block in self.calls.left_over():
            name = caller["message_id"].removeprefix(f"{self.session_id}:")
            made = build.message(
                message_id=self.free_id(f"{name}:{call_id}"),
                role="tool",
                timestamp="",
                content=[block],
                metadata={"author_kind": "tool"},
            )
            self.messages.append(made)
            self.calls.results[call_id] = made

    def _add_other(self, item: Item, stated: str) -> None:
        metadata: JsonObject = {}
        role: build.Role
        match stated:
            case "user" | "system" | "tool" | "function":
                role = stated
            case _:
                role = "tool" if text_of(item.message, "toolCallId") else "system"
                metadata["role_inferred"] = True
                if item.message.get("role") is not None:
                    metadata["role"] = item.message["role"]
        if role != "tool":
            self._append(item, role, content_blocks(item.message.get("content")), metadata)
            return
        if not text_of(item.message, "toolCallId"):
            self._note(MADE_CALL_ID, f"item {item.place}", "a result names no call")
        call_id, block = self.calls.answer(item.message)
        self.calls.results[call_id] = self._append(item, role, [block], metadata)

    def _append(
        self,
        item: Item,
        role: build.Role,
        blocks: list[build.Block],
        metadata: JsonObject,
        *,
        before: Sequence[Item] = (),
    ) -> JsonObject:
        # The first item names the message: whoever saw an earlier state of the file knows it by that.
        items = [*before, item]
        message_id = self._id(items[0], metadata)
        if before:
            metadata["source_ids"] = [text_of(one.message, "id") or f"{self.session_id}:{one.place}" for one in items]
        metadata["author_kind"] = _AUTHORS[role]
        made = build.message(message_id=message_id, role=role, timestamp="", content=blocks, metadata=metadata)
        add_fields(metadata, _unmapped(item, role))
        for one in items:
            self._take_around(one, made)
        self.folded += len(before)
        self.mapped += 1
        if not made["content"]:
            made["content"].append(build.text(""))
        self.messages.append(made)
        return made

    def _take_around(self, item: Item, made: JsonObject) -> None:
        """Everything around the words of an item."""
        self.of_item[item.place] = made
        around, metadata = item.around, made["metadata"]
        if (usage := item.message.get("usage")) is not None:
            if (tokens := tokens_of(usage)) is not None:
                made["tokens"] = tokens
            else:
                metadata["usage"] = usage
        if not around:
            return
        add_fields(metadata, kept(around, _SETTLED if around.get("isGatheringContext") is False else _ITEM))
        self._take_context(around, made)
        if logs := around.get("promptLogs"):
            self.logs.append((item.place, logs))
        if (reasoning := around.get("reasoning")) is not None:
            self._take_times(reasoning, made)
        if rules := around.get("appliedRules"):
            named = [*map(self._named_rule, rules)] if isinstance(rules, list) else rules
            add_fields(metadata, {"appliedRules": named})
        match around.get("conversationSummary"):
            case None | "":
                pass
            case str(summary):
                self.summaries.append((made, summary))
            case odd:
                add_fields(metadata, {"conversationSummary": odd})

    def _named_rule(self, rule: Any) -> Any:
        """A rule's name, under which the conversation keeps it; the rule itself where it has none of its own."""
        name = text_of(rule, "name") if isinstance(rule, dict) else ""
        return name if name and self.rules.setdefault(name, rule) == rule else rule

    def _take_context(self, around: JsonObject, made: JsonObject) -> None:
        items = around.get("contextItems")
        attached = items if isinstance(items, list) else [] if items is None else [items]
        state = around.get("editorState")
        if not attached and state is None:
            return
        nodes = nodes_of(state)
        self.providers.add(attached, list(mentions(nodes)))
        made["content"] += map(attachment, attached)
        if state is not None and says_more(state, nodes, list(texts_in(made["content"]))):
            add_fields(made["metadata"], {"editorState": state})

    def _take_times(self, reasoning: Any, made: JsonObject) -> None:
        """A thought's times are the only ones in a session's file."""
        if not isinstance(reasoning, dict):
            add_fields(made["metadata"], {"reasoning": reasoning})
            return
        rest = {name: value for name, value in reasoning.items() if name != "text" or not isinstance(value, str)}
        if made["role"] != "assistant":
            rest = reasoning
        if rest:
            add_fields(made["metadata"], {"reasoning": rest})
        if begun := readable_timestamp(reasoning.get("startAt")):
            self.times.setdefault(made["message_id"], begun)
        self.last_time = max(self.last_time, begun, readable_timestamp(reasoning.get("endAt")))

    def _id(self, item: Item, metadata: JsonObject) -> str:
        stated = item.message.get("id")
        if isinstance(stated, str) and stated and stated not in self._ids:
            self._ids.add(stated)
            return stated
        if stated is not None:
            metadata["id"] = stated
            self._note(MADE_MESSAGE_ID, f"item {item.place}", "")
        elif not self._lacks_ids:
            self._lacks_ids = True
            self._note(MADE_MESSAGE_ID, f"item {item.place}", "messages have no ids; they are named by their places")
        return self.free_id(str(item.place))


def _unmapped(item: Item, role: str) -> JsonObject:
    """Fields of the message itself that have no other place; those of thoughts are kept with the thoughts."""
    message = item.message
    if item.role == "thinking":
        return {}
    rest = kept(message, _MESSAGE)
    if role != "assistant" and message.get("toolCalls") is not None:
        rest["toolCalls"] = message["toolCalls"]
    if message.get("toolCallId") is not None and (role != "tool" or not isinstance(message["toolCallId"], str)):
        rest["toolCallId"] = message["toolCallId"]
    return rest
