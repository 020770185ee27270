"""Finding kinds that several importers use: times, parent links, tool calls, blocks, bad records, our own bugs."""

from palaver.model.finding import finding_kind

INFERRED_TIMESTAMP = finding_kind("inferred-timestamp", "note", "A message without a time got the nearest known time.")
BAD_TIMESTAMP = finding_kind("bad-timestamp", "warning", "A time could not be read; the nearest known time is used.")
MISSING_PARENT = finding_kind(
    "missing-parent",
    "note",
    "A parent link leads to a message that is not in the source; it is kept as `missing_parent`.",
)
PARENT_CYCLE = finding_kind("parent-cycle", "warning", "Parent links form a cycle; one of them was removed.")
MADE_MESSAGE_ID = finding_kind(
    "made-message-id", "note", "A message without an id, or with the id of another message, got a new id."
)
MADE_CALL_ID = finding_kind(
    "made-call-id", "note", "A tool call without an id got a new id; its result is found by order."
)
UNKNOWN_BLOCK = finding_kind("unknown-block", "note", "A content block of an unknown type is kept unchanged.")
UNKNOWN_EVENT = finding_kind("unknown-event", "note", "An event of an unknown kind is kept unchanged.")
SEVERAL_MESSAGES = finding_kind(
    "several-messages", "warning", "A recorded stream has several messages; each is kept as a message of its own."
)
BAD_CONVERSATION = finding_kind(
    "bad-conversation", "error", "A record does not have the structure of a conversation; it is quarantined."
)
UNFORESEEN = finding_kind(
    "unforeseen", "error", "A record caused an error in the importer, which is a bug; it is quarantined."
)
ODD_INDEX_ROW = finding_kind("odd-index-row", "note", "An index row without a session was skipped.")
