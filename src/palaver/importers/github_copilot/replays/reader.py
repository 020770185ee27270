"""Reader of exported logs: the entries of a file, joined into conversations."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from palaver.importers._shared.call_errors import quarantine_on_error
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.github_copilot.replays.chat_messages import compact_json, text_of
from palaver.importers.github_copilot.replays.documents import (
    merge_fragments,
    note_inferred_times,
    with_header_request_ids,
)
from palaver.importers.github_copilot.replays.entries import (
    BAD_ENTRY,
    Entry,
    Prompt,
    answer_messages,
    to_call,
    to_tool_run,
)
from palaver.importers.github_copilot.replays.log_context import (
    PLATFORM,
    LogContext,
    documents_with_leftovers,
    prompts_without_request,
)
from palaver.importers.github_copilot.replays.markdown import parse_entry
from palaver.importers.github_copilot.replays.recognition import (
    ENTRY,
    PROMPT,
    REQUEST_MARKDOWN,
    TOOL_MARKDOWN,
    recognize,
)
from palaver.importers.github_copilot.replays.tool_runs import ToolRun, add_run, attach_runs
from palaver.model.build import JsonObject
from palaver.sources.arrays.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.small_files import count_file, json_document, read_at_most
from palaver.sources.source import Source
from palaver.threads.call import Call
from palaver.threads.chain import canonical_json
from palaver.threads.conversations import Threads

_MAX_BYTES = 1 << 28
_AnswerKey = tuple[int, str, str]
"""The position of an answer in a request, the text before it, and its own."""


def read_unit(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form or recognize(source).form
    reader = _Reader(run, EntryJoiner(source.written_at(), run))
    if form == ENTRY:
        for log in json_document(source, run):
            reader.add_entry(log, source.name, Prompt())
    elif form in (REQUEST_MARKDOWN, TOOL_MARKDOWN):
        reader.add_markdown(count_file(source, run))
    else:
        with source.open() as stream:
            if form == PROMPT:
                reader.add_prompt(JsonElements(stream, run, ("logs",), accepts_truncated=True))
            else:
                reader.add_prompts(JsonElements(stream, run, ("prompts",), accepts_truncated=True))
    yield from note_inferred_times(with_header_request_ids(reader.joiner.documents()), run)


class EntryJoiner:
    """Joins the entries of a file into conversations."""

    def __init__(self, time: str, run: Run) -> None:
        self.file_fields: JsonObject = {}
        """Fields of the file besides its prompts."""
        self._time = time
        self._run = run
        self._calls: list[tuple[Call, list[ToolRun]]] = []
        """Requests in log order, each with the tool runs that follow it."""
        self._runs: dict[str, ToolRun] = {}
        self._prompts: list[Prompt] = []
        self._prompt_by_call: dict[str, Prompt] = {}
        self._editor_entries: list[Entry] = []
        """Entries without a request: errors and Markdown."""
        self._elements: list[JsonObject] = []
        self._prompts_without_request: list[Prompt] = []

    def add_prompt(self, prompt: Prompt) -> None:
        if not self._prompts or self._prompts[-1] is not prompt:
            self._prompts.append(prompt)

    def add(self, entry: Entry) -> bool:
        """Add an entry; return whether its kind is known."""
        kind = entry.kind
        if not kind:
            return False
        self.add_prompt(entry.prompt)
        match kind:
            case "request":
                self._add_request(entry)
            case "tool":
                tool_run = to_tool_run(entry.log)
                if add_run(self._runs, tool_run) is not tool_run:
                    self._run.folded("the same call")
                    return True
                if self._calls:
                    self._calls[-1][1].append(tool_run)
            case "element":
                self._elements.append({key: value for key, value in entry.log.items() if key != "kind"})
                return True  # counted later: as part of a request, or skipped if the file has none
            case _:
                self._editor_entries.append(entry)
        self._run.mapped()
        return True

    def add_prompt_without_request(self, prompt: Prompt) -> None:
        """Add a prompt without entries; often another with the same text has them."""
        self._prompts_without_request.append(prompt)

    def documents(self) -> Iterator[JsonObject]:
        if self._calls:
            self._attach_elements(self._calls[-1][0])
        elif self._elements:
            self._run.skipped("prompt-element", len(self._elements))
        self._complete_answers()
        context = LogContext(self._prompts, self._prompt_by_call, self.file_fields)
        documents: list[JsonObject] = []
        with Threads(PLATFORM, self._run.note, self._time) as threads:
            for call, _ in self._calls:
                with quarantine_on_error(call, self._run):
                    threads.add(call)
            for document in merge_fragments(threads.documents()):
                is_fragment = "fragment" in document
                document["messages"] = attach_runs(document["messages"], self._runs, at_the_end=is_fragment)
                documents.append(context.finish(document))
        unemitted = [tool_run for tool_run in self._runs.values() if not tool_run.is_emitted]
        yield from documents_with_leftovers(documents, unemitted, self._editor_entries, context, self._time)
        yield from prompts_without_request(self._new_prompts_without_request(), context, self._time)

    def _new_prompts_without_request(self) -> list[Prompt]:
        """Return the prompts without entries whose text no other prompt has, each once."""
        known_texts = {prompt.text for prompt in self._prompts}
        prompts = self._prompts_without_request
        new = {prompt.text: prompt for prompt in reversed(prompts) if prompt.text not in known_texts}
        self._run.mapped(len(new))
        if len(new) < len(prompts):
            self._run.folded("the same prompt", len(prompts) - len(new))
        return list(reversed(new.values()))

    def _add_request(self, entry: Entry) -> None:
        call = to_call(entry.log, entry.where)
        self._calls.append((call, []))
        self._prompt_by_call.setdefault(call.call_id, entry.prompt)
        self._attach_elements(call)

    def _attach_elements(self, call: Call) -> None:
        """Attach the parts of the prompt, which are logged just before their request."""
        if self._elements:
            self._run.folded("request", len(self._elements))
            call.answer["prompt_elements"] = [*call.answer.get("prompt_elements", ()), *self._elements]
            self._elements = []

    def _complete_answers(self) -> None:
        """Add tool calls to the answers, which are logged without them."""
        index = self._answer_index()
        for number, (call, runs) in enumerate(self._calls):
            answers = answer_messages(call)
            if len(answers) != 1:
                continue
            repeated = self._repeated_answer(number, text_of(answers[0]), index)
            if repeated is not None:
                for key in ("tool_calls", "reasoning_content"):
                    if key in repeated:
                        answers[0][key] = repeated[key]
            elif runs:
                answers[0]["tool_calls"] = [
                    {
                        "id": run.call_id,
                        "type": "function",
                        "function": {"name": run.name, "arguments": _compact_arguments(run.arguments)},
                    }
                    for run in runs
                ]

    def _answer_index(self) -> dict[_AnswerKey, list[int]]:
        """Return the numbers of the requests that repeat an answer, by its position, preceding text and text."""
        found: dict[_AnswerKey, list[int]] = {}
        for number, (call, _) in enumerate(self._calls):
            for position, (before, message) in enumerate(pairwise(call.request["messages"]), 1):
                match message:
                    case {"role": "assistant"}:
                        found.setdefault((position, text_of(before), text_of(message).strip()), []).append(number)
                    case _:
                        pass
        return found

    def _repeated_answer(self, number: int, text: str, index: dict[_AnswerKey, list[int]]) -> JsonObject | None:
        """Return the answer of a call as the next request repeats it, or None."""
        request_messages = self._calls[number][0].request["messages"]
        if not request_messages:
            return None
        numbers = index.get((len(request_messages), text_of(request_messages[-1]), text.strip()), [])
        later = bisect_right(numbers, number)
        if later == len(numbers):
            return None
        return self._calls[numbers[later]][0].request["messages"][len(request_messages)]


def _compact_arguments(arguments: Any) -> Any:
    return compact_json(arguments) if isinstance(arguments, str) else arguments or ""


class _Reader:
    def __init__(self, run: Run, joiner: EntryJoiner) -> None:
        self.joiner = joiner
        self._run = run

    def add_prompts(self, prompts: JsonElements) -> None:
        for element in prompts:
            match element:
                case {"logs": [_, *_] as logs, **fields}:
                    prompts.count_records(len(logs))
                    prompt = Prompt(fields)
                    for number, log in enumerate(logs):
                        self.add_entry(log, f"{prompts.where()}, log {number}", prompt)
                case {"prompt": str(text), **fields} if not fields.get("logs") and text.strip():
                    fields.pop("logs", None)
                    self.joiner.add_prompt_without_request(Prompt({"prompt": text, **fields}))
                case dict() if not element.get("logs"):
                    self._run.skipped("empty-prompt")
                case _:
                    self._run.quarantined(BAD_ENTRY, prompts.raw, prompts.where())
        self.joiner.file_fields |= {key: value for key, value in prompts.wrapper.items() if key != "prompts"}

    def add_prompt(self, logs: JsonElements) -> None:
        prompt = Prompt()
        for log in logs:
            self.add_entry(log, logs.where(), prompt)
        prompt.fields |= {key: value for key, value in logs.wrapper.items() if key != "logs"}

    def add_markdown(self, source: Source) -> None:
        with source.open() as stream:
            text = read_at_most(stream, _MAX_BYTES).decode("utf-8-sig", "replace")
        text = text.replace("\r\n", "\n").replace("\0", "")
        log = parse_entry(text, source.stem)
        if log is None:
            self._run.skipped("log-note")
        else:
            self.add_entry(log, source.name, Prompt())

    def add_entry(self, log: Any, where: str, prompt: Prompt) -> None:
        """Add an entry, or quarantine it."""
        try:
            is_known = isinstance(log, dict) and self.joiner.add(Entry(log, where, prompt))
        except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other entries
            self._run.quarantined(UNFORESEEN, canonical_json(log), where, f"{type(error).__name__}: {error}")
            return
        if not is_known:
            self._run.quarantined(BAD_ENTRY, canonical_json(log), where)
