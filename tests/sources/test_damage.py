import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from palaver.sources.damage import BAD_JSON, TOO_DEEP, repair, replace_lone_surrogates

LETTERS = st.characters(codec=None, exclude_categories=[])
LINES = st.lists(
    st.sampled_from(
        [b'{"a":1}', b'{"b":"', b"x", b"\xff", b"\xe2\x82", "\ufffd".encode(), "é".encode(), b"\0", b"\0\0"]
    )
    | st.sampled_from([b"\xef\xbb\xbf", b" ", b"}", b'{"c":NaN}', b"12", b'"'])
    | st.binary(max_size=4),
    max_size=12,
).map(b"".join)


@given(LINES, st.booleans())
@example(b'\0\xef\xbb\xbf{"a":"\xff\xfe"}\0\0{"b":\0"\xe2\x82x', False)
@example(b'{"a":"\xe2\x82\xff"}\xff\xff', False)
def test_torn_pieces_are_the_bytes_at_their_offset(line, goes_on):
    repaired = repair(line, is_incomplete=goes_on)
    for start, piece, _, _ in repaired.torn:
        assert piece
        assert line[start : start + len(piece)] == piece
    is_blank = not line.translate(None, b"\0").replace(b"\xef\xbb\xbf", b"").strip(b" \t\r\n")
    assert is_blank or repaired.values or repaired.torn


@pytest.mark.parametrize(
    ("line", "start", "piece"),
    [
        (b'{"a":1}{"b":', 7, b'{"b":'),
        (b'{"a":1}  x', 9, b"x"),
        (b'{"a":"x{"b":2}', 0, b'{"a":"x'),
        (b"x", 0, b"x"),
        ('{"a":"é\u20ac😀"}x'.encode(), 17, b"x"),
        (b'{"a":"\xff"}x', 9, b"x"),
        (b'{"a":"\xef\xbf\xbd\xff"}x\xff', 12, b"x\xff"),
        (b'\xef\xbb\xbf{"a":1}x', 10, b"x"),
        (b'\0\0{"a":1}\0x\0y', 10, b"x\0y"),
    ],
    ids=repr,
)
def test_torn_pieces_tell_where_they_stood(line, start, piece):
    [(found, torn, kind, message)] = repair(line).torn
    assert (found, torn, kind) == (start, piece, BAD_JSON)
    assert message


def test_nesting_past_the_stack_is_told_apart():
    line = b'{"a":1}' + b"[" * 100_000
    repaired = repair(line)
    assert repaired.values == [{"a": 1}]
    assert [(start, kind) for start, _, kind, _ in repaired.torn] == [(7, TOO_DEEP)]


@pytest.mark.parametrize("line", [b"12", b'"x"', b"true", b"null", b"-1.5", b"NaN", b'{"a":1} 12'])
def test_a_bare_value_at_the_end_of_an_unfinished_line_may_go_on(line):
    assert not repair(line).torn
    [(start, piece, _, _)] = repair(line, is_incomplete=True).torn
    assert start + len(piece) == len(line)


@pytest.mark.parametrize("line", [b'{"a":1}', b"[1]", b'{"a":NaN}', b'{"a":1}{"b":2}', b'{"a":18446744073709551616}'])
def test_a_whole_object_on_an_unfinished_line_is_whole(line):
    assert repair(line, is_incomplete=True) == repair(line)
    assert not repair(line).torn


@pytest.mark.parametrize(
    ("line", "remarks"),
    [
        (
            b'{"a":[%b,-%b],"b":NaN}' % (b"9" * 5000, b"9" * 5000),
            {"big-integer": "2 integers", "non-finite-number": "1 numbers"},
        ),
        (b'{"a":["\\ud800","\\udfff","\\ud83d\\ude00"]}', {"lone-surrogate": "2 strings"}),
        (b'{"a":1}{"b":2}{"c":3}', {"joined-objects": "3 objects"}),
        (b'\0{"a":\0\x001}', {"nul-bytes": "3 NUL bytes"}),
        (b'{"a":"\xff"}', {"invalid-utf8": "first at byte 6 of the line"}),
        (
            b'\0\xef\xbb\xbf{"a":"\xff"}',
            {"nul-bytes": "1 NUL bytes", "byte-order-mark": "", "invalid-utf8": "first at byte 10 of the line"},
        ),
        (b'{"a":18446744073709551616', {}),
        (b'{"a":NaN', {}),
    ],
    ids=repr,
)
def test_remarks_count_what_was_repaired(line, remarks):
    assert {kind.code: message for kind, message in repair(line).remarks} == remarks


@given(
    st.recursive(st.none() | st.text(LETTERS), lambda inner: st.lists(inner) | st.dictionaries(st.text(LETTERS), inner))
)
def test_without_surrogates_every_string_can_be_encoded_and_nothing_is_lost(value):
    before = json.dumps(value)
    after, replaced = replace_lone_surrogates(json.loads(before))
    json.dumps(after, ensure_ascii=False).encode()
    assert shape(after) == shape(value)
    assert (replaced == 0) == encodes(value)
    if replaced == 0:
        assert after == value


def shape(value):
    match value:
        case dict():
            return [shape(item) for item in value.values()]
        case list():
            return [shape(item) for item in value]
        case _:
            return type(value)


def encodes(value) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def test_broken_keys_stay_apart_and_in_order():
    value = json.loads('{"\\ud800":1,"\\ufffd":2,"\\udfff":3,"x":4}')
    assert replace_lone_surrogates(value) == ({"\ufffd\ufffd": 1, "\ufffd": 2, "\ufffd\ufffd\ufffd": 3, "x": 4}, 2)
    assert list(value.values()) == [1, 2, 3, 4]


def test_surrogates_are_replaced_however_deep_they_stand():
    value: object = "\ud800"
    for _ in range(100_000):
        value = [value]
    value, replaced = replace_lone_surrogates(value)
    assert replaced == 1
