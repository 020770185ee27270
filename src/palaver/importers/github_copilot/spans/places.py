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
    for record in records:
        line = _line(record, spans)
        named = next((one.conversation for one in line if one.conversation), only)
        parent = next((one.text("copilot_chat.parent_chat_session_id") for one in line), "")
        agents = [one for one in line if one.operation == AGENT]
        if len(agents) > 1:
            outer = next((one.conversation for one in _behind(line, agents[0]) if one.conversation), only)
            if outer == named and named:
                named, parent = f"{named}:agent-{agents[0].span_id}", named
            else:
                parent = outer or parent
        yield Placed(record, named, parent if parent != named else "")


def _line(record: Record, spans: dict[str, Record]) -> list[Record]:
    """A record and the spans around it, the nearest first."""
    line = [record]
    seen = {id(record)}
    name = record.span_id if record.is_event else record.parent_id
    while (one := spans.get(name)) is not None and id(one) not in seen:
        line.append(one)
        seen.add(id(one))
        name = one.parent_id
    return line


def _behind(line: list[Record], agent: Record) -> list[Record]:
    at = next(number for number, one in enumerate(line) if one is agent)
    return line[at + 1 :]
