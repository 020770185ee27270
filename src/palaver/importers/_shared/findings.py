"""Finding kinds that several importers use: times, parent links, tool calls, blocks, bad records, our own bugs."""

from palaver.model.finding import finding_kind

INFERRED_TIMESTAMP = finding_kind(
    "inferred-timestamp", "note", "A message without a time of its own got the nearest known one."
)
BAD_TIMESTAMP = finding_kind("bad-timestamp", "warning", "A time could not be read; the nearest known one stands.")
MISSING_PARENT = finding_kind(
    "missing-parent", "note", "A parent link leads to nothing that the source holds; it is kept as `missing_parent`."
)
PARENT_CYCLE = finding_kind("parent-cycle", "warning", "Parent links lead in a circle; one of them was cut.")
MADE_MESSAGE_ID = finding_kind(
    "made-message-id", "note", "A message without an id, or with that of another one, got one of its own."
)
MADE_CALL_ID = finding_kind("made-call-id", "note", "A tool call without an id got one; its result is found by order.")
UNKNOWN_BLOCK = finding_kind("unknown-block", "note", "A content block of an unknown type is kept whole.")
UNKNOWN_EVENT = finding_kind("unknown-event", "note", "An event of an unknown kind is kept whole.")
SEVERAL_MESSAGES = finding_kind(
    "several-messages", "warning", "A recorded stream holds several messages, not one; all are kept, each by itself."
)
BAD_CONVERSATION = finding_kind(
    "bad-conversation", "error", "A conversation does not have the shape of one; its bytes are set aside."
)
UNFORESEEN = finding_kind(
    "unforeseen", "error", "A record broke the importer, which is a bug; its bytes are set aside."
)
ODD_INDEX_ROW = finding_kind("odd-index-row", "note", "A row of the index names no session; it is left out.")
