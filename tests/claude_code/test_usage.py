"""The lines of one answer repeat its usage while it grows: every figure counts at its maximum."""

from hypothesis import given
from hypothesis import strategies as st

from palaver.importers.claude_code.assistant_lines import raise_usage

figures = st.integers(0, 1000)
usages = st.fixed_dictionaries(
    {"input_tokens": figures, "output_tokens": figures},
    optional={
        "cache_creation_input_tokens": figures,
        "cache_read_input_tokens": figures | st.none(),
        "thinking_tokens": figures,
        "cache_creation": st.dictionaries(st.sampled_from(["5m", "1h"]), figures),
    },
)


def maxima(lines):
    """The greatest value of each figure, nested ones included, by a path."""
    found = {}
    for line in lines:
        for key, value in line.items():
            nested = {(key, inner): figure for inner, figure in value.items()} if isinstance(value, dict) else {}
            for path, figure in (nested or {(key,): value}).items():
                if isinstance(figure, int):
                    found[path] = max(found.get(path, 0), figure)
    return found


@given(st.lists(usages, min_size=1, max_size=5))
def test_every_figure_is_raised_to_its_maximum(lines):
    expected = maxima(lines)
    tokens, *later = lines
    for usage in later:
        raise_usage(tokens, usage)
    assert maxima([tokens]) == expected


def test_what_is_no_figure_is_the_last_that_was_said():
    tokens = {"output_tokens": 1, "service_tier": "standard", "speed": None}
    raise_usage(tokens, {"output_tokens": 2, "service_tier": "priority", "speed": "fast"})
    raise_usage(tokens, {"output_tokens": 2, "service_tier": None})
    assert tokens == {"output_tokens": 2, "service_tier": "priority", "speed": "fast"}
