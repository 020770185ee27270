"""The settings of a recorder: what it records, who may send requests to it, and who watches it."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from palaver.streams.exchange import FinishedExchange

TIMEOUT_S = 600.0
"""How long an upstream may stay silent; the official clients wait as long."""


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """The settings of a proxy."""

    token: str = ""
    """What requests must carry, in the header `x-palaver-token` or as the first step of the path; empty for none."""
    ca: Path | None = None
    """A file of certificates to trust besides those of the system."""
    timeout_s: float = TIMEOUT_S
    sample: float = 1.0
    """The share of the exchanges that are logged."""
    include: tuple[str, ...] = ()
    """Patterns of paths; if there are any, only requests to these are logged."""
    exclude: tuple[str, ...] = ()
    """Patterns of paths that are not logged."""

    def wants(self, path: str) -> bool:
        """Return whether requests to a path are logged, apart from sampling."""
        is_included = not self.include or any(fnmatchcase(path, pattern) for pattern in self.include)
        return is_included and not any(fnmatchcase(path, pattern) for pattern in self.exclude)


class Watcher(Protocol):
    """Is called by the proxy, in the thread of its server, and must not block."""

    def started(self, request_id: str, method: str, path: str) -> None:
        """Take note of a request that is being forwarded and logged."""
        ...

    def streaming(self, request_id: str) -> None:
        """Take note that the response has begun to arrive as a stream."""
        ...

    def finished(self, exchange: FinishedExchange) -> None:
        """Take note of the end of an exchange."""
        ...

    def failed(self, message: str) -> None:
        """Take note of a defect of the recorder itself; traffic goes on."""
        ...
