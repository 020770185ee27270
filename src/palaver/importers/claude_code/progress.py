"""`progress` lines: states of running hooks and tools, up to half of all lines of a session.

They are read without being parsed, where that is safe: what they say is skipped anyway, but they are links of the chain
from a message to its parent. Every other spelling takes the long way.
"""

from palaver.importers.claude_code.transcript import Transcript

MARKER = b'"type":"progress","data":{"type":"'
"""What tells such a line, in its first bytes, as the product spells it."""

_STATES = (b"hook_progress", b"bash_progress", b"waiting_for_task")
_PARENT = b'{"parentUuid":"'
_UUID = b'"uuid":"'
_MARKER_LENGTH = len(MARKER)


class ProgressShortcut:
    """Takes over raw progress lines of one conversation."""

    marker = MARKER

    def __init__(self, transcript: Transcript, *, takes_sidechains: bool) -> None:
        self.count = 0
        self._transcript = transcript
        self._takes_sidechains = takes_sidechains

    def __call__(self, raw: bytes, position: int) -> bool:
        """Whether the line, in which the marker stands at a position, was read; False sends it the long way."""
        start = raw.rfind(_UUID)
        if (
            start < position
            or not raw.startswith(_STATES, position + _MARKER_LENGTH)
            or raw.find(b"{", 1, position) > 0  # the marker stands inside something else
            or not raw.endswith((b"}\n", b"}"))
            or (not self._takes_sidechains and raw.find(b'"isSidechain":true', 0, position) > 0)
        ):
            return False
        parent = raw[15 : raw.find(b'"', 15)].decode() if raw.startswith(_PARENT) else None
        self._transcript.link(raw[start + 8 : raw.find(b'"', start + 8)].decode(), parent)
        self.count += 1
        return True
