"""What becomes of an event, in the words of the ledger."""

Disposition = tuple[str, str]

MAPPED: Disposition = ("mapped", "")
INTO_MESSAGE: Disposition = ("folded", "message")
FACT: Disposition = ("fact", "")
"""A fact of the conversation, if there is one in the end."""
STREAM_PROGRESS: Disposition = ("skipped", "stream-progress")
