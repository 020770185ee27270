import io
import itertools
import json
import re
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from palaver.errors import SourceError
from palaver.sources import jsonl
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Quarantined, Run

BOM = b"\xef\xbb\xbf"
BEFORE = {"type": "user", "n": 1}
AFTER = {"type": "user", "n": 2}


@dataclass
class Reading:
    """All that one reading of some bytes gave."""

    values: list[Any] = field(default_factory=list)
    places: list[tuple[int, int, bytes]] = field(default_factory=list)
    aside: list[Quarantined] = field(default_factory=list)
    codes: dict[str, int] = field(default_factory=dict)
    first: dict[str, Any] = field(default_factory=dict)
    read: int = 0
    end: int = 0
    end_number: int = 0

    @property
    def set_aside(self) -> list[tuple[str, bytes]]:
        return [(quarantined.code, quarantined.raw) for quarantined in self.aside]


def read(data, start=0, number=0, *, label="") -> Reading:
    reading = Reading()
    run = Run("source", quarantine=reading.aside.append)
    stream = io.BytesIO(data) if isinstance(data, bytes) else data
    if start:
        stream.seek(start)
    lines = JsonLines(stream, run, label=label, start=start, number=number)
    for value in lines:
        reading.values.append(value)
        reading.places.append((lines.number, lines.offset, lines.raw))
    reading.codes = run.findings.counts
    reading.first = {finding.code: finding for finding in reversed(run.findings.first)}
    reading.read = run.ledger.read
    reading.end = lines.end
    reading.end_number = lines.end_number
    assert reading.read == len(reading.values) + run.ledger.quarantined.total()
    assert run.ledger.quarantined.total() == len(reading.aside)
    return reading


def around(*lines: bytes) -> bytes:
    """Some lines between two good ones."""
    return b"\n".join([dumps(BEFORE), *lines, dumps(AFTER), b""])


def dumps(value: Any) -> bytes:
    return json.dumps(value).encode()


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


# What damaged files are made of, so that random ones look like them.
SHREDS = st.lists(
    st.sampled_from([b"{", b"}", b"[", b"]", b"{}", b"[]", b'"', b",", b":", b"\\", b"}{", b"],", b'},{"'])
    | st.sampled_from([b"\n", b"\n", b"\r\n", b" ", b"  ", b"\x0b", b"\0", BOM, b"\xff", b"\xc3", "é\u2028".encode()])
    | st.sampled_from([b'{"a":1}', b'{"a":1}\n', b'{"b":{"a":2}}', b'{"a":"x', b'"a": 1', b'"a": 1,', b'"a": ['])
    | st.sampled_from([b"12", b"-", b".5", b"true", b"tru", b"null", b"NaN", b'"x"', b'"\\ud800"', b'{"a":NaN}'])
    | st.sampled_from([b"18446744073709551616"]),
    max_size=24,
).map(b"".join)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=4), JSON_VALUES, min_size=1, max_size=3)


@st.composite
def json_lines(draw) -> list[bytes]:
    """Good lines as various writers write them."""
    lines = []
    for value in draw(st.lists(OBJECTS, min_size=1, max_size=5)):
        separators = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
        lines.append(json.dumps(value, separators=separators, ensure_ascii=draw(st.booleans())).encode())
    return lines


@st.composite
def edited_lines(draw) -> bytes:
    """Good lines after a few accidents."""
    data = b"\n".join([*draw(json_lines()), b""])
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        lines = data.split(b"\n")
        line = draw(st.integers(0, len(lines) - 1))
        other = draw(st.integers(0, len(lines) - 1))
        match draw(st.sampled_from(["cut", "delete", "insert", "replace", "duplicate", "swap", "join"])):
            case "cut":
                data = data[:at]
            case "delete":
                data = data[:at] + data[at + 1 :]
            case "insert":
                data = data[:at] + draw(st.binary(min_size=1, max_size=2)) + data[at:]
            case "replace":
                data = data[:at] + draw(st.binary(min_size=1, max_size=1)) + data[at + 1 :]
            case "duplicate":
                data = b"\n".join([*lines[:line], lines[line], *lines[line:]])
            case "swap":
                lines[line], lines[other] = lines[other], lines[line]
                data = b"\n".join(lines)
            case "join":
                data = b"\n".join(lines[:line]) + b"\n".join(lines[line:])
    return data


