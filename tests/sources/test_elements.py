"""The elements of arrays: nothing behind a lost or damaged beginning is lost, and the quick way reads the same."""

import gzip
import io
import json

import pytest

from palaver.sources.arrays import elements
from palaver.sources.arrays.elements import JsonElements, WholeElements, open_elements
from palaver.sources.run import Run
from palaver.sources.source import Source

REST = b'{"a": 1},\n{"b": 2}]'


@pytest.mark.parametrize(
    "beginning",
    [
        b"[",
        b"",
        b"!]\n",
        b"]",
        b'"}]\n',
        b"var data = [",
        b"\xef\xbb\xbf[",
        b"\0\0[",
        b"half of it], ",
        b"\x01[]\n",
        b"[]",
        b"[!] ",
        b'"["]\n',
        b"[1]",
        b"!]\x00\n",
        b"\x07 [",
    ],
)
def test_what_follows_an_odd_beginning_is_read(beginning):
    run = Run("array.json")
    read = [
        value
        for value in JsonElements(io.BytesIO(beginning + REST), run, accepts_truncated=True)
        if isinstance(value, dict)
    ]
    assert read == [{"a": 1}, {"b": 2}]


SOUND = [
    (b'[{"a": 1}, "x", null, [2]]', "", True),
    (b'\xef\xbb\xbf[{"a": 1}]', "", False),
    (b"[]", "", True),
    (b'{"id": "s", "items": [{"a": 1}, 2], "after": true}', "items", True),
    (b'{"id": "s", "items": {"a": 1}}', "items", False),
    (b'{"id": "s"}', "items", False),
    (b'[{"a": 1}, {"b": 2', "", False),
    (b'[{"a": 123456789012345678901234567890}]', "", True),
    (b'["\\ud83d"]', "", False),
    (b'{"id": "s", "items": [{"a": 1}, {"b"', "items", False),
    (b"", "", False),
]


@pytest.mark.parametrize(("data", "key", "is_whole"), SOUND)
@pytest.mark.parametrize("is_packed", [False, True])
def test_the_quick_way_reads_the_same_as_the_careful_one(tmp_path, data, key, is_whole, is_packed):
    path = tmp_path / "array.json"
    path.write_bytes(gzip.compress(data) if is_packed else data)
    quick, careful = Run("quick"), Run("careful")
    with open_elements(Source.at(path), quick, key) as found:
        assert isinstance(found, WholeElements) == is_whole
        read = list(found)
    wanted = JsonElements(io.BytesIO(data), careful, (key,) if key else (), accepts_truncated=True)
    assert read == list(wanted)
    assert found.wrapper == wanted.wrapper
    assert quick.ledger == careful.ledger
    assert quick.findings.counts == careful.findings.counts


def test_a_record_of_the_quick_way_can_be_set_aside(tmp_path):
    path = tmp_path / "array.json"
    path.write_bytes(b'[{"a": 1}, "odd"]')
    taken = []
    run = Run("array.json", advance=taken.append)
    with open_elements(Source.at(path), run, label="array.json") as found:
        told = [(json.loads(found.raw), found.where()) for _ in found]
    assert told == [({"a": 1}, "array.json: element 0"), ("odd", "array.json: element 1")]
    assert sum(taken) == path.stat().st_size


def test_what_is_large_is_not_held_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(elements, "SMALL_BYTES", 64)
    path = tmp_path / "array.json"
    for data in (json.dumps(["x" * 90, 1]).encode(), gzip.compress(json.dumps(["x" * 9_000, 1]).encode())):
        path.write_bytes(data)
        with open_elements(Source.at(path), Run("array.json")) as found:
            assert isinstance(found, JsonElements)
            assert list(found)[1] == 1
