"""A session file and what lies beside it, read line by line into conversations."""

from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import orjson

from palaver.errors import SourceError
from palaver.importers._shared.findings import UNFORESEEN
from palaver.importers.claude_code.content import blocks, plain_text
from palaver.importers.claude_code.copies import bare
from palaver.importers.claude_code.disposition import INTO_CONVERSATION, PROGRESS, Disposition
from palaver.importers.claude_code.document import PLATFORM
from palaver.importers.claude_code.header import HEADER
from palaver.importers.claude_code.lines import HANDLERS, Handler, handler_of
from palaver.importers.claude_code.reading import Reading
from palaver.importers.claude_code.resume import continued, cursor_behind, is_as_it_was, mark_read, restore
from palaver.importers.claude_code.routes import Routes
from palaver.importers.claude_code.transcript import Transcript
from palaver.importers.claude_code.unit import (
    AgentFile,
    SideFiles,
    agent_id_of,
    index_entry,
    is_session_id,
    outputs_among,
    read_about,
    side_files,
)
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import UNREADABLE_SIDE_FILE, counted, json_document

FRAGMENT_BYTES = 1 << 24
"""What is smaller is one document. Of what is larger, the rest comes in small fragments: what the processor's cache
still holds is checked and written in half the time."""
LATER_FRAGMENT_BYTES = 1 << 20
FRAGMENT_LINES = 1 << 14
"""Of short lines, fewer bytes are as much: what is made of each takes up a kilobyte and more."""

Tally = Counter[Disposition]
Tasks = dict[str, tuple[str, Any]]
Documents = Generator[JsonObject, None, Tally]

_IN_THE_PARENT: Disposition = ("folded", "parent conversation")


