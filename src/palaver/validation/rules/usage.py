"""Rules about token counts: none is negative, and totals add up, by the formula of each provider."""

from collections.abc import Iterator

from palaver.model.build import JsonObject
from palaver.model.facts import Facts, Thread
from palaver.model.rules import Fault, in_schema, on_conversation, on_document

NEGATIVE_TOKENS = in_schema("negative-tokens", "A token count is negative.")


@on_document("usage-sum", "warning")
def usage_sum(facts: Facts) -> Iterator[Fault]:
    """The token counts of a message do not add up to its stated total."""
    for index, message in enumerate(facts.messages):
        tokens = message.get("tokens")
        if not tokens:
            continue
        parts = tokens.get("cache_creation")
        if parts:
            written = tokens.get("cache_creation_input_tokens")
            found = (parts.get("ephemeral_5m_input_tokens") or 0) + (parts.get("ephemeral_1h_input_tokens") or 0)
            if written is not None and written != found:
                sentence = f"Message {index} wrote {written:,} tokens to the cache, by lifetime {found:,}"
                yield Fault(("messages", index, "tokens", "cache_creation"), sentence)
        total = tokens.get("total_tokens")
        if type(total) is int and total not in (sums := possible_sums(tokens)):
            sentence = f"Message {index} states {total:,} tokens in all, but they add up to {sums[0]:,}"
            yield Fault(("messages", index, "tokens", "total_tokens"), sentence)


def possible_sums(tokens: JsonObject) -> tuple[int, ...]:
    """Return the possible totals: OpenAI includes cached and thinking tokens in the others, other providers do not."""
    plain = (tokens.get("input_tokens") or 0) + (tokens.get("output_tokens") or 0)
    thinking = tokens.get("thinking_tokens") or 0
    cached = (tokens.get("cache_read_input_tokens") or 0) + (tokens.get("cache_creation_input_tokens") or 0)
    return plain, plain + thinking, plain + cached, plain + thinking + cached


@on_conversation("metrics-sum", "warning")
def metrics_sum(thread: Thread) -> Iterator[Fault]:
    """The totals of a conversation differ from the sums over its messages."""
    stated = thread.header.get("metrics")
    if thread.has_missing_fragments or not isinstance(stated, dict):
        return
    counted = thread.totals.metrics()
    for name in ("total_messages", "tool_calls"):
        if stated.get(name) is not None and stated[name] != counted[name]:
            sentence = f"metrics state {stated[name]:,} as {name}, the messages add up to {counted[name]:,}"
            yield Fault(("metrics", name), sentence)
    sums = counted.get("total_tokens") or {}
    for name, total in (stated.get("total_tokens") or {}).items():
        if name in thread.totals.tokens and type(total) is int and total != (sums.get(name) or 0):
            sentence = f"metrics state {total:,} tokens of {name}, the messages add up to {sums.get(name) or 0:,}"
            yield Fault(("metrics", "total_tokens", name), sentence)


RULES = (NEGATIVE_TOKENS, usage_sum, metrics_sum)
