"""What reading sessions can be told."""

from pydantic import Field

from palaver.importers._shared.options import Options


class ClaudeCodeOptions(Options):
    original_files: bool = Field(
        default=False, description="Keep the whole file as it was before each edit; these are large."
    )
