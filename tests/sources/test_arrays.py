import io
import json
import random
import zipfile
import zlib

import ijson
import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from palaver.sources.arrays import splitter
from palaver.sources.arrays.splitter import ArrayElements, elements_path

SEPARATORS = ["},{", '"},{"id":', '}, {"id"', "]", "[", "{", '\\"', "\\", '"', ",", ":", "\n"]
KEYS = st.sampled_from(["id", "title", "children", "a", "},{", 'q"', "\\"])
TEXTS = st.text(max_size=6) | st.lists(st.sampled_from(SEPARATORS), max_size=3).map("".join)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 62), 1 << 62)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | TEXTS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.fixed_dictionaries({"id": SCALARS}, optional={"title": SCALARS, "children": VALUES})
LISTS = st.lists(VALUES, max_size=6) | st.lists(OBJECTS, max_size=6)
CHUNKS = st.integers(1, 64) | st.just(1 << 20)
SPACES = st.text(" \t\r\n", max_size=3)


class OnlyRead:
    """A stream that can be read and nothing else, in pieces that may be shorter than asked for."""

    def __init__(self, document, seed=None):
        self.document = document
        self.at = 0
        self.random = random.Random(seed) if seed is not None else None

    def read(self, size):
        if self.random:
            size = self.random.randint(1, size)
        piece = self.document[self.at : self.at + size]
        self.at += len(piece)
        return piece


def read(document, path=(), chunk_bytes=1 << 20, **options):
    elements = ArrayElements(OnlyRead(document), path, chunk_bytes=chunk_bytes, **options)
    return elements, list(elements)


def values(document, path=(), chunk_bytes=1 << 20):
    return [element.value for element in read(document, path, chunk_bytes)[1]]


def good(elements):
    return [element.value for element in elements if element.error is None]


def spelled(value, space):
    """JSON text with whatever white space `space()` gives between any two tokens."""
    if isinstance(value, list):
        inside = ",".join(space() + spelled(item, space) + space() for item in value)
        return f"[{inside or space()}]"
    if isinstance(value, dict):
        inside = ",".join(
            f"{space()}{json.dumps(key)}{space()}:{space()}{spelled(item, space)}{space()}"
            for key, item in value.items()
        )
        return "{" + (inside or space()) + "}"
    return json.dumps(value)


@st.composite
def documents(draw, lists=LISTS):
    """A document, the path to its array, and the array."""
    array = draw(lists)
    path = draw(st.sampled_from([(), ("records",), ("data", "items")]))
    document = array
    for key in reversed(path):
        other = st.dictionaries(KEYS | TEXTS, VALUES, max_size=2)
        before, after = draw(other), draw(other)
        around = {name: before[name] for name in before if name != key}
        around[key] = document
        document = around | {name: after[name] for name in after if name not in around}
    match draw(st.sampled_from(["compact", "indented", "ascii", "odd"])):
        case "compact":
            text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
        case "indented":
            text = json.dumps(document, indent=2, ensure_ascii=False)
        case "ascii":
            text = json.dumps(document)
        case _:
            text = spelled(document, lambda: draw(SPACES))
    return text.encode(), path, array


@given(documents(), CHUNKS, st.none() | st.integers(0, 99))
def test_elements_equal_those_of_a_whole_parse_and_of_ijson(case, chunk_bytes, seed):
    document, path, array = case
    elements = ArrayElements(OnlyRead(document, seed), path, chunk_bytes=chunk_bytes)
    found = list(elements)
    assert [element.error for element in found] == [None] * len(array)
    assert [element.value for element in found] == array
    assert [element.value for element in found] == list(
        ijson.items(io.BytesIO(document), ".".join([*path, "item"]), use_float=True)
    )
    assert elements.found
    assert not elements.truncated
    assert elements.trailing == b""


