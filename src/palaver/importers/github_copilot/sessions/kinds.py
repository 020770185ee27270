"""Names of this format: parts that are kept whole on purpose, parts that only accompany others, names of our own."""

SHOWN_KINDS = frozenset(
    {
        *("treeData", "multiDiffData", "progressMessage", "systemNotification", "command", "warning", "info"),
        *("progressTask", "progressTaskSerialized", "progressTaskResult", "textEditGroup", "textEdit", "notebookEdit"),
        *("notebookEditGroup", "confirmation", "questionCarousel", "planReview", "extensions", "hook", "pullRequest"),
        *("workspaceEdit", "externalEdit", "externalEdits", "elicitation", "elicitationSerialized", "voiceProgress"),
        *("move", "reference", "codeCitation", "usedContext", "todoList", "todos"),
    }
)
"""Parts of an answer that a person sees and that no other block can express."""

SILENT_KINDS = frozenset(
    {
        *("undoStop", "prepareToolInvocation", "mcpServersStarting", "autoModeResolution", "disabledClaudeHooks"),
        "clearToPreviousToolInvocation",
    }
)
"""Parts that say nothing: they stand in the metadata of the message."""

ATTACHED_KINDS = frozenset(
    {
        *("generic", "directory", "file", "tool", "toolset", "implicit", "string", "workspace", "paste", "symbol"),
        *("command", "image", "notebookOutput", "diagnostic", "element", "promptFile", "promptText"),
        *("scmHistoryItem", "scmHistoryItemChange", "scmHistoryItemChangeRange", "terminalCommand", "debugVariable"),
    }
)
"""What can be attached to a request."""

KNOWN_KINDS = SHOWN_KINDS | ATTACHED_KINDS

OWN_NAMES = frozenset({"source_fields", "discarded_parts", "other_parts", "kept_from", "response_state"})
"""Names in metadata that are ours and not fields of the source."""
