"""Base models of every `--json` output: closed, strict and versioned."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """A piece of an answer: nothing is converted, no key is unknown."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Answer(Part):
    """The whole answer of one command."""

    SCHEMA_VERSION: ClassVar[str] = "1.0.0"
    """Version of the published schema. A released schema never changes, so a new field needs a new version."""