@given(documents(), CHUNKS)
def test_slices_and_separators_reproduce_the_array(case, chunk_bytes):
    document, path, array = case
    _, found = read(document, path, chunk_bytes)
    assert [element.index for element in found] == list(range(len(array)))
    end = None
    for element in found:
        assert document[element.offset : element.offset + len(element.raw)] == element.raw
        separator = document[end : element.offset].strip() if end else document[: element.offset].rstrip()[-1:]
        assert separator == (b"," if end else b"[")
        end = element.offset + len(element.raw)
    if end:
        assert document[end:].lstrip().startswith(b"]")


@given(documents())
def test_wrapper_holds_the_other_keys(case):
    document, path, _ = case
    assume(path)
    elements, _ = read(document, path, 7)
    expected = json.loads(document)
    own = expected
    for key in path[:-1]:
        own = own[key]
    del own[path[-1]]
    if path == ("data", "items") and not expected["data"]:
        del expected["data"]
    assert elements.wrapper == expected


@given(documents(), st.data())
def test_truncated_documents_give_their_complete_elements(case, data):
    document, path, array = case
    _, whole = read(document, path)
    assume(whole)
    cut_at = data.draw(st.integers(whole[0].offset, whole[-1].offset + len(whole[-1].raw)))
    cut = document[:cut_at]
    # Cut right behind such a bracket, a document may as well have lost others in its middle.
    assume(not cut.rstrip().endswith(b"}" if path else b"]"))
    elements, found = read(cut, path, data.draw(CHUNKS))
    complete = sum(element.offset + len(element.raw) <= cut_at for element in whole)
    assert elements.truncated
    assert good(found) in (array[:complete], array[: complete - 1])  # a number at the cut may have gone on
    assert [element.error for element in found if element.error] in ([], ["truncated"])
    assert b"".join(element.raw for element in found[-1:]) in cut


@given(
    st.binary(max_size=200)
    | st.lists(
        st.sampled_from([
            b"[", b"]", b"{", b"}", b",", b":", b'"', b"\\", b" ", b"\0", b"1", b"NaN", b"\xff", b'{"id":1}',
            b',{"id":2}', b',{"id":3,"a":', b'{"id"', b'"records":[', b"\xef\xbb\xbf",
        ]),
        max_size=40,
    ).map(b"".join),
    st.sampled_from([b"", b"[", b'{"records":[', b'[{"id":1,"a":2},{"id":3,"a":4},']),
    st.sampled_from([(), ("records",), ("data", "items")]),
    CHUNKS,
    st.integers(1, 40) | st.just(1 << 30),
)  # fmt: skip
def test_no_bytes_raise_and_none_get_lost(noise, head, path, chunk_bytes, largest_element_bytes):
    document = head + noise
    elements, found = read(document, path, chunk_bytes, largest_element_bytes=largest_element_bytes)
    elements_path(document)
    end = 0
    for index, element in enumerate(found):
        assert element.index == index
        assert element.raw
        assert document[element.offset : element.offset + len(element.raw)] == element.raw
        if element.error is None:
            assert element.value == orjson.loads(element.raw)
        if not path:
            between = document[end : element.offset].removeprefix(b"\xef\xbb\xbf")
            assert not between.strip(b" \t\r\n,]" if end else b" \t\r\n,[")
        end = element.offset + len(element.raw)
    if elements.found and not path:
        rest = document[end:].removeprefix(b"\xef\xbb\xbf") if not end else document[end:]
        assert rest.lstrip(b" \t\r\n,][") == elements.trailing.lstrip(b",][ \t\r\n")


