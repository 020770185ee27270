"""`progress` lines: states of running hooks and tools, up to half of all lines of a session.

They are read without being parsed, where that is safe: what they say is skipped anyway, but they are links of the chain
from a message to its parent. Every other spelling takes the long way.
"""

_MARKER = b'"type":"progress","data":{"type":"'
_STATES = (b"hook_progress", b"bash_progress", b"waiting_for_task")
_MARKER_LENGTH = len(_MARKER)
_PARENT = b'{"parentUuid":"'
_UUID = b'"uuid":"'
_ENDS = (b"}\n", b"}")


class ProgressShortcut:
    """Takes over raw progress lines of one conversation, and notes in `parents` which line each hangs on."""

    marker = _MARKER

    def __init__(self, parents: dict[bytes, bytes], *, takes_sidechains: bool) -> None:
        self.count = 0
        self._parents = parents
        self._takes_sidechains = takes_sidechains

    def __call__(self, raw: bytes) -> bool:
        """Whether the line was read; False sends it the long way."""
        position = raw.find(_MARKER)
        start = raw.rfind(_UUID)
        if (
            start < position
            or not raw.startswith(_STATES, position + _MARKER_LENGTH)
            or b"{" in raw[1:position]  # the marker stands inside something else
            or not raw.endswith(_ENDS)
            or (not self._takes_sidechains and b'"isSidechain":true' in raw[:position])
        ):
            return False
        parent = raw[15 : raw.find(b'"', 15)] if raw.startswith(_PARENT) else b""
        self._parents[raw[start + 8 : raw.find(b'"', start + 8)]] = parent
        self.count += 1
        return True
