"""Options for reading Copilot's files."""

from pydantic import Field

from palaver.importers._shared.options import Options


class CopilotOptions(Options):
    window: float = Field(
        default=300,
        ge=0,
        description="Seconds without a completion in a file after which the next one begins a new conversation.",
    )
