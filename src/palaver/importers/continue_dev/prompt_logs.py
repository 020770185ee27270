"""Prompt logs: which model answered, and what was sent to it beyond what the history holds.

The model is named by its own id in the log, else by a title that the config resolves.
"""

from bisect import bisect
from typing import Any, NamedTuple

from palaver.importers.continue_dev.content import block_texts, plain_text
from palaver.importers.continue_dev.dev_data import answer_text
from palaver.importers.continue_dev.fields import text_of
from palaver.importers.continue_dev.prompts import completion_text, parse_prompt
from palaver.importers.continue_dev.side_files import Models
from palaver.importers.continue_dev.text_match import KnownText
from palaver.model.build import JsonObject

_COMPARED_CHARACTERS = 1 << 12
_LONG_LINE = 40
_TAG = "<assistant>\n"


class PromptLog(NamedTuple):
    prompt: str
    completion: str
    rest: JsonObject
    """The model and its settings."""

    @classmethod
    def parse(cls, entry: Any) -> "PromptLog | None":
        """Parse an entry in any of its shapes; return None if it is not a log, such as a stray piece of an answer."""
        match entry:
            case dict():
                taken = {name for name in ("prompt", "completion") if isinstance(entry.get(name), str)}
                if not taken:
                    return None
                rest = {name: value for name, value in entry.items() if name not in taken}
                return cls(text_of(entry, "prompt"), text_of(entry, "completion"), rest)
            case [str(prompt), str(completion)]:
                return cls(prompt, completion, {})
            case _:
                return None

    @property
    def title(self) -> str:
        return text_of(self.rest, "modelTitle")

    @property
    def model(self) -> str:
        """Return the model's own id, which only older versions write, or an empty string."""
        match self.rest:
            case {"completionOptions": {"model": str(model)}}:
                return model
            case _:
                return ""


class LogAdditions(NamedTuple):
    """What a log adds to the history."""

    system_texts: list[str]
    """System messages that no earlier log had."""
    entry: JsonObject
    """What the message keeps of the log: settings, and messages that the history does not hold."""


class LogComparison:
    """Comparison of a conversation's logs, in order, with its text."""

    def __init__(self, known_text: KnownText) -> None:
        self._known_text = known_text
        self._previous_prompt = ""

    def additions(self, log: PromptLog, answer: str, *, has_calls: bool) -> LogAdditions:
        """Return what a log adds to the history and to the final answer."""
        entry = dict(log.rest)
        system_texts: list[str] = []
        sent: list[JsonObject] = []
        known_text = self._known_text
        if log.prompt and known_text.has_new_lines(log.prompt[_common_prefix(self._previous_prompt, log.prompt) :]):
            for role, text in parse_prompt(log.prompt).messages:
                if not known_text.has_new_lines(text) or (role != "system" and not known_text.new_lines(text)):
                    continue
                known_text.add(text)
                if role == "system":
                    system_texts.append(text)
                else:
                    sent.append({"role": role, "text": text})
        self._previous_prompt = log.prompt
        if sent:
            entry["sent"] = sent
        if (
            log.completion
            and not _is_same_answer(log.completion, answer)
            and self._is_new_answer(log.completion, has_calls=has_calls)
        ):
            entry["completion"] = text = completion_text(log.completion)
            self._known_text.add(text)
        return LogAdditions(system_texts, entry)

    def _is_new_answer(self, completion: str, *, has_calls: bool) -> bool:
        """Return whether an answer is not in the history; tool calls are logged in illegible fragments."""
        if has_calls:
            return bool(self._known_text.new_lines(completion, _LONG_LINE))
        text = completion_text(completion)
        return self._known_text.has_new_lines(text) and bool(self._known_text.new_lines(text))


def _is_same_answer(completion: str, answer: str) -> bool:
    """Return whether a completion, whole or in chunks, is exactly the answer; a cheap first check."""
    return completion == answer or completion.replace(f"\n\n{_TAG}", "") == f"{_TAG}{answer}\n\n"


def _common_prefix(previous: str, prompt: str) -> int:
    """Return the length of the common prefix of two prompts, up to the end of a line."""
    end = min(len(previous), len(prompt))
    at = end if prompt.startswith(previous) else 0
    while at < end and previous[at : at + _COMPARED_CHARACTERS] == prompt[at : at + _COMPARED_CHARACTERS]:
        at += _COMPARED_CHARACTERS
    return prompt.rfind("\n", 0, min(at, end)) + 1 if at else 0


class AnswerModels:
    """Models of a conversation, by message."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._of_message: dict[str, str] = {}
        self._last = ""
        self._last_title = ""
        self._provider = ""

    def add(self, message_id: str, title: str, model: str, provider: str) -> None:
        """Record the model of a message: its id, or only the title that the user gave it."""
        known = model or text_of(self._models.get(title, {}), "model") or title
        if known:
            self._of_message[message_id] = known
            self._last = known
        self._last_title = title or self._last_title
        self._provider = provider or self._provider

    def model(self, title: str) -> str:
        """Return the conversation's model; `title` is the session's name for it, used if no log names one."""
        return self._last or text_of(self._models.get(title, {}), "model") or title

    def platform_metadata(self, title: str) -> JsonObject:
        """Return what the config and the logs say about the model."""
        found = self._models.get(self._last_title or title)
        metadata: JsonObject = {}
        if found:
            metadata["model_config"] = {"title": self._last_title or title, **found}
        if self._provider:
            metadata["modelProvider"] = self._provider
        return metadata

    def set_overrides(self, messages: list[JsonObject], model: str) -> None:
        """Set `model_override` on messages of other models; on all if the conversation's model is not known yet."""
        for message in messages:
            own = self._of_message.pop(message["message_id"], "")
            if own and own != model:
                message["metadata"]["model_override"] = own


class MessagePositions:
    """Positions of messages by their text, which may occur more than once."""

    def __init__(self, messages: list[JsonObject]) -> None:
        self._ids = [message["message_id"] for message in messages]
        self._by_text: dict[str, list[int]] = {}
        for position, message in enumerate(messages):
            content = message["content"]
            text = "\n".join(block_texts(content)) if message["role"] == "tool" else answer_text(plain_text(content))
            if text := text.strip():
                self._by_text.setdefault(text, []).append(position)

    def after(self, position: int, text: str) -> tuple[int, str] | None:
        """Return position and id of the first message with this text after a position, or None."""
        found = self._by_text.get(text.strip(), ())
        number = bisect(found, position)
        return (found[number], self._ids[found[number]]) if number < len(found) else None
