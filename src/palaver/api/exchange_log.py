"""The public log of exchanges, masked by the one policy, in the folder where `palaver scan` looks for it."""

import time
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from palaver.api.exchange import Exchange
from palaver.model.build import JsonObject
from palaver.redact.body_mask import BodyMask
from palaver.redact.logs import mask_settings
from palaver.redact.policy import mask_headers, mask_url
from palaver.storage.user_folders import recordings_folder
from palaver.streams import exchange_log
from palaver.streams.exchange import Masks
from palaver.streams.exchange_log import MAX_AGE_S, MAX_BYTES
from palaver.streams.journal import JournalFile


class ExchangeLog(exchange_log.ExchangeLog):
    """Writes exchanges to a folder, by default `recordings` in palaver's data folder.

    Authentication headers, cookies and keys in URLs are never written; with `redact`, keys in bodies are not either.
    """

    def __init__(
        self,
        folder: str | PathLike[str] | None = None,
        *,
        redact: bool = False,
        max_bytes: int = MAX_BYTES,
        max_age_s: float = MAX_AGE_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(
            Path(recordings_folder() if folder is None else folder),
            _masks(redact=redact),
            max_bytes=max_bytes,
            max_age_s=max_age_s,
            clock=clock,
        )

    def start(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]],
        *,
        upstream: str = "",
        timestamp: float | None = None,
    ) -> Exchange:
        """Begin to record an exchange with the head of its request."""
        started = super().start(method, url, headers, upstream=upstream, timestamp=timestamp)
        assert isinstance(started, Exchange)
        return started

    def transport(self, inner: Any) -> Any:
        """Return a transport for clients of httpx and httpx2 that records what passes through the inner one.

        Raises:
            TypeError: The inner transport is of neither library.
        """
        from palaver.api.transports import recording_transport

        return recording_transport(self, inner)

    def mitmproxy_addon(self) -> Any:
        """Return an addon for mitmproxy that records the requests to model APIs, and closes the log at the end."""
        from palaver.api.mitmproxy_addon import RecordingAddon

        return RecordingAddon(self)

    def _exchange(self, head: JsonObject, journal: JournalFile | None) -> Exchange:
        return Exchange(head, self._masks, journal, self._append, self._clock)


def _masks(*, redact: bool) -> Masks:
    return Masks(mask_headers, mask_url, mask_settings, BodyMask if redact else None)