NEIGHBOURS = [
    {"id": number, "title": f'say "{number}" \\ }},{{"id"', "children": [{"id": 0, "x": [{}]}, {"id": 1}]}
    for number in range(6)
]
UNPARSABLE = {
    "lone_surrogate": rb'{"id":9,"title":"\ud83d"}',
    "not_a_number": b'{"id":9,"title":NaN}',
    "minus_infinity": b'{"id":9,"title":[-Infinity]}',
    "invalid_utf8": b'{"id":9,"title":"\xff\xfe"}',
    "nul_in_a_string": b'{"id":9,"title":"a\0\0b"}',
    "nul_between_tokens": b'{"id":9,\0\0\0"title":1}',
    "newline_in_a_string": b'{"id":9,"title":"a\nb"}',
    "number_too_large": b'{"id":9,"title":1e400}',
    "nested_too_deep": b'{"id":9,"title":' + b"[" * 3000 + b"]" * 3000 + b"}",
    "bad_escape": rb'{"id":9,"title":"\x"}',
    "trailing_comma": b'{"id":9,"title":[1,],}',
    "python_literal": b'{"id":9,"title":None}',
    "bare_word": b"undefined",
}
BROKEN = {
    "quote_lost_at_the_end": b'{"id":9,"title":"a}',
    "quote_lost_at_the_start": b'{"id":9,"title":a"}',
    "quote_lost_in_a_key": b'{"id":9,title":"a"}',
    "quote_not_escaped": b'{"id":9,"title":"a "b" c"}',
    "one_quote_not_escaped": b'{"id":9,"title":"a "b c"}',
    "brace_lost": b'{"id":9,"title":1',
    "inner_brace_lost": b'{"id":9,"title":{"x":1}',
    "bracket_lost": b'{"id":9,"title":[1,2}',
    "bracket_too_many": b'{"id":9,"title":[1]]}',
    "brace_too_many": b'{"id":9,"title":{}}}',
    "opening_brace_too_many": b'{"id":9,"title":{{}}',
    "comma_lost": b'{"id":9 "title":1}',
    "nul_block": b'{"id":9,"ti' + b"\0" * 5000 + b'"}}]',
    "torn_and_joined": b'{"id":9,"title":"a\\{"id":8,"title":["b"]}',
    "colon_alone": b":",
}


def document_with(bad, position, *, is_indented=False, is_wrapped=False):
    spelling = {"indent": 2} if is_indented else {"separators": (",", ":")}
    parts = [json.dumps(neighbour, **spelling).encode() for neighbour in NEIGHBOURS]
    parts.insert(position, bad)
    document = b"[" + (b",\n  " if is_indented else b",").join(parts) + b"]"
    return b'{"version":1,"records":' + document + b"}" if is_wrapped else document


EVERYWHERE = pytest.mark.parametrize("position", [0, 1, 2, 3, 5, 6])
EVERY_SPELLING = pytest.mark.parametrize(
    ("is_indented", "is_wrapped", "chunk_bytes"), [(False, False, 1 << 20), (True, True, 64), (False, True, 1)]
)


@EVERYWHERE
@EVERY_SPELLING
@pytest.mark.parametrize("bad", UNPARSABLE.values(), ids=UNPARSABLE)
def test_an_element_that_does_not_parse_is_handed_out_as_it_is(bad, position, is_indented, is_wrapped, chunk_bytes):
    document = document_with(bad, position, is_indented=is_indented, is_wrapped=is_wrapped)
    elements, found = read(document, ("records",) if is_wrapped else (), chunk_bytes)
    assert good(found) == NEIGHBOURS
    assert found[position].raw == bad
    assert found[position].value is None
    assert found[position].error
    assert not elements.truncated


@EVERYWHERE
@EVERY_SPELLING
@pytest.mark.parametrize("bad", BROKEN.values(), ids=BROKEN)
def test_an_element_with_broken_structure_leaves_all_others_intact(bad, position, is_indented, is_wrapped, chunk_bytes):
    document = document_with(bad, position, is_indented=is_indented, is_wrapped=is_wrapped)
    elements, found = read(document, ("records",) if is_wrapped else (), chunk_bytes)
    assert [value for value in good(found) if value["id"] < 9] == NEIGHBOURS
    assert any(element.error for element in found)
    raws = b"".join(element.raw for element in found[position : len(found) - 6 + position])
    if position < 6:
        assert raws == bad
        assert not elements.truncated
    else:
        assert raws.startswith(bad)  # a lost quote takes the end of the array with it


