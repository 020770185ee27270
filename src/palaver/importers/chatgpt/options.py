"""What reading an export can be told."""

from pathlib import Path

from pydantic import Field

from palaver.importers._shared.options import Options


class ChatGPTOptions(Options):
    assets: Path | None = Field(
        default=None, description="A folder to copy pictures, sounds and files to, each named after its content."
    )