ANY_BYTES = st.binary(max_size=200) | SHREDS | edited_lines()


# Laws


@settings(max_examples=500)
@given(ANY_BYTES)
def test_every_record_is_yielded_or_quarantined_and_nothing_raises(data):
    read(data)


@settings(max_examples=300)
@given(json_lines(), st.booleans())
def test_good_lines_are_yielded_as_they_are(lines, ends_with_newline):
    reading = read(b"\n".join(lines) + b"\n" * ends_with_newline)
    assert reading.values == [expected(line) for line in lines]
    assert not reading.aside
    assert not reading.codes


def expected(line: bytes) -> Any:
    """What a good line means, by the standard library."""
    return json.loads(line)


@settings(max_examples=300)
@given(ANY_BYTES)
def test_the_result_does_not_depend_on_where_chunks_end(data):
    whole = read(data)
    for size in (1, 2, 7, 64):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(jsonl, "CHUNK_BYTES", size)
            assert read(data) == whole


@settings(max_examples=500)
@given(ANY_BYTES, st.data())
@example(b'{"a":1}{\n"a": 1\n}', None)
@example(b'12.5\n"x"x\n{"a":1} 12\n', None)
@example(b'[\n{"a":1},\n{"b":2}\n]\n', None)
@example(b'{"a":"x{"a":1}\n', None)
@example(b'{"a":1}\xef\xbb\xbf{}\n', None)
@example(b'\x0b{"a":1}\n', None)
def test_reading_a_part_and_then_from_its_end_is_reading_the_whole(data, chosen):
    whole = read(data)
    cuts = range(len(data) + 1) if chosen is None else [chosen.draw(st.integers(0, len(data)))]
    for cut in cuts:
        part = read(data[:cut])
        rest = read(data, part.end, part.end_number)
        assert part.end <= cut
        assert part.values + rest.values == whole.values
        assert [number for number, _, _ in part.places + rest.places] == [number for number, _, _ in whole.places]


@settings(max_examples=300)
@given(json_lines(), st.data())
def test_a_file_cut_at_any_byte_gives_its_whole_lines_and_a_note(lines, chosen):
    data = b"\n".join([*lines, b""])
    cut = chosen.draw(st.integers(0, len(data)))
    reading = read(data[:cut])
    ends = list(itertools.accumulate(len(line) + 1 for line in lines))
    whole = sum(end - 1 <= cut for end in ends)
    begun = ends[whole - 1] if whole else 0
    assert reading.values == [expected(line) for line in lines[:whole]]
    assert not reading.aside
    if cut > begun:
        assert reading.codes.pop("unfinished-tail") == 1
        assert reading.end == begun
        assert reading.first["unfinished-tail"].where == f"line {whole + 1}, byte {begun}"
        assert reading.first["unfinished-tail"].severity == "note"
    else:
        assert reading.end == cut
    assert not reading.codes


@settings(max_examples=500)
@given(json_lines(), json_lines(), st.binary(max_size=12).map(lambda raw: raw.replace(b"\n", b"")) | SHREDS, st.data())
def test_a_mutated_line_costs_no_other_line(before, after, junk, chosen):
    line = b'{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hello"}]}}'
    start = chosen.draw(st.integers(0, len(line)))
    end = chosen.draw(st.integers(start, len(line)))
    mutated = line[:start] + junk.replace(b"\n", b"") + line[end:]
    reading = read(b"\n".join([*before, mutated, *after, b""]))
    assert reading.values[: len(before)] == [expected(line) for line in before]
    assert reading.values[-len(after) :] == [expected(line) for line in after]


