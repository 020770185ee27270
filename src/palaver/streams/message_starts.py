"""Where another message begins in a stream that should hold one, as spliced logs and reused connections have it.

Anthropic and the Responses API announce a message with a start event and its id; after the end of a message, a start
with the same id begins it once more. Chat Completions and Gemini name the message in every chunk, but that id alone
proves nothing: Azure's first chunk has an empty one, and some servers give every chunk or every choice another one.
There, another id begins a message only if the message before has ended, or if the chunk has what servers write in a
first chunk only. After `[DONE]`, a role suffices.
"""

from collections.abc import Iterator
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams._event_data import as_list, is_index

ANOTHER_MESSAGE = "another_message"
_PROMPT_FILTER_FIELDS = {"prompt_filter_results", "prompt_annotations"}
"""Fields with which Azure announces a message, without an id: its filter's results for the prompt."""


def is_another_message(known: object, stated: object, *, has_ended: bool) -> bool:
    """Return whether a start event with the id `stated` begins another message than the one with the id `known`.

    If one of the two has no id, or both have the same, it does so only after the end of the message before.
    """
    has_ids = bool(known) and bool(stated) and isinstance(stated, str)
    return has_ended or (has_ids and known != stated)


def another_message_detail(known: object, stated: object) -> str:
    """Return the detail of an issue that another message begins."""
    return f"{stated or 'a message without an id'} follows {known or 'a message without an id'} in the same stream"


class ChatMessage:
    """What is known of a message of Chat Completions, to notice the chunk that begins another one."""

    __slots__ = ("_do_ids_vary", "_role_at", "id", "is_done", "is_finished", "repeats_role")

    def __init__(self) -> None:
        self.is_done = False
        """Whether `[DONE]` has arrived."""
        self.repeats_role = False
        """Whether a choice has stated its role more than once."""
        self.id = ""
        self._do_ids_vary = False
        self.is_finished: dict[int, bool] = {}
        """Whether each choice has a `finish_reason`."""
        self._role_at: dict[int, int] = {}
        """The number of the chunk in which a choice stated its role first."""

    def take(self, chunk: JsonObject, number: int) -> bool:
        """Take a chunk with its number in the stream; return False, and take nothing, if it begins another message."""
        stated = chunk.get("id")
        if self.is_done and _states_role(chunk):
            return False
        if stated != self.id and self.id:
            if self._is_another(chunk, stated, number):
                return False
            self._do_ids_vary = self._do_ids_vary or bool(stated)
        elif isinstance(stated, str):
            self.id = stated
        is_finished = self.is_finished
        for position, choice in enumerate(as_list(chunk.get("choices"))):
            if not isinstance(choice, dict):
                continue
            index, delta = choice.get("index", position), choice.get("delta")
            if type(index) is not int or index < 0:
                index = position
            if choice.get("finish_reason"):
                is_finished[index] = True
            elif index not in is_finished:
                is_finished[index] = False
            if isinstance(delta, dict) and delta.get("role"):
                self.repeats_role = self.repeats_role or index in self._role_at
                self._role_at.setdefault(index, number)
        return True

    @property
    def has_ended(self) -> bool:
        """Whether every choice has a `finish_reason`, and there is one."""
        return bool(self.is_finished) and all(self.is_finished.values())

    def _is_another(self, chunk: JsonObject, stated: object, number: int) -> bool:
        if not isinstance(stated, str) or not stated:
            return bool(self.is_finished) and not _PROMPT_FILTER_FIELDS.isdisjoint(chunk)
        if self.is_done:
            return True
        has_ended = self.has_ended
        for position, choice in enumerate(as_list(chunk.get("choices"))):
            if not isinstance(choice, dict) or not isinstance(delta := choice.get("delta"), dict):
                continue
            index = choice.get("index", position)
            index = index if is_index(index) else position
            if index and index not in self.is_finished:
                continue  # another choice of this message: some servers give every choice an id of its own
            said = {name for name, value in delta.items() if value}
            if has_ended:
                is_new = bool(said - {"role"} if self._do_ids_vary else said)
            elif self._do_ids_vary or self.repeats_role or choice.get("finish_reason"):
                is_new = False
            else:
                # A server that repeats the role does so at once; only the first chunk states nothing else.
                before = self._role_at.get(index, number)
                is_new = "role" in said and before < number and (before < number - 1 or said == {"role"})
            if is_new:
                return True
        return False


def _states_role(chunk: JsonObject) -> bool:
    deltas = (choice.get("delta") for choice in as_list(chunk.get("choices")) if isinstance(choice, dict))
    return any(isinstance(delta, dict) and delta.get("role") for delta in deltas)


class GeminiMessage:
    """What is known of a response of Gemini, to notice the chunk that begins another one."""

    __slots__ = ("_chunks", "_do_ids_vary", "id", "is_finished")

    def __init__(self) -> None:
        self.id = ""
        self._do_ids_vary = False
        self._chunks = 0
        """The number of chunks with this id."""
        self.is_finished: dict[int, bool] = {}
        """Whether each candidate has a `finishReason`."""

    def take(self, chunk: JsonObject) -> bool:
        """Take a chunk; return False, and take nothing, if it begins another response."""
        stated = response_id(chunk)
        candidates = list(_candidates(chunk))
        if isinstance(stated, str) and stated != self.id:
            if self.id and self._is_another(candidates):
                return False
            self._do_ids_vary = bool(self.id)
            self.id = self.id or stated
        self._chunks += 1
        for index, candidate in candidates:
            reason = candidate.get("finishReason") or candidate.get("finish_reason")
            self.is_finished[index] = self.is_finished.get(index, False) or bool(reason)
        return True

    @property
    def has_ended(self) -> bool:
        """Whether every candidate has a `finishReason`, and there is one."""
        return bool(self.is_finished) and all(self.is_finished.values())

    def _is_another(self, candidates: list[tuple[int, JsonObject]]) -> bool:
        is_stable = self._chunks > 1 and not self._do_ids_vary
        return (self.has_ended or is_stable) and any(_has_parts(candidate) for _, candidate in candidates)


def response_id(chunk: JsonObject) -> Any:
    """Return the id of the response that a chunk of Gemini names."""
    return chunk.get("responseId") or chunk.get("response_id")


def _candidates(chunk: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    for position, candidate in enumerate(as_list(chunk.get("candidates"))):
        if isinstance(candidate, dict):
            index = candidate.get("index", position)
            yield index if is_index(index) else position, candidate


def _has_parts(candidate: JsonObject) -> bool:
    content: Any = candidate.get("content")
    return isinstance(content, dict) and bool(content.get("parts"))
