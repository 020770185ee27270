"""The shapes of keys in text: how a key begins, from where on it is certain, and how far it reaches.

A shape matches a whole key, so that nothing of it remains. Of a text that breaks off, `open_start` says whether it ends
in what may become a key; that never has more than `MAX_OPEN_CHARACTERS`.

"Bearer" and "basic" are also words: what follows them is a key only if it does not look like one more word. Thirty-two
hexadecimal digits are an Azure access key, but not as the value of an "id", as a step of a path, or in a longer word.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_OPEN_CHARACTERS = 420
CONTEXT_CHARACTERS = 8
"""How many characters before a key decide on whether it is one."""
_MAX_SHORT_CHARACTERS = 45
"""How long the beginning of any key can be that is neither a web token nor a private key."""
_MAX_JWT_HEADER = 400
_MIN_KEY_LENGTH = 11
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_HEX_KEY_LENGTH = 32
_RUN = b"0" * _HEX_KEY_LENGTH
_FLAT = bytes(ord("0") if item in _HEX_DIGITS else ord(" ") for item in range(256))
"""Maps every hexadecimal digit to 0 and everything else to a space: the fastest way to find a run of them."""
_ESCAPED_KEY_CHARACTER = re.compile(rb"\\u00(?:2d|3[0-9]|[46][1-9a-f]|[57][0-9a]|5f)", re.IGNORECASE)


class _Step(NamedTuple):
    """A number of characters of one class."""

    characters: bytes
    least: int = 1
    most: int = 1


class KeyShape(NamedTuple):
    hints: tuple[bytes, ...]
    """How it begins, in lower case."""
    begin: re.Pattern[bytes]
    """Matches as soon as it is certainly a key; the mask begins where group 1 does."""
    rest: re.Pattern[bytes]
    """Matches the rest of the key; after its group 1 the key has ended."""
    open_begin: bytes
    """Matches a text that breaks off before it is certain."""


def may_hold_key(raw: bytes) -> bool:
    """Return whether a text may hold a key, also if its characters are escaped; this is fast."""
    if len(raw) < _MIN_KEY_LENGTH:
        return False
    lower = raw.lower()
    for hint in _HINTS:
        if hint in lower:
            return True
    if len(raw) >= _HEX_KEY_LENGTH and _RUN in raw.translate(_FLAT):
        return True
    return b"\\u00" in lower and _ESCAPED_KEY_CHARACTER.search(lower) is not None


def key_starts(text: bytes) -> list[tuple[int, KeyShape]]:
    """Return where keys may begin, in order."""
    lower = text.lower()
    found = [(start, shape) for shape in _SHAPES for hint in shape.hints for start in _positions(lower, hint)]
    flat = text.translate(_FLAT)
    start = flat.find(_RUN)
    while start >= 0:
        found.append((start, _HEX))
        end = flat.find(b" ", start)
        start = flat.find(_RUN, end) if end >= 0 else -1
    found.sort(key=lambda item: item[0])
    return found


def match_key(shape: KeyShape, text: bytes, start: int, *, is_whole: bool) -> tuple[int, int] | None:
    """Return where the certain beginning of a key is, or None; a text that is not whole goes on."""
    found = shape.begin.match(text, start)
    if found is None or (shape is _HEX and not is_whole and found.end() == len(text)):
        return None
    return found.span(1)


def rest_end(shape: KeyShape, text: bytes, start: int, *, is_whole: bool) -> tuple[int, bool]:
    """Return where the rest of a key ends, and whether the key may go on from there."""
    if shape is _HEX:
        return start, False
    found = shape.rest.match(text, start)
    assert found is not None
    if found.lastindex is not None or is_whole:
        return found.end(), False
    return found.end(), found.end() == len(text) or (shape is _PEM and _OPEN_REST.match(text, found.end()) is not None)


def open_start(text: bytes, start: int) -> int | None:
    """Return from where on a text may be the beginning of a key, or None."""
    first = max(start, len(text) - MAX_OPEN_CHARACTERS)
    if text.find(b"eyJ", first) < 0 and text.find(b"-----B", first) < 0:
        first = max(start, len(text) - _MAX_SHORT_CHARACTERS)
    found = _OPEN.search(text, first)
    return None if found is None else found.start()


def _positions(text: bytes, part: bytes) -> Iterator[int]:
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


def _exact(text: bytes) -> tuple[_Step, ...]:
    return tuple(_Step(b"[%c]" % item) for item in text)


def _either_case(text: bytes) -> tuple[_Step, ...]:
    return tuple(_Step(b"[%b]" % (bytes([item]).lower() + bytes([item]).upper())) for item in text)


def _all(steps: tuple[_Step, ...]) -> bytes:
    return b"".join(b"%b{%d,%d}" % step for step in steps)


def _some(steps: tuple[_Step, ...]) -> bytes:
    """Return a pattern for a text that breaks off after one of the steps, or amid it."""
    pattern = b"(?!)"
    for characters, least, most in reversed(steps[1:]):
        pattern = rb"(?:%b{0,%d}\Z|%b{%d,%d}%b)" % (characters, most, characters, least, most, pattern)
    return steps[0].characters + pattern


_OUTSIDE_WORD = rb"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))"
_OUTSIDE_BASE64 = rb"(?:(?<![A-Za-z0-9+/])|(?<=%[0-9A-Fa-f][0-9A-Fa-f]))"
_NO_SSH = b"(?!sk-(?:ssh-ed25|ecdsa-sh))"
"""The types of SSH's keys in hardware, sk-ssh-ed25519 and sk-ecdsa-sha2-nistp256, are names."""
_OUTSIDE_ID = rb"(?<![\w/-])(?<![iI][dD][\"']:[\"'])(?<![iI][dD][\"']: [\"'])"


