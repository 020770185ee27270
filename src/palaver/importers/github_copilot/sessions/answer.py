"""The answer to a request: its blocks, tool results, model, token counts, and other metadata."""

from dataclasses import dataclass
from typing import Any

from palaver.importers.github_copilot.sessions.answer_blocks import AnswerBlocks, TextSearch
from palaver.importers.github_copilot.sessions.kinds import REDACTED_RESPONSE
from palaver.importers.github_copilot.sessions.prompt import RENDERED_FIELDS
from palaver.importers.github_copilot.sessions.tool_calls import CallBlocks, Round, rounds_of
from palaver.importers.github_copilot.sessions.unmapped_fields import Note, is_blank, unmapped_fields
from palaver.model.build import JsonObject
from palaver.model.timestamps import timestamp_or_empty

_COPILOT = "copilot/"
ANSWER_FIELDS = frozenset(
    {
        *("response", "responseId", "result", "responseMarkdownInfo", "followups", "modelState", "vote"),
        *("voteDownReason", "slashCommand", "usedContext", "contentReferences", "codeCitations", "timeSpentWaiting"),
        *("agent", "modelId", "responseTimestamp", "elapsedMs", "promptTokens", "completionTokens", "outputBuffer"),
        *("promptTokenDetails", "copilotCredits", "sessionCopilotCredits", "modelTotals", "isCanceled", "usage"),
        *("modelConfiguration", "editedFileEvents", "responseErrorDetails"),
    }
)
"""Fields of a request that describe its answer."""

STATES = {0: "pending", 1: "complete", 2: "cancelled", 3: "failed", 4: "needs_input"}
_EPOCH_MS = range(10**12, 10**13)
"""Values of `timeSpentWaiting` that are timestamps in milliseconds: as durations they would span decades."""


@dataclass(slots=True)
class Answer:
    blocks: list[JsonObject]
    results: list[JsonObject]
    metadata: JsonObject
    tokens: JsonObject | None
    time: str
    """Completion time, else start time; empty if the source states neither."""
    mapped: set[str]
    """Request fields that are represented outside the metadata."""

    @property
    def has_content(self) -> bool:
        return bool(self.blocks or self.results or self.metadata.get("result"))


def answer_of(request: JsonObject, message_id: str, note: Note) -> Answer:
    result = request.get("result")
    result_fields: JsonObject = result if isinstance(result, dict) else {}
    result_metadata = result_fields.get("metadata")
    if not isinstance(result_metadata, dict):
        result_metadata = {}
    rounds = rounds_of(result_metadata.get("toolCallRounds"))
    calls = CallBlocks(result_metadata.get("toolCallResults"), message_id, note)
    answer_blocks = AnswerBlocks(calls, note)
    answer_blocks.add(request.get("response"), rounds)
    mapped = {"response", "result"}
    if isinstance(request.get("responseId"), str):
        mapped.add("responseId")
    metadata = _answer_metadata(request, result_fields, result_metadata, mapped, note)
    for name, parts in (("discarded_parts", answer_blocks.discarded), ("other_parts", answer_blocks.silent_parts)):
        if parts:
            metadata[name] = parts
    rest = result
    if result_fields:
        leftovers = _unmapped_rounds_and_results(result_metadata, rounds, calls, answer_blocks)
        rest = _unmapped_result(result_fields, result_metadata, leftovers)
    if not is_blank(rest):
        metadata["result"] = rest
    time = _answer_time(request, mapped)
    tokens = tokens_of(request, result_fields, result_metadata)
    return Answer(answer_blocks.blocks, calls.results, metadata, tokens, time, mapped)


def state_of(request: JsonObject) -> str | None:
    """Return the outcome of a request.

    The editor also saves requests that were still open as cancelled.
    """
    state = request.get("modelState")
    if isinstance(state, dict) and type(value := state.get("value")) is int:
        return STATES.get(value)
    return "cancelled" if request.get("isCanceled") is True else None


def _answer_metadata(
    request: JsonObject, result_fields: JsonObject, result_metadata: JsonObject, mapped: set[str], note: Note
) -> JsonObject:
    """Build the metadata with Palaver's own names, adding request fields used for it to `mapped`."""
    metadata: JsonObject = {"author_kind": "model"}
    if model := model_of(request, result_metadata):
        metadata["model_override"] = model
    agent = request.get("agent")
    if isinstance(agent, dict) and isinstance((agent_id := agent.get("id")), str):
        metadata["agent_id"] = agent_id
    timings = result_fields.get("timings")
    if isinstance(timings, dict) and "totalElapsed" in timings:
        duration_ms = timings["totalElapsed"]
    elif _is_duration(duration_ms := request.get("elapsedMs")):
        mapped.add("elapsedMs")
    if _is_duration(duration_ms):
        metadata["duration_ms"] = duration_ms
    details = result_fields.get("errorDetails")
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


