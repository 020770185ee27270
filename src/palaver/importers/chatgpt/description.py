"""The importer's options, and what reports need to judge its documents.

Kept out of `__init__`, which `palaver scan` imports: this module needs pydantic and the readers.
"""

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from palaver.importers._shared.contract import Description
from palaver.importers._shared.options import Options
from palaver.importers.chatgpt.content import KNOWN_CONTENT_TYPES
from palaver.model.facts import Facts
from palaver.model.rules import Fault, on_document


class ChatGPTOptions(Options):
    assets: Path | None = Field(
        default=None, description="A folder to copy pictures, sounds and files to, each named after its content."
    )


@on_document("forked-active-path", "warning")
def forked_active_path(facts: Facts) -> Iterator[Fault]:
    """Two answers to the same message both count as the one that is shown."""
    if len(set(facts.parents)) == len(facts.parents):
        return  # nothing branches
    active: dict[str, int] = {}
    for index, (parent, metadata) in enumerate(zip(facts.parents, facts.metadata, strict=True)):
        if parent is not None and metadata.get("on_active_path"):
            if parent in active:
                message = f"Message {index} is shown, and so is message {active[parent]}, which follows the same one"
                yield Fault(("messages", index, "metadata", "on_active_path"), message)
            active.setdefault(parent, index)


DESCRIPTION = Description(
    own_names=frozenset(
        {
            *("branch_index", "branch_count", "fork_point", "author_name", "author", "content_type", "feedback"),
            *("source_role", "source_fields", "invalid_fields", "missing_parent", "node", "tool_name"),
            "export_generation",
        }
    ),
    known_kinds=KNOWN_CONTENT_TYPES,
    rules=(forked_active_path,),
)
