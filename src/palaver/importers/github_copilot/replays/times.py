"""Messages whose time had to be inferred are noted, each once."""

from collections.abc import Iterable, Iterator
from typing import Any

from palaver.importers._findings import INFERRED_TIMESTAMP
from palaver.sources.run import Run

Json = dict[str, Any]


def noting(documents: Iterable[Json], run: Run) -> Iterator[Json]:
    """The same documents; of what a request only repeats, nobody expects a time."""
    for document in documents:
        for message in document["messages"]:
            metadata = message.get("metadata") or {}
            if metadata.get("timestamp_inferred") is True and "known_from" not in metadata:
                run.note(INFERRED_TIMESTAMP, f"message {message['message_id']}")
        yield document