@given(json_lines(), json_lines(), st.sampled_from([b"{", b"[", b"}", b"]", b" {", b"{ ", b"{\r", b"\0{", BOM + b"["]))
def test_a_stray_bracket_costs_nothing_but_itself(before, after, bracket):
    reading = read(b"\n".join([*before, bracket, *after, b""]))
    assert reading.values == [expected(line) for line in before + after]
    assert [code for code, _ in reading.set_aside] == ["bad-json"]


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from([0, 1, 2, "\t"]), st.sampled_from(["\n", "\r\n", ""]))
def test_pretty_printed_objects_are_read_whatever_stands_between_them(values, indent, between):
    written = between.join([json.dumps(value, indent=indent) for value in values])
    reading = read(written.encode() + b"\n")
    assert reading.values == [expected(json.dumps(value).encode()) for value in values]
    assert not reading.aside


@given(ANY_BYTES)
def test_raw_stands_at_its_offset(data):
    reading = read(data)
    for number, offset, raw in reading.places:
        assert data[offset : offset + len(raw)] == raw
        assert data[:offset].count(b"\n") == number - 1
    for quarantined in reading.aside:
        number, offset = map(int, re.fullmatch(r"line (\d+), byte (\d+)", quarantined.where).groups())
        assert data[offset : offset + len(quarantined.raw)] == quarantined.raw
        assert data[:offset].count(b"\n") == number - 1


@given(st.lists(st.integers(0, 99), min_size=1, max_size=60), st.integers(1, 40))
def test_words_in_a_line_are_never_denied(numbers, chunk_bytes):
    data = b"".join(b'{"a":"word%d."}\n' % number for number in numbers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("palaver.sources.jsonl.CHUNK_BYTES", chunk_bytes)
        lines = JsonLines(io.BytesIO(data), Run("source"))
        for _ in lines:
            for number in range(10):
                words = b"word%d." % number
                assert lines.may_contain(words) or words not in lines.raw
            assert not lines.may_contain(b"nowhere")


# Good input


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"", []),
        (b"\n", []),
        (b"\n\n\r\n \t\n", []),
        (b'{"a":1}', [{"a": 1}]),
        (b'{"a":1}\n', [{"a": 1}]),
        (b'\n{"a":1}\n\n\n{"a":2}\n', [{"a": 1}, {"a": 2}]),
        (b'{"a":1,"a":2}\n', [{"a": 2}]),
        ('{"a":"\u2028\u2029\x85"}\n{"a":2}\n'.encode(), [{"a": "\u2028\u2029\x85"}, {"a": 2}]),
        (b'12\n"x"\nnull\n[1]\n', [12, "x", None, [1]]),
        (b"  {}  \n", [{}]),
    ],
    ids=repr,
)
def test_lines_end_with_newlines_only(data, values):
    reading = read(data)
    assert reading.values == values
    assert not reading.codes
    assert reading.end == len(data)


def test_the_place_names_line_byte_and_label():
    lines = JsonLines(io.BytesIO(b'\n{"a":1}\n{"a":2}\n'), Run("source"), label="side.jsonl")
    assert [lines.where() for _ in lines] == ["side.jsonl: line 2, byte 1", "side.jsonl: line 3, byte 9"]


def test_windows_line_ends_are_noted_once():
    reading = read(b'{"a":1}\r\n{"a":2}\r\n\r\n')
    assert reading.values == [{"a": 1}, {"a": 2}]
    assert reading.codes == {"carriage-returns": 1}


def test_progress_is_told_in_bytes():
    told = []
    data = around()
    list(JsonLines(io.BytesIO(data), Run("source", advance=told.append)))
    assert sum(told) == len(data)


def test_a_line_of_100_mb_is_read():
    line = b'{"a":"' + b"x" * 100_000_000 + b'"}'
    run = Run("source")
    lines = JsonLines(io.BytesIO(around(line)), run)
    lengths = [len(lines.raw) for _ in lines]
    assert lengths == [len(dumps(BEFORE)), len(line), len(dumps(AFTER))]
    assert not run.findings.counts


# Damage that is repaired


