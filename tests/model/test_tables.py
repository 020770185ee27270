"""The fields of an answer as one table, on an answer that has everything."""

from pydantic import Field

from palaver.model.blocks import Count
from palaver.model.conversation import Conversation
from palaver.model.json_output.answer import Answer, Part
from palaver.model.schema_markdown import fields_table
from palaver.model.schemas import _generate


class Hive(Part):
    """A hive."""

    bees: Count = Field(description="How many live there.")
    queen: str | None = Field(description="Her name | number.")
    swarms: list["Hive"] | None = Field(default=None, description="Hives that came of it.")


class MeadowAnswer(Answer):
    """A meadow."""

    first: Hive = Field(description="A hive.")
    by_place: dict[str, list[Hive]] = Field(description="Hives by place.")
    diary: Conversation = Field(description="What was said.")


def test_parts_are_told_by_their_paths_and_documents_by_a_link():
    lines = fields_table(_generate(MeadowAnswer, "meadow-answer", "1.0.0")).splitlines()
    assert lines[2:] == [
        "| `first` | object | A hive. |",
        "| `first.bees` | integer ≥ 0 | How many live there. |",
        "| `first.queen` | string or null | Her name \\| number. |",
        "| `first.swarms` | array of object, may be missing | Hives that came of it. |",
        "| `by_place` | map of names to array of object | Hives by place. |",
        "| `by_place.*[].bees` | integer ≥ 0 | How many live there. |",
        "| `by_place.*[].queen` | string or null | Her name \\| number. |",
        "| `by_place.*[].swarms` | array of object, may be missing | Hives that came of it. |",
        "| `diary` | [Conversation](schema.md#conversation) | What was said. |",
    ]
