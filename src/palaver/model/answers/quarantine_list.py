"""The answer of `palaver quarantine list`: what was set aside."""

from pydantic import Field

from palaver.model.answers._answer import Answer
from palaver.model.answers._set_aside import SetAside


class QuarantineListAnswer(Answer):
    """What was set aside since it could not be read."""

    entries: list[SetAside] = Field(description="Everything that is set aside, source by source.")


ANSWER = QuarantineListAnswer