@pytest.mark.parametrize(
    ("line", "values", "codes"),
    [
        (BOM + b'{"a":1}', [{"a": 1}], ["byte-order-mark"]),
        (BOM + b'{"a":-9223372036854775809}', [{"a": -9223372036854775809}], ["byte-order-mark"]),
        (b"\0" * 40, [], ["nul-bytes"]),
        (b"\0\0" + b'{"a":1}', [{"a": 1}], ["nul-bytes"]),
        (b'{"a":1}' + b"\0\0", [{"a": 1}], ["nul-bytes"]),
        (b'{"a":\0\0"x\0y"}', [{"a": "xy"}], ["nul-bytes"]),
        (b'\0{"a":18446744073709551616}', [{"a": 18446744073709551616}], ["nul-bytes"]),
        (b'{"a":"x\xffy\xe2\x82z"}', [{"a": "x\ufffdy\ufffdz"}], ["invalid-utf8"]),
        (b'{"a":"x\\ud800y"}', [{"a": "x\ufffdy"}], ["lone-surrogate"]),
        (b'{"a":"\\udc00\\ud83d\\ude00"}', [{"a": "\ufffd😀"}], ["lone-surrogate"]),
        (b'{"a\\ud800":1,"b":2}', [{"a\ufffd": 1, "b": 2}], ["lone-surrogate"]),
        (
            b'{"a":NaN,"b":[Infinity,-Infinity],"c":1e400}',
            [{"a": None, "b": [None] * 2, "c": None}],
            ["non-finite-number"],
        ),
        (b'{"a":1}{"b":2}', [{"a": 1}, {"b": 2}], ["joined-objects"]),
        (b'{"a":1}' + BOM + b'{"b":2}', [{"a": 1}, {"b": 2}], ["joined-objects"]),
        (b'{"a":1} \t{"b":2}{"c":3} ', [{"a": 1}, {"b": 2}, {"c": 3}], ["joined-objects"]),
    ],
    ids=repr,
)
def test_damage_is_repaired_and_noted(line, values, codes):
    reading = read(around(line))
    assert reading.values == [BEFORE, *values, AFTER]
    assert sorted(reading.codes) == sorted(codes)
    assert not reading.aside
    assert all(finding.where.startswith(f"line 2, byte {len(dumps(BEFORE)) + 1}") for finding in reading.first.values())


def test_a_tail_of_nul_bytes_is_noted_and_passed():
    data = around() + b"\0" * 5000
    reading = read(data)
    assert reading.values == [BEFORE, AFTER]
    assert reading.codes == {"nul-bytes": 1}
    assert reading.end == len(data)
    assert read(data + b'{"a":1}\n', reading.end).values == [{"a": 1}]


HALF = b'{"type":"user","message":{"content":[true,"caf\\u00e9 {x}",-1.5e+3,null]},"n":1}'
WHOLE = b'{"type":"user","message":{"content":[{"type":"text"}]}}'


@pytest.mark.parametrize("cut", range(1, len(HALF)))
def test_a_whole_object_behind_a_torn_one_is_read(cut):
    reading = read(around(HALF[:cut] + WHOLE))
    assert reading.values == [BEFORE, json.loads(WHOLE), AFTER]
    assert reading.set_aside == [("bad-json", HALF[:cut])]
    assert reading.codes == {"bad-json": 1, "torn-line": 1}


def test_several_objects_behind_several_torn_ones_are_read():
    reading = read(around(b'{"a":"x{"a":"y{"a":1}{"b":2}'))
    assert reading.values == [BEFORE, {"a": 1}, {"b": 2}, AFTER]
    assert reading.set_aside == [("bad-json", b'{"a":"x{"a":"y')]


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user","message":{"content":[{"x":"y"}]}',
        b'{"type":"user","message":{"x":1}',
        b'"message": {"x":1}',
        b'"type":"user","message":{"x":{"y":1}}}',
    ],
)
def test_a_part_of_a_torn_object_is_no_record(line):
    reading = read(around(line))
    assert reading.values == [BEFORE, AFTER]
    assert reading.set_aside == [("bad-json", line)]


