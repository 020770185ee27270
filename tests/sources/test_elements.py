"""The elements of an array whose beginning is lost or damaged: nothing behind it is."""

import io

import pytest

from palaver.sources.elements import JsonElements
from palaver.sources.run import Run

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
        value for value in JsonElements(io.BytesIO(beginning + REST), run, takes_cut=True) if isinstance(value, dict)
    ]
    assert read == [{"a": 1}, {"b": 2}]
