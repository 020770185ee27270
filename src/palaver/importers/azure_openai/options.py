"""What reading a gateway's log can be told."""

from typing import Literal

from pydantic import Field, field_validator

from palaver.importers._shared.options import Options


class AzureOptions(Options):
    thread: Literal["yes", "no"] = Field(
        default="yes", description="Join calls into conversations; `no` makes one conversation of each call."
    )
    fields: str = Field(
        default="", description="Where a policy's own payload has its parts: request=req.body,response=resp.body,…"
    )

    @field_validator("fields")
    @classmethod
    def _names_paths(cls, words: str) -> str:
        from palaver.importers.azure_openai.custom import field_map

        field_map(words)
        return words
