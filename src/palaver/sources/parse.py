"""JSON as it stands, parsed exactly: integers of any size stay what they are.

msgspec is as fast as orjson here, which turns an integer past 64 bits into a float without a word, and it takes many
lines in one call.
"""

import msgspec

_DECODER = msgspec.json.Decoder()

parse = _DECODER.decode
parse_lines = _DECODER.decode_lines
"""The values of several lines. Blank lines are passed over, and a value may span lines or share one with others."""

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the two raise, for bytes that are not JSON or nested too deeply."""


def parses(raw: bytes) -> bool:
    try:
        parse(raw)
    except NOT_JSON:
        return False
    return True
