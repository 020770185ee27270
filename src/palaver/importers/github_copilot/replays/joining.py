"""The entries of one file joined into conversations."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from palaver.importers._shared.calls import kept_apart
from palaver.importers.github_copilot.replays.calls import answers_of, call_of
from palaver.importers.github_copilot.replays.entries import Entry, Prompt, executed_of
from palaver.importers.github_copilot.replays.merging import joined
from palaver.importers.github_copilot.replays.messages import compact, text_of
from palaver.importers.github_copilot.replays.telling import Told, said_alone, unasked
from palaver.importers.github_copilot.replays.tools import Executed, complete, keep
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.threads.call import Call
from palaver.threads.conversations import Threads

PLATFORM = "github_copilot"

_Place = tuple[int, str, str]


class Joining:
    def __init__(self, time: str, run: Run) -> None:
        self.about: JsonObject = {}
        """What the file says of itself."""
        self._time = time
        self._run = run
        self._calls: list[tuple[Call, list[Executed]]] = []
        """Requests in the order of the log, each with the tools that were run behind it."""
        self._executed: dict[str, Executed] = {}
        self._prompts: list[Prompt] = []
        self._of_call: dict[str, Prompt] = {}
        self._others: list[Entry] = []
        """Entries that are messages of the editor."""
        self._elements: list[JsonObject] = []
        self._unasked: list[Prompt] = []

    def add_prompt(self, prompt: Prompt) -> None:
        if not self._prompts or self._prompts[-1] is not prompt:
            self._prompts.append(prompt)

    def add(self, entry: Entry) -> bool:
        """Take an entry; whether it is of a kind that is known."""
        kind = entry.kind
        if not kind:
            return False
        self.add_prompt(entry.prompt)
        match kind:
            case "request":
                self._add_request(entry)
            case "tool":
                executed = executed_of(entry.log)
                if keep(self._executed, executed) is not executed:
                    self._run.folded("the same call")
                    return True
                if self._calls:
                    self._calls[-1][1].append(executed)
            case "element":
                self._elements.append({key: value for key, value in entry.log.items() if key != "kind"})
                return True  # what becomes of it is known when a request follows, or none does
            case _:
                self._others.append(entry)
        self._run.mapped()
        return True

    def add_unasked(self, prompt: Prompt) -> None:
        """Take a prompt without entries: often one with the same text has them."""
        self._unasked.append(prompt)

    def documents(self) -> Iterator[JsonObject]:
        if self._calls:
            self._take_elements(self._calls[-1][0])
        elif self._elements:
            self._run.skipped("prompt-element", len(self._elements))
        self._complete_answers()
        told = Told(self._prompts, self._of_call, self.about)
        documents: list[JsonObject] = []
        with Threads(PLATFORM, self._run.note, self._time) as threads:
            for call, _ in self._calls:
                with kept_apart(call, self._run):
                    threads.add(call)
            for document in joined(threads.documents()):
                is_piece = "fragment" in document
                document["messages"] = complete(document["messages"], self._executed, at_the_end=is_piece)
                documents.append(told.finished(document))
        left = [executed for executed in self._executed.values() if not executed.is_told]
        yield from said_alone(documents, left, self._others, told, self._time)
        yield from unasked(self._left_unasked(), told, self._time)

    def _left_unasked(self) -> list[Prompt]:
        """Prompts whose text no other has, each once."""
        said = {prompt.text for prompt in self._prompts}
        left = {prompt.text: prompt for prompt in reversed(self._unasked) if prompt.text not in said}
        self._run.mapped(len(left))
        if len(left) < len(self._unasked):
            self._run.folded("the same prompt", len(self._unasked) - len(left))
        return list(reversed(left.values()))

    def _add_request(self, entry: Entry) -> None:
        call = call_of(entry.log, entry.where)
        self._calls.append((call, []))
        self._of_call.setdefault(call.call_id, entry.prompt)
        self._take_elements(call)

    def _take_elements(self, call: Call) -> None:
        """Parts of the prompt were rendered just before the request that they are in."""
        if self._elements:
            self._run.folded("request", len(self._elements))
            call.answer["prompt_elements"] = [*call.answer.get("prompt_elements", ()), *self._elements]
            self._elements = []

    def _complete_answers(self) -> None:
        """Give answers the calls of tools that were in them: the log has only their words."""
        places = self._places_of_answers()
        for number, (call, behind) in enumerate(self._calls):
            answers = answers_of(call)
            if len(answers) != 1:
                continue
            repeated = self._repeated(number, text_of(answers[0]), places)
            if repeated is not None:
                for key in ("tool_calls", "reasoning_content"):
                    if key in repeated:
                        answers[0][key] = repeated[key]
            elif behind:
                answers[0]["tool_calls"] = [
                    {
                        "id": one.call_id,
                        "type": "function",
                        "function": {"name": one.name, "arguments": _arguments(one.given)},
                    }
                    for one in behind
                ]

    def _places_of_answers(self) -> dict[_Place, list[int]]:
        """By where an answer stands in a request, and behind which words, the numbers of the requests that have it."""
        found: dict[_Place, list[int]] = {}
        for number, (call, _) in enumerate(self._calls):
            for place, (before, message) in enumerate(pairwise(call.request["messages"]), 1):
                match message:
                    case {"role": "assistant"}:
                        found.setdefault((place, text_of(before), text_of(message).strip()), []).append(number)
                    case _:
                        pass
        return found

    def _repeated(self, number: int, words: str, places: dict[_Place, list[int]]) -> JsonObject | None:
        """The answer of a call as the next request that has it repeats it."""
        asked = self._calls[number][0].request["messages"]
        if not asked:
            return None
        numbers = places.get((len(asked), text_of(asked[-1]), words.strip()), [])
        later = bisect_right(numbers, number)
        return self._calls[numbers[later]][0].request["messages"][len(asked)] if later < len(numbers) else None


def _arguments(given: Any) -> Any:
    return compact(given) if isinstance(given, str) else given or ""
