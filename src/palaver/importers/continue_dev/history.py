"""History items of a session as messages: thoughts and empty answers join the answer that follows them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from palaver.importers._shared.findings import MADE_CALL_ID, MADE_MESSAGE_ID
from palaver.importers.continue_dev.content import (
    answer_blocks,
    block_texts,
    content_blocks,
    is_placeholder,
    thinking_item,
)
from palaver.importers.continue_dev.context_items import Providers, attachment, mentions
from palaver.importers.continue_dev.fields import merge_fields, text_of, token_counts, unmapped_fields
from palaver.importers.continue_dev.text_match import editor_nodes, has_unmatched_text
from palaver.importers.continue_dev.tool_calls import PendingCalls
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.timestamps import timestamp_or_empty

Note = Callable[[FindingKind, str, str], None]
"""Callback that records a finding: its kind, its location in the session, and a message or an empty string."""

_AUTHORS = {"user": "human", "assistant": "model", "system": "harness", "tool": "tool", "function": "tool"}
_ITEM_FIELDS = frozenset(
    {"message", "contextItems", "editorState", "promptLogs", "toolCallStates", "toolCallState", "reasoning"}
    | {"appliedRules", "conversationSummary"}
)
_SETTLED_ITEM_FIELDS = _ITEM_FIELDS | {"isGatheringContext"}
_MESSAGE_FIELDS = frozenset({"id", "role", "content", "toolCalls", "toolCallId", "usage"})


class Item(NamedTuple):
    position: int
    """Index in the history."""
    fields: JsonObject
    """All fields but the message."""
    message: JsonObject

    @property
    def role(self) -> str:
        return text_of(self.message, "role")

    @property
    def has_calls(self) -> bool:
        return bool(self.message.get("toolCalls")) or not self.fields.keys().isdisjoint(
            {"toolCallStates", "toolCallState"}
        )


class History:
    """Builder of messages from items, and collector of what the items say about the whole conversation."""

    def __init__(self, session_id: str, note: Note) -> None:
        self.session_id = session_id
        self.messages: list[JsonObject] = []
        self.message_of_item: dict[int, JsonObject] = {}
        """The message built from each item, by position."""
        self.logs: list[tuple[int, Any]] = []
        """Prompt logs with the positions of their items."""
        self.calls = PendingCalls(session_id)
        self.linked: set[str] = set()
        """Ids of messages whose parents are known, and need not be the message before."""
        self.times: dict[str, str] = {}
        """Known times by message id."""
        self.last_time = ""
        self.summaries: list[tuple[JsonObject, str]] = []
        """Summaries of everything before, with the messages at which they were made."""
        self.providers = Providers()
        self.rules: dict[str, Any] = {}
        self.mapped = 0
        self.folded = 0
        self._note = note
        self._ids: set[str] = set()
        self._pending: list[tuple[Item, list[build.Block], JsonObject]] = []
        """Thoughts and empty answers, with their blocks and unmapped fields, waiting for the next answer to join."""
        self._lacks_ids = False

    def add(self, items: list[tuple[int, Any]]) -> None:
        """Add consecutive items, up to the end of a turn, with their positions."""
        self.calls.expect(items)
        for position, item in items:
            self._add(position, item)
        self._flush()

    def append(
        self, position: int, role: build.Role, blocks: list[build.Block], metadata: JsonObject, fields: JsonObject
    ) -> None:
        """Append a message that is complete, with other fields of its item."""
        self._append(Item(position, fields, {}), role, blocks, metadata)

    def unique_id(self, wanted: str) -> str:
        """Reserve and return a generated id that no message has."""
        unique = full = f"{self.session_id}:{wanted}"
        number = 1
        while unique in self._ids:
            number += 1
            unique = f"{full}-{number}"
        self._ids.add(unique)
        return unique

    def _add(self, position: int, value: Any) -> None:
        match value:
            case {"message": dict(message), **fields}:
                item = Item(position, fields, message)
            case {"role": str()}:
                item = Item(position, {}, value)
            case _:
                self._flush()
                self._append(Item(position, {}, {}), "system", [build.opaque(kind="history_item", raw=value)], {})
                return
        role = item.role
        if role == "thinking" and not item.has_calls:
            self._pending.append((item, *thinking_item(item.fields, item.message)))
        elif role == "assistant" and is_placeholder(item.fields, item.message):
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
        thinking_items = [unmapped for _, _, unmapped in pending if unmapped]
        if item.role == "thinking":
            thoughts, unmapped = thinking_item(item.fields, item.message)
            blocks += thoughts
            thinking_items += [unmapped] if unmapped else []
        else:
            blocks += answer_blocks(item.fields, item.message, blocks)
        if thinking_items:
            metadata["thinking_items"] = thinking_items
        message = self._append(item, "assistant", blocks, metadata, before=[earlier for earlier, _, _ in pending])
        if self.calls.add(item.fields, item.message, message):
            self._note(MADE_CALL_ID, message["message_id"], "")

    def _flush(self, *, keeps_calls: bool = False) -> None:
        """End a turn: thoughts and empty answers that nothing followed become an answer of their own."""
        if self._pending:
            pending, self._pending = self._pending, []
            blocks = [block for _, thoughts, _ in pending for block in thoughts]
            thinking_items = [unmapped for _, _, unmapped in pending if unmapped]
            metadata: JsonObject = {"thinking_items": thinking_items} if thinking_items else {}
            *before, last = [item for item, _, _ in pending]
            self._finish_calls()
            self._append(last, "assistant", blocks, metadata, before=before)
        elif not keeps_calls:
            self._finish_calls()

    def _finish_calls(self) -> None:
        for call_id, caller, block in self.calls.take_unanswered():
            caller_id = caller["message_id"].removeprefix(f"{self.session_id}:")
            result = build.message(
                message_id=self.unique_id(f"{caller_id}:{call_id}"),
                role="tool",
                timestamp="",
                content=[block],
                metadata={"author_kind": "tool"},
            )
            self.messages.append(result)
            self.calls.results[call_id] = result

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
            self._note(MADE_CALL_ID, f"item {item.position}", "a result names no call")
        call_id, block = self.calls.match_result(item.message)
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
        # The first item names the message: in an earlier state of the file it was the only one.
        items = [*before, item]
        message_id = self._message_id(items[0], metadata)
        if before:
            metadata["source_ids"] = [
                text_of(joined.message, "id") or f"{self.session_id}:{joined.position}" for joined in items
            ]
        metadata["author_kind"] = _AUTHORS[role]
        message = build.message(message_id=message_id, role=role, timestamp="", content=blocks, metadata=metadata)
        merge_fields(metadata, _unmapped_message_fields(item, role))
        for joined in items:
            self._apply_fields(joined, message)
        self.folded += len(before)
        self.mapped += 1
        if not message["content"]:
            message["content"].append(build.text(""))
        self.messages.append(message)
        return message

    def _apply_fields(self, item: Item, message: JsonObject) -> None:
        """Apply an item's usage and all its fields around the message."""
        self.message_of_item[item.position] = message
        fields, metadata = item.fields, message["metadata"]
        if (usage := item.message.get("usage")) is not None:
            if (tokens := token_counts(usage)) is not None:
                message["tokens"] = tokens
            else:
                metadata["usage"] = usage
        if not fields:
            return
        mapped = _SETTLED_ITEM_FIELDS if fields.get("isGatheringContext") is False else _ITEM_FIELDS
        merge_fields(metadata, unmapped_fields(fields, mapped))
        self._apply_context(fields, message)
        if logs := fields.get("promptLogs"):
            self.logs.append((item.position, logs))
        if (reasoning := fields.get("reasoning")) is not None:
            self._apply_reasoning(reasoning, message)
        if rules := fields.get("appliedRules"):
            named = [*map(self._named_rule, rules)] if isinstance(rules, list) else rules
            merge_fields(metadata, {"appliedRules": named})
        match fields.get("conversationSummary"):
            case None | "":
                pass
            case str(summary):
                self.summaries.append((message, summary))
            case odd:
                merge_fields(metadata, {"conversationSummary": odd})

    def _named_rule(self, rule: Any) -> Any:
        """Return the name under which the conversation lists a rule, or the rule itself if it has no unique name."""
        name = text_of(rule, "name") if isinstance(rule, dict) else ""
        return name if name and self.rules.setdefault(name, rule) == rule else rule

    def _apply_context(self, fields: JsonObject, message: JsonObject) -> None:
        items = fields.get("contextItems")
        attached = items if isinstance(items, list) else [] if items is None else [items]
        state = fields.get("editorState")
        if not attached and state is None:
            return
        nodes = editor_nodes(state)
        self.providers.add(attached, list(mentions(nodes)))
        message["content"] += map(attachment, attached)
        if state is not None and has_unmatched_text(state, nodes, list(block_texts(message["content"]))):
            merge_fields(message["metadata"], {"editorState": state})

    def _apply_reasoning(self, reasoning: Any, message: JsonObject) -> None:
        """Apply the times of a thought, the only ones in a session file."""
        if not isinstance(reasoning, dict):
            merge_fields(message["metadata"], {"reasoning": reasoning})
            return
        rest = {name: value for name, value in reasoning.items() if name != "text" or not isinstance(value, str)}
        if message["role"] != "assistant":
            rest = reasoning
        if rest:
            merge_fields(message["metadata"], {"reasoning": rest})
        if started_at := timestamp_or_empty(reasoning.get("startAt")):
            self.times.setdefault(message["message_id"], started_at)
        self.last_time = max(self.last_time, started_at, timestamp_or_empty(reasoning.get("endAt")))

    def _message_id(self, item: Item, metadata: JsonObject) -> str:
        stated = item.message.get("id")
        if isinstance(stated, str) and stated and stated not in self._ids:
            self._ids.add(stated)
            return stated
        if stated is not None:
            metadata["id"] = stated
            self._note(MADE_MESSAGE_ID, f"item {item.position}", "")
        elif not self._lacks_ids:
            self._lacks_ids = True
            self._note(MADE_MESSAGE_ID, f"item {item.position}", "messages have no ids; they are named by their places")
        return self.unique_id(str(item.position))


def _unmapped_message_fields(item: Item, role: str) -> JsonObject:
    """Return the unmapped fields of an item's message; those of thoughts are kept with the thoughts."""
    message = item.message
    if item.role == "thinking":
        return {}
    rest = unmapped_fields(message, _MESSAGE_FIELDS)
    if role != "assistant" and message.get("toolCalls") is not None:
        rest["toolCalls"] = message["toolCalls"]
    if message.get("toolCallId") is not None and (role != "tool" or not isinstance(message["toolCallId"], str)):
        rest["toolCallId"] = message["toolCallId"]
    return rest
