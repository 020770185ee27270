"""Reading one session: every message is a record, and so are its manifest and every message of a compacted view.

A manifest without messages gives the prompt that the session was started with; without a prompt there is no
conversation (`empty-session`). What stands where messages should be, and is none, is set aside.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import orjson

from palaver.errors import PalaverError
from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.cline.sdk_compaction import Seen, summary_of
from palaver.importers.cline.sdk_database import row_of
from palaver.importers.cline.sdk_files import COMPACTION, SessionFiles, seen, stem_of
from palaver.importers.cline.sdk_header import Header
from palaver.importers.cline.sdk_messages import Messages
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import readable_timestamp
from palaver.sources.damage import NOT_AN_OBJECT, repair
from palaver.sources.elements import JsonElements, WholeElements, elements_of
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import LARGEST_BYTES, UNREADABLE_SIDE_FILE, counted, json_document, read_at_most

MISSING_MESSAGES = finding_kind(
    "missing-messages", "note", "A session has no messages any more; the prompt that started it is kept."
)

FRAGMENT_BYTES = 1 << 25
"""What is smaller is one document; of what is larger, the rest comes in smaller fragments."""
LATER_FRAGMENT_BYTES = 1 << 22


class SessionReader:
    def __init__(self, source: Source, run: Run) -> None:
        self._source = source
        self._run = run
        self._files = SessionFiles.of(source)
        self._seen = Seen() if self._files.compactions else None
        self._sequence = 0
        self._position = 0
        self._created_at = ""
        self._time = ""
        """The last that is known."""

    def documents(self) -> Iterator[JsonObject]:
        manifest = self._manifest()
        header = self._header(manifest or {})
        messages = Messages(header.session_id, self._run, is_sidechain=header.is_sidechain)
        pending: list[JsonObject] = []
        has_prompt = False
        limit = FRAGMENT_BYTES
        for message, taken in self._messages(header, messages):
            if taken > limit and pending:
                limit = taken + LATER_FRAGMENT_BYTES
                if header.system_prompt and not self._sequence:
                    has_prompt = True
                    pending.insert(0, messages.system_prompt(header.system_prompt, ""))
                yield self._document(header, pending, is_final=False)
                pending = []
            pending.append(message)
        for view in self._files.compactions:
            header.summaries += self._summaries(view, header)
        is_prompt_left = bool(not pending and not self._sequence and header.prompt)
        if is_prompt_left:
            self._run.note(MISSING_MESSAGES, header.session_id)
            pending.append(messages.prompt(header.prompt, ""))
            header.first_words = header.prompt
        has_any = bool(pending or self._sequence or header.summaries)
        if has_any:
            if header.system_prompt and not has_prompt:
                pending.insert(0, messages.system_prompt(header.system_prompt, ""))
            yield self._document(header, pending, is_final=True)
        if manifest is None:
            return
        if is_prompt_left:
            self._run.mapped()
        elif has_any:
            self._run.folded("conversation")
        else:
            self._run.skipped("empty-session")

    def _manifest(self) -> JsonObject | None:
        """What the manifest says; None where there is none, or none that can be read."""
        if self._files.manifest is None:
            return None
        for value in json_document(self._files.manifest, self._run):
            if isinstance(value, dict):
                return value
            self._run.quarantined(NOT_AN_OBJECT, json.dumps(value).encode(), self._files.manifest.name)
        return None

    def _header(self, manifest: JsonObject) -> Header:
        file = self._files.messages
        around = _around(file) if file is not None else {}
        stated = (around.get("sessionId"), around.get("conversation_id"), manifest.get("session_id"))
        session_id = next((one for one in stated if isinstance(one, str) and one), "") or stem_of(
            self._source.file_name
        )
        header = Header(session_id, manifest, row_of(self._source, session_id), around)
        if file is not None and file.file_name.endswith(COMPACTION):
            header.views.append({"file": file.file_name, "messages_are_this_view": True})
        return header

    def _messages(self, header: Header, messages: Messages) -> Iterator[tuple[JsonObject, int]]:
        """The messages, each with how far the file was read before it."""
        if self._files.messages is None:
            return
        with self._elements(self._files.messages) as elements:
            messages.where = elements.where
            for record in elements:
                if not isinstance(record, dict):
                    self._run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where())
                    continue
                try:
                    if self._seen is not None:
                        self._seen.add(record)
                    made = messages.message(record, elements.number - 1)
                    header.learn(made)
                except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other messages
                    words = f"{type(error).__name__}: {error}"
                    self._run.quarantined(UNFORESEEN, elements.raw, elements.where(), words)
                    continue
                self._run.mapped()
                yield made, elements.taken
            header.learn_around(elements.wrapper)

    @contextmanager
    def _elements(self, file: Source, label: str = "") -> Generator[JsonElements | WholeElements]:
        """The records of a file; one that holds no messages is set aside whole."""
        with elements_of(file, self._run, "messages", label=label) as elements:
            yield elements
        if elements.number:
            return
        match seen(file):
            case {"messages": list()}:
                return
            case _:
                with file.open() as stream:
                    raw = read_at_most(stream, LARGEST_BYTES)
                if raw.strip():
                    counted(file, self._run)
                    self._run.quarantined(BAD_CONVERSATION, raw, file.name, "there are no messages in it")

    def _summaries(self, view: Source, header: Header) -> list[JsonObject]:
        """What a compacted view holds that the transcript does not."""
        name = view.file_name
        found: list[JsonObject] = []
        known = self._seen or Seen()
        try:
            with self._elements(view, name) as elements:
                for record in elements:
                    if not isinstance(record, dict):
                        self._run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where())
                    elif unknown := known.unknown_in(record):
                        at = (elements.wrapper.get("updated_at"), record.get("ts"))
                        timestamp = next(filter(None, map(readable_timestamp, at)), "") or self._fallback(header)
                        found.append(summary_of(record, unknown, stem_of(name), elements.number - 1, timestamp))
                        self._run.mapped()
                    else:
                        self._run.folded("transcript")
                header.add_view(name, elements.wrapper)
        except (PalaverError, OSError) as error:
            self._run.note(UNREADABLE_SIDE_FILE, name, str(error), kept=False)
        return found

    def _document(self, header: Header, messages: list[JsonObject], *, is_final: bool) -> JsonObject:
        if not self._created_at:
            header.note_times(self._run)
            times = [message["timestamp"] for message in messages if message["timestamp"]]
            self._created_at = header.started_at or min(times, default="") or self._fallback(header)
            self._time = min([self._created_at, *times])  # what a fork took over is older than the session
        for message in messages:
            # A message without a time of its own has that of the one before it.
            self._time = message["timestamp"] = message["timestamp"] or self._time
        fragment = None
        if self._sequence or not is_final:
            fragment = {"sequence": self._sequence, "final": is_final, "start": self._position}
        self._sequence += 1
        self._position += len(messages)
        return header.document(messages, self._created_at, fragment)

    def _fallback(self, header: Header) -> str:
        return header.updated_at() or self._source.written_at()


def _around(file: Source) -> JsonObject:
    """What stands before the messages of a file, as a document may hold it."""
    found = seen(file)
    if not isinstance(found, dict):
        return {}
    around = {name: value for name, value in found.items() if name != "messages"}
    try:
        orjson.dumps(around)
    except TypeError:
        values = repair(json.dumps(around).encode()).values
        return values[0] if values and isinstance(values[0], dict) else {}
    return around
