"""What was set aside, as several answers tell it."""

from pydantic import Field

from palaver.model.answers._answer import Part
from palaver.model.blocks import Count
from palaver.model.conversation import Timestamp


class SetAside(Part):
    """Bytes that could not be read."""

    number: Count = Field(description="Its number, for `palaver quarantine show`.")
    source: str = Field(description="Path of the source; `ZIP!member` inside a ZIP.")
    platform: str = Field(description="The importer that read it.")
    where: str = Field(description="The place in the source.")
    code: str = Field(description="The code of the finding.")
    message: str = Field(description="Why it was refused.")
    set_aside_at: Timestamp = Field(description="When that was, UTC.")
    size_bytes: Count = Field(description="How many bytes there are.")
