"""The answer of `palaver validate`: what is wrong with documents, and where."""

from pydantic import Field

from palaver.model.answers._answer import Answer, Part
from palaver.model.blocks import Count, LineNumber


class Fault(Part):
    """One thing that is wrong."""

    line: LineNumber | None = Field(description="The line of the file, where there are lines.")
    where: str = Field(description="The place in words; empty when it is the whole file.")
    conversation_id: str | None = Field(description="The conversation, where it is known.")
    pointer: str | None = Field(description="JSON pointer into the document, where the schema was not met.")
    message: str = Field(description="What is wrong there.")


class CheckedFile(Part):
    """What was found out about one file."""

    path: str = Field(description="The path; `ZIP!member` inside a ZIP, `-` for standard input.")
    read_as: str = Field(description="`ucs` for conversation documents, else the platform it was imported as.")
    valid: bool = Field(description="True when nothing is wrong.")
    documents: Count = Field(description="Documents that were checked.")
    messages: Count = Field(description="Messages in them.")
    error_count: Count = Field(description="How many things are wrong, shown or not.")
    errors: list[Fault] = Field(description="The first of them, as many as `--max-errors` allows.")


class ValidateAnswer(Answer):
    """Whether documents are what the published schema says."""

    valid: bool = Field(description="True when every file could be checked, and is valid.")
    files: list[CheckedFile] = Field(description="Every file that was checked.")
    refused: list[str] = Field(description="A sentence for each path or file that could not be checked.")


ANSWER = ValidateAnswer
