"""What a report has to know of Claude Code: names of our own, lines that are kept whole on purpose, a rule."""

from collections.abc import Iterator

from palaver.importers._shared.contract import Description
from palaver.importers.claude_code.events import KNOWN_ATTACHMENTS
from palaver.importers.claude_code.header import OURS
from palaver.importers.claude_code.lines import HANDLERS
from palaver.model.facts import Facts
from palaver.model.rules import Fault, on_document

_SUBTYPES = frozenset(
    {
        *("compact_boundary", "microcompact_boundary", "turn_duration", "stop_hook_summary", "local_command"),
        *("api_error", "away_summary", "informational", "bridge_status", "scheduled_task_fire"),
        *("model_refusal_fallback", "init", "hook_response", "hook_started", "status", "task_started"),
        *("task_progress", "task_notification"),
    }
)
"""Of `system` lines; one without text is kept whole under its subtype."""


@on_document("partial-usage", "note")
def partial_usage(facts: Facts) -> Iterator[Fault]:
    """Tokens of an answer were recorded before it was complete, so that they are too few."""
    for index, metadata in enumerate(facts.metadata):
        if metadata.get("tokens_partial"):
            yield Fault(("messages", index, "tokens"), f"Message {index} states the tokens of an unfinished answer")


DESCRIPTION = Description(
    own_names=OURS,
    known_kinds=frozenset(HANDLERS) | _SUBTYPES | {f"attachment:{kind}" for kind in KNOWN_ATTACHMENTS},
    rules=(partial_usage,),
)
