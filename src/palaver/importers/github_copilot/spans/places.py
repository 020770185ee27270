"""Which conversation a span belongs to: its own, that of the spans around it, or that of its whole trace."""

from collections.abc import Iterator
from typing import NamedTuple

from palaver.importers.github_copilot.spans.records import Record

AGENT = "invoke_agent"


class Placed(NamedTuple):
    record: Record
    conversation: str
    """Its id; empty where nothing names it."""
    parent: str
    """The conversation that started this one; empty for a person's own."""


def placed(records: list[Record]) -> Iterator[Placed]:
    """The records of one trace, in their order."""
    spans = {record.span_id: record for record in records if record.span_id and not record.is_event}
    stated = {record.conversation for record in records if record.conversation}
    only = stated.pop() if len(stated) == 1 else ""
    known: dict[int, _Around] = {}
    for record in records:
        around = _around(record, spans, known)
        named, parent = around.conversation or only, around.parent
        if around.agent and around.is_inner:
            outer = around.outer or only
            if outer == named and named:
                named, parent = f"{named}:agent-{around.agent.span_id}", named
            else:
                parent = outer or parent
        yield Placed(record, named, parent if parent != named else "")


class _Around(NamedTuple):
    """What a record says of its place, or else the nearest of the spans around it."""

    conversation: str = ""
    parent: str = ""
    agent: Record | None = None
    is_inner: bool = False
    """Whether the agent was started by another one."""
    outer: str = ""
    """The conversation in which the agent was started."""


def _around(record: Record, spans: dict[str, Record], known: dict[int, _Around]) -> _Around:
    line: list[Record] = []
    one: Record | None = record
    while one is not None and id(one) not in known:
        known[id(one)] = _Around()  # spans that are in each other have nothing around them
        line.append(one)
        one = spans.get(one.span_id if one.is_event else one.parent_id)
    around = known[id(one)] if one is not None else _Around()
    for inner in reversed(line):
        is_agent = inner.operation == AGENT
        around = known[id(inner)] = _Around(
            inner.conversation or around.conversation,
            inner.text("copilot_chat.parent_chat_session_id") or around.parent,
            inner if is_agent else around.agent,
            around.agent is not None if is_agent else around.is_inner,
            around.conversation if is_agent else around.outer,
        )
    return around
