"""What `claude -p --output-format stream-json` and the agent SDK print, and audit logs of the same shape.

No parent links and no times (audit logs have `_audit_timestamp`); the ids are in snake case; messages of an agent carry
the call that started it in `parent_tool_use_id`; the last record is the result with the cost of the run.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers.claude_code import events
from palaver.importers.claude_code.disposition import INTO_CONVERSATION, Disposition, skipped
from palaver.importers.claude_code.header import Shapes
from palaver.importers.claude_code.lines import HANDLERS
from palaver.importers.claude_code.reading import Reading, Records
from palaver.importers.claude_code.routes import Routes
from palaver.importers.claude_code.session import SessionReader, link_agent
from palaver.importers.claude_code.transcript import Transcript

Json = dict[str, Any]

_SHAPES = Shapes()


def initial(transcript: Transcript, record: Json, reading: Reading) -> Disposition:
    """The first record tells what the run was started with."""
    if record.get("subtype") != "init":
        return events.system(transcript, record, reading)
    if (version := record.pop("claude_code_version", None)) is not None:
        record["version"] = version
    fields = transcript.header.metadata(record, _SHAPES)
    transcript.facts["init"] = {key: value for key, value in fields.items() if key != "subtype"}
    transcript.note_time(record.get("timestamp"))
    return INTO_CONVERSATION


def result(transcript: Transcript, record: Json, _reading: Reading) -> Disposition:
    cost = record.get("total_cost_usd")
    if type(cost) in {int, float} and cost >= 0:
        transcript.cost = {"amount": cost, "currency": "USD"}
    transcript.status = "error" if record.get("is_error") is True else "completed"
    transcript.note_time(record.get("timestamp"))
    kept = {key: value for key, value in record.items() if key not in {"type", "sessionId", "uuid"}}
    last = transcript.messages[-1]["content"][-1] if transcript.messages else {}
    if kept.get("result") == last.get("text"):
        kept.pop("result", None)  # the last answer once more
    transcript.facts["result"] = kept
    return INTO_CONVERSATION


def stream_event(_transcript: Transcript, _record: Json, _reading: Reading) -> Disposition:
    """A part of a message that follows whole."""
    return skipped("stream-event")


class StreamReader(SessionReader):
    handlers = {**HANDLERS, "system": initial, "result": result, "stream_event": stream_event}

    def read_stream(self, records: Records) -> Iterator[Json]:
        routes = self.routes()
        reading = Reading(_Prepared(records, routes), self.keep_original_files)
        tally = yield from self.read_records(routes, reading)
        yield from self.finish(routes, tally)
        routes.close()


class _Prepared:
    """The records, spelled as session files spell them."""

    def __init__(self, records: Records, routes: Routes) -> None:
        self._records = records
        self._routes = routes

    @property
    def taken(self) -> int:
        return self._records.taken

    @property
    def number(self) -> int:
        return self._records.number

    @property
    def raw(self) -> bytes:
        return self._records.raw

    def where(self) -> str:
        return self._records.where()

    def __iter__(self) -> Iterator[Any]:
        last: dict[str, str] = {}
        for record in self._records:
            if type(record) is dict:
                for theirs, ours in _SPELLINGS:
                    if theirs in record:
                        record.setdefault(ours, record.pop(theirs))
                call = record.pop("parent_tool_use_id", None)
                chain = ""
                if type(call) is str:
                    chain = record["agentId"] = call
                    record["isSidechain"] = True
                    owner = self._routes.of({"sessionId": record.get("sessionId")})
                    owner.task_of_agent[call] = call
                    link_agent(self._routes.agent(owner, call), owner, {})
                # Nothing else says what follows what: the order of the records does.
                if record.get("type") in {"user", "assistant"} and type(uuid := record.get("uuid")) is str:
                    if chain in last:
                        record.setdefault("parentUuid", last[chain])
                    last[chain] = uuid
            yield record


_SPELLINGS = (("session_id", "sessionId"), ("_audit_timestamp", "timestamp"))
