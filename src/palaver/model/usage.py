"""Usage records: API calls whose text was not recorded, or consumption summed over a period.

Gateways log calls without prompts, and platforms report figures by day. These models are the only definition of the
format; the files in `schema/usage/` are generated from them.
"""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from palaver.model import SCHEMA_VERSION
from palaver.model.blocks import Amount, OpenMap, OpenModel
from palaver.model.conversation import Cost, Identifier, Platform, Timestamp, Tokens, Version

__all__ = ["Subject", "UsageRecord"]

Name = Annotated[str, Field(min_length=1)]


class Subject(OpenModel):
    """Whose usage it is."""

    kind: Name = Field(description="What `id` names: `caller`, `user`, `team`, `organization`, or a word like these.")
    id: Identifier = Field(description="The platform's own id of it.")


class UsageRecord(OpenModel):
    """What was used, without the conversation it was used for."""

    SCHEMA_VERSION: ClassVar[str] = SCHEMA_VERSION

    schema_version: Version = Field(description="Version of this schema that the record follows.")
    usage_id: Identifier = Field(
        description="Unique within the platform, and the same whenever and from wherever the record is read."
    )
    platform: Platform = Field(description="Where it was used.")
    kind: Literal["request", "period"] = Field(
        description="`request` for one call of an API; `period` for a sum over the time from `started_at` to "
        "`ended_at`, which is told but added to no total, since it may hold calls that are known one by one."
    )
    started_at: Timestamp = Field(description="When the call was made or the period began, UTC.")
    ended_at: Timestamp | None = Field(default=None, description="When the answer was there or the period was over.")
    subject: Subject | None = Field(default=None, description="Whose usage it is.")
    model: str | None = Field(default=None, description="The model that answered.")
    request_id: str | None = Field(default=None, description="The id of the API request.")
    api_message_id: str | None = Field(
        default=None,
        description="The provider's id of the answer; what also stands in a conversation under this id counts there.",
    )
    tokens: Tokens | None = Field(default=None, description="Tokens, in the provider's own numbers.")
    counts: dict[str, Amount] | None = Field(
        default=None, description="Whatever else was counted, by name: requests, suggestions, lines, …"
    )
    cost: Cost | None = Field(default=None, description="Cost as stated by the source; never computed.")
    duration_ms: Amount | None = Field(default=None, description="How long the call took.")
    metadata: OpenMap | None = Field(default=None, description="Everything else that the source says.")
