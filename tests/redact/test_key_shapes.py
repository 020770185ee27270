"""A key in a text is masked whole, wherever it is cut and however it is escaped, and what only resembles one stays."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.redact.body_mask import BodyMask
from planted_keys import KEYS, MASK

HARMLESS = [
    "task-oriented, risk-assessments-here, ask-somebody, disk-0123456789",
    "a basic understanding of basic JavaScript, and bearer certificates; Basic functionality.",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "01234567-89ab-cdef-0123-456789abcdef chatcmpl-0123456789abcdef0123456789abcdef",
    "call_0123456789abcdef0123456789abcdef-2 12345678901234567890123456789012",
    '{"id": "0123456789abcdef0123456789abcdef", "request_id":"0123456789abcdef0123456789abcdef"}',
    "sk-ssh-ed25519@openssh.com and sk-ecdsa-sha2-nistp256, a basic HTTP/1.1 client",
    "https://gravatar.example/avatar/0123456789abcdef0123456789abcdef?s=70 https:\\/\\/b.example\\/"
    + "0123456789abcdef" * 2,
    "sk-short, AIza, ghp_, xox, eyJhbGciOiJub25lIn0 alone, -----BEGIN CERTIFICATE-----",
    "AAAA/AKIAINVENTEDPLANTED0/+AIzaInvented_planted",
    "-----\n----- ---- BEGIN PRIVATE KEY",
    "\\\\server\\share\\u00e9\\",
    "Gr\u00fc\u00dfe \U0001f511 \u043a\u043b\u044e\u0447",
]


PARTS = [
    *("sk-", "AKIA", "ghp_", "xoxb-", "AIza", "eyJ", "Bearer ", "basic ", "0123456789abcdef", "abc12345", "ABCDEFGH"),
    *("-----BEGIN ", "RSA ", "PRIVATE KEY-----", "-----END ", "-----", "-", ".", " ", "\n", "+", "=", "/", "a", "%3D"),
    *("\\", "\\u00", "\\\\u002d", "2d", "n", '"', "'", 'id":"', "{", "\u00e9", "x" * 40, "eyJ" + "q" * 390),
]


def masked(body: bytes, *cuts: int, media_type: str = "application/json") -> bytes:
    mask = BodyMask(media_type)
    places = [0, *cuts, len(body)]
    pieces = [
        piece
        for number, (start, end) in enumerate(pairwise(places))
        for piece in mask.feed(body[start:end], float(number))
    ]
    return b"".join(piece for piece, _ in (*pieces, *mask.close()))


def nested(text: str, depth: int) -> str:
    """Return a text in a JSON string in a JSON string, and so on."""
    for _ in range(depth):
        text = json.dumps({"text": text, "more": [1.50]})
    return text


@pytest.mark.parametrize("depth", range(4))
@pytest.mark.parametrize("kind", KEYS)
def test_a_key_is_masked_whole_wherever_it_is_cut(kind: str, depth: int) -> None:
    key = KEYS[kind]
    body = nested(f"one {key.text} two '{key.text}'", depth).encode()
    expected = nested(f"one {key.text} two '{key.text}'".replace(key.secret, MASK), depth).encode()
    assert masked(body) == expected
    assert masked(body, *range(1, len(body))) == expected
    for cut in range(1, len(body)):
        assert masked(body, cut) == expected


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=14), st.lists(st.integers(0, 10_000), max_size=4))
def test_where_a_text_is_cut_makes_no_difference(parts: list[str], cuts: list[int]) -> None:
    body = "".join(parts).encode()
    whole = masked(body)
    assert masked(body, *range(1, len(body))) == whole
    assert masked(body, *sorted(cut % len(body) for cut in cuts)) == whole


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_at_the_very_end_is_masked(kind: str) -> None:
    key = KEYS[kind]
    body = f"it is {key.text}".encode()
    for cut in range(len(body)):
        assert masked(body, cut) == f"it is {key.text.replace(key.secret, MASK)}".encode()


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("depth", range(3))
def test_a_key_of_escaped_characters_is_masked(kind: str, depth: int) -> None:
    key = KEYS[kind]
    escape = "\\" * 2**depth + "u"
    escaped = "".join(f"{escape}{ord(item):04x}" for item in key.secret)
    before = key.text.removesuffix(key.secret)
    body = f'{{"a": "{before}{escaped}"}}'.encode()
    for cut in range(0, len(body), 5):
        assert masked(body, cut) == f'{{"a": "{before}{MASK}"}}'.encode()


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_a_key_stays(text: str) -> None:
    for body in (text.encode(), nested(text, 1).encode(), nested(text, 2).encode()):
        assert masked(body, *range(1, len(body))) == masked(body) == body


def test_bytes_that_are_no_text_stay() -> None:
    body = bytes(range(256)) * 300 + b"\\" * 100 + b"\xff\\u00"
    for cut in (0, 1, 70_000, len(body) - 3):
        assert masked(body, cut, media_type="image/png") == body


@pytest.mark.parametrize("between", ['\\n" +\n  "', "\\n'\n  '", "\n", "\n    ", "\n> ", "\n# ", " "])
def test_a_private_key_is_masked_however_its_lines_are_joined(between: str) -> None:
    lines = KEYS["private_key"].secret.split("\n")
    text = f'key = "{between.join(lines)}";'
    assert masked(json.dumps(text).encode(), 60) == json.dumps(f'key = "{MASK}";').encode()


@pytest.mark.parametrize("depth", [1, 2])
def test_a_private_key_without_an_end_is_masked_to_the_end_of_its_text(depth: int) -> None:
    text = "\n".join(KEYS["private_key"].secret.split("\n")[:2])
    body = nested(text, depth).encode()
    assert masked(body, *range(1, len(body))) == nested(MASK, depth).encode()


def test_text_about_private_keys_stays() -> None:
    text = "a file with `-----BEGIN PRIVATE KEY-----` at its top (or another header). Then it goes on."
    assert masked(text.encode()) == text.replace("-----BEGIN PRIVATE KEY-----", MASK).encode()


def test_a_key_in_a_form_is_masked() -> None:
    assert masked(b"key%3Dsk-planted_here0&api_key=sk-planted_here0") == b"key%3D[masked]&api_key=[masked]"


def test_a_body_is_read_by_how_it_begins_however_many_blanks_precede() -> None:
    for blanks in (b"", b" " * 20_000):
        body = blanks + b'[{"candidates": [{"text": "sk-planted"}]}, {"candidates": [{"text": "_here0"}]}]'
        expected = body.replace(b"sk-planted", b"[masked]").replace(b"_here0", b"")
        assert masked(body, *range(1, len(body))) == masked(body) == expected


def test_little_is_held_back() -> None:
    mask = BodyMask("text/plain")
    body = b"word " * 20_000 + b"eyJ" + b"a" * 10_000 + b" basic basic " * 1_000
    released = 0
    for start in range(0, len(body), 100):
        released += sum(len(piece) for piece, _ in mask.feed(body[start : start + 100], 1.0))
        assert start + 100 - released <= 450
    assert released + sum(len(piece) for piece, _ in mask.close()) == len(body)


def test_a_long_body_with_a_key_in_each_slice_is_masked() -> None:
    body = (b"x" * 9_973 + b" sk-planted_here0 \\n") * 40
    assert masked(body) == body.replace(b"sk-planted_here0", b"[masked]")
