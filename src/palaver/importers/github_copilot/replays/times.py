"""Messages whose time had to be inferred are noted, each once."""

from collections.abc import Iterable, Iterator

from palaver.importers._shared.findings import INFERRED_TIMESTAMP
from palaver.model.build import JsonObject
from palaver.sources.run import Run


def noting(documents: Iterable[JsonObject], run: Run) -> Iterator[JsonObject]:
    """The same documents; of what a request only repeats, nobody expects a time."""
    for document in documents:
        for message in document["messages"]:
            metadata = message.get("metadata") or {}
            if metadata.get("timestamp_inferred") is True and "known_from" not in metadata:
                run.note(INFERRED_TIMESTAMP, f"message {message['message_id']}")
        yield document