@pytest.mark.parametrize("position", [0, 1, 2, 3, 5])
@EVERY_SPELLING
def test_an_element_that_lost_all_its_brackets_does_not_swallow_the_others(
    position, is_indented, is_wrapped, chunk_bytes
):
    bad = b'{"id":9,"title":[1,2'
    document = document_with(bad, position, is_indented=is_indented, is_wrapped=is_wrapped)
    elements, found = read(document, ("records",) if is_wrapped else (), chunk_bytes)
    assert good(found) == NEIGHBOURS
    assert found[position].raw == bad
    assert not elements.truncated


def test_a_first_element_that_ends_too_early_does_not_pass_its_parts_off_as_elements_for_long():
    chats = [
        {"uuid": f"c{number}", "name": "", "messages": [{"uuid": f"m{part}", "text": ""} for part in range(5)]}
        for number in range(4)
    ]
    document = json.dumps(chats, separators=(",", ":")).encode()
    damaged = document.replace(b'"messages":[{"uuid":"m0"', b'"messages":"m0"', 1)
    _, found = read(damaged)
    assert [value for value in good(found) if "name" in value][1:] == chats[1:]


@given(documents(st.lists(OBJECTS, min_size=3, max_size=6)), st.data(), CHUNKS)
def test_any_byte_overwritten_in_one_element_damages_no_earlier_one(case, data, chunk_bytes):
    document, path, array = case
    _, whole = read(document, path)
    victim = data.draw(st.sampled_from(whole))
    at = data.draw(st.integers(victim.offset, victim.offset + len(victim.raw) - 1))
    damaged = bytearray(document)
    damaged[at] = data.draw(st.integers(0, 255))
    elements, found = read(bytes(damaged), path, chunk_bytes)
    assert elements.found
    assert [element.value for element in found[: victim.index]] == array[: victim.index]


def test_several_bad_elements_in_a_row_are_told_apart_where_a_good_one_lies_between():
    document = b'[{"id":1,"a":1},{"id":2,"a":"x"y"},{"id":3,"a":[},{"id":4,"a":4},{"id":5,"a":"},{"id":6,"a":6}]'
    elements, found = read(document)
    assert [element.raw for element in found if element.error] == [
        b'{"id":2,"a":"x"y"},{"id":3,"a":[}',
        b'{"id":5,"a":"}',
    ]
    assert [value["id"] for value in good(found)] == [1, 4, 6]
    assert not elements.truncated


def test_a_stray_bracket_between_elements_does_not_end_the_array():
    _, found = read(b'[{"id":1,"a":1},{"id":2,"a":2}]},{"id":3,"a":3},{"id":4,"a":4}]')
    assert [value["id"] for value in good(found)] == [1, 2, 3, 4]
    assert [element.raw for element in found if element.error] == [b"}"]
    elements, found = read(b'{"records":[{"id":1}]},{"id":2},{"id":3}],"version":1}', ("records",))
    assert [value["id"] for value in good(found)] == [1, 2, 3]
    assert elements.found


def test_bytes_between_elements_are_handed_out():
    _, found = read(b'[{"id":1}\0\0,{"id":2} {"id":3}xyz,,{"id":4}:,\0 \0{"id":5}]')
    assert [value["id"] for value in good(found)] == [1, 2, 3, 4, 5]
    assert [element.raw for element in found if element.error] == [b"\0\0", b"xyz", b":", b"\0 \0"]


@pytest.mark.parametrize("chunk_bytes", [1, 5, 1 << 20])
def test_a_broken_scalar_leaves_the_others_intact(chunk_bytes):
    _, found = read(b'["a","b,"c","d",tru e,1,-,[2,3}, [4],"e"]', (), chunk_bytes)
    assert good(found) == ["a", "b,", "d", 1, [4], "e"]


def test_an_element_larger_than_the_limit_is_handed_out_in_pieces():
    document = b'[{"id":1,"a":1},{"id":2,"a":"' + b"x" * 30_000 + b'"},{"id":3,"a":3},{"id":4,"a":4}]'
    elements, found = read(document, (), 512, largest_element_bytes=8_000)
    assert [value["id"] for value in good(found)] == [1, 3, 4]
    assert b"".join(element.raw for element in found if element.error) == document[16:-31]
    assert "8000 bytes" in found[1].error
    assert not elements.truncated