PRETTY = json.dumps({"a": {"b": [{"c": "}"}, []]}, "d": {}}, indent=2).encode()


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (PRETTY + b"\n", [json.loads(PRETTY)]),
        (PRETTY, [json.loads(PRETTY)]),
        (PRETTY + b"\n" + PRETTY + b"\n", [json.loads(PRETTY)] * 2),
        (PRETTY + PRETTY, [json.loads(PRETTY)] * 2),
        (around(PRETTY), [BEFORE, json.loads(PRETTY), AFTER]),
        (BOM + PRETTY.replace(b"\n", b"\r\n"), [json.loads(PRETTY)]),
        (around(b'{\n"a":1}'), [BEFORE, {"a": 1}, AFTER]),
        (around(b'{\n\n "a": 18446744073709551616\n}'), [BEFORE, {"a": 18446744073709551616}, AFTER]),
        (around(b"[\n  1,\n  [2]\n]"), [BEFORE, [1, [2]], AFTER]),
    ],
    ids=repr,
)
def test_objects_spread_over_lines_are_read(data, values):
    reading = read(data)
    assert reading.values == values
    assert reading.codes["pretty-printed"] >= 1
    assert not reading.aside
    assert reading.end == len(data)


def test_an_object_that_never_closes_is_set_aside_as_one():
    unclosed = PRETTY[: PRETTY.rindex(b"}")].rstrip()
    reading = read(around(unclosed, PRETTY))
    assert reading.values == [BEFORE, json.loads(PRETTY), AFTER]
    assert reading.set_aside == [("bad-json", unclosed)]


def test_a_damaged_pretty_object_is_set_aside_as_one():
    damaged = PRETTY.replace(b'"d"', b"d")
    reading = read(around(damaged))
    assert reading.values == [BEFORE, AFTER]
    assert reading.set_aside == [("bad-json", damaged)]


def test_records_that_need_repair_survive_a_stray_bracket():
    reading = read(around(b"[", b'{"a":NaN},', b'{"a":NaN}', b"{", b'\0{"b":1}', b"{", PRETTY))
    assert reading.values == [BEFORE, {"a": None}, {"a": None}, {"b": 1}, json.loads(PRETTY), AFTER]


def test_an_open_object_at_the_end_is_read_when_it_is_finished():
    data = around(PRETTY)
    cut = data.index(b'"c"')
    reading = read(data[:cut])
    assert reading.values == [BEFORE]
    assert reading.codes == {"unfinished-tail": 1}
    assert reading.end == len(dumps(BEFORE)) + 1
    assert read(data, reading.end).values == [json.loads(PRETTY), AFTER]


def test_whole_objects_on_an_unfinished_line_are_read():
    reading = read(b'{"a":1}{"b":2}{"c":"\xc3')
    assert reading.values == [{"a": 1}, {"b": 2}]
    assert reading.end == len(b'{"a":1}{"b":2}')
    assert reading.codes == {"joined-objects": 1, "unfinished-tail": 1}


def test_an_open_object_past_the_longest_line_is_given_up(monkeypatch):
    monkeypatch.setattr(jsonl, "LONGEST_LINE_BYTES", 100)
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 16)
    reading = read(around(b"{", *[b'  "a": 1,'] * 20))
    assert reading.values == [BEFORE, AFTER]
    assert {code for code, _ in reading.set_aside} == {"bad-json"}


# Integers past 64 bits


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("[%s]", ["%s"]),
        ("%s", "%s"),
        ('{"a":[1,%s,-5]}', {"a": [1, "%s", -5]}),
        ('\ufeff{"a":-%s}', {"a": "-%s"}),
        ('{"a":NaN,"b":[[%s]]}', {"a": None, "b": [["%s"]]}),
    ],
)
def test_an_integer_with_more_digits_than_python_converts_is_kept_as_text(line, value):
    digits = "1" + "0" * 5000
    reading = read((line % digits).encode() + b"\n")
    assert reading.values == [json.loads(json.dumps(value) % digits)]
    assert reading.codes["big-integer"] == 1


@given(st.lists(st.integers(-(1 << 80), 1 << 80) | st.integers(-20, 20), max_size=12), st.integers(0, 7))
def test_no_integer_becomes_a_float(numbers, shift):
    line = b" " * shift + json.dumps({"a": numbers}, separators=(",", ":")).encode()
    for before in (b"", b"\0"):
        [value] = read(before + line + b"\n").values
        assert value["a"] == numbers
        assert all(type(number) is int for number in value["a"])


# Damage that is set aside


