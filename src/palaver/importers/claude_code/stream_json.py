"""The output of `claude -p --output-format stream-json` and of the agent SDK, and audit logs of the same shape.

Records have no parent links and no times (audit logs have `_audit_timestamp`); ids are in snake case; an agent's
messages name the call that started it in `parent_tool_use_id`; the last record is the result with the cost of the run.
"""

from collections.abc import Iterator
from typing import Any, ClassVar

from palaver.importers.claude_code import other_lines
from palaver.importers.claude_code.assistant_lines import raise_usage
from palaver.importers.claude_code.dispatch import HANDLERS, Handler, TranscriptRouter
from palaver.importers.claude_code.line_context import (
    INTO_CONVERSATION,
    INTO_MESSAGE,
    Disposition,
    LineContext,
    Records,
    skipped,
)
from palaver.importers.claude_code.repeated_fields import Shapes
from palaver.importers.claude_code.session import SessionReader, link_agent
from palaver.importers.claude_code.transcript import Transcript
from palaver.model.build import JsonObject

_SHAPES = Shapes()


def init(transcript: Transcript, record: JsonObject, context: LineContext) -> Disposition:
    """Store what the run was started with, from its first record."""
    if record.get("subtype") != "init":
        return other_lines.system(transcript, record, context)
    if (version := record.pop("claude_code_version", None)) is not None:
        record["version"] = version
    fields = transcript.header.metadata(record, _SHAPES[tuple(record)])
    transcript.platform_metadata["init"] = {key: value for key, value in fields.items() if key != "subtype"}
    transcript.include_time(record.get("timestamp"))
    return INTO_CONVERSATION


def result(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    """Set cost and status from the last record of a run."""
    cost: Any = record.get("total_cost_usd")
    if type(cost) in {int, float} and cost >= 0:
        transcript.cost = {"amount": cost, "currency": "USD"}
    transcript.status = "error" if record.get("is_error") is True else "completed"
    transcript.include_time(record.get("timestamp"))
    fields = {key: value for key, value in record.items() if key not in {"type", "sessionId", "uuid"}}
    last_block = transcript.messages[-1]["content"][-1] if transcript.messages else {}
    if fields.get("result") == last_block.get("text"):
        fields.pop("result", None)  # repeats the last answer
    transcript.platform_metadata["result"] = fields
    return INTO_CONVERSATION


def stream_event(transcript: Transcript, record: JsonObject, _context: LineContext) -> Disposition:
    """Skip a part of a message that also comes whole, except for the final usage, which is in no other record."""
    match record.get("event"):
        case {"type": "message_start", "message": {"id": str(api_id)}}:
            transcript.streaming_answer_id = api_id
        case {"type": "message_delta", **event}:
            answer = transcript.answers.get(transcript.streaming_answer_id)
            if answer is not None:
                _complete_answer(answer, event)
                return INTO_MESSAGE
        case _:
            pass
    return skipped("stream-event")


def _complete_answer(answer: JsonObject, event: JsonObject) -> None:
    if isinstance((usage := event.get("usage")), dict):
        raise_usage(answer.setdefault("tokens", {}), usage)
    match event.get("delta"):
        case {"stop_reason": str(reason)}:
            answer["metadata"]["stop_reason"] = reason
            answer["metadata"].pop("tokens_partial", None)
        case _:
            pass


class StreamReader(SessionReader):
    """Reads the records of one run with the handlers of session lines."""

    handlers: ClassVar[dict[str, Handler]] = {
        **HANDLERS,
        "system": init,
        "result": result,
        "stream_event": stream_event,
    }

    def read_stream(self, records: Records) -> Iterator[JsonObject]:
        router = self.new_router()
        context = LineContext(_SessionRecords(records, router), self.keep_original_files)
        tally = yield from self.read_records(router, context)
        yield from self.finish(router, tally)
        router.close()


class _SessionRecords:
    """Records with the field names and parent links that session files have."""

    def __init__(self, records: Records, router: TranscriptRouter) -> None:
        self._records = records
        self._routes = router

    @property
    def bytes_read(self) -> int:
        return self._records.bytes_read

    @property
    def number(self) -> int:
        return self._records.number

    @property
    def raw(self) -> bytes:
        return self._records.raw

    def where(self) -> str:
        return self._records.where()

    def __iter__(self) -> Iterator[Any]:
        last_uuids: dict[str, str] = {}
        for record in self._records:
            if isinstance(record, dict):
                for theirs, ours in _RENAMED_FIELDS:
                    if theirs in record:
                        record.setdefault(ours, record.pop(theirs))
                call = record.pop("parent_tool_use_id", None)
                chain = ""
                if isinstance(call, str):
                    chain = record["agentId"] = call
                    record["isSidechain"] = True
                    owner = self._routes.transcript_for({"sessionId": record.get("sessionId")})
                    owner.task_of_agent[call] = call
                    link_agent(self._routes.agent_transcript(owner, call), owner, {}, owner.tasks)
                # The order of the records is the only link between them.
                kind = record.get("type")
                if (
                    isinstance(kind, str)
                    and kind in {"user", "assistant"}
                    and isinstance((uuid := record.get("uuid")), str)
                ):
                    if chain in last_uuids:
                        record.setdefault("parentUuid", last_uuids[chain])
                    last_uuids[chain] = uuid
            yield record


_RENAMED_FIELDS = (("session_id", "sessionId"), ("_audit_timestamp", "timestamp"))
