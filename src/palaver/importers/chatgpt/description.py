"""What a report has to know of ChatGPT: names of our own, contents that are kept whole on purpose, a rule."""

from collections.abc import Iterator

from palaver.importers._shared.contract import Description
from palaver.importers.chatgpt.content import KNOWN
from palaver.model.facts import Facts
from palaver.model.rules import Fault, on_document


@on_document("forked-active-path", "warning")
def forked_active_path(facts: Facts) -> Iterator[Fault]:
    """Two answers to the same message both count as the one that is shown."""
    if len(set(facts.parents)) == len(facts.parents):
        return  # nothing branches
    active: dict[str, int] = {}
    for index, (parent, metadata) in enumerate(zip(facts.parents, facts.metadata, strict=True)):
        if parent is not None and metadata.get("on_active_path"):
            if parent in active:
                told = f"Message {index} is shown, and so is message {active[parent]}, which follows the same one"
                yield Fault(("messages", index, "metadata", "on_active_path"), told)
            active.setdefault(parent, index)


DESCRIPTION = Description(
    own_names=frozenset(
        {
            *("branch_index", "branch_count", "fork_point", "author_name", "author", "content_type", "feedback"),
            *("source_role", "source_fields", "invalid_fields", "missing_parent", "node", "tool_name"),
            "export_generation",
        }
    ),
    known_kinds=KNOWN,
    rules=(forked_active_path,),
)
