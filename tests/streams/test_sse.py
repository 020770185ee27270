"""The rules of the WHATWG, example by example, and bodies that travelled packed."""

import gzip
import zlib

import pytest
import zstandard

from palaver.streams._contract import Event
from palaver.streams.event_parsers import SseParser, events_of, events_of_lines
from streaming import parsed


def told(raw: bytes) -> list[tuple[str, bytes]]:
    """Names and data of the events that have an end."""
    return [(event.name, event.data) for event in parsed([raw]) if not event.is_cut]


CASES = {
    "several lines of data are one": (b"data: YHOO\ndata: +2\ndata: 10\n\n", [("message", b"YHOO\n+2\n10")]),
    "a comment is passed over": (b": test stream\n\ndata: first event\nid: 1\n\n", [("message", b"first event")]),
    "data without a value": (b"data\n\ndata\ndata\n\ndata:", [("message", b""), ("message", b"\n")]),
    "one space after the colon does not count": (b"data:test\n\ndata: test\n\n", [("message", b"test")] * 2),
    "a second one does": (b"data:  test\n\n", [("message", b" test")]),
    "a tab does": (b"data:\ttest\n\n", [("message", b"\ttest")]),
    "spaces at the end do": (b"data: {}   \n\n", [("message", b"{}   ")]),
    "names": (b"event: add\ndata: 1\n\nevent:remove\ndata: 2\n\n", [("add", b"1"), ("remove", b"2")]),
    "one space after a name's colon does not count": (b"event:  add\ndata: 1\n\n", [(" add", b"1")]),
    "a name after the data": (b"data: 1\nevent: add\n\n", [("add", b"1")]),
    "the last name counts": (b"event: a\nevent: b\ndata: 1\n\n", [("b", b"1")]),
    "an empty name is none": (b"event: a\nevent:\ndata: 1\n\n", [("message", b"1")]),
    "a name holds for its event only": (b"event: add\ndata: 1\n\ndata: 2\n\n", [("add", b"1"), ("message", b"2")]),
    "a name without data is no event": (b"event: add\n\ndata: 2\n\n", [("message", b"2")]),
    "empty data is data": (b"data:\n\n", [("message", b"")]),
    "fields are told by their exact name": (b"Data: 1\n data: 2\ndatax: 3\ndata : 4\n\n", []),
    "a field nobody knows": (b"foo: bar\ndata: 1\n\n", [("message", b"1")]),
    "a colon in the value": (b"data: a:b: c\n\n", [("message", b"a:b: c")]),
    "CRLF": (b"data: 1\r\ndata: 2\r\n\r\ndata: 3\r\n\r\n", [("message", b"1\n2"), ("message", b"3")]),
    "CR": (b"data: 1\rdata: 2\r\rdata: 3\r\r", [("message", b"1\n2"), ("message", b"3")]),
    "all three": (b"data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\n\r", [("message", b"1\n2\n3"), ("message", b"4")]),
    "LF CR are two ends": (b"data: 1\n\rdata: 2\n\r", [("message", b"1"), ("message", b"2")]),
    "a byte order mark": (b"\xef\xbb\xbfdata: 1\n\n", [("message", b"1")]),
    "only one of them": (b"\xef\xbb\xbf\xef\xbb\xbfdata: 1\n\n", []),
    "and only at the start": (b"data: 1\n\n\xef\xbb\xbfdata: 2\n\n", [("message", b"1")]),
    "blank lines": (b"\n\n\ndata: 1\n\n\n\n", [("message", b"1")]),
    "other separators are text": ("data: a\u2028b\x0bc\x85\n\n".encode(), [("message", "a\u2028b\x0bc\x85".encode())]),
    "a NUL": (b"data: a\0b\n\n", [("message", b"a\0b")]),
    "UTF-8 in a name": ("event: caf\u00e9\ndata: 1\n\n".encode(), [("caf\u00e9", b"1")]),
    "a broken name": (b"event: caf\xe9\ndata: 1\n\n", [("caf\ufffd", b"1")]),
    "nothing": (b"", []),
}


@pytest.mark.parametrize("case", CASES)
def test_the_rules(case):
    raw, expected = CASES[case]
    assert told(raw) == expected


@pytest.mark.parametrize("case", CASES)
def test_the_rules_hold_wherever_a_chunk_ends(case):
    raw, _ = CASES[case]
    whole = parsed([raw])
    assert [parsed([raw[:at], raw[at:]]) for at in range(len(raw) + 1)] == [whole] * (len(raw) + 1)
    assert parsed(raw[at : at + 1] for at in range(len(raw))) == whole
    assert parsed(part for at in range(len(raw)) for part in (b"", raw[at : at + 1])) == whole


def test_an_id_holds_until_the_next():
    raw = b"data: 0\n\nid: 1\ndata: 1\n\ndata: 2\n\nid: a\0b\ndata: 3\n\nid\ndata: 4\n\nid: 5\n\ndata: 6\n\n"
    assert [event.id for event in parsed([raw])] == ["", "1", "1", "1", "", "5"]


def test_a_time_to_wait_is_a_number():
    parser = SseParser()
    events = parser.feed(b"retry: 3000\ndata: 1\n\nretry: 4s\ndata: 2\n\nretry: " + b"9" * 5_000 + b"\ndata: 3\n\n")
    assert [event.retry_ms for event in events] == [3000, None, None]
    parser.feed(b"retry: 10\n\n")
    assert parser.retry_ms == 10


