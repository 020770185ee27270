"""The contract of every assembler: it takes events and returns one response object with a list of issues.

The payload is the object that the API returns to a request without streaming. A stream that ends early gives a partial
payload. An error that the provider sent in the middle of a stream is in the payload's `error`. If a stream holds more
than one message, each is assembled on its own: the result is the first, and `following` has the others.

Types of issues: `incomplete_stream_start` and `incomplete_stream_end` (the first or the last event is missing),
`corrupted_data` (data that is not JSON, or not an object), `lenient_json` (data that only a lenient parser accepts),
`cut_event` (the last event is cut off and unreadable), `unknown_event`, `unknown_block` (a piece of a block that never
began), `unclosed_block`, `out_of_order`, `repeated_event`, `unexpected_value` (a field of the wrong type),
`incomplete_json` and `invalid_json` (in a tool's input), `missing_index`, `reused_index`, `error_event`,
`missing_output` (a terminal object without the output that was streamed), `another_message` (the stream goes on with
a message that is not part of this one), `more_issues` (the number beyond the limit).
"""

from typing import NamedTuple, Protocol

import msgspec

from palaver.model.build import JsonObject


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event of a stream. It is a struct because creating a named tuple takes five times as long."""

    name: str
    """`message` if the stream does not name the event."""
    data: bytes
    """The raw bytes: UTF-8, unless they were damaged."""
    id: str = ""
    """The latest id in the stream, of this event or an earlier one."""
    retry_ms: int | None = None
    is_cut: bool = False
    """Whether the stream ended before the blank line that ends an event, so that data may be missing."""


class Issue(NamedTuple):
    type: str
    sequence: int
    """The event's number, from 0; the number of events for an issue found at the end."""
    detail: str


class Assembled(NamedTuple):
    payload: JsonObject
    is_complete: bool
    """Whether the stream reached its end and every event was readable."""
    issues: list[Issue]
    following: "tuple[Assembled, ...]" = ()
    """Further messages of the same stream, in order."""


class Assembler(Protocol):
    def feed(self, event: Event) -> None:
        """Take one event; never raise because of its content."""
        ...

    def result(self) -> Assembled:
        """Return the response so far, and those that followed it; more events may come."""
        ...


class AssemblerModule(Protocol):
    """A module of this package that assembles the streams of one API."""

    Assembler: type[Assembler]

    def recognizes(self, data: JsonObject) -> bool:
        """Return whether an event's data is of this format."""
        ...
