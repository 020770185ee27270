"""The answer of `palaver quarantine show`: bytes that were set aside."""

from pydantic import Field

from palaver.model.answers._answer import Answer
from palaver.model.answers._set_aside import SetAside


class QuarantineShowAnswer(SetAside, Answer):
    """Bytes that were set aside, with where they come from."""

    text: str | None = Field(description="The bytes, where they are UTF-8.")
    base64: str | None = Field(description="The bytes in base64, where they are not.")


ANSWER = QuarantineShowAnswer
