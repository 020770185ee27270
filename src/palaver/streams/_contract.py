"""What every assembler takes and gives: events in, one response object out, and a word about all that was odd.

The payload is the object that the API gives to a request without streaming. A stream that ends early gives what there
is. An error that the provider sent in the middle of a stream stands in the payload as `error`.

Kinds of issues: `incomplete_stream_start` and `incomplete_stream_end` (the first or the last event is missing),
`corrupted_data` (data that is not JSON, or not an object), `lenient_json` (data that is JSON only to the generous),
`cut_event` (the last event has no end, and no sense), `unknown_event`, `unknown_block` (a piece of something that never
began), `unclosed_block`, `out_of_order`, `repeated_event`, `unexpected_value` (a field of another type than it should
be), `incomplete_json` and `invalid_json` (in a tool's input), `missing_index`, `reused_index`, `error_event`,
`missing_output` (a terminal object without what was streamed before), `more_issues` (so many that they are counted).
"""

from typing import NamedTuple, Protocol

import msgspec

from palaver.model.build import JsonObject


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event of a stream. A struct: a named tuple takes five times as long to make."""

    name: str
    """`message` where the stream does not say."""
    data: bytes
    """As it came. UTF-8, unless somebody broke it."""
    id: str = ""
    """The last id that the stream has stated, here or before."""
    retry_ms: int | None = None
    is_cut: bool = False
    """Whether the stream ended before the blank line that ends an event: some of it may be missing."""


class Issue(NamedTuple):
    type: str
    sequence: int
    """Which event, counted from 0; what is noticed at the end has the number of events."""
    detail: str


class Assembled(NamedTuple):
    payload: JsonObject
    is_complete: bool
    """Whether the stream came to its end, and nothing of it was unreadable."""
    issues: list[Issue]


class Assembler(Protocol):
    def feed(self, event: Event) -> None:
        """Take one event; nothing in it raises."""
        ...

    def result(self) -> Assembled:
        """What there is so far. More events may follow."""
        ...


class AssemblerModule(Protocol):
    """A module of this room that reads one provider's streams."""

    Assembler: type[Assembler]

    def recognizes(self, data: JsonObject) -> bool:
        """Whether an event's data is of this format."""
        ...