def _prefixed(before: bytes, prefix: tuple[_Step, ...], characters: bytes, *hints: bytes) -> KeyShape:
    """Return the shape of a key with a known prefix and at least eight more characters."""
    steps = (*prefix, _Step(characters, 8, 8))
    begin = re.compile(before + b"(" + _all(steps) + b")")
    return KeyShape(hints, begin, re.compile(characters + b"*"), before + _some(steps))


def _credential(scheme: bytes, least: int) -> KeyShape:
    """Return the shape of what follows an authentication scheme: it has a digit, a word amid it, or is very long."""
    characters = rb"[\w.~+/=-]"
    is_no_word = rb"(?!HTTP/)(?=%b{0,31}?(?:[0-9]|[a-z][A-Z]%b{0,31}?[a-z][A-Z]))" % (characters, characters)
    named = (*_either_case(scheme), _Step(rb"[ \t]", 1, 4))
    value = rb"(%b%b{%d,32}|%b{32})" % (is_no_word, characters, least, characters)
    return KeyShape(
        (scheme,),
        re.compile(_OUTSIDE_WORD + _all(named) + value),
        re.compile(characters + b"*"),
        _OUTSIDE_WORD + _some((*named, _Step(characters, 1, 31))),
    )


_JWT_STEPS = (*_exact(b"eyJ"), _Step(rb"[\w-]", 8, _MAX_JWT_HEADER), _Step(rb"\."), _Step(rb"[\w-]"))
_JWT = KeyShape(
    (b"eyj",),
    re.compile(_OUTSIDE_WORD + b"(" + _all(_JWT_STEPS) + b")"),
    re.compile(rb"[\w.-]*"),
    _OUTSIDE_WORD + _some(_JWT_STEPS),
)
_HEX = KeyShape(
    (),
    re.compile(rb"%b((?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{32})(?![\w-])" % _OUTSIDE_ID),
    re.compile(b""),
    rb"%b[0-9a-fA-F]{1,32}\Z" % _OUTSIDE_ID,
)
_PRIVATE_KEY = rb"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_JOINED_STRINGS = rb"'[\s+.\\]{0,40}'"
"""Between the lines of a key in a program: the end of one string and the beginning of the next."""
_END_STEPS = (*_exact(b"-----END "), _Step(b"[A-Z0-9 ]", 1, 80), _Step(b"-", 1, 5))
_OPEN_END = _some(_END_STEPS)
_AT_END = b"-----END |" + _OPEN_END
_PEM = KeyShape(
    (b"-----begin ",),
    re.compile(b"(-----BEGIN " + _PRIVATE_KEY + b")"),
    # Not possessive: before Python 3.11.5, a possessive group fails where a part of it has to give something back.
    re.compile(
        rb"(?:[A-Za-z0-9+/=\s:,>|#*\\]+|(?!%b)-|%b)*(%b)?" % (_AT_END, _JOINED_STRINGS, b"-----END " + _PRIVATE_KEY)
    ),
    _some((*_exact(b"-----BEGIN "), _Step(b"[A-Z0-9 ]", 1, 80), _Step(b"-", 1, 5))),
)
_OPEN_REST = re.compile(rb"'[\s+.\\]{0,40}\Z|" + _OPEN_END)
_SHAPES = (
    _prefixed(_OUTSIDE_WORD + _NO_SSH, (*_either_case(b"sk"), *_exact(b"-")), rb"[\w-]", b"sk-"),
    _prefixed(_OUTSIDE_BASE64, _exact(b"AIza"), rb"[\w-]", b"aiza"),
    _prefixed(
        _OUTSIDE_WORD,
        (*_exact(b"gh"), _Step(b"[pousr]"), _Step(b"_")),
        rb"\w",
        *(b"gh%c_" % kind for kind in b"pousr"),
    ),
    _prefixed(_OUTSIDE_WORD, (*_exact(b"xox"), _Step(b"[abprs]"), _Step(b"-")), rb"[\w-]", b"xox"),
    _prefixed(_OUTSIDE_BASE64, _exact(b"AKIA"), b"[0-9A-Z]", b"akia"),
    _JWT,
    _credential(b"bearer", 6),
    _credential(b"basic", 8),
    _PEM,
)
_HINTS = tuple(hint for shape in _SHAPES for hint in shape.hints)
_OPEN = re.compile(b"|".join(shape.open_begin for shape in (*_SHAPES, _HEX)))
