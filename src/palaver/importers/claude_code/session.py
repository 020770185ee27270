"""The reader of session files: one session with its agents and side files, line by line, into conversations."""

from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import orjson

from palaver.errors import SourceError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.claude_code.assistant_lines import without_metadata
from palaver.importers.claude_code.commands import typed_content
from palaver.importers.claude_code.content import to_blocks
from palaver.importers.claude_code.dispatch import HANDLERS, Handler, TranscriptRouter, handler_for
from palaver.importers.claude_code.document import PLATFORM
from palaver.importers.claude_code.files import (
    AgentFile,
    SideFiles,
    agent_id_of,
    is_session_id,
    output_files,
    read_agent_meta,
    sort_side_files,
)
from palaver.importers.claude_code.line_context import (
    INTO_CONVERSATION,
    MAPPED,
    PROGRESS,
    Disposition,
    LineContext,
    skipped,
)
from palaver.importers.claude_code.repeated_fields import HEADER_FIELDS
from palaver.importers.claude_code.resume import (
    continuation_cursor,
    is_unchanged,
    next_cursor,
    remember_side_file,
    restore_transcript,
)
from palaver.importers.claude_code.session_index import INDEX_NAME, index_entry
from palaver.importers.claude_code.transcript import Transcript
from palaver.importers.claude_code.warmup import is_warmup, usage_records
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.small_files import UNREADABLE_SIDE_FILE, count_file, json_document
from palaver.sources.source import Source

FRAGMENT_BYTES = 1 << 24
"""A smaller session becomes one document; a larger one is emitted in fragments."""
LATER_FRAGMENT_BYTES = 1 << 20
"""The size of all fragments but the first: what the processor's cache still holds is checked and written in half the
time."""
FRAGMENT_LINES = 1 << 14
"""Limits a fragment of short lines: the message made of each takes up a kilobyte or more."""

Tally = Counter[Disposition]
Tasks = dict[str, tuple[str, Any]]
Documents = Generator[JsonObject, None, Tally]

_IN_PARENT: Disposition = ("folded", "parent conversation")


