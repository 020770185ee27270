"""Logs of prompts: which model was asked, and what was sent to it beyond what the history holds."""

from typing import Any, NamedTuple

from palaver.importers.continue_dev.fields import text_of
from palaver.importers.continue_dev.heard import Heard
from palaver.importers.continue_dev.prompts import completion_text, messages_of_prompt
from palaver.model.build import JsonObject

_COMPARED = 1 << 12
_LONG = 40
_TAG = "<assistant>\n"


class Log(NamedTuple):
    prompt: str
    completion: str
    rest: JsonObject
    """The model and its settings."""

    @classmethod
    def of(cls, entry: Any) -> "Log | None":
        """An entry of any of its shapes; None for one that is no log, such as a stray piece of an answer."""
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
        """The model's own id, which only older versions write."""
        match self.rest:
            case {"completionOptions": {"model": str(model)}}:
                return model
            case _:
                return ""


class Told(NamedTuple):
    """What a log adds to the history."""

    systems: list[str]
    """System messages that were sent, each told once."""
    entry: JsonObject
    """The rest, as it is kept with the message: settings, and messages that the history does not hold."""


class Logbook:
    """Compares the logs of a conversation with what was said in it, one after the other."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._before = ""

    def told(self, log: Log, said: str, *, has_calls: bool) -> Told:
        """What a log adds, beside the answer that was said in the end."""
        entry = dict(log.rest)
        systems: list[str] = []
        sent: list[JsonObject] = []
        heard = self._heard
        if log.prompt and heard.has_news(log.prompt[_common(self._before, log.prompt) :]):
            for role, text in messages_of_prompt(log.prompt).messages:
                if not heard.has_news(text) or (role != "system" and not heard.unheard(text)):
                    continue
                heard.add(text)
                if role == "system":
                    systems.append(text)
                else:
                    sent.append({"role": role, "text": text})
        self._before = log.prompt
        if sent:
            entry["sent"] = sent
        if (
            log.completion
            and not _is_plainly(log.completion, said)
            and self._is_news(log.completion, has_calls=has_calls)
        ):
            entry["completion"] = text = completion_text(log.completion)
            self._heard.add(text)
        return Told(systems, entry)

    def _is_news(self, completion: str, *, has_calls: bool) -> bool:
        """Whether an answer is not the history's; calls of tools are logged in pieces that nobody can read."""
        if has_calls:
            return bool(self._heard.unheard(completion, _LONG))
        text = completion_text(completion)
        return self._heard.has_news(text) and bool(self._heard.unheard(text))


def _is_plainly(completion: str, said: str) -> bool:
    """A quick look at whether an answer, in one piece or in many, is the one that was said."""
    return completion == said or completion.replace(f"\n\n{_TAG}", "") == f"{_TAG}{said}\n\n"


def _common(one: str, other: str) -> int:
    """How far two prompts are the same, up to the end of a line."""
    end = min(len(one), len(other))
    at = end if other.startswith(one) else 0
    while at < end and one[at : at + _COMPARED] == other[at : at + _COMPARED]:
        at += _COMPARED
    return other.rfind("\n", 0, min(at, end)) + 1 if at else 0
