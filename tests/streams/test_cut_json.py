import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jiter import from_json

from palaver.streams._event_data import close_truncated_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), JSON, max_size=3), st.booleans())
@example(value={"a\\": '"', "b": ["\U0001f600", {"c": None}], "d": True}, is_ascii=True)
def test_the_beginning_of_any_json_is_closed_as_the_sdks_close_it(value, is_ascii):
    text = json.dumps(value, ensure_ascii=is_ascii)
    assert close_truncated_json(text) == value
    for at in range(1, len(text)):
        cut = text[:at]
        # A number at the very end could have gone on: there the two differ on purpose.
        if cut[-1] not in "0123456789":
            assert close_truncated_json(cut) == from_json(cut.encode(), partial_mode="trailing-strings"), cut


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 12', {}),
        ('{"a": 12,', {"a": 12}),
        ('{"a": "b\\', {"a": "b"}),
        ('{"a": "b\\\\', {"a": "b\\"}),
        ('{"a": "b\\ud83d', {"a": "b"}),
        ('{"a": "b\\ud83d\\ude', {"a": "b"}),
        ('{"a": {"b": [1, {"c', {"a": {"b": [1, {}]}}),
        ('["a", tru', ["a"]),
        ('["a", true', ["a", True]),
    ],
)
def test_what_could_have_gone_on_is_left_out(text, value):
    assert close_truncated_json(text) == value


@pytest.mark.parametrize("text", ["", " ", "x", "]", '{"a": }', "{]", '{"a": 1}}', "1"])
def test_what_is_no_beginning_of_json_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own words
        close_truncated_json(text)
