"""Findings about chat sessions."""

from palaver.model.finding import finding_kind

BAD_ENTRY = finding_kind(
    "bad-log-entry", "error", "An entry of a session's log cannot be applied to what came before; it is set aside."
)
LEFT_BEHIND = finding_kind(
    "left-behind-request", "note", "A request that only an earlier state of a session holds is kept, hidden."
)
TRUNCATED_VALUE = finding_kind(
    "truncated-value", "warning", "The editor put a mark in place of a value that was too long to save."
)
REDACTED_RESPONSE = finding_kind(
    "redacted-response", "note", "The editor has cleared an answer; nothing of it is left."
)
UNSENT_DRAFT = finding_kind("unsent-draft", "note", "A session without requests holds a draft, which is not kept.")