def _answer_time(request: JsonObject, mapped: set[str]) -> str:
    state = request.get("modelState")
    if isinstance(state, dict) and (time := timestamp_or_empty(state.get("completedAt"))):
        return time
    if time := timestamp_or_empty(request.get("responseTimestamp")):
        mapped.add("responseTimestamp")
        return time
    waiting = request.get("timeSpentWaiting")
    if type(waiting) is int and waiting in _EPOCH_MS:
        mapped.add("timeSpentWaiting")
        return timestamp_or_empty(waiting)
    return ""


def _unmapped_result(result_fields: JsonObject, result_metadata: JsonObject, leftovers: JsonObject) -> JsonObject:
    """Return the result without what became blocks or belongs to the prompt."""
    rest = unmapped_fields(result_fields, {"metadata"})
    mapped = {"toolCallRounds", "toolCallResults", *(name for name in RENDERED_FIELDS if name in result_metadata)}
    if inner := {**unmapped_fields(result_metadata, mapped), **leftovers}:
        rest["metadata"] = inner
    elif not result_metadata and not is_blank(result_fields.get("metadata")):
        rest["metadata"] = result_fields["metadata"]
    return rest


def _unmapped_rounds_and_results(
    result_metadata: JsonObject, rounds: list[Round], calls: CallBlocks, answer_blocks: AnswerBlocks
) -> JsonObject:
    """Return what remains of rounds and results once their calls and thoughts are blocks."""
    leftovers: JsonObject = {}
    values = result_metadata.get("toolCallRounds")
    if isinstance(values, list):
        text = TextSearch("\n".join([block["text"] for block in answer_blocks.blocks if block["type"] == "text"]))
        remaining_rounds = iter(rounds)
        values = [
            _unmapped_round_fields(next(remaining_rounds), text) if isinstance(value, dict) else value
            for value in values
        ]
    if not is_blank(values):
        leftovers["toolCallRounds"] = values
    results = result_metadata.get("toolCallResults")
    if isinstance(results, dict):
        results = calls.unclaimed
    if not is_blank(results):
        leftovers["toolCallResults"] = results
    return leftovers


def _unmapped_round_fields(model_round: Round, text: TextSearch) -> JsonObject:
    fields = model_round.fields
    if isinstance(fields.get("response"), str) and model_round.text in text:
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
    return unmapped_fields(fields, ())


def model_of(request: JsonObject, result_metadata: JsonObject) -> str | None:
    """Return the resolved model, else the one named in the totals, else the one the user picked."""
    if isinstance((resolved := result_metadata.get("resolvedModel")), str) and resolved:
        return resolved
    for total in totals_of(request):
        if isinstance((model := total.get("model")), str) and model:
            return model
    if isinstance((picked := request.get("modelId")), str) and picked:
        return picked.removeprefix(_COPILOT) or picked
    return None


def totals_of(request: JsonObject) -> list[JsonObject]:
    """Return the usage of each model over the whole turn, including its subagents."""
    totals = request.get("modelTotals")
    return [total for total in totals if isinstance(total, dict)] if isinstance(totals, list) else []


def tokens_of(request: JsonObject, result: JsonObject, result_metadata: JsonObject) -> JsonObject | None:
    """Return token sums for the whole turn, else the counts on the request or in its result."""
    if totals := totals_of(request):
        sums = [_summed_count(totals, name) for name in ("inputTokens", "outputTokens", "cachedTokens")]
        if tokens := _tokens(*sums):
            return tokens
    for holder, input_name, output_name in (
        (request, "promptTokens", "completionTokens"),
        (request.get("usage"), "promptTokens", "completionTokens"),
        (result.get("usage"), "promptTokens", "completionTokens"),
        (result_metadata, "promptTokens", "outputTokens"),
        (result, "promptTokens", "outputTokens"),
    ):
        if (
            isinstance(holder, dict)
            and (input_name in holder or output_name in holder)
            and (tokens := _tokens(_count(holder.get(input_name)), _count(holder.get(output_name)), None))
        ):
            return tokens
    return None


def _tokens(input_tokens: int | None, output_tokens: int | None, cached: int | None) -> JsonObject | None:
    tokens = {"input_tokens": input_tokens, "output_tokens": output_tokens, "cache_read_input_tokens": cached}
    return {name: count for name, count in tokens.items() if count is not None} or None


def _summed_count(totals: list[JsonObject], name: str) -> int | None:
    counts = [count for total in totals if (count := _count(total.get(name))) is not None]
    return sum(counts) if counts else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
