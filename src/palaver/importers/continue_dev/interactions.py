"""Model calls behind a session's messages: prompt logs and logged events, and what only they hold."""

import hashlib
from collections import deque
from collections.abc import Iterable
from operator import attrgetter

from palaver.importers.continue_dev.content import block_texts, plain_text
from palaver.importers.continue_dev.dev_data import Interaction, answer_text
from palaver.importers.continue_dev.fields import mean_rating, merge_fields, text_of
from palaver.importers.continue_dev.history import History
from palaver.importers.continue_dev.prompt_logs import AnswerModels, LogComparison, MessagePositions, PromptLog
from palaver.importers.continue_dev.prompts import RecoveredMessages, call_hash
from palaver.importers.continue_dev.text_match import KnownText
from palaver.model import build
from palaver.model.build import JsonObject


class Interactions:
    """Join of model calls with the messages they produced."""

    def __init__(self, history: History, logged: Iterable[Interaction]) -> None:
        self.user_agents: list[tuple[str, str]] = []
        """Times and user agents of the events of this session."""
        self.last_time = ""
        self._history = history
        self._unmatched = sorted(logged, key=attrgetter("is_feedback"))
        self._known_text = KnownText()
        self._log_comparison = LogComparison(self._known_text)
        self._thumbs: list[tuple[str, bool]] = []
        self._answer_hashes: dict[int, int] = {}
        self._system_count = 0
        self._is_indexed = False
        self._rebuilt: RecoveredMessages | None = RecoveredMessages(history.session_id)
        """Messages of the prompts; None as soon as a message has content of its own."""
        self.is_recovered = False
        """Whether the session has no messages, and all come from logged events."""

    def join(self, models: AnswerModels, *, is_last: bool) -> None:
        """Join the messages since the last call with their logs and events."""
        history = self._history
        logs = self._item_logs()
        logs += self._match_events(logs)
        if any(map(_has_content, history.messages)):
            self._rebuilt = None
        if logs and self._rebuilt is not None:
            self._rebuild(logs, self._rebuilt, models)
        elif logs or self._is_indexed or (is_last and self._unmatched):
            self._index_messages()
            self._apply_logs(logs, models)
        if is_last:
            if self._unmatched and not (history.messages or history.mapped):
                self._recover(models)
            self._add_unsaved_answers(models)
        history.logs, history.message_of_item, history.calls.calls = [], {}, {}
        self._known_text.drop_texts()

    def last_user_agent(self) -> str:
        """Return the last known user agent, or an empty string."""
        return max(((time, agent) for time, agent in self.user_agents if agent), default=("", ""))[1]

    def rating(self) -> JsonObject | None:
        """Return the mean of the user's ratings of answers, or None."""
        return mean_rating(self._thumbs)

    def _item_logs(self) -> list[tuple[JsonObject, PromptLog]]:
        """Return the logs in the items; entries that are not logs stay with the message."""
        found: list[tuple[JsonObject, PromptLog]] = []
        for index, entries in self._history.logs:
            message = self._history.message_of_item[index]
            for entry in entries if isinstance(entries, list) else [entries]:
                if (log := PromptLog.parse(entry)) is None:
                    message["metadata"].setdefault("promptLogs", []).append(entry)
                else:
                    found.append((message, log))
        return found

    def _match_events(self, logs: list[tuple[JsonObject, PromptLog]]) -> list[tuple[JsonObject, PromptLog]]:
        """Give answers the times of their calls; return calls whose prompts no item holds as logs."""
        if not self._unmatched:
            return []
        by_call: dict[int, JsonObject] = {call_hash(log.prompt, log.completion): message for message, log in logs}
        by_text: dict[int, deque[JsonObject]] = {}
        for message in self._history.messages:
            if message["role"] == "assistant" and (text := plain_text(message["content"]).strip()):
                by_text.setdefault(hash(text), deque()).append(message)
        more: list[tuple[JsonObject, PromptLog]] = []
        unmatched: list[Interaction] = []
        timed: set[str] = set()
        for event in self._unmatched:
            message = by_call.get(event.call_hash)
            if message is None and (waiting := by_text.get(self._answer_hash(event))):
                message = waiting[0]
                if not event.is_feedback and len(waiting) > 1:
                    waiting.popleft()
                more.append((message, PromptLog.parse(event.ref.load()) or PromptLog("", "", {})))
            if message is None:
                unmatched.append(event)
                continue
            self._apply_event(event, message)
            if not event.is_feedback and event.time and message["message_id"] not in timed:
                timed.add(message["message_id"])
                self._apply_time(message, event.time)
        self._unmatched = unmatched
        return [(message, PromptLog(log.prompt, log.completion, _model_settings(log.rest))) for message, log in more]

    def _answer_hash(self, event: Interaction) -> int:
        """Return the hash of a call's answer, reading its line only once for all fragments."""
        if (known := self._answer_hashes.get(event.call_hash)) is None:
            log = PromptLog.parse(event.ref.load())
            known = self._answer_hashes[event.call_hash] = hash(answer_text(log.completion)) if log else 0
        return known

    def _apply_event(self, event: Interaction, message: JsonObject | None) -> None:
        """Apply an event to its answer, if there is a message for it."""
        metadata: JsonObject = message["metadata"] if message else {}
        if event.feedback is not None:
            metadata["feedback"] = event.feedback
            self._thumbs.append((event.time, event.feedback))
        elif event.extra_fields:
            merge_fields(metadata, {"interaction": event.extra_fields})
        self.user_agents.append((event.time, event.user_agent))
        self.last_time = max(self.last_time, event.time)

    def _apply_time(self, message: JsonObject, time: str) -> None:
        """Apply an event's time, at which the answer was complete; a thought's time is when the answer began."""
        if self._history.times.setdefault(message["message_id"], time) != time:
            message["metadata"]["completed_at"] = time

    def _index_messages(self) -> None:
        """Add the text of the messages to the known text, in the forms in which a prompt may repeat it."""
        history, known_text = self._history, self._known_text
        self._is_indexed = True
        for message in history.messages:
            content = message["content"]
            known_text.add_all(block_texts(content))
            thoughts = [block["thinking"] for block in content if block["type"] == "thinking"]
            if thoughts:
                known_text.add(f"<think>{thoughts[-1]}</think>{plain_text(content)}")
            for block in content:
                match block:
                    case {"type": "code", "source_fields": {"fence": str(fence)}}:
                        known_text.add(f"```{fence}")
                    case _:
                        pass
        for call in history.calls.calls.values():
            known_text.add_all((f"{call.name}({call.arguments})", f"({call.arguments})", f"{call.name}()"))
        known_text.add_all(text for _, text in history.summaries)

    def _apply_logs(self, logs: list[tuple[JsonObject, PromptLog]], models: AnswerModels) -> None:
        """Keep what only the logs hold: system messages become messages, the rest goes to `promptLogs`."""
        inserted: dict[str, list[JsonObject]] = {}
        turns = _turn_starts(self._history.messages)
        for message, log in logs:
            content = message["content"]
            has_calls = any(block["type"] == "tool_use" for block in content)
            additions = self._log_comparison.additions(log, plain_text(content), has_calls=has_calls)
            message_id: str = message["message_id"]
            for text in additions.system_texts:
                inserted.setdefault(turns.get(message_id, message_id), []).append(self._system_message(text))
            if additions.entry:
                message["metadata"].setdefault("promptLogs", []).append(additions.entry)
            models.add(message_id, log.title, log.model, text_of(log.rest, "modelProvider"))
        if inserted:
            self._history.messages[:] = [
                placed
                for message in self._history.messages
                for placed in (*inserted.get(message["message_id"], ()), message)
            ]

    def _system_message(self, text: str) -> JsonObject:
        name = "system" if not self._system_count else f"system-{self._system_count}"
        self._system_count += 1
        return build.message(
            message_id=self._history.unique_id(name),
            role="system",
            timestamp="",
            content=[build.text(text)],
            metadata={"author_kind": "harness", "known_from": "request"},
        )

    def _rebuild(self, logs: list[tuple[JsonObject, PromptLog]], tree: RecoveredMessages, models: AnswerModels) -> None:
        """Replace blank messages by those in the prompts; blank ones with other information stay."""
        history = self._history
        known = len(tree.messages)
        replacements: dict[str, JsonObject] = {}
        for blank, log in logs:
            answer = tree.add(log.prompt, log.completion, history.times.get(blank["message_id"], ""))
            message = answer or (tree.messages[-1] if tree.messages else blank)
            message["metadata"].setdefault("promptLogs", []).append(log.rest)
            replacements.setdefault(blank["message_id"], message)
            if answer:
                models.add(answer["message_id"], log.title, log.model, text_of(log.rest, "modelProvider"))
        for message in tree.messages[known:]:
            message["metadata"]["known_from"] = "history"
        summarized = {message["message_id"] for message, _ in history.summaries}
        blanks, history.messages = history.messages, []
        for blank in blanks:
            message = replacements.get(blank["message_id"], blank)
            metadata = {name: value for name, value in blank["metadata"].items() if name != "author_kind"}
            if message is not blank:
                merge_fields(message["metadata"], metadata)
                message.update({"tokens": blank["tokens"]} if "tokens" in blank else {})
            elif metadata or "tokens" in blank or blank["message_id"] in summarized:
                history.messages.append(blank)
        history.summaries = [
            (replacements.get(message["message_id"], message), text) for message, text in history.summaries
        ]
        history.times |= tree.times
        self._adopt(tree.messages[known:])
        self._index_messages()

    def _recover(self, models: AnswerModels) -> None:
        """Recover the whole conversation from logged events."""
        tree = RecoveredMessages(self._history.session_id)
        for event in self._unmatched:
            if (log := PromptLog.parse(event.ref.load())) is None:
                continue
            answer = tree.add(log.prompt, log.completion, "" if event.is_feedback else event.time)
            if answer is not None:
                self._apply_event(event, answer)
                models.add(answer["message_id"], log.title, log.model, text_of(log.rest, "modelProvider"))
        self._unmatched = []
        self.is_recovered = True
        self._history.times |= tree.times
        self._adopt(tree.messages)

    def _adopt(self, messages: list[JsonObject]) -> None:
        self._history.messages += messages
        self._history.linked.update(message["message_id"] for message in messages)

    def _add_unsaved_answers(self, models: AnswerModels) -> None:
        """Add logged answers that are no longer in the session because the user edited or deleted something."""
        if not self._unmatched:
            return
        positions = MessagePositions(self._history.messages)
        answers: dict[int, JsonObject | None] = {}
        for event in self._unmatched:
            if (log := PromptLog.parse(event.ref.load())) is None:
                continue
            if event.call_hash not in answers:
                answers[event.call_hash] = self._add_branch(log, positions)
            self._apply_event(event, answer := answers[event.call_hash])
            if answer is not None:
                models.add(answer["message_id"], log.title, log.model, text_of(log.rest, "modelProvider"))
                if event.time and not event.is_feedback:
                    self._history.times.setdefault(answer["message_id"], event.time)
        self._unmatched = []

    def _add_branch(self, log: PromptLog, positions: MessagePositions) -> JsonObject | None:
        """Add what only a call holds as a branch after the last message that both have; return its answer, or None."""
        history = self._history
        digest = hashlib.sha1(f"{log.prompt}\0{log.completion}".encode(errors="surrogatepass"), usedforsecurity=False)
        tree = RecoveredMessages(f"{history.session_id}:unsaved-{digest.hexdigest()[:12]}")
        answer = tree.add(log.prompt, log.completion)
        parent: str | None = None
        position = -1
        for message in tree.messages:
            content = message["content"]
            if message is not answer and (known := positions.after(position, plain_text(content))):
                position, parent = known
                continue
            if not any(self._known_text.new_lines(text) for text in block_texts(content)):
                answer = None if message is answer else answer
                continue
            self._known_text.add_all(block_texts(content))
            message["metadata"] |= {"on_active_path": False, "known_from": "request"}
            message.pop("parent_message_id", None)
            if parent is not None:
                message["parent_message_id"] = parent
            parent = message["message_id"]
            history.linked.add(message["message_id"])
            history.messages.append(message)
        return answer


def _turn_starts(messages: list[JsonObject]) -> dict[str, str]:
    """Return the first message of each message's turn, by id."""
    turns: dict[str, str] = {}
    first = ""
    for message in messages:
        if message["role"] == "user" or not first:
            first = message["message_id"]
        turns[message["message_id"]] = first
    return turns


def _has_content(message: JsonObject) -> bool:
    return any(block["type"] != "text" or block["text"].strip() for block in message["content"])


def _model_settings(rest: JsonObject) -> JsonObject:
    """Return an event's model in the form of a prompt log; the message already has the other fields."""
    return {name: rest[name] for name in ("modelTitle", "modelProvider") if name in rest}
