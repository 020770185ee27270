"""Reader for an SDK session: every message is a record, and so are the manifest and each message of a compacted view.

A manifest without messages yields the prompt that started the session; without a prompt there is no conversation
(`empty-session`). A file without messages, or a message that is not an object, is quarantined.

A compacted view is what the model is sent in place of the full transcript. It repeats messages of the transcript, some
shortened, and adds what the runtime wrote in place of others: a summary (`compaction_summary`), or a notice after a
user message. Whatever it adds or changes becomes a summary.
"""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import orjson

from palaver.errors import PalaverError
from palaver.importers._shared.findings import BAD_CONVERSATION, UNFORESEEN
from palaver.importers.cline.session_files import COMPACTION, SessionFiles, file_head, stem_of
from palaver.importers.cline.session_header import Header, database_row
from palaver.importers.cline.session_messages import Messages
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.arrays.elements import JsonElements, WholeElements, open_elements
from palaver.sources.damage import NOT_AN_OBJECT, repair
from palaver.sources.run import Run
from palaver.sources.small_files import LARGEST_BYTES, UNREADABLE_SIDE_FILE, count_file, json_document, read_at_most
from palaver.sources.source import Source

_PRESERVED_METADATA = {"compaction": "preserved"}
"""Metadata that a view adds to messages it repeats."""
_UNCOMPARED_FIELDS = frozenset({"id", "content", "ts"})
_SECONDARY_FIELDS = frozenset({"role", "modelInfo", "metrics", "agent", "sessionId"})
"""Fields that are not worth a summary if nothing else is new."""
MISSING_MESSAGES = finding_kind(
    "missing-messages", "note", "The messages of a session no longer exist; its first prompt is kept."
)
FRAGMENT_BYTES = 1 << 25
"""Size of the first fragment; smaller sessions are one document."""
LATER_FRAGMENT_BYTES = 1 << 22


def read_session(source: Source, run: Run) -> Iterator[JsonObject]:
    yield from _SessionReader(source, run).documents()


class _SessionReader:
    def __init__(self, source: Source, run: Run) -> None:
        self._source = source
        self._run = run
        self._files = SessionFiles.of(source)
        self._transcript = TranscriptContent() if self._files.compactions else None
        self._sequence = 0
        self._position = 0
        self._created_at = ""
        self._time = ""
        """The last known time."""

    def documents(self) -> Iterator[JsonObject]:
        manifest = self._manifest()
        header = self._header(manifest or {})
        messages = Messages(header.session_id, self._run, is_sidechain=header.is_sidechain)
        pending: list[JsonObject] = []
        has_prompt = False
        limit = FRAGMENT_BYTES
        for message, bytes_read in self._messages(header, messages):
            if bytes_read > limit and pending:
                limit = bytes_read + LATER_FRAGMENT_BYTES
                if header.system_prompt and not self._sequence:
                    has_prompt = True
                    pending.insert(0, messages.system_prompt(header.system_prompt, ""))
                yield self._document(header, pending, is_final=False)
                pending = []
            pending.append(message)
        for view in self._files.compactions:
            header.summaries += self._summaries(view, header)
        has_only_prompt = bool(not pending and not self._sequence and header.prompt)
        if has_only_prompt:
            self._run.note(MISSING_MESSAGES, header.session_id)
            pending.append(messages.prompt(header.prompt, ""))
            header.first_text = header.prompt
        has_content = bool(pending or self._sequence or header.summaries)
        if has_content:
            if header.system_prompt and not has_prompt:
                pending.insert(0, messages.system_prompt(header.system_prompt, ""))
            yield self._document(header, pending, is_final=True)
        if manifest is None:
            return
        if has_only_prompt:
            self._run.mapped()
        elif has_content:
            self._run.folded("conversation")
        else:
            self._run.skipped("empty-session")

    def _manifest(self) -> JsonObject | None:
        """Return the manifest, or None if it is missing or unreadable."""
        if self._files.manifest is None:
            return None
        for value in json_document(self._files.manifest, self._run):
            if isinstance(value, dict):
                return value
            self._run.quarantined(NOT_AN_OBJECT, json.dumps(value).encode(), self._files.manifest.name)
        return None

    def _header(self, manifest: JsonObject) -> Header:
        file = self._files.messages
        wrapper = _wrapper_fields(file) if file is not None else {}
        stated = (wrapper.get("sessionId"), wrapper.get("conversation_id"), manifest.get("session_id"))
        session_id = next((value for value in stated if isinstance(value, str) and value), "") or stem_of(
            self._source.file_name
        )
        header = Header(session_id, manifest, database_row(self._source, session_id), wrapper)
        if file is not None and file.file_name.endswith(COMPACTION):
            header.views.append({"file": file.file_name, "messages_are_this_view": True})
        return header

    def _messages(self, header: Header, messages: Messages) -> Iterator[tuple[JsonObject, int]]:
        """Yield the messages, each with the number of bytes read so far."""
        if self._files.messages is None:
            return
        with self._elements(self._files.messages) as elements:
            messages.where = elements.where
            for record in elements:
                if not isinstance(record, dict):
                    self._run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where())
                    continue
                try:
                    if self._transcript is not None:
                        self._transcript.add(record)
                    built = messages.message(record, elements.number - 1)
                    header.add_message(built)
                except Exception as error:  # noqa: BLE001 - a bug must not lose the other messages
                    message = f"{type(error).__name__}: {error}"
                    self._run.quarantined(UNFORESEEN, elements.raw, elements.where(), message)
                    continue
                self._run.mapped()
                yield built, elements.bytes_read
            header.add_wrapper(elements.wrapper)

    @contextmanager
    def _elements(self, file: Source, label: str = "") -> Generator[JsonElements | WholeElements]:
        """Open the records of a file; a file without messages is quarantined as a whole."""
        with open_elements(file, self._run, "messages", label=label) as elements:
            yield elements
        if elements.number:
            return
        match file_head(file):
            case {"messages": list()}:
                return
            case _:
                with file.open() as stream:
                    raw = read_at_most(stream, LARGEST_BYTES)
                if raw.strip():
                    count_file(file, self._run)
                    self._run.quarantined(BAD_CONVERSATION, raw, file.name, "there are no messages in it")

    def _summaries(self, view: Source, header: Header) -> list[JsonObject]:
        """Return summaries for everything in a compacted view that the transcript does not contain."""
        name = view.file_name
        found: list[JsonObject] = []
        transcript = self._transcript or TranscriptContent()
        try:
            with self._elements(view, name) as elements:
                for record in elements:
                    if not isinstance(record, dict):
                        self._run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where())
                    elif new_fields := transcript.new_content(record):
                        at = (elements.wrapper.get("updated_at"), record.get("ts"))
                        timestamp = next(filter(None, map(timestamp_or_empty, at)), "") or self._fallback(header)
                        found.append(summary_of(record, new_fields, stem_of(name), elements.number - 1, timestamp))
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
            self._time = min([self._created_at, *times])  # messages copied by a fork are older than the session
        for message in messages:
            self._time = message["timestamp"] = message["timestamp"] or self._time
        fragment = None
        if self._sequence or not is_final:
            fragment = {"sequence": self._sequence, "final": is_final, "start": self._position}
        self._sequence += 1
        self._position += len(messages)
        return header.document(messages, self._created_at, fragment)

    def _fallback(self, header: Header) -> str:
        return header.updated_at() or self._source.written_at()


