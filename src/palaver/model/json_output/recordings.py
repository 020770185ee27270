"""Output of `record`."""

from pydantic import Field

from palaver.model.blocks import Count
from palaver.model.json_output.answer import Answer, Part
from palaver.model.json_output.statistics import Amount


class RecordedTokens(Part):
    """Tokens of all calls, each counted once."""

    input: Count = Field(description="Sent, without cached ones.")
    output: Count = Field(description="Answered, thinking included.")
    cache_read: Count = Field(description="Read from the provider's cache.")
    cache_write: Count = Field(description="Written to the provider's cache.")


class RecordAnswer(Answer):
    """What a recorder saw from its start to its end."""

    log: str = Field(description="The folder of the log.")
    files: list[str] = Field(description="The log files that were written, in order.")
    recovered: Count = Field(description="Calls of a recorder that was killed, which were written at the start.")
    calls: Count = Field(description="Calls that were recorded.")
    streams: Count = Field(description="How many of them were answered by a stream.")
    models: dict[str, Count] = Field(description="Calls with token counts, by model.")
    tokens: RecordedTokens = Field(description="What the calls used.")
    cost: Amount | None = Field(
        description="What they cost by known prices, those of unknown ones left out; null when there are none."
    )
    unpriced: dict[str, Count] = Field(description="Calls whose price is not known, by model.")
    median_first_token_ms: float | None = Field(
        description="The time from a request to the first content of its stream, by median; null without a stream."
    )
    slowest_first_token_ms: float | None = Field(description="The longest of these times; null without a stream.")
    errors: dict[str, Count] = Field(
        description="Calls that failed, by the status and the API's name of the error, or by what interrupted them."
    )
    unwritten: Count = Field(description="Calls that passed, and could not be written to the log.")
    problems: list[str] = Field(description="A sentence for everything that went wrong in the recorder itself.")
    conversations: Count | None = Field(
        description="Conversations in the log, as imported into the archive; null if it was not imported."
    )
    exit_code: int | None = Field(description="The exit code of the command; null without one.")
