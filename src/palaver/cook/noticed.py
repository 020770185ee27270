"""What may be noticed in a trace that is cooked."""

from palaver.model.finding import finding_kind

ODD_STREAM = finding_kind(
    "odd-stream", "note", "A recorded stream is not whole or not in order; what is there was read."
)
NO_RECORD = finding_kind("no-record", "error", "A record of a trace holds no request; it is left out.")
NOT_VALID = finding_kind("not-valid", "error", "A document does not meet its schema, and is left out.")
