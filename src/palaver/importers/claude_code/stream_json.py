"""What `claude -p --output-format stream-json` and the agent SDK print, and audit logs of the same shape.

No parent links and no times (audit logs have `_audit_timestamp`); the ids are in snake case; messages of an agent carry
the call that started it in `parent_tool_use_id`; the last record is the result with the cost of the run.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from palaver.importers.claude_code import events
from palaver.importers.claude_code.answers import raise_usage
from palaver.importers.claude_code.disposition import INTO_CONVERSATION, INTO_MESSAGE, Disposition, skipped
from palaver.importers.claude_code.header import Shapes
from palaver.importers.claude_code.lines import HANDLERS, Handler
from palaver.importers.claude_code.reading import Reading, Records
from palaver.importers.claude_code.routes import Routes
from palaver.importers.claude_code.session import SessionReader, link_agent
from palaver.importers.claude_code.transcript import Transcript
from palaver.model.build import JsonObject

_SHAPES = Shapes()


def initial(transcript: Transcript, record: JsonObject, reading: Reading) -> Disposition:
    """The first record tells what the run was started with."""
    if record.get("subtype") != "init":
        return events.system(transcript, record, reading)
    if (version := record.pop("claude_code_version", None)) is not None:
        record["version"] = version
    fields = transcript.header.metadata(record, _SHAPES[tuple(record)])
    transcript.facts["init"] = {key: value for key, value in fields.items() if key != "subtype"}
    transcript.note_time(record.get("timestamp"))
    return INTO_CONVERSATION


def result(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    cost: Any = record.get("total_cost_usd")
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


def stream_event(transcript: Transcript, record: JsonObject, _reading: Reading) -> Disposition:
    """A part of a message that follows whole; only the last figures of its usage stand nowhere else."""
    match record.get("event"):
        case {"type": "message_start", "message": {"id": str(api_id)}}:
            transcript.streamed_id = api_id
        case {"type": "message_delta", **event}:
            answer = transcript.answers.get(transcript.streamed_id)
            if answer is not None:
                _end_answer(answer, event)
                return INTO_MESSAGE
        case _:
            pass
    return skipped("stream-event")


def _end_answer(answer: JsonObject, event: JsonObject) -> None:
    if isinstance((usage := event.get("usage")), dict):
        raise_usage(answer.setdefault("tokens", {}), usage)
    match event.get("delta"):
        case {"stop_reason": str(reason)}:
            answer["metadata"]["stop_reason"] = reason
            answer["metadata"].pop("tokens_partial", None)
        case _:
            pass


class StreamReader(SessionReader):
    handlers: ClassVar[dict[str, Handler]] = {
        **HANDLERS,
        "system": initial,
        "result": result,
        "stream_event": stream_event,
    }

    def read_stream(self, records: Records) -> Iterator[JsonObject]:
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
            if isinstance(record, dict):
                for theirs, ours in _SPELLINGS:
                    if theirs in record:
                        record.setdefault(ours, record.pop(theirs))
                call = record.pop("parent_tool_use_id", None)
                chain = ""
                if isinstance(call, str):
                    chain = record["agentId"] = call
                    record["isSidechain"] = True
                    owner = self._routes.of({"sessionId": record.get("sessionId")})
                    owner.task_of_agent[call] = call
                    link_agent(self._routes.agent(owner, call), owner, {}, owner.tasks)
                # Nothing else says what follows what: the order of the records does.
                kind = record.get("type")
                if (
                    isinstance(kind, str)
                    and kind in {"user", "assistant"}
                    and isinstance((uuid := record.get("uuid")), str)
                ):
                    if chain in last:
                        record.setdefault("parentUuid", last[chain])
                    last[chain] = uuid
            yield record


_SPELLINGS = (("session_id", "sessionId"), ("_audit_timestamp", "timestamp"))
