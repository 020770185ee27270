"""Rules about references: ids, parents, tool calls and their results."""

from collections.abc import Iterator

from palaver.model.facts import Reference, Thread
from palaver.model.finding import Severity
from palaver.model.rules import Fault, on_conversation


def _fault(thread: Thread, link: Reference, message: str, severity: Severity | None = None) -> Fault:
    return Fault(link.path, message, severity, None if link.location == thread.location else link.location)


def _severity_if_incomplete(thread: Thread) -> Severity | None:
    return "warning" if thread.is_incomplete else None


@on_conversation("duplicate-message-id", "error")
def duplicate_message_id(thread: Thread) -> Iterator[Fault]:
    """Two messages have the same id, but are neither versions of one message nor answers of two calls."""
    for link in thread.duplicate_ids:
        yield _fault(thread, link, f"Message {link.path[1]} has the id of another one: {link.name!r:.80}")


@on_conversation("missing-parent", "error")
def missing_parent(thread: Thread) -> Iterator[Fault]:
    """A parent link leads to a missing message; only a warning where messages are known to be missing."""
    for link in thread.missing_parents:
        sentence = f"Message {link.path[1]} follows {link.name!r:.80}, which is missing"
        yield _fault(thread, link, sentence, _severity_if_incomplete(thread))


@on_conversation("parent-cycle", "error")
def parent_cycle(thread: Thread) -> Iterator[Fault]:
    """Parent links form a cycle."""
    for link in thread.cycles:
        is_single = len(link.path) > 1
        sentence = (
            f"The parents of {link.name!r:.80} lead back to it" if is_single else f"{link.name} follow each other"
        )
        yield _fault(thread, link, sentence)


@on_conversation("orphan-tool-result", "error")
def orphan_tool_result(thread: Thread) -> Iterator[Fault]:
    """A tool result refers to no call; only a warning where messages are known to be missing."""
    for link in thread.orphan_results:
        sentence = f"Message {link.path[1]} holds the result of {link.name!r:.80}, but no call has this id"
        yield _fault(thread, link, sentence, _severity_if_incomplete(thread))


@on_conversation("unanswered-tool-use", "warning")
def unanswered_tool_use(thread: Thread) -> Iterator[Fault]:
    """A tool call has no result."""
    for link in thread.unanswered_calls:
        yield _fault(thread, link, f"Message {link.path[1]} calls a tool without a result: {link.name!r:.80}")


@on_conversation("duplicate-tool-use-id", "warning")
def duplicate_tool_use_id(thread: Thread) -> Iterator[Fault]:
    """Two tool calls have the same id."""
    for link in thread.duplicate_calls:
        yield _fault(thread, link, f"Message {link.path[1]} reuses the id of another tool call: {link.name!r:.80}")


RULES = (
    duplicate_message_id,
    missing_parent,
    parent_cycle,
    orphan_tool_result,
    unanswered_tool_use,
    duplicate_tool_use_id,
)
