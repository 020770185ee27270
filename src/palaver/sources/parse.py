"""Exact JSON parsing: integers of any size stay integers.

msgspec is as fast as orjson here, parses many lines in one call, and does not silently turn an integer past 64 bits
into a float, as orjson does.
"""

import msgspec

_DECODER = msgspec.json.Decoder()

parse = _DECODER.decode
parse_lines = _DECODER.decode_lines
"""Parse several lines. Blank lines are skipped; a value may span lines or share a line with others."""

NOT_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What `parse` and `parse_lines` raise for bytes that are not JSON or are nested too deeply."""


def parses(raw: bytes) -> bool:
    try:
        parse(raw)
    except NOT_JSON:
        return False
    return True
