"""What every wire format offers: requests and responses of one provider, read into an exchange and written from it.

Reading loses nothing. What the exchange has no place for goes to `provider_data` beside it (of the request, a message,
a block, a tool, the response, its usage), under the name of the format: `{"anthropic": {…}}`. What has no
counterpart is an `opaque` block whose `provider_data` names the format it came from, so that writing the same format
gives it back as it was. Reading and writing the same format gives an equal payload.

Writing another format loses what that has no place for, and says so: every loss has a JSON pointer into what was to be
written, and a reason. What is read from the payload equals what was written, minus the losses. `provider_data` of
another format is a loss where it holds anything.

Reading gives canonical parts: `strict` of a tool, `include_summary` of thinking and `is_error` of a result are always
stated; lists that would be empty (`system`, `tools`) and objects without a field are left out; nothing is null but
`response` and counts that the provider states as null.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from palaver.model.build import JsonObject

Change = Literal["dropped", "changed"]


class Loss(NamedTuple):
    """What a payload does not carry, or carries differently."""

    pointer: str
    """Into what was to be written."""
    reason: str
    change: Change = "dropped"
    """Whether the value is gone, or something else stands in its place; of a message that was split, several."""


@dataclass(slots=True)
class Losses:
    """Gathers what a writer leaves out."""

    found: list[Loss] = field(default_factory=list[Loss])

    def drop(self, pointer: str, reason: str) -> None:
        self.found.append(Loss(pointer, reason))

    def change(self, pointer: str, reason: str) -> None:
        self.found.append(Loss(pointer, reason, "changed"))


class Written(NamedTuple):
    payload: JsonObject
    losses: list[Loss]


class WireFormat(Protocol):
    """A module of this room; functions, no state."""

    name: str
    """The module's name, and the key in `provider_data`; with a hyphen on the command line."""
    provider: str
    """Whose it is, as an exchange names it: openai, anthropic, google."""

    def request_from_wire(self, payload: JsonObject) -> JsonObject: ...

    def request_to_wire(self, request: JsonObject) -> Written: ...

    def response_from_wire(self, payload: JsonObject) -> JsonObject: ...

    def response_to_wire(self, response: JsonObject) -> Written: ...

    def error_from_wire(self, payload: JsonObject, status: int | None = None) -> JsonObject | None:
        """What went wrong, in the shape of an exchange's `error`; None where the payload is no error."""
        ...