def test_an_event_is_given_as_soon_as_its_end_is_there():
    parser = SseParser()
    assert parser.feed(b"data: 1\r") == []
    assert parser.feed(b"\r") == [Event("message", b"1")]
    assert parser.feed(b"\ndata: 2\n") == []
    assert parser.feed(b"\n") == [Event("message", b"2")]


@pytest.mark.parametrize(
    ("raw", "data"),
    [
        (b"data: 1\n\ndata: [DONE]", b"[DONE]"),
        (b"data: 1\n\ndata: [DONE]\n", b"[DONE]"),
        (b"data: 1\n\ndata: [DONE]\r", b"[DONE]"),
        (b"data: 1\n\nevent: x\ndata: 2\ndata: 3", b"2\n3"),
        (b"data: 1\n\ndata:", b""),
    ],
)
def test_an_event_that_the_end_cuts_off_is_given_and_marked(raw, data):
    first, last = parsed([raw])
    assert (first.is_cut, last.is_cut, last.data) == (False, True, data)


@pytest.mark.parametrize("tail", [b"", b"event: x", b": ping", b"dat", b"id: 7\n", b"\n"])
def test_an_end_without_data_gives_nothing(tail):
    assert parsed([b"data: 1\n\n" + tail]) == [Event("message", b"1")]


def test_a_long_event_in_small_chunks_is_one():
    data = b"x" * 100_000
    body = b"data: " + data + b"\n\n"
    assert parsed(body[at : at + 7] for at in range(0, len(body), 7)) == [Event("message", data)]


BODY = b"".join(b'event: n\ndata: {"number": %d}\n\n' % number for number in range(4_000))
PACKED = {
    "gzip": gzip.compress(BODY, mtime=0),
    "gzip in two members": gzip.compress(BODY[:5_000], mtime=0) + gzip.compress(BODY[5_000:], mtime=0),
    "zlib": zlib.compress(BODY),
    "zlib, fast": zlib.compress(BODY, 1),
    "zlib, best": zlib.compress(BODY, 9),
    "zstd": zstandard.compress(BODY),
    "zstd in two frames": zstandard.compress(BODY[:5_000]) + zstandard.compress(BODY[5_000:]),
    "not at all": BODY,
}


@pytest.mark.parametrize("how", PACKED)
@pytest.mark.parametrize("size", [1, 3, 1_000, 1 << 30])
def test_a_packed_body_is_unpacked(how, size):
    packed = PACKED[how]
    chunks = [packed[at : at + size] for at in range(0, len(packed), size)]
    assert list(events_of(chunks)) == list(events_of(packed)) == parsed([BODY])


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, zstandard.compress])
def test_a_packed_body_that_is_cut_gives_what_there_is(pack):
    packed = pack(BODY * 5)
    whole = parsed([BODY * 5])
    events = list(events_of(packed[: len(packed) * 9 // 10]))
    assert 1_000 < len(events) < len(whole)
    assert events[:-1] == whole[: len(events) - 1]
    assert not events[-1].is_cut or whole[len(events) - 1].data.startswith(events[-1].data)


@pytest.mark.parametrize("how", ["gzip", "zlib", "zstd"])
def test_a_packed_body_that_is_damaged_does_not_raise(how):
    packed = PACKED[how]
    list(events_of(packed[:200] + bytes(200) + packed[400:]))


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf", b" \r\n"])
def test_a_body_that_is_json_gives_its_elements(head):
    body = head + b'[{"a": "]}, \\" {"},\n{"b": [1, {}]}\r\n, null, 5,"c,]"]'
    expected = [b'{"a": "]}, \\" {"}', b'{"b": [1, {}]}', b"null", b"5", b'"c,]"']
    assert [event.data for event in events_of(body)] == expected
    for at in range(len(body)):
        assert [event.data for event in events_of([body[:at], body[at:]])] == expected


def test_objects_that_follow_each_other_are_elements():
    assert [event.data for event in events_of(b'{"a": 1}\n{"b": 2}{"c": "cut')] == [
        b'{"a": 1}',
        b'{"b": 2}',
        b'{"c": "cut',
    ]


def test_an_element_that_is_cut_is_marked():
    assert [event.is_cut for event in events_of(b'[{"a": 1},{"b": 2')] == [False, True]


def test_lines_of_a_log_without_its_blank_ones():
    lines = ["event: a", "data: 1", "event: b", "data: 2", "data: [DONE]", ""]
    events = list(events_of_lines(lines))
    assert [(event.name, event.data) for event in events] == [("a", b"1"), ("b", b"2"), ("message", b"[DONE]")]
    assert not any(event.is_cut for event in events)


def test_lines_of_a_log_that_are_parsed_or_name_no_field():
    assert [event.data for event in events_of_lines([{"a": 1}, "data: 2", {"b": 3}])] == [
        b'{"a": 1}',
        b"2",
        b'{"b": 3}',
    ]
    bare = events_of_lines(['{"a": 1}', "", ": ping", "[DONE]"])
    assert [(event.name, event.data) for event in bare] == [("message", b'{"a": 1}'), ("message", b"[DONE]")]
    assert list(events_of_lines([": ping", ""])) == []


def test_lines_of_a_log_with_its_blank_ones():
    lines = ["event: a\n", "data: 1\n", "data: 2\n", "\n", ": ping\n", "\n", "data: 3\n"]
    events = list(events_of_lines(lines))
    assert [(event.name, event.data, event.is_cut) for event in events] == [
        ("a", b"1\n2", False),
        ("message", b"3", True),
    ]
