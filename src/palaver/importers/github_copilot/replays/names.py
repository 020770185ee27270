"""Names that these files' documents have in their metadata, and the forms of the files."""

ALL, PROMPT, ENTRY = "replays:all", "replays:prompt", "replays:entry"
REQUEST_MARKDOWN, TOOL_MARKDOWN = "replays:request-markdown", "replays:tool-markdown"

OWN_NAMES = frozenset(
    {
        *("entry", "prompt", "prompt_elements", "opaque_parts", "source_id", "time", "result", "unread", "stated_role"),
        *("helper", "unanswered", "answer_cut", "request", "response", "error", "instructions"),
    }
)
KNOWN_KINDS: frozenset[str] = frozenset()
