"""Whose format a trace record is in, from its shape."""

from palaver.wire._detection import FORMATS, Format, detect

__all__ = ["FORMATS", "Format", "detect"]