class SessionReader:
    """Reads one session; its transcripts stay open to the end, because agents refer to their session."""

    handlers: ClassVar[dict[str, Handler]] = HANDLERS

    def __init__(self, source: Source, run: Run, *, keep_original_files: bool = False) -> None:
        self.source = source
        self.run = run
        self.keep_original_files = keep_original_files
        self.tasks: Tasks = {}
        """Calls of agents anywhere in the session: the calling message and the prompt, by call id."""

    def fallback_time(self) -> str:
        return self.source.written_at()

    def read(self) -> Iterator[JsonObject]:
        """Read the session's own file, then those of its agents."""
        if agent_id := agent_id_of(self.source):
            yield from self._read_agent(AgentFile(agent_id, self.source), None, None)
            return
        side_sources = self.source.files_below(self.source.stem)
        router = self.new_router()
        start = number = 0
        if cursor := continuation_cursor(self.source, side_sources, self.run):
            start, number = cursor.offset, cursor.state["number"]
            restore_transcript(router.main, cursor.state)
            self.run.is_continued = True
        new_sides = [side for side in side_sources if not (cursor and is_unchanged(side, self.run))]
        side_files = sort_side_files(new_sides, self.run)
        try:
            with self.source.open(start) as stream:
                records = JsonLines(stream, self.run, start=start, number=number)
                agents = frozenset(agent.agent_id for agent in side_files.agents)
                context = LineContext(records, self.keep_original_files, output_files(side_sources), agents=agents)
                tally = yield from self.read_records(router, context)
            self._add_side_files(side_files, router.main)
            yield from self.finish(router, tally)
            self._save_cursor(self.source, records, router)
            self.tasks = dict(router.main.tasks)
            for agent in side_files.agents:
                try:
                    yield from self._read_agent(agent, router.main, context)
                except (SourceError, OSError) as error:  # the other agents' files may be fine
                    self.run.note(UNREADABLE_SIDE_FILE, agent.source.name, str(error), kept=False)
        finally:
            router.close()
        for name, output in side_files.outputs.items():
            count_file(output, self.run)
            if name in context.used_outputs:
                self.run.folded("message")
            else:
                self.run.skipped("unreferenced-output")
        for side in side_sources:
            remember_side_file(side, self.run)

    def read_records(
        self, router: TranscriptRouter, context: LineContext, parent: Transcript | None = None
    ) -> Documents:
        """Add every record to its conversation; yield fragments of conversations too large for memory."""
        records = context.records
        main = router.main
        splits_sessions, splits_sidechains = router.splits_sessions, router.splits_sidechains
        handlers = self.handlers
        context.handle_agent_progress = partial(self._add_agent_progress, router)
        tally: Tally = Counter()
        dispositions: list[Disposition] = []
        add_disposition = dispositions.append
        limit = records.bytes_read + FRAGMENT_BYTES
        next_check = records.bytes_read + min(FRAGMENT_BYTES, LATER_FRAGMENT_BYTES)
        for record in records:
            try:
                handler = handlers[record["type"]]
            except (KeyError, TypeError):  # not an object, or its type is missing, new, or not a string
                if not isinstance(record, dict):
                    self.run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                    continue
                handler = handler_for(record)
            try:
                transcript = main
                if (splits_sidechains and record.get("isSidechain")) or (
                    splits_sessions and record.get("sessionId") != main.session_id
                ):
                    transcript = router.transcript_for(record)
                if parent is not None and _is_in_parent(parent, record):
                    disposition = _IN_PARENT
                else:
                    disposition = handler(transcript, record, context)
            except Exception as error:  # noqa: BLE001 - a bug must not lose the other lines
                message = f"{type(error).__name__}: {error}"
                self.run.quarantined(UNFORESEEN, records.raw, records.where(), message)
                continue
            add_disposition(disposition)
            if records.bytes_read > next_check:
                next_check = records.bytes_read + LATER_FRAGMENT_BYTES
                if records.bytes_read <= limit and len(dispositions) < FRAGMENT_LINES:
                    continue
                limit = 0
                tally.update(dispositions)
                dispositions.clear()
                for transcript in router.transcripts():
                    if not is_warmup(transcript) and (document := transcript.take_fragment()) is not None:
                        yield document
        tally.update(dispositions)
        return tally

    def new_router(self) -> TranscriptRouter:
        """Return a router whose main transcript is the session that the file is named after, or its first one."""
        stem = self.source.stem
        is_session = bool(is_session_id(stem))
        session_id, first_time = (stem, None) if is_session else _first_session_and_time(self.source.head())
        conversation_id = session_id or conversation_uuid(PLATFORM, first_time or self.fallback_time(), stem)
        main = Transcript(conversation_id, self.run, session_id=session_id, fallback_time=self.fallback_time)
        return TranscriptRouter(main, self.run, self.fallback_time, splits_sessions=not is_session)

    def finish(self, router: TranscriptRouter, tally: Tally) -> Iterator[JsonObject]:
        """Yield the rest of every conversation, and enter the records into the ledger."""
        has_document = False
        for transcript in router.transcripts():
            is_conversation = not is_warmup(transcript)
            if (document := transcript.finish()) is None:
                continue
            if is_conversation:
                has_document = True
                yield document
            else:
                used = usage_records(document)
                if used:
                    self.run.used(*used)
                without_usage = len(document["messages"]) - len(used)
                tally[MAPPED] -= without_usage
                tally[skipped("warmup-agent")] += without_usage
        if not has_document and (count := tally.pop(INTO_CONVERSATION, 0)):
            self.run.skipped("no-conversation", count)
        self._record_outcomes(tally)

    def _save_cursor(self, source: Source, records: JsonLines, router: TranscriptRouter) -> None:
        """Remember where the next run can continue."""
        if self.run.keeps_cursors and (cursor := next_cursor(source, records, router)):
            self.run.next_cursors[source.name] = cursor

    def _record_outcomes(self, tally: Tally) -> None:
        for (word, reason), count in tally.items():
            if word == "mapped":
                self.run.mapped(count)
            elif word == "folded":
                self.run.folded(reason, count)
            else:
                self.run.skipped(reason, count)

    @staticmethod
    def _add_agent_progress(
        router: TranscriptRouter, transcript: Transcript, record: JsonObject, context: LineContext
    ) -> Disposition:
        """Add the message inside an agent's progress line, unless the agent has its own file."""
        match record.get("data"):
            case {"agentId": str(agent), "message": {"type": "user" | "assistant"} as inner}:
                if isinstance((call_id := record.get("parentToolUseID")), str):
                    transcript.task_of_agent[agent] = call_id
                if agent in context.agents:
                    return PROGRESS
                target = router.agent_transcript(transcript, agent)
                link_agent(target, transcript, {}, transcript.tasks)
                for key in record.keys() & HEADER_FIELDS:
                    inner.setdefault(key, record[key])
                if inner.get("parentUuid") is None and target.messages:
                    inner["parentUuid"] = target.messages[-1]["message_id"]
                return handler_for(inner)(target, inner, context)
            case _:
                return PROGRESS

    def _add_side_files(self, side_files: SideFiles, main: Transcript) -> None:
        """Add workflows, and the title and path from the index that Claude Code caches."""
        for journal in side_files.journals:
            try:
                with journal.open() as stream:
                    entries = list(JsonLines(stream, self.run, label=journal.name))
            except (SourceError, OSError) as error:
                self.run.note(UNREADABLE_SIDE_FILE, journal.name, str(error), kept=False)
                continue
            main.platform_metadata.setdefault("journals", {})[journal.name] = entries
            self.run.folded("conversation", len(entries))
        for state in side_files.workflow_states:
            for value in json_document(state, self.run):
                main.platform_metadata.setdefault("workflows", {})[state.stem] = value
                self.run.folded("conversation")
        for other in side_files.others:
            count_file(other, self.run)
            self.run.skipped("side-file")
        if not main.titles or not main.header.seen["cwd"]:
            entry = index_entry(self.source.sibling(INDEX_NAME), main.session_id)
            if isinstance((title := entry.get("summary")), str) and title:
                main.titles.setdefault("index", title)
            if not main.header.seen["cwd"] and isinstance((path := entry.get("projectPath")), str):
                main.header.seen["cwd"].append(path)

    def _read_agent(
        self, agent: AgentFile, main: Transcript | None, context: LineContext | None
    ) -> Iterator[JsonObject]:
        if main:
            session_id = main.conversation_id
        else:
            session_id = _first_session_and_time(agent.source.head())[0]
            read_agent_meta(agent, self.run)
        transcript = Transcript(
            f"{session_id or agent.source.stem}:agent-{agent.agent_id}",
            self.run,
            session_id=session_id,
            fallback_time=agent.source.written_at,
            parent_id=session_id,
            is_sidechain=True,
            agent_id=agent.agent_id,
            caller=main,
        )
        start = number = 0
        if self.run.is_continued and (cursor := self.run.cursors.get(agent.source.name)):
            start, number = cursor.offset, cursor.state["number"]
            restore_transcript(transcript, cursor.state)
        link_agent(transcript, main, agent.meta, self.tasks)
        router = TranscriptRouter(
            transcript, self.run, self.fallback_time, splits_sessions=False, splits_sidechains=False
        )
        with agent.source.open(start) as stream:
            label = agent.source.name if main else ""
            records = JsonLines(stream, self.run, label=label, start=start, number=number)
            agent_context = (
                replace(context, records=records) if context else LineContext(records, self.keep_original_files)
            )
            tally = yield from self.read_records(router, agent_context, main)
        is_whole_again = is_warmup(transcript)  # if it grows, it may become a conversation
        yield from self.finish(router, tally)
        if not is_whole_again:
            self._save_cursor(agent.source, records, router)
        self.tasks.update(transcript.tasks)
        router.close()


