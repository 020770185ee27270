"""The entries of one file joined into conversations."""

from collections.abc import Iterator
from typing import Any

from palaver.importers._calls import kept_apart
from palaver.importers.github_copilot.replays.calls import answers_of, call_of
from palaver.importers.github_copilot.replays.entries import Entry, Prompt, executed_of
from palaver.importers.github_copilot.replays.merging import joined
from palaver.importers.github_copilot.replays.messages import compact, text_of
from palaver.importers.github_copilot.replays.telling import Told, said_alone
from palaver.importers.github_copilot.replays.tools import Executed, complete, keep
from palaver.sources.run import Run
from palaver.threads.call import Call
from palaver.threads.conversations import Threads

Json = dict[str, Any]

PLATFORM = "github_copilot"


class Joining:
    def __init__(self, time: str, run: Run) -> None:
        self.about: Json = {}
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
        self._elements: list[Json] = []

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
                keep(self._executed, executed)
                if self._calls:
                    self._calls[-1][1].append(executed)
            case "element":
                self._elements.append({key: value for key, value in entry.log.items() if key != "kind"})
                return True  # what becomes of it is known when a request follows, or none does
            case _:
                self._others.append(entry)
        self._run.mapped()
        return True

    def documents(self) -> Iterator[Json]:
        if self._calls:
            self._take_elements(self._calls[-1][0])
        elif self._elements:
            self._run.skipped("prompt-element", len(self._elements))
        self._complete_answers()
        told = Told(self._prompts, self._of_call, self.about)
        documents: list[Json] = []
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
        for number, (call, behind) in enumerate(self._calls):
            answers = answers_of(call)
            if len(answers) != 1:
                continue
            repeated = self._repeated(number, call, text_of(answers[0]))
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

    def _repeated(self, number: int, call: Call, words: str) -> Json | None:
        """The answer of a call as a later request repeats it."""
        asked = call.request["messages"]
        place = len(asked)
        if not place:
            return None
        last = text_of(asked[-1])
        for later, _ in self._calls[number + 1 :]:
            messages = later.request["messages"]
            if len(messages) > place and text_of(messages[place - 1]) == last:
                match messages[place]:
                    case {"role": "assistant"} if text_of(messages[place]).strip() == words.strip():
                        return messages[place]
                    case _:
                        pass
        return None


def _arguments(given: Any) -> Any:
    return compact(given) if isinstance(given, str) else given or ""
