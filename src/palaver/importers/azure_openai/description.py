"""The importer's options, and what reports need to judge its documents.

Kept out of `__init__`, which `palaver scan` imports: this module needs pydantic.
"""

from typing import Literal

from pydantic import Field, field_validator

from palaver.importers._shared.contract import Description
from palaver.importers._shared.options import Options
from palaver.importers.azure_openai.extra_columns import OWN_NAMES
from palaver.model.build import METADATA

DESCRIPTION = Description(own_names=OWN_NAMES | METADATA)


class AzureOptions(Options):
    thread: Literal["yes", "no"] = Field(
        default="yes", description="Join calls into conversations; `no` makes one conversation of each call."
    )
    fields: str = Field(
        default="", description="Where a policy's own payload has its parts: request=req.body,response=resp.body,…"
    )

    @field_validator("fields")
    @classmethod
    def _check_paths(cls, text: str) -> str:
        from palaver.importers.azure_openai.custom_rows import field_map

        field_map(text)
        return text
