"""What becomes of a line: the four words of the ledger, with their reason."""

Disposition = tuple[str, str]

MAPPED: Disposition = ("mapped", "")
INTO_MESSAGE: Disposition = ("folded", "message")
INTO_CONVERSATION: Disposition = ("folded", "conversation")
PROGRESS: Disposition = ("skipped", "progress")
A_COPY: Disposition = ("folded", "copy")


def skipped(rule: str) -> Disposition:
    return ("skipped", rule)
