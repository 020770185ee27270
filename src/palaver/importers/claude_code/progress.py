"""`progress` lines: states of running hooks and tools, up to half of all lines of a session.

They are read without being parsed, where that is safe: what they say is skipped anyway, but they are links of the chain
from a message to its parent. Every other spelling takes the long way.
"""

_MARKER = b'"type":"progress","data":{"type":"'
_STATES = frozenset({b"hook_progress", b"bash_progress", b"waiting_for_t"})
"""The first thirteen bytes of the states that are skipped."""

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
        head, _, rest = raw.partition(_MARKER)
        _, found, tail = rest.rpartition(_UUID)
        if (
            not found
            or rest[:13] not in _STATES
            or b"{" in head[1:]  # the marker stands inside something else
            or not tail.endswith(_ENDS)
            or (b'"isSidechain":true' in head and not self._takes_sidechains)
        ):
            return False
        parent = head[15:].partition(b'"')[0] if head.startswith(_PARENT) else b""
        self._parents[tail.partition(b'"')[0]] = parent
        self.count += 1
        return True
