"""What all answers have in common: they are closed, strict and versioned."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A piece of an answer: nothing is converted, no key is unknown."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(Part):
    """The whole answer of one command."""

    SCHEMA_VERSION: ClassVar[str] = "1.0.0"
    """Of its published schema: a released one never changes, so a new field is a new version."""