@pytest.mark.parametrize("depth", [2_000, 1_000_000])
def test_deep_nesting_is_read_or_set_aside(depth):
    for line in (nested(depth), b"[" * depth + b"]" * depth, b"[" * depth, b'{"a":' * depth):
        reading = read(around(line))
        assert reading.values[0] == BEFORE
        assert reading.values[-1] == AFTER
        assert reading.read == 3
        assert reading.codes.keys() <= {"too-deep", "bad-json"}


def test_deep_nesting_at_the_end_is_set_aside_once_it_is_whole():
    assert read(nested(100_000)).set_aside == [("too-deep", nested(100_000))]
    reading = read(nested(100_000)[:-1])
    assert reading.codes == {"unfinished-tail": 1}
    assert reading.end == 0


@pytest.mark.parametrize(
    "line", [b"hello", b'{"a":1', b'{"a":}', b"12 34", b'"a": 1,', b"\xff\xfe", b'{"a":"\x01"}', b"}{x"]
)
def test_what_is_no_json_is_set_aside(line):
    reading = read(around(line))
    assert reading.values == [BEFORE, AFTER]
    assert reading.set_aside == [("bad-json", line)]
    assert reading.first["bad-json"].where == f"line 2, byte {len(dumps(BEFORE)) + 1}"
    assert not reading.first["bad-json"].kept


def test_what_follows_an_object_is_set_aside_alone():
    reading = read(around(b'{"a":1} hello'))
    assert reading.values == [BEFORE, {"a": 1}, AFTER]
    assert reading.set_aside == [("bad-json", b"hello")]
    assert reading.first["bad-json"].where == f"line 2, byte {len(dumps(BEFORE)) + 9}"


@pytest.mark.parametrize("chunk_bytes", [1, 7, 64])
def test_a_line_past_the_longest_is_set_aside_and_the_next_ones_are_read(monkeypatch, chunk_bytes):
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(jsonl, "LONGEST_LINE_BYTES", 100)
    monkeypatch.setattr(jsonl, "_LONG_LINE_EXCERPT_BYTES", 10)
    longest = b'{"a":"' + b"x" * 92 + b'"}'
    data = around(longest, longest.replace(b"xx", b"xxx", 1), b'{"b":1}')
    reading = read(data)
    assert reading.values == [BEFORE, json.loads(longest), {"b": 1}, AFTER]
    assert reading.set_aside == [("line-too-long", longest[:10])]
    assert [number for number, _, _ in reading.places] == [1, 2, 4, 5]
    assert [data[offset : offset + len(raw)] for _, offset, raw in reading.places] == [
        raw for *_, raw in reading.places
    ]
    assert reading.end == len(data)


def test_a_last_line_past_the_longest_is_set_aside(monkeypatch):
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 16)
    monkeypatch.setattr(jsonl, "LONGEST_LINE_BYTES", 100)
    reading = read(around() + b"x" * 300)
    assert reading.values == [BEFORE, AFTER]
    assert [code for code, _ in reading.set_aside] == ["line-too-long"]


# Streams that break


class Broken(io.BytesIO):
    """A stream that fails once its bytes are read."""

    def __init__(self, data: bytes, error: Exception) -> None:
        super().__init__(data)
        self.error = error

    def read(self, size=-1):
        if piece := super().read(size):
            return piece
        raise self.error


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), SourceError("x.gz is damaged")], ids=repr)
def test_what_came_before_a_broken_stream_ended_is_kept(error):
    reading = read(Broken(around() + b'{"a":', error))
    assert reading.values == [BEFORE, AFTER]
    assert reading.codes == {"source-cut-off": 1, "unfinished-tail": 1}
    finding = reading.first["source-cut-off"]
    assert (finding.severity, finding.kept, finding.message) == ("error", False, str(error))


def test_a_stream_may_break_within_an_endless_line(monkeypatch):
    monkeypatch.setattr(jsonl, "CHUNK_BYTES", 16)
    monkeypatch.setattr(jsonl, "LONGEST_LINE_BYTES", 100)
    reading = read(Broken(around() + b"x" * 300, OSError("gone")))
    assert reading.values == [BEFORE, AFTER]
    assert reading.codes == {"line-too-long": 1, "source-cut-off": 1}
