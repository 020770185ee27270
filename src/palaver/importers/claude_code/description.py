"""The importer's options, and what reports need to judge its documents.

Kept out of `__init__`, which `palaver scan` imports: this module needs pydantic and every reader.
"""

from collections.abc import Iterator

from pydantic import Field

from palaver.importers._shared.contract import Description
from palaver.importers._shared.options import Options
from palaver.importers.claude_code.dispatch import HANDLERS
from palaver.importers.claude_code.other_lines import KNOWN_ATTACHMENTS
from palaver.importers.claude_code.repeated_fields import RESERVED_NAMES
from palaver.model.facts import Facts
from palaver.model.rules import Fault, on_document


class ClaudeCodeOptions(Options):
    original_files: bool = Field(
        default=False, description="Keep the whole file as it was before each edit; these are large."
    )


_SUBTYPES = frozenset(
    {
        *("compact_boundary", "microcompact_boundary", "turn_duration", "stop_hook_summary", "local_command"),
        *("api_error", "away_summary", "informational", "bridge_status", "scheduled_task_fire"),
        *("model_refusal_fallback", "init", "hook_response", "hook_started", "status", "task_started"),
        *("task_progress", "task_notification"),
    }
)
"""Known subtypes of `system` lines; a line without text becomes an opaque block named after its subtype."""


@on_document("partial-usage", "note")
def partial_usage(facts: Facts) -> Iterator[Fault]:
    """The tokens of an answer were logged before it finished, so the counts are too low."""
    for index, metadata in enumerate(facts.metadata):
        if metadata.get("tokens_partial"):
            yield Fault(("messages", index, "tokens"), f"Message {index} states the tokens of an unfinished answer")


KEPT_FIELDS = frozenset(
    {
        *("iterations", "speed", "inference_geo", "server_tool_use"),
        *("sourceToolAssistantUUID", "promptId", "permissionMode", "todos", "operation"),
    }
)
"""Fields that have no place in the schema and are kept under their own names on purpose; the docs explain each."""

DESCRIPTION = Description(
    own_names=RESERVED_NAMES | KEPT_FIELDS | {"kind", "project_folder", "recovered_from", "index_entry", "updated_at"},
    known_kinds=frozenset(HANDLERS) | _SUBTYPES | {f"attachment:{kind}" for kind in KNOWN_ATTACHMENTS},
    rules=(partial_usage,),
)
