"""Rules about what refers to what: ids, parents, calls of tools and their results."""

from collections.abc import Iterator

from palaver.model.facts import Named, Thread
from palaver.model.finding import Severity
from palaver.model.rules import Fault, on_conversation


def _at(thread: Thread, named: Named, message: str, severity: Severity | None = None) -> Fault:
    return Fault(named.path, message, severity, None if named.place == thread.place else named.place)


def _unless_incomplete(thread: Thread) -> Severity | None:
    return "warning" if thread.is_incomplete else None


@on_conversation("duplicate-message-id", "error")
def duplicate_message_id(thread: Thread) -> Iterator[Fault]:
    """Two messages of a conversation have the same id, and are not two tellings of one, or answers of two calls."""
    for named in thread.repeated_ids:
        yield _at(thread, named, f"Message {named.path[1]} has the id of another one: {named.name!r:.80}")


@on_conversation("missing-parent", "error")
def missing_parent(thread: Thread) -> Iterator[Fault]:
    """A parent link leads to no message; only a warning where messages are known to be missing."""
    for named in thread.loose_parents:
        told = f"Message {named.path[1]} follows {named.name!r:.80}, which is not there"
        yield _at(thread, named, told, _unless_incomplete(thread))


@on_conversation("parent-cycle", "error")
def parent_cycle(thread: Thread) -> Iterator[Fault]:
    """Parent links lead in a circle."""
    for named in thread.circles:
        is_one = len(named.path) > 1
        told = f"The parents of {named.name!r:.80} lead back to it" if is_one else f"{named.name} follow each other"
        yield _at(thread, named, told)


@on_conversation("orphan-tool-result", "error")
def orphan_tool_result(thread: Thread) -> Iterator[Fault]:
    """A tool's result refers to no call; only a warning where messages are known to be missing."""
    for named in thread.loose_results:
        told = f"Message {named.path[1]} holds the result of {named.name!r:.80}, which nobody called"
        yield _at(thread, named, told, _unless_incomplete(thread))


@on_conversation("unanswered-tool-use", "warning")
def unanswered_tool_use(thread: Thread) -> Iterator[Fault]:
    """A call of a tool has no result."""
    for named in thread.open_calls:
        yield _at(thread, named, f"Message {named.path[1]} calls a tool that gave no result: {named.name!r:.80}")


@on_conversation("duplicate-tool-use-id", "warning")
def duplicate_tool_use_id(thread: Thread) -> Iterator[Fault]:
    """Two calls of tools have the same id."""
    for named in thread.repeated_calls:
        yield _at(thread, named, f"Message {named.path[1]} calls a tool by the id of another call: {named.name!r:.80}")


RULES = (
    duplicate_message_id,
    missing_parent,
    parent_cycle,
    orphan_tool_result,
    unanswered_tool_use,
    duplicate_tool_use_id,
)
