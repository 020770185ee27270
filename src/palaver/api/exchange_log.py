"""The public log of exchanges, masked by the one policy, in the folder where `palaver scan` looks for it."""

import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from palaver.redact.policy import mask_headers, mask_url
from palaver.storage.user_folders import data_folder
from palaver.streams import exchange_log
from palaver.streams.exchange import Masks
from palaver.streams.exchange_log import MAX_AGE_S, MAX_BYTES

FOLDER_NAME = "recordings"


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
            recordings_folder() if folder is None else Path(folder),
            _masks(redact=redact),
            max_bytes=max_bytes,
            max_age_s=max_age_s,
            clock=clock,
        )


def recordings_folder() -> Path:
    """Return the folder of logs in palaver's data folder."""
    return Path(data_folder()) / FOLDER_NAME


def _masks(*, redact: bool) -> Masks:
    assert not redact
    return Masks(mask_headers, mask_url, bytes)
