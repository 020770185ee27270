"""From an exported log to its conversations: every entry is read once, and gets its place in the ledger."""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.github_copilot.replays.entries import BAD_ENTRY, Entry, Prompt
from palaver.importers.github_copilot.replays.joining import Joining
from palaver.importers.github_copilot.replays.markdown import entry_in
from palaver.importers.github_copilot.replays.names import ENTRY, PROMPT, REQUEST_MARKDOWN, TOOL_MARKDOWN
from palaver.importers.github_copilot.replays.shapes import recognize
from palaver.importers.github_copilot.replays.times import noting
from palaver.model.build import JsonObject
from palaver.sources.elements import JsonElements
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import counted, json_document, read_at_most
from palaver.threads.chain import dumped

_LARGEST_BYTES = 1 << 28


def read_unit(source: Source, run: Run) -> Iterator[JsonObject]:
    form = run.form or recognize(source).form
    reader = _Reader(run, Joining(source.written_at(), run))
    if form == ENTRY:
        for log in json_document(source, run):
            reader.take(log, source.name, Prompt())
    elif form in (REQUEST_MARKDOWN, TOOL_MARKDOWN):
        reader.take_markdown(counted(source, run))
    else:
        with source.open() as stream:
            if form == PROMPT:
                reader.take_prompt(JsonElements(stream, run, ("logs",), takes_cut=True))
            else:
                reader.take_prompts(JsonElements(stream, run, ("prompts",), takes_cut=True))
    yield from noting(reader.joining.documents(), run)


class _Reader:
    def __init__(self, run: Run, joining: Joining) -> None:
        self.joining = joining
        self._run = run

    def take_prompts(self, prompts: JsonElements) -> None:
        for element in prompts:
            match element:
                case {"logs": [_, *_] as logs, **about}:
                    prompts.holds(len(logs))
                    prompt = Prompt(about)
                    for number, log in enumerate(logs):
                        self.take(log, f"{prompts.where()}, log {number}", prompt)
                case {"prompt": str(text), **about} if not about.get("logs") and text.strip():
                    about.pop("logs", None)
                    self.joining.add_unasked(Prompt({"prompt": text, **about}))
                case dict() if not element.get("logs"):
                    self._run.skipped("empty-prompt")
                case _:
                    self._run.quarantined(BAD_ENTRY, prompts.raw, prompts.where())
        self.joining.about |= {key: value for key, value in prompts.wrapper.items() if key != "prompts"}

    def take_prompt(self, logs: JsonElements) -> None:
        prompt = Prompt()
        for log in logs:
            self.take(log, logs.where(), prompt)
        prompt.about |= {key: value for key, value in logs.wrapper.items() if key != "logs"}

    def take_markdown(self, source: Source) -> None:
        with source.open() as stream:
            text = read_at_most(stream, _LARGEST_BYTES).decode("utf-8-sig", "replace")
        text = text.replace("\r\n", "\n").replace("\0", "")
        log = entry_in(text, source.stem)
        if log is None:
            self._run.skipped("log-note")
        else:
            self.take(log, source.name, Prompt())

    def take(self, log: Any, where: str, prompt: Prompt) -> None:
        """Give an entry to the conversations."""
        try:
            is_known = isinstance(log, dict) and self.joining.add(Entry(log, where, prompt))
        except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other entries
            self._run.quarantined(UNFORESEEN, dumped(log), where, f"{type(error).__name__}: {error}")
            return
        if not is_known:
            self._run.quarantined(BAD_ENTRY, dumped(log), where)
