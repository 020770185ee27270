"""The contract of a wire format: requests and responses of one provider, read into an exchange and written from it.

Reading loses nothing. Fields that the exchange cannot express go to the `provider_data` of the request, message, block,
tool, response or usage they belong to, under the name of the format: `{"anthropic": {…}}`. Content without a
counterpart becomes an `opaque` block whose `provider_data` names its format, so that writing that format restores it.
Reading and then writing the same format gives an equal payload.

Writing a different format loses what that format cannot express, and reports it: every loss has a reason and a JSON
pointer into the exchange, also into the `provider_data` of another format, key by key; `places` leads from there to the
payload that was read. Reading the payload again gives what was written, minus the losses. Neither what the source never
said (notes on spelling, empty values) is a loss, nor what another format says by saying nothing: counts of 0, the role
that results of tools come from, and what every provider does anyway (`stream: false`). Where a format requires what the
exchange lacks (an id, Anthropic's `max_tokens`), a documented default is written.

Usage adds up in the same way whatever the provider: the cache is part of the input, thinking is not part of the output.

Reading gives canonical parts: `strict` of a tool, `include_summary` of thinking and `is_error` of a result are always
present; empty lists (`system`, `tools`) and empty objects are left out; only `response` and counts that the provider
states as null are null.
"""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from palaver.model.build import JsonObject
from palaver.wire._places import Places

Change = Literal["dropped", "changed"]

DEFAULT_LIMIT = -1
"""The `max_output_tokens` that stands for the provider's default, which a payload leaves out."""


class Loss(NamedTuple):
    """A value that a payload does not carry, or carries differently."""

    pointer: str
    """A JSON pointer into the exchange that was written; `convert` gives one into the payload that it was given."""
    reason: str
    change: Change = "dropped"
    """Whether the value is gone, or written as something else; a message that was split became several."""


@dataclass(slots=True)
class Losses:
    """Collects the losses of a writer."""

    found: list[Loss] = field(default_factory=list[Loss])

    def drop(self, pointer: str, reason: str) -> None:
        self.found.append(Loss(pointer, reason))

    def change(self, pointer: str, reason: str) -> None:
        self.found.append(Loss(pointer, reason, "changed"))


class Written(NamedTuple):
    payload: JsonObject
    losses: list[Loss]


class WireFormat(Protocol):
    """A wire format: a module or package with these functions and no state."""

    name: str
    """The key in `provider_data`: `openai_chat` for what the command line calls `openai-chat`."""
    provider: str
    """The provider as an exchange names it: openai, anthropic, google."""

    def request_from_wire(self, payload: JsonObject) -> JsonObject: ...

    def request_to_wire(self, request: JsonObject) -> Written: ...

    def response_from_wire(self, payload: JsonObject) -> JsonObject: ...

    def response_to_wire(self, response: JsonObject) -> Written: ...

    def places(self, payload: JsonObject, part: JsonObject) -> Places:
        """Return where a request or response stands in the payload that it was read from."""
        ...

    def error_from_wire(self, payload: JsonObject, status: int | None = None) -> JsonObject | None:
        """Return an exchange's `error`; None if the payload is not an error."""
        ...