def link_agent(agent: Transcript, caller: Transcript | None, meta: JsonObject, tasks: Tasks) -> None:
    """Link an agent's conversation to the call that started it; `meta` is the content of its `.meta.json`."""
    if agent.platform_metadata.get("parent_tool_use_id"):
        return
    if meta:
        agent.platform_metadata["agent"] = meta
        if isinstance((parent := meta.get("parentAgentId")), str) and caller:
            agent.parent_id = caller.agent_conversation_id(parent)
    call_id = meta.get("toolUseId")
    if call_id is None and caller and agent.agent_id:
        call_id = caller.task_of_agent.get(agent.agent_id)
    if isinstance(call_id, str):
        agent.platform_metadata["parent_tool_use_id"] = call_id
        if task := tasks.get(call_id):
            agent.fork_point = task[0]


def _is_in_parent(parent: Transcript, record: JsonObject) -> bool:
    """Return whether an agent's line is a copy of the session's: side runs begin with a copy of their context."""
    message = record.get("message")
    if not isinstance(message, dict):
        return False
    uuid, api_id = record.get("uuid"), message.get("id")
    known = parent.links.get(uuid) if isinstance(uuid, str) else None
    if known is None and isinstance(api_id, str):
        known = parent.answers.get(api_id)
    if known:
        held = without_metadata(known["content"])
        content = message.get("content")
        if (typed := typed_content(record, content)) is not None:
            content = typed
        return all(block in held for block in without_metadata(to_blocks(content)))
    return (isinstance(uuid, str) and parent.emitted_line(uuid) is not None) or (
        isinstance(api_id, str) and parent.emitted_answer(api_id) is not None
    )


def _first_session_and_time(head: bytes) -> tuple[str | None, str | None]:
    """Return the first session id and the first time in the first bytes of a file."""
    session_id = first_time = None
    for line in head.split(b"\n"):
        try:
            record = orjson.loads(line.strip(b"\0\xef\xbb\xbf"))
        except orjson.JSONDecodeError:
            continue
        if not isinstance(record, dict):
            continue
        if session_id is None and isinstance((value := record.get("sessionId", record.get("session_id"))), str):
            session_id = value or None
        if first_time is None and isinstance((value := record.get("timestamp")), str):
            first_time = value
    return session_id, first_time