def test_truncated_documents():
    elements, found = read(b'[{"id":1},{"id":2},{"id":3')
    assert [(element.raw, element.error) for element in found[2:]] == [(b'{"id":3', "truncated")]
    assert elements.truncated
    elements, found = read(b'{"records":[1,2,', ("records",))
    assert [element.value for element in found] == [1, 2]
    assert elements.truncated
    elements, found = read(b'{"records":[1,2],"x":', ("records",))
    assert [element.value for element in found] == [1, 2]
    assert elements.truncated
    elements, _ = read(b"")
    assert elements.truncated
    assert not elements.found


def test_a_truncated_element_does_not_give_its_children_away():
    document = b'[{"id":1,"c":[]},{"id":2,"c":[{"id":3,"c":[]},{"id":4,"c":[]},{"id":5'
    elements, found = read(document)
    assert [element.error for element in found] == [None, "truncated"]
    assert elements.truncated


def test_trailing_bytes_are_told():
    assert read(b"[1] \n")[0].trailing == b""
    assert read(b'[1] \n"a"')[0].trailing == b'"a"'
    assert read(b'[1] \n{"a":1}')[0].trailing == b"", "an object is read on"
    assert read(b'{"records":[1]} x' + b"y" * 5000, ("records",))[0].trailing == b"x" + b"y" * 1023
    assert read(b"[{},{}],{")[0].trailing == b",{"


def test_objects_behind_a_stray_bracket_are_elements_too():
    elements, found = read(b'[{"a":1}]\n{"b":2},\n{"a":3}]')
    assert [element.value for element in found] == [{"a": 1}, {"b": 2}, {"a": 3}]
    assert elements.trailing == b""


def test_without_their_bytes_the_last_element_s_can_be_asked_for():
    array = [{"id": number, "text": "x" * number} for number in range(300)]
    document = json.dumps(array).encode()
    kept = list(ArrayElements(io.BytesIO(document), chunk_bytes=512))
    elements = ArrayElements(io.BytesIO(document), chunk_bytes=512, keeps_raw=False)
    for element, same in zip(elements, kept, strict=True):
        assert element.value == same.value
        assert elements.raw() == same.raw
        assert elements.checksum() == (len(same.raw), zlib.crc32(same.raw))


def test_the_byte_order_mark_is_skipped_and_counted():
    _, found = read(b"\xef\xbb\xbf [7]", (), 1)
    assert [(element.value, element.offset) for element in found] == [(7, 5)]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (b"{}", ()),
        (b"7", ()),
        (b"[]", ("records",)),
        (b'{"records":{}}', ("records",)),
        (b'{"other":[1]}', ("records",)),
        (b'{"data":[{"items":[1]}]}', ("data", "items")),
        (b'{"other":{"records":[1]}}', ("records",)),
    ],
)
def test_a_path_that_leads_to_no_array_is_not_found(document, path):
    elements, found = read(document, path)
    assert not elements.found
    assert found == []


def test_the_last_of_repeated_keys_is_read_too():
    assert values(b'{"records":[1],"records":7,"x":0,"records":[2]}', ("records",)) == [1, 2]


def test_damage_before_a_wrapped_array_does_not_hide_it():
    elements, found = read(b'{"note":"say "hi" now","records":[{"id":1},{"id":2}],"x":1}', ("records",), 3)
    assert [element.value for element in found] == [{"id": 1}, {"id": 2}]
    assert elements.wrapper == {"x": 1}


def test_a_key_of_the_wrapper_with_half_a_surrogate_pair_is_kept():
    elements = ArrayElements(io.BytesIO(b'{"items": [1], "prompt": "broken \\ud83d here"}'), ("items",))
    assert [element.value for element in elements] == [1]
    assert elements.wrapper == {"prompt": "broken \ufffd here"}


def test_wrapper_keys_are_known_before_the_first_element():
    elements = ArrayElements(OnlyRead(b'{"version":3,"records":[1,2],"after":4}'), ("records",))
    next(iter(elements))
    assert elements.wrapper == {"version": 3}


