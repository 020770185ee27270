"""The model that answered a request, and the tokens that it took, where the source states them."""

from typing import Any

from palaver.model.build import JsonObject

_COPILOT = "copilot/"


def model_of(request: JsonObject, noted: JsonObject) -> str | None:
    """The model as it was resolved, else the one that the totals name, else the one that was picked."""
    if isinstance((resolved := noted.get("resolvedModel")), str) and resolved:
        return resolved
    for total in totals_of(request):
        if isinstance((model := total.get("model")), str) and model:
            return model
    if isinstance((picked := request.get("modelId")), str) and picked:
        return picked.removeprefix(_COPILOT) or picked
    return None


def totals_of(request: JsonObject) -> list[JsonObject]:
    """What each model took in the whole turn, its agents included."""
    totals = request.get("modelTotals")
    return [total for total in totals if isinstance(total, dict)] if isinstance(totals, list) else []


def tokens_of(request: JsonObject, result: JsonObject, noted: JsonObject) -> JsonObject | None:
    """The sums of the whole turn, else the numbers that stand on the request or in its result."""
    if totals := totals_of(request):
        sums = [_sum(totals, name) for name in ("inputTokens", "outputTokens", "cachedTokens")]
        if tokens := _tokens(*sums):
            return tokens
    for holder, given, made in (
        (request, "promptTokens", "completionTokens"),
        (request.get("usage"), "promptTokens", "completionTokens"),
        (result.get("usage"), "promptTokens", "completionTokens"),
        (noted, "promptTokens", "outputTokens"),
        (result, "promptTokens", "outputTokens"),
    ):
        if (
            isinstance(holder, dict)
            and (given in holder or made in holder)
            and (tokens := _tokens(_count(holder.get(given)), _count(holder.get(made)), None))
        ):
            return tokens
    return None


def _tokens(given: int | None, made: int | None, cached: int | None) -> JsonObject | None:
    stated = {"input_tokens": given, "output_tokens": made, "cache_read_input_tokens": cached}
    return {name: count for name, count in stated.items() if count is not None} or None


def _sum(totals: list[JsonObject], name: str) -> int | None:
    counts = [count for total in totals if (count := _count(total.get(name))) is not None]
    return sum(counts) if counts else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None
