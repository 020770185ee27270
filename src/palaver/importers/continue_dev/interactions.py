"""The calls of the model behind a session's messages: prompt logs, logged events, and what only they tell."""

import hashlib
from collections import deque
from collections.abc import Iterable
from operator import attrgetter

from palaver.importers.continue_dev.content import plain_text, texts_in
from palaver.importers.continue_dev.dev_data import Interaction, words_of
from palaver.importers.continue_dev.fields import add_fields, text_of
from palaver.importers.continue_dev.heard import Heard
from palaver.importers.continue_dev.history import History
from palaver.importers.continue_dev.models import Answered
from palaver.importers.continue_dev.places import Places
from palaver.importers.continue_dev.prompt_logs import Log, Logbook
from palaver.importers.continue_dev.prompts import call_mark
from palaver.importers.continue_dev.ratings import rating_of
from palaver.importers.continue_dev.recovered import Recovered
from palaver.model import build
from palaver.model.build import JsonObject


class Interactions:
    """Joins the calls with the messages that came of them."""

    def __init__(self, history: History, logged: Iterable[Interaction]) -> None:
        self.agents: list[tuple[str, str]] = []
        """Who logged something of this session, and when."""
        self.last_time = ""
        self._history = history
        self._left = sorted(logged, key=attrgetter("is_feedback"))
        self._heard = Heard()
        self._logbook = Logbook(self._heard)
        self._thumbs: list[tuple[str, bool]] = []
        self._words_of: dict[int, int] = {}
        self._systems = 0
        self._is_known = False
        self._rebuilt: Recovered | None = Recovered(history.session_id)
        """What the prompts hold; None as soon as a message says something itself."""
        self.is_recovered = False
        """Whether the session holds no message, and all are from what was logged."""

    def join(self, answered: Answered, *, is_last: bool) -> None:
        """Take the messages since the last time, and what was logged of them."""
        history = self._history
        logs = self._own_logs()
        logs += self._matched(logs)
        if any(map(_says_something, history.messages)):
            self._rebuilt = None
        if logs and self._rebuilt is not None:
            self._rebuild(logs, self._rebuilt, answered)
        elif logs or self._is_known or (is_last and self._left):
            self._hear()
            self._tell(logs, answered)
        if is_last:
            if self._left and not (history.messages or history.mapped):
                self._recover(answered)
            self._add_unsaved(answered)
        history.logs, history.of_item, history.calls.made = [], {}, {}
        self._heard.forget_texts()

    def agent(self) -> str:
        """The last that is known."""
        return max(((time, agent) for time, agent in self.agents if agent), default=("", ""))[1]

    def rating(self) -> JsonObject | None:
        """What the user thought of the answers: one figure for the whole."""
        return rating_of(self._thumbs)

    def _own_logs(self) -> list[tuple[JsonObject, Log]]:
        """The logs that stand in the items; what is none stays with the message."""
        found: list[tuple[JsonObject, Log]] = []
        for index, entries in self._history.logs:
            message = self._history.of_item[index]
            for entry in entries if isinstance(entries, list) else [entries]:
                if (log := Log.of(entry)) is None:
                    message["metadata"].setdefault("promptLogs", []).append(entry)
                else:
                    found.append((message, log))
        return found

    def _matched(self, logs: list[tuple[JsonObject, Log]]) -> list[tuple[JsonObject, Log]]:
        """Give answers the times of their calls; calls whose prompts no item holds come as logs."""
        if not self._left:
            return []
        exact: dict[int, JsonObject] = {call_mark(log.prompt, log.completion): message for message, log in logs}
        by_words: dict[int, deque[JsonObject]] = {}
        for message in self._history.messages:
            if message["role"] == "assistant" and (words := plain_text(message["content"]).strip()):
                by_words.setdefault(hash(words), deque()).append(message)
        more: list[tuple[JsonObject, Log]] = []
        left: list[Interaction] = []
        timed: set[str] = set()
        for one in self._left:
            message = exact.get(one.exact)
            if message is None and (waiting := by_words.get(self._words(one))):
                message = waiting[0]
                if not one.is_feedback and len(waiting) > 1:
                    waiting.popleft()
                more.append((message, Log.of(one.ref.load()) or Log("", "", {})))
            if message is None:
                left.append(one)
                continue
            self._take(one, message)
            if not one.is_feedback and one.time and message["message_id"] not in timed:
                timed.add(message["message_id"])
                self._take_time(message, one.time)
        self._left = left
        return [(message, Log(log.prompt, log.completion, _settings(log.rest))) for message, log in more]

    def _words(self, one: Interaction) -> int:
        """What a call was answered, as a number; the line is read once, however many fragments there are."""
        if (known := self._words_of.get(one.exact)) is None:
            log = Log.of(one.ref.load())
            known = self._words_of[one.exact] = hash(words_of(log.completion)) if log else 0
        return known

    def _take(self, one: Interaction, message: JsonObject | None) -> None:
        """What an event says about an answer, which may be nowhere."""
        metadata: JsonObject = message["metadata"] if message else {}
        if one.feedback is not None:
            metadata["feedback"] = one.feedback
            self._thumbs.append((one.time, one.feedback))
        elif one.facts:
            add_fields(metadata, {"interaction": one.facts})
        self.agents.append((one.time, one.agent))
        self.last_time = max(self.last_time, one.time)

    def _take_time(self, message: JsonObject, time: str) -> None:
        """An event is logged when the answer is whole; a thought says when it began."""
        if self._history.times.setdefault(message["message_id"], time) != time:
            message["metadata"]["completed_at"] = time

    def _hear(self) -> None:
        """Take note of all that the messages say, in the ways in which a prompt may say it."""
        history, heard = self._history, self._heard
        self._is_known = True
        for message in history.messages:
            content = message["content"]
            heard.add_all(texts_in(content))
            thoughts = [block["thinking"] for block in content if block["type"] == "thinking"]
            if thoughts:
                heard.add(f"<think>{thoughts[-1]}</think>{plain_text(content)}")
            for block in content:
                match block:
                    case {"type": "code", "source_fields": {"fence": str(fence)}}:
                        heard.add(f"```{fence}")
                    case _:
                        pass
        for call in history.calls.made.values():
            heard.add_all((f"{call.name}({call.arguments})", f"({call.arguments})", f"{call.name}()"))
        heard.add_all(text for _, text in history.summaries)

    def _tell(self, logs: list[tuple[JsonObject, Log]], answered: Answered) -> None:
        """Keep what the logs say that the messages do not; what is the same in both is told once."""
        inserted: dict[str, list[JsonObject]] = {}
        turns = _turns(self._history.messages)
        for message, log in logs:
            content = message["content"]
            has_calls = any(block["type"] == "tool_use" for block in content)
            told = self._logbook.told(log, plain_text(content), has_calls=has_calls)
            message_id: str = message["message_id"]
            for text in told.systems:
                inserted.setdefault(turns.get(message_id, message_id), []).append(self._system(text))
            if told.entry:
                message["metadata"].setdefault("promptLogs", []).append(told.entry)
            answered.add(message_id, log.title, log.model, text_of(log.rest, "modelProvider"))
        if inserted:
            self._history.messages[:] = [
                one for message in self._history.messages for one in (*inserted.get(message["message_id"], ()), message)
            ]

    def _system(self, text: str) -> JsonObject:
        name = "system" if not self._systems else f"system-{self._systems}"
        self._systems += 1
        return build.message(
            message_id=self._history.free_id(name),
            role="system",
            timestamp="",
            content=[build.text(text)],
            metadata={"author_kind": "harness", "known_from": "request"},
        )

    def _rebuild(self, logs: list[tuple[JsonObject, Log]], tree: Recovered, answered: Answered) -> None:
        """The messages say nothing, but the prompts hold what was said: blank ones stay if they tell something else."""
        history = self._history
        told = len(tree.messages)
        spoken: dict[str, JsonObject] = {}
        for blank, log in logs:
            answer = tree.add(log.prompt, log.completion, history.times.get(blank["message_id"], ""))
            message = answer or (tree.messages[-1] if tree.messages else blank)
            message["metadata"].setdefault("promptLogs", []).append(log.rest)
            spoken.setdefault(blank["message_id"], message)
            if answer:
                answered.add(answer["message_id"], log.title, log.model, text_of(log.rest, "modelProvider"))
        for message in tree.messages[told:]:
            message["metadata"]["known_from"] = "history"
        summarized = {message["message_id"] for message, _ in history.summaries}
        blanks, history.messages = history.messages, []
        for blank in blanks:
            message = spoken.get(blank["message_id"], blank)
            about = {name: value for name, value in blank["metadata"].items() if name != "author_kind"}
            if message is not blank:
                add_fields(message["metadata"], about)
                message.update({"tokens": blank["tokens"]} if "tokens" in blank else {})
            elif about or "tokens" in blank or blank["message_id"] in summarized:
                history.messages.append(blank)
        history.summaries = [(spoken.get(one["message_id"], one), text) for one, text in history.summaries]
        history.times |= tree.times
        self._adopt(tree.messages[told:])
        self._hear()

    def _recover(self, answered: Answered) -> None:
        """There is nothing but the log."""
        tree = Recovered(self._history.session_id)
        for one in self._left:
            if (log := Log.of(one.ref.load())) is None:
                continue
            answer = tree.add(log.prompt, log.completion, "" if one.is_feedback else one.time)
            if answer is not None:
                self._take(one, answer)
                answered.add(answer["message_id"], log.title, log.model, text_of(log.rest, "modelProvider"))
        self._left = []
        self.is_recovered = True
        self._history.times |= tree.times
        self._adopt(tree.messages)

    def _adopt(self, messages: list[JsonObject]) -> None:
        self._history.messages += messages
        self._history.linked.update(message["message_id"] for message in messages)

    def _add_unsaved(self, answered: Answered) -> None:
        """Answers that were logged and are no part of the session any more: the user edited or deleted something."""
        if not self._left:
            return
        places = Places(self._history.messages)
        answers: dict[int, JsonObject | None] = {}
        for one in self._left:
            if (log := Log.of(one.ref.load())) is None:
                continue
            if one.exact not in answers:
                answers[one.exact] = self._add_branch(log, places)
            self._take(one, answer := answers[one.exact])
            if answer is not None:
                answered.add(answer["message_id"], log.title, log.model, text_of(log.rest, "modelProvider"))
                if one.time and not one.is_feedback:
                    self._history.times.setdefault(answer["message_id"], one.time)
        self._left = []

    def _add_branch(self, log: Log, places: Places) -> JsonObject | None:
        """Add what a call says that the session does not, behind the last message that both have; the answer to it."""
        history = self._history
        digest = hashlib.sha1(f"{log.prompt}\0{log.completion}".encode(errors="surrogatepass"), usedforsecurity=False)
        tree = Recovered(f"{history.session_id}:unsaved-{digest.hexdigest()[:12]}")
        answer = tree.add(log.prompt, log.completion)
        parent: str | None = None
        place = -1
        for message in tree.messages:
            content = message["content"]
            if message is not answer and (known := places.after(place, plain_text(content))):
                place, parent = known
                continue
            if not any(self._heard.unheard(said) for said in texts_in(content)):
                answer = None if message is answer else answer
                continue
            self._heard.add_all(texts_in(content))
            message["metadata"] |= {"on_active_path": False, "known_from": "request"}
            message.pop("parent_message_id", None)
            if parent is not None:
                message["parent_message_id"] = parent
            parent = message["message_id"]
            history.linked.add(message["message_id"])
            history.messages.append(message)
        return answer


def _turns(messages: list[JsonObject]) -> dict[str, str]:
    """The first message of the turn that each message is in."""
    turns: dict[str, str] = {}
    first = ""
    for message in messages:
        if message["role"] == "user" or not first:
            first = message["message_id"]
        turns[message["message_id"]] = first
    return turns


def _says_something(message: JsonObject) -> bool:
    return any(block["type"] != "text" or block["text"].strip() for block in message["content"])


def _settings(rest: JsonObject) -> JsonObject:
    """What an event says of the model, as a prompt's log says it; the rest is kept with the message already."""
    return {name: rest[name] for name in ("modelTitle", "modelProvider") if name in rest}