@pytest.mark.parametrize(
    ("head", "path"),
    [
        (b"", None),
        (b" \n", None),
        (b"7", None),
        (b"[", ()),
        (b"\xef\xbb\xbf\r\n [1", ()),
        (b'{"records":[{"id"', ("records",)),
        (b'\xef\xbb\xbf{ "v": 1, "tags": [ "a" ], "none": [], "own": {"x": [{}]}, "r\\u00e9" : [ { ', ("ré",)),
        (b'{"v":1}', None),
        (b'{"records":[', None),
        (b'{"v":"cut', None),
        (b'{"v":', None),
        (b'{"a":"x"y","records":[{', None),
        (b"{\0", None),
    ],
)
def test_elements_path(head, path):
    assert elements_path(head) == path


def test_nesting_a_million_deep_is_only_one_bad_element():
    deep = b"[" * 1_000_000 + b"]" * 1_000_000
    _, found = read(b'[{"id":1},' + deep + b',{"id":2}]')
    assert [element.value for element in found] == [{"id": 1}, None, {"id": 2}]
    assert found[1].raw == deep


def test_a_zip_member_is_read_while_it_inflates():
    array = [{"title": f"chat {number}", "mapping": {"x" * number: [number]}} for number in range(300)]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("conversations.json", json.dumps(array))
    with zipfile.ZipFile(packed) as reader, reader.open("conversations.json") as member:
        elements = ArrayElements(member, chunk_bytes=4096)
        assert [element.value for element in elements] == array


def test_an_error_of_the_stream_passes_through_after_what_was_read():
    class Failing(OnlyRead):
        def read(self, size):
            return super().read(size) or self.fail()

        def fail(self):
            raise OSError("unreadable")

    found = []
    with pytest.raises(OSError, match="unreadable"):
        found.extend(ArrayElements(Failing(b'[1,2,{"id":')))
    stream = iter(ArrayElements(Failing(b"[1,2,3,"), chunk_bytes=2))
    assert [next(stream).value, next(stream).value] == [1, 2]


@pytest.mark.parametrize(
    "element",
    [
        lambda number: {"id": number, "text": "x" * 40},
        lambda number: {f"key{number}": number},
        lambda number: [number, {"id": number}],
        lambda number: {"id": number, "children": [{"id": 1}, {"id": 2}]},
    ],
    ids=["alike", "other_keys", "arrays", "nested_alike"],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_no_more_than_an_element_and_a_few_chunks_is_held(element, indent):
    array = [element(number) for number in range(3_000)]
    elements = ArrayElements(io.BytesIO(json.dumps(array, indent=indent).encode()), chunk_bytes=2_048)
    found = []
    most = 0
    for item in elements:
        found.append(item.value)
        most = max(most, len(elements._window.buffer))
    assert found == array
    assert most <= 18 * 2_048


@pytest.mark.parametrize(
    "keys", [["a", "b"], ["a", "a", "a", "b"], ["a"] * 50 + ["b"] * 50, [str(n) for n in range(200)]]
)
def test_wrong_guesses_cost_no_more_than_the_document_again(keys, monkeypatch):
    parsed = []

    def parse(raw):
        parsed.append(len(raw))
        return orjson.loads(raw)

    monkeypatch.setattr(splitter, "parse", parse)
    monkeypatch.setattr(splitter, "NOT_JSON", orjson.JSONDecodeError)
    array = [{key: number} for number, key in enumerate(keys * (2_000 // len(keys)))]
    document = json.dumps(array).encode()
    assert values(document, (), 4_096) == array
    assert len(document) // 2 < sum(parsed) <= 2 * len(document)


def test_elements_that_open_alike_are_not_scanned(monkeypatch):
    array = [{"uuid": number, "name": "x", "messages": [{"uuid": 0, "text": ""}] * 9} for number in range(50)]
    document = json.dumps(array).encode()
    scanned = []

    class Counted(splitter.ValueScan):
        def __init__(self):
            scanned.append(1)
            super().__init__()

    monkeypatch.setattr(splitter, "ValueScan", Counted)
    assert values(document) == array
    assert not scanned