class SessionReader:
    """Reads one unit; its transcripts stay open to the end, since agents refer to the session they belong to."""

    handlers: ClassVar[dict[str, Handler]] = HANDLERS

    def __init__(self, source: Source, run: Run, *, keep_original_files: bool = False) -> None:
        self.source = source
        self.run = run
        self.keep_original_files = keep_original_files
        self.tasks: Tasks = {}
        """Calls of agents anywhere in the unit."""

    def fallback_time(self) -> str:
        return self.source.written_at()

    def read(self) -> Iterator[JsonObject]:
        """Read the session's own file, then its agents'."""
        if agent_id := agent_id_of(self.source):
            yield from self._read_agent(AgentFile(agent_id, self.source), None, None)
            return
        sides = self.source.under(self.source.stem)
        routes = self.routes()
        start = number = 0
        if cursor := continued(self.source, sides, self.run):
            start, number = cursor.offset, cursor.state["number"]
            restore(routes.main, cursor.state)
            self.run.is_continued = True
        side = side_files([one for one in sides if not (cursor and is_as_it_was(one, self.run))], self.run)
        try:
            with self.source.open(start) as stream:
                records = JsonLines(stream, self.run, start=start, number=number)
                agents = frozenset(agent.agent_id for agent in side.agents)
                reading = Reading(records, self.keep_original_files, outputs_among(sides), agents=agents)
                tally = yield from self.read_records(routes, reading)
            self._add_side_files(side, routes.main)
            yield from self.finish(routes, tally)
            self._mark(self.source, records, routes)
            self.tasks = dict(routes.main.tasks)
            for agent in side.agents:
                try:
                    yield from self._read_agent(agent, routes.main, reading)
                except (SourceError, OSError) as error:  # one agent's file must not cost the others
                    self.run.note(UNREADABLE_SIDE_FILE, agent.source.name, str(error), kept=False)
        finally:
            routes.close()
        for name, output in side.outputs.items():
            counted(output, self.run)
            if name in reading.used_outputs:
                self.run.folded("message")
            else:
                self.run.skipped("unreferenced-output")
        for one in sides:
            mark_read(one, self.run)

    def _mark(self, source: Source, records: JsonLines, routes: Routes) -> None:
        """Remember where the next run may go on."""
        if self.run.keeps_cursors and (behind := cursor_behind(source, records, routes)):
            self.run.next_cursors[source.name] = behind

    def read_records(self, routes: Routes, reading: Reading, parent: Transcript | None = None) -> Documents:
        """Add every record to its conversation; hand out fragments when they grow too large for memory."""
        records = reading.records
        main = routes.main
        splits, branches = routes.splits, routes.branches
        handlers = self.handlers
        reading.agent_progress = partial(self._agent_progress, routes)
        tally: Tally = Counter()
        dispositions: list[Disposition] = []
        dispose = dispositions.append
        limit = records.taken + FRAGMENT_BYTES
        look = records.taken + min(FRAGMENT_BYTES, LATER_FRAGMENT_BYTES)
        for record in records:
            try:
                handler = handlers[record["type"]]
            except (KeyError, TypeError):  # no object, no type, a new one, or one that is no text
                if not isinstance(record, dict):
                    self.run.quarantined(NOT_AN_OBJECT, records.raw, records.where())
                    continue
                handler = handler_of(record)
            try:
                transcript = main
                if (branches and record.get("isSidechain")) or (splits and record.get("sessionId") != main.session_id):
                    transcript = routes.of(record)
                if parent is not None and _stands_in(parent, record):
                    disposition = _IN_THE_PARENT
                else:
                    disposition = handler(transcript, record, reading)
            except Exception as error:  # noqa: BLE001 - a bug of ours must not cost the other lines
                message = f"{type(error).__name__}: {error}"
                self.run.quarantined(UNFORESEEN, records.raw, records.where(), message)
                continue
            dispose(disposition)
            if records.taken > look:
                look = records.taken + LATER_FRAGMENT_BYTES
                if records.taken <= limit and len(dispositions) < FRAGMENT_LINES:
                    continue
                limit = 0
                tally.update(dispositions)
                dispositions.clear()
                for transcript in routes.all():
                    if (document := transcript.fragment()) is not None:
                        yield document
        tally.update(dispositions)
        return tally

    def routes(self) -> Routes:
        stem = self.source.stem
        is_session = bool(is_session_id(stem))
        session_id, first_time = (stem, None) if is_session else first_session(self.source.head())
        conversation_id = session_id or conversation_uuid(PLATFORM, first_time or self.fallback_time(), stem)
        main = Transcript(conversation_id, self.run, session_id=session_id, fallback_time=self.fallback_time)
        return Routes(main, self.run, self.fallback_time, splits=not is_session)

    def finish(self, routes: Routes, tally: Tally) -> Iterator[JsonObject]:
        """Hand out what is left of every conversation, and enter the records into the ledger."""
        found = False
        for transcript in routes.all():
            if (document := transcript.finish()) is not None:
                found = True
                yield document
        if not found and (facts := tally.pop(INTO_CONVERSATION, 0)):
            self.run.skipped("no-conversation", facts)
        self.enter(tally)

    def enter(self, tally: Tally) -> None:
        for (word, reason), count in tally.items():
            if word == "mapped":
                self.run.mapped(count)
            elif word == "folded":
                self.run.folded(reason, count)
            else:
                self.run.skipped(reason, count)

    @staticmethod
    def _agent_progress(routes: Routes, transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
        """An agent's messages inside progress are read where the agent has no file of its own."""
        match record.get("data"):
            case {"agentId": str(agent), "message": {"type": "user" | "assistant"} as inner}:
                if isinstance((call_id := record.get("parentToolUseID")), str):
                    transcript.task_of_agent[agent] = call_id
                if agent in reading.agents:
                    return PROGRESS
                target = routes.agent(transcript, agent)
                link_agent(target, transcript, {}, transcript.tasks)
                for key in record.keys() & HEADER:
                    inner.setdefault(key, record[key])
                if inner.get("parentUuid") is None and target.messages:
                    inner["parentUuid"] = target.messages[-1]["message_id"]
                return handler_of(inner)(target, inner, reading)
            case _:
                return PROGRESS

    def _add_side_files(self, side: SideFiles, main: Transcript) -> None:
        """Add what the files beside a session tell of it: workflows, and the index that the product caches."""
        for journal in side.journals:
            try:
                with journal.open() as stream:
                    entries = list(JsonLines(stream, self.run, label=journal.name))
            except (SourceError, OSError) as error:
                self.run.note(UNREADABLE_SIDE_FILE, journal.name, str(error), kept=False)
                continue
            main.facts.setdefault("journals", {})[journal.name] = entries
            self.run.folded("conversation", len(entries))
        for state in side.states:
            for value in json_document(state, self.run):
                main.facts.setdefault("workflows", {})[state.stem] = value
                self.run.folded("conversation")
        for other in side.others:
            counted(other, self.run)
            self.run.skipped("side-file")
        if not main.titles or not main.header.seen["cwd"]:
            entry = index_entry(self.source.beside("sessions-index.json"), main.session_id)
            if isinstance((title := entry.get("summary")), str) and title:
                main.titles.setdefault("index", title)
            if not main.header.seen["cwd"] and isinstance((path := entry.get("projectPath")), str):
                main.header.seen["cwd"].append(path)

    def _read_agent(self, agent: AgentFile, main: Transcript | None, reading: Reading | None) -> Iterator[JsonObject]:
        if main:
            session_id = main.conversation_id
        else:
            session_id = first_session(agent.source.head())[0]
            read_about(agent, self.run)
        transcript = Transcript(
            f"{session_id or agent.source.stem}:agent-{agent.agent_id}",
            self.run,
            session_id=session_id,
            fallback_time=agent.source.written_at,
            parent_id=session_id,
            is_sidechain=True,
            agent_id=agent.agent_id,
            outer=main,
        )
        start = number = 0
        if self.run.is_continued and (cursor := self.run.cursors.get(agent.source.name)):
            start, number = cursor.offset, cursor.state["number"]
            restore(transcript, cursor.state)
        link_agent(transcript, main, agent.about, self.tasks)
        routes = Routes(transcript, self.run, self.fallback_time, splits=False, branches=False)
        with agent.source.open(start) as stream:
            label = agent.source.name if main else ""
            records = JsonLines(stream, self.run, label=label, start=start, number=number)
            agent_reading = replace(reading, records=records) if reading else Reading(records, self.keep_original_files)
            tally = yield from self.read_records(routes, agent_reading, main)
        if is_warmup(transcript):
            self.run.skipped("warmup-agent", tally.total())
        else:
            yield from self.finish(routes, tally)
            self._mark(agent.source, records, routes)
        self.tasks.update(transcript.tasks)
        routes.close()


def link_agent(agent: Transcript, caller: Transcript | None, about: JsonObject, tasks: Tasks) -> None:
    """Tie an agent's conversation to the call that started it; `about` is its `.meta.json`."""
    if agent.facts.get("parent_tool_use_id"):
        return
    if about:
        agent.facts["agent"] = about
        if isinstance((parent := about.get("parentAgentId")), str) and caller:
            agent.parent_id = caller.agent_conversation(parent)
    call_id = about.get("toolUseId")
    if call_id is None and caller and agent.agent_id:
        call_id = caller.task_of_agent.get(agent.agent_id)
    if isinstance(call_id, str):
        agent.facts["parent_tool_use_id"] = call_id
        if task := tasks.get(call_id):
            agent.fork_point = task[0]


def is_warmup(transcript: Transcript) -> bool:
    """Files that versions around 2.0.28 wrote on start-up: "Warmup", an answer, and nothing done."""
    if transcript.sequence or not transcript.messages or plain_text(transcript.messages[0]["content"]) != "Warmup":
        return False
    return not any(block["type"] == "tool_use" for message in transcript.messages for block in message["content"])


def _stands_in(parent: Transcript, record: JsonObject) -> bool:
    """Whether a line of an agent is one of the session's: side runs begin with a copy of what they were told."""
    message = record.get("message")
    if not isinstance(message, dict):
        return False
    uuid, api_id = record.get("uuid"), message.get("id")
    known = parent.links.get(uuid) if isinstance(uuid, str) else None
    if known is None and isinstance(api_id, str):
        known = parent.answers.get(api_id)
    if known:
        held = bare(known["content"])
        return all(block in held for block in bare(blocks(message.get("content"))))
    return (isinstance(uuid, str) and parent.handed_out(uuid) is not None) or (
        isinstance(api_id, str) and parent.earlier_answer(api_id) is not None
    )


def first_session(head: bytes) -> tuple[str | None, str | None]:
    """The first session id and the first time in the first bytes of a file."""
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
