"""The parser against the standard library's: it may refuse, it may never differ."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.sources.parse import NOT_JSON, parse, parse_lines, parses

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][-+]?[0-9]{1,3})?", fullmatch=True)
SHREDS = st.lists(
    st.sampled_from([b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"u", b"d83d", b"1", b"-", b".", b"e", b"a"])
    | st.sampled_from([b"true", b"null", b" ", b"\t", b"\xff", b"\xed\xa0\x80", b"\xe2\x82\xac", b"\x01", b"0"]),
    max_size=14,
).map(b"".join)


@given(VALUES, st.booleans())
def test_every_value_comes_back(value, is_ascii):
    written = json.dumps(value, ensure_ascii=is_ascii).encode(errors="surrogatepass")
    if parses(written):
        assert identical(parse(written), json.loads(written))
    else:
        with pytest.raises(UnicodeError):
            json.dumps(value, ensure_ascii=False).encode()


@given(NUMBERS)
def test_every_number_is_exact(digits):
    expected = json.loads(digits)
    if math.isinf(expected):
        assert not parses(digits.encode())
    else:
        assert identical(parse(digits.encode()), expected)


@settings(max_examples=1000)
@given(SHREDS)
def test_what_is_accepted_is_what_the_standard_library_reads(raw):
    if parses(raw):
        assert identical(parse(raw), json.loads(raw))


@pytest.mark.parametrize("raw", [b"NaN", b"Infinity", b"1e999", b'"\\ud800"', b'"\xff"', b"[" * 100_000, b"", b"{}{}"])
def test_what_has_no_meaning_is_refused(raw):
    with pytest.raises(NOT_JSON):
        parse(raw)


@given(st.lists(VALUES))
def test_lines_are_their_values(values):
    lines = [json.dumps(value).encode() for value in values]
    if all(map(parses, lines)):
        assert identical(parse_lines(b"\n".join(lines)), [parse(line) for line in lines])


def identical(one: object, other: object) -> bool:
    """Equal, and of the same types: 1 is not 1.0, and -0.0 not 0.0."""
    return repr(one) == repr(other)
