"""Kinds of parts, attachments and findings in chat sessions, and the metadata names that Palaver adds."""

from palaver.model.finding import finding_kind

SHOWN_KINDS = frozenset(
    {
        *("treeData", "multiDiffData", "progressMessage", "systemNotification", "command", "warning", "info"),
        *("progressTask", "progressTaskSerialized", "progressTaskResult", "textEditGroup", "textEdit", "notebookEdit"),
        *("notebookEditGroup", "confirmation", "questionCarousel", "planReview", "extensions", "hook", "pullRequest"),
        *("workspaceEdit", "externalEdit", "externalEdits", "elicitation", "elicitationSerialized", "voiceProgress"),
        *("move", "reference", "codeCitation", "usedContext", "todoList", "todos"),
    }
)
"""Visible parts of an answer that become opaque blocks, because no other block can express them."""

SILENT_KINDS = frozenset(
    {
        *("undoStop", "prepareToolInvocation", "mcpServersStarting", "autoModeResolution", "disabledClaudeHooks"),
        "clearToPreviousToolInvocation",
    }
)
"""Parts without visible content; they go into the metadata of the message."""

ATTACHED_KINDS = frozenset(
    {
        *("generic", "directory", "file", "tool", "toolset", "implicit", "string", "workspace", "paste", "symbol"),
        *("command", "image", "notebookOutput", "diagnostic", "element", "promptFile", "promptText"),
        *("scmHistoryItem", "scmHistoryItemChange", "scmHistoryItemChangeRange", "terminalCommand", "debugVariable"),
    }
)
"""Attachments of a request."""

KNOWN_KINDS = SHOWN_KINDS | ATTACHED_KINDS

OWN_NAMES = frozenset({"source_fields", "discarded_parts", "other_parts", "kept_from", "response_state"})
"""Metadata names that Palaver defines; they are not fields of the source."""


BAD_ENTRY = finding_kind(
    "bad-log-entry", "error", "An entry of a session log does not fit the entries before it; it is quarantined."
)
LEFT_BEHIND_REQUEST = finding_kind(
    "left-behind-request", "note", "A request of an earlier state of a session is kept as a hidden message."
)
TRUNCATED_VALUE = finding_kind("truncated-value", "warning", "The editor replaced a value that was too long to save.")
REDACTED_RESPONSE = finding_kind("redacted-response", "note", "The editor cleared an answer; its text is lost.")
UNSENT_DRAFT = finding_kind("unsent-draft", "note", "The draft of a session without requests is not kept.")
