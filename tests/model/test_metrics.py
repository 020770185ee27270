"""The totals of a conversation, whatever its usage leaves out and however it comes in pieces."""

from hypothesis import given
from hypothesis import strategies as st

from palaver.model.metrics import MetricsTally

FIGURES = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cache_read",
    "cache_creation_input_tokens": "cache_write",
    "thinking_tokens": "thinking",
}
usages = st.dictionaries(st.sampled_from(sorted(FIGURES)), st.none() | st.integers(0, 10**9))


def answer(usage=None, **more):
    message = {"role": "assistant", "timestamp": "2026-01-01T00:00:00.000Z", "content": [{"type": "text", "text": ""}]}
    return message | ({} if usage is None else {"tokens": usage}) | more


def metrics_of(*pieces, stated=None):
    tally = MetricsTally()
    for piece in pieces:
        tally.add(piece)
    return tally.metrics(stated)


@given(st.lists(usages, max_size=6), st.integers(0, 6))
def test_tokens_are_summed_field_by_field_in_any_pieces(used, cut):
    messages = [answer(usage) for usage in used]
    totals = metrics_of(messages[:cut], messages[cut:]).get("total_tokens", {})
    for field, name in FIGURES.items():
        assert totals.get(name, 0) == sum(usage.get(field) or 0 for usage in used)


def test_a_conversation_without_usage_has_no_token_totals():
    assert "total_tokens" not in metrics_of([answer()])


def test_an_empty_conversation():
    assert metrics_of([]) == {"total_messages": 0, "tool_calls": 0}


def test_calls_costs_and_duration():
    first = answer(content=[{"type": "tool_use"}, {"type": "text"}], cost={"amount": 0.25, "currency": "EUR"})
    last = answer(timestamp="2026-01-01T00:00:01.500Z", cost={"amount": 0.5})
    assert metrics_of([first, last]) == {
        "total_messages": 2,
        "total_cost": {"amount": 0.75, "currency": "EUR"},
        "tool_calls": 1,
        "duration_ms": 1500,
    }


def test_a_day_that_does_not_exist_has_no_duration():
    assert "duration_ms" not in metrics_of([answer(), answer(timestamp="2026-02-30T00:00:00.000Z")])


def test_what_the_source_states_stands():
    stated = {"total_cost": {"amount": 9.0, "currency": "USD"}}
    assert metrics_of([answer(cost={"amount": 0.25})], stated=stated)["total_cost"] == stated["total_cost"]
