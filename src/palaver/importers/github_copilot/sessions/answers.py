"""The answer to a request: its blocks, the results of its calls, and what is known about it."""

from dataclasses import dataclass
from typing import Any

from palaver.importers.github_copilot.sessions.asked import RENDERED
from palaver.importers.github_copilot.sessions.calls import CallBlocks
from palaver.importers.github_copilot.sessions.kept import Note, rest_of, says_nothing
from palaver.importers.github_copilot.sessions.noticed import REDACTED_RESPONSE
from palaver.importers.github_copilot.sessions.parts import Content
from palaver.importers.github_copilot.sessions.said import Said
from palaver.importers.github_copilot.sessions.tools import Round, rounds_of
from palaver.importers.github_copilot.sessions.usage import model_of, tokens_of
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp

FIELDS = frozenset(
    {
        *("response", "responseId", "result", "responseMarkdownInfo", "followups", "modelState", "vote"),
        *("voteDownReason", "slashCommand", "usedContext", "contentReferences", "codeCitations", "timeSpentWaiting"),
        *("agent", "modelId", "responseTimestamp", "elapsedMs", "promptTokens", "completionTokens", "outputBuffer"),
        *("promptTokenDetails", "copilotCredits", "sessionCopilotCredits", "modelTotals", "isCanceled", "usage"),
        *("modelConfiguration", "editedFileEvents", "responseErrorDetails"),
    }
)
"""Fields of a request that tell of its answer."""

STATES = {0: "pending", 1: "complete", 2: "cancelled", 3: "failed", 4: "needs_input"}
_TIMES = range(10**12, 10**13)
"""Numbers that are times in milliseconds: as a duration they would be decades."""


@dataclass(slots=True)
class Answer:
    blocks: list[JsonObject]
    results: list[JsonObject]
    metadata: JsonObject
    tokens: JsonObject | None
    time: str
    """When it was complete, else when it began; empty where the source does not say."""
    mapped: set[str]
    """The fields of the request that are said elsewhere than in the metadata."""

    @property
    def is_there(self) -> bool:
        return bool(self.blocks or self.results or self.metadata.get("result"))


def answer_of(request: JsonObject, message_id: str, note: Note) -> Answer:
    result = request.get("result")
    told: JsonObject = result if isinstance(result, dict) else {}
    noted = told.get("metadata")
    if not isinstance(noted, dict):
        noted = {}
    rounds = rounds_of(noted.get("toolCallRounds"))
    calls = CallBlocks(noted.get("toolCallResults"), message_id, note)
    content = Content(calls, note)
    content.add(request.get("response"), rounds)
    mapped = {"response", "result"}
    if isinstance(request.get("responseId"), str):
        mapped.add("responseId")
    metadata = _known(request, told, noted, mapped, note)
    for name, parts in (("discarded_parts", content.discarded), ("other_parts", content.others)):
        if parts:
            metadata[name] = parts
    rest = _rest(told, noted, _left(noted, rounds, calls, content)) if told else result
    if not says_nothing(rest):
        metadata["result"] = rest
    time = _time(request, mapped)
    return Answer(content.blocks, calls.results, metadata, tokens_of(request, told, noted), time, mapped)


def state_of(request: JsonObject) -> str | None:
    """What became of a request; one that was still open when it was saved is called cancelled as well."""
    state = request.get("modelState")
    if isinstance(state, dict) and type(value := state.get("value")) is int:
        return STATES.get(value)
    return "cancelled" if request.get("isCanceled") is True else None


def _known(request: JsonObject, told: JsonObject, noted: JsonObject, mapped: set[str], note: Note) -> JsonObject:
    """What the metadata of the message say in names of ours."""
    metadata: JsonObject = {"author_kind": "model"}
    if model := model_of(request, noted):
        metadata["model_override"] = model
    agent = request.get("agent")
    if isinstance(agent, dict) and isinstance((agent_id := agent.get("id")), str):
        metadata["agent_id"] = agent_id
    timings = told.get("timings")
    if isinstance(timings, dict) and "totalElapsed" in timings:
        took = timings["totalElapsed"]
    elif _is_duration(took := request.get("elapsedMs")):
        mapped.add("elapsedMs")
    if _is_duration(took):
        metadata["duration_ms"] = took
    details = told.get("errorDetails")
    if isinstance(details, dict):
        if isinstance((code := details.get("code")), str) and code:
            metadata["stop_reason"] = code
        if details.get("responseIsRedacted") is True:
            note(REDACTED_RESPONSE, "")
    if state := state_of(request):
        metadata["response_state"] = state
    return metadata


def _is_duration(value: Any) -> bool:
    return type(value) in {int, float} and value >= 0


def _time(request: JsonObject, mapped: set[str]) -> str:
    state = request.get("modelState")
    if isinstance(state, dict) and (time := readable_timestamp(state.get("completedAt"))):
        return time
    if time := readable_timestamp(request.get("responseTimestamp")):
        mapped.add("responseTimestamp")
        return time
    waiting = request.get("timeSpentWaiting")
    if type(waiting) is int and waiting in _TIMES:
        mapped.add("timeSpentWaiting")
        return readable_timestamp(waiting)
    return ""


def _rest(told: JsonObject, noted: JsonObject, left: JsonObject) -> JsonObject:
    """The result without what became blocks or stands on the question."""
    rest = rest_of(told, {"metadata"})
    mapped = {"toolCallRounds", "toolCallResults", *(name for name in RENDERED if name in noted)}
    if inner := {**rest_of(noted, mapped), **left}:
        rest["metadata"] = inner
    elif not noted and not says_nothing(told.get("metadata")):
        rest["metadata"] = told["metadata"]
    return rest


def _left(noted: JsonObject, rounds: list[Round], calls: CallBlocks, content: Content) -> JsonObject:
    """What is left of rounds and results once their calls and thoughts are blocks."""
    left: JsonObject = {}
    values = noted.get("toolCallRounds")
    if isinstance(values, list):
        said = Said("\n".join([block["text"] for block in content.blocks if block["type"] == "text"]))
        of_rounds = iter(rounds)
        values = [_of_round(next(of_rounds), said) if isinstance(value, dict) else value for value in values]
    if not says_nothing(values):
        left["toolCallRounds"] = values
    results = noted.get("toolCallResults")
    if isinstance(results, dict):
        results = calls.unclaimed
    if not says_nothing(results):
        left["toolCallResults"] = results
    return left


def _of_round(one: Round, said: Said) -> JsonObject:
    fields = one.fields
    if isinstance(fields.get("response"), str) and one.text in said:
        del fields["response"]
    if fields.get("toolInputRetry") == 0:
        del fields["toolInputRetry"]
    match fields.get("thinking"):
        case {"text": list(texts), **rest} if all(isinstance(text, str) for text in texts):
            fields["thinking"] = rest
        case {"text": str(), **rest}:
            fields["thinking"] = rest
        case _:
            pass
    return rest_of(fields, ())