def _wrapper_fields(file: Source) -> JsonObject:
    """Return the fields before the messages of a file, repaired if they cannot be written as JSON."""
    found = file_head(file)
    if not isinstance(found, dict):
        return {}
    wrapper = {name: value for name, value in found.items() if name != "messages"}
    try:
        orjson.dumps(wrapper)
    except TypeError:
        values = repair(json.dumps(wrapper).encode()).values
        return values[0] if values and isinstance(values[0], dict) else {}
    return wrapper


class TranscriptContent:
    """Hashes of everything in the transcript: each block, and each other field with the id of its message."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def add(self, record: JsonObject) -> None:
        content = record.get("content")
        for block in content if isinstance(content, list) else (content,):
            self._hashes.add(_key("", block))
        name = _record_id(record)
        for field, value in record.items():
            if field not in _UNCOMPARED_FIELDS:
                self._hashes.add(_key(f"{name}/{field}", value))

    def new_content(self, record: JsonObject) -> JsonObject:
        """Return the parts of a view's record that are not in the transcript: blocks in `content`, and other fields."""
        name = _record_id(record)
        found: JsonObject = {}
        for field, value in record.items():
            if field in _UNCOMPARED_FIELDS or value is None or (field == "metadata" and value == _PRESERVED_METADATA):
                continue
            if _key(f"{name}/{field}", value) not in self._hashes:
                found[field] = value
        content = record.get("content")
        blocks = content if isinstance(content, list) else () if content is None else (content,)
        if new := [block for block in blocks if _key("", block) not in self._hashes]:
            found["content"] = new
        elif found.keys() <= _SECONDARY_FIELDS:
            return {}
        return found


def summary_of(record: JsonObject, new_fields: JsonObject, view: str, number: int, timestamp: str) -> JsonObject:
    """Return the summary for the new parts of a view's record."""
    rest = dict(new_fields)
    blocks: list[Any] = rest.pop("content", [])
    texts = [text for block in blocks if (text := _block_text(block)) is not None]
    others = [block for block in blocks if _block_text(block) is None]
    text = "\n\n".join(texts)
    metadata = rest.get("metadata")
    if isinstance(metadata, dict):
        stated = metadata.get("summary")
        if isinstance(stated, str) and (not text or stated in text):
            text = text or stated
            rest["metadata"] = {name: value for name, value in metadata.items() if name != "summary"}
        timestamp = timestamp_or_empty(metadata.get("generatedAt")) or timestamp
    name = record.get("id")
    built = build.summary(
        summary_id=f"{view}:{name if isinstance(name, str) and name else number}:{number}",
        type="automatic",
        text=text,
        timestamp=timestamp,
    )
    if others:
        built["content"] = others
    if rest:
        built["metadata"] = rest
    return built


def _block_text(block: Any) -> str | None:
    match block:
        case str():
            return block
        case {"type": "text", "text": str(text)} if len(block) == 2:
            return text
        case _:
            return None


def _record_id(record: JsonObject) -> str:
    name = record.get("id")
    return name if isinstance(name, str) else ""


def _key(scope: str, value: Any) -> int:
    """Return the hash of a value in a scope; a text block counts as its text."""
    text = _block_text(value)
    return hash((scope, _canonical_bytes(value) if text is None else text))


def _canonical_bytes(value: Any) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, RecursionError):
        return repr(value).encode("utf-8", "backslashreplace")
