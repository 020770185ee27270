"""Rules about API exchanges: what providers require of a request, and what a response must hold."""

from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from palaver.model.build import JsonObject
from palaver.model.rules import Fault, in_schema, on_exchange

Numbered = tuple[int, JsonObject]

WITHOUT_MODEL = in_schema("exchange-without-model", "A request does not name its model.")
BAD_FINISH_REASON = in_schema(
    "exchange-bad-finish-reason",
    "The finish reason of a response is missing or unknown to the schema.",
)


@on_exchange("exchange-without-messages", "error")
def without_messages(exchange: JsonObject) -> Iterator[Fault]:
    """A request has no messages."""
    if not exchange["request"]["messages"]:
        yield Fault(("request", "messages"), "The request has no messages")


@on_exchange("exchange-not-opened-by-user", "warning")
def not_opened_by_user(exchange: JsonObject) -> Iterator[Fault]:
    """The first message of a request is not from the user; only some providers allow this."""
    for message in exchange["request"]["messages"][:1]:
        if message["role"] != "user":
            sentence = f"The request begins with a message of role {message['role']}, not of the user"
            yield Fault(("request", "messages", 0, "role"), sentence)


@on_exchange("exchange-call-without-result", "error")
def call_without_result(exchange: JsonObject) -> Iterator[Fault]:
    """A tool call has no result in the next user or tool messages."""
    # To providers, consecutive messages are one turn: parallel calls, and their results, may be separate messages.
    turns = [list(turn) for _, turn in groupby(enumerate(exchange["request"]["messages"]), _is_of_model)]
    for turn, next_turn in pairwise([*turns, []]):
        # A tool that the provider runs has its result in the same turn.
        results = {block["tool_use_id"] for _, block in _blocks([*turn, *next_turn], "tool_result")}
        for (index, number), call in _blocks(filter(_is_of_model, turn), "tool_use"):
            if call["id"] not in results:
                sentence = (
                    f"Message {index} calls {call['name']!r:.80}, but the next has no result of {call['id']!r:.80}"
                )
                yield Fault(("request", "messages", index, "content", number), sentence)


def _is_of_model(numbered: Numbered) -> bool:
    return numbered[1]["role"] == "assistant"


def _blocks(messages: Iterable[Numbered], kind: str) -> Iterator[tuple[tuple[int, int], JsonObject]]:
    """Yield the blocks of one type, each with the indexes of its message and of the block."""
    for index, message in messages:
        for number, block in enumerate(message["content"]):
            if block["type"] == kind:
                yield (index, number), block


@on_exchange("exchange-bad-token-limit", "error")
def bad_token_limit(exchange: JsonObject) -> Iterator[Fault]:
    """A request has a token limit below 1."""
    limit = exchange["request"].get("max_output_tokens")
    if limit is not None and limit <= 0 and limit != -1:
        sentence = f"max_output_tokens is {int(limit):,}; it must be above 0, or -1 for the default of the provider"
        yield Fault(("request", "max_output_tokens"), sentence)


@on_exchange("exchange-without-content", "error")
def without_content(exchange: JsonObject) -> Iterator[Fault]:
    """A response is empty but states no error."""
    response = exchange["response"]
    if (
        response is not None
        and not response["content"]
        and response["finish_reason"] != "error"
        and not exchange.get("error")
    ):
        yield Fault(("response", "content"), "The response has no content and states no error")


Formula = tuple[str, ...]

_PLAIN: Formula = ("input_tokens", "output_tokens")
_THINKING: Formula = (*_PLAIN, "thinking_tokens")
_CACHED: Formula = (*_PLAIN, "cached_tokens")
_ALL: Formula = (*_CACHED, "thinking_tokens")

_OPENAI_FORMULAS = (_PLAIN, _THINKING)
"""OpenAI counts cached tokens as input, and thinking as output unless it is reported separately."""
_ANTHROPIC_FORMULAS = (_CACHED, _ALL)
"""Anthropic counts cached tokens separately, and thinking as output unless it is reported separately."""
_GEMINI_FORMULAS = (_THINKING,)
"""Gemini counts cached tokens as input, and thoughts always separately."""

_COMMON_FORMULAS = (_PLAIN, _THINKING)
"""From 1.1.0, cached tokens are input whatever the provider."""
_BY_PROVIDER: dict[str, tuple[Formula, ...]] = {
    "openai": _OPENAI_FORMULAS,
    "azure": _OPENAI_FORMULAS,
    "azure_openai": _OPENAI_FORMULAS,
    "anthropic": _ANTHROPIC_FORMULAS,
    "google": _GEMINI_FORMULAS,
    "gemini": _GEMINI_FORMULAS,
}
_ANY_FORMULA = (*_OPENAI_FORMULAS, *_ANTHROPIC_FORMULAS)


@on_exchange("exchange-usage-sum", "warning")
def usage_sum(exchange: JsonObject) -> Iterator[Fault]:
    """The token counts of a response do not add up to its total; before 1.1.0, by the formula of its provider."""
    usage = (exchange["response"] or {}).get("usage") or {}
    total = usage.get("total_tokens")
    if total is None or any(usage.get(name) is None for name in _PLAIN):
        return
    formulas = _COMMON_FORMULAS
    if exchange["schema_version"] == "1.0.0":
        formulas = _BY_PROVIDER.get((exchange.get("provider") or "").casefold(), _ANY_FORMULA)
    sums = sorted({sum(usage.get(name) or 0 for name in formula) for formula in formulas})
    if total not in sums:
        sentence = (
            f"The response states {total:,} tokens in all, but they add up to {' or '.join(f'{n:,}' for n in sums)}"
        )
        yield Fault(("response", "usage", "total_tokens"), sentence)


RULES = (
    WITHOUT_MODEL,
    without_messages,
    not_opened_by_user,
    call_without_result,
    bad_token_limit,
    without_content,
    BAD_FINISH_REASON,
    usage_sum,
)
