"""Content blocks: the parts of a message, one model per block type.

Models are strict (they convert nothing) and open (they keep unknown keys), so reading a valid document and dumping it
with `exclude_unset` reproduces it.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic.config import JsonDict


def _float_to_int(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _is_error_required(schema: JsonDict) -> None:
    schema["required"] = ["type", "tool_use_id", "content", "is_error"]


# To JSON Schema, 1.0 is an integer; to pydantic's strict mode it is not.
Count = Annotated[int, Field(ge=0), BeforeValidator(_float_to_int)]
LineNumber = Annotated[int, Field(ge=1), BeforeValidator(_float_to_int)]
WholeNumber = Annotated[int, BeforeValidator(_float_to_int)]
# A union keeps integers exact; `float` would round those past 2**53.
Amount = Annotated[
    Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0)],
    WithJsonSchema({"type": "number", "minimum": 0}),
]
OpenMap = dict[str, Any]

_TYPE = "Tells the blocks apart."


class OpenModel(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class TextBlock(OpenModel):
    """Words, as written by a person or a model."""

    type: Literal["text"] = Field(description=_TYPE)
    text: str = Field(description="May be empty: some platforms store turns without words.")
    citations: list[OpenMap] | None = Field(
        default=None, description="Where statements in the text come from, each in the platform's own shape."
    )


class LineRange(OpenModel):
    """Lines of a file, counted from 1, both ends included."""

    start: LineNumber | None = Field(default=None, description="First line.")
    end: LineNumber | None = Field(default=None, description="Last line.")


class CodeBlock(OpenModel):
    """Source code that the platform stores apart from text, such as an editor selection or a completion."""

    type: Literal["code"] = Field(description=_TYPE)
    code: str = Field(description="The code itself, without fences.")
    language: str | None = Field(default=None, description="Language in the platform's spelling.")
    file_path: str | None = Field(default=None, description="The file it belongs to, as the platform names it.")
    line_range: LineRange | None = Field(default=None, description="Where in that file it stands.")


class BinarySource(OpenModel):
    """Where the bytes of an image or file are."""

    type: Literal["base64", "url", "file"] = Field(
        description="How to read `data`: the bytes in base64, an address, or a file's name or id within the source."
    )
    media_type: str | None = Field(default=None, description="MIME type, where the platform states one.")
    data: str = Field(description="The bytes, the address, or the name, as `type` says.")


class ImageBlock(OpenModel):
    """A picture."""

    type: Literal["image"] = Field(description=_TYPE)
    source: BinarySource = Field(description="Where the picture is.")
    alt_text: str | None = Field(default=None, description="The picture in words, such as the prompt that drew it.")


class FileBlock(OpenModel):
    """A document, an audio clip or any other attachment."""

    type: Literal["file"] = Field(description=_TYPE)
    source: BinarySource | None = Field(
        default=None, description="Where the bytes are; absent when only the extracted text or the name was kept."
    )
    name: str | None = Field(default=None, description="File name as shown to the user.")
    media_type: str | None = Field(default=None, description="MIME type, where the platform states one.")
    text: str | None = Field(default=None, description="Text extracted from the file, or a transcript of it.")


class ToolUseBlock(OpenModel):
    """A model's call of a tool."""

    type: Literal["tool_use"] = Field(description=_TYPE)
    id: str = Field(description="What the matching tool_result names; made up in order where the source has none.")
    name: str = Field(description="The tool's name, as the model called it.")
    input: OpenMap = Field(description="Arguments by name.")


class ToolResultMetadata(OpenModel):
    """How the call went, beside its result."""

    duration_ms: Amount | None = Field(default=None, description="How long the tool ran.")
    exit_code: WholeNumber | None = Field(
        default=None, description="The command's exit code; negative when a signal ended it."
    )


class ToolResultBlock(OpenModel):
    """What a tool gave back."""

    model_config = ConfigDict(json_schema_extra=_is_error_required)

    type: Literal["tool_result"] = Field(description=_TYPE)
    tool_use_id: str = Field(description="The `id` of the tool_use that this answers.")
    content: "str | list[Block]" = Field(description="Plain text, or blocks; may be empty.")
    is_error: bool = Field(
        default=False, description="False when the source does not say; never guessed from the text."
    )
    metadata: ToolResultMetadata | None = Field(default=None, description="How the call went.")


class ThinkingBlock(OpenModel):
    """A model's reasoning before its answer."""

    type: Literal["thinking"] = Field(description=_TYPE)
    thinking: str = Field(description="Empty when the provider withheld the reasoning.")
    signature: str | None = Field(
        default=None, description="The provider's seal over the reasoning, needed to send it back."
    )
    redacted_data: str | None = Field(default=None, description="Reasoning that only the provider can decrypt.")


class OpaqueBlock(OpenModel):
    """Anything no other block can express, kept whole."""

    type: Literal["opaque"] = Field(description=_TYPE)
    kind: str = Field(min_length=1, description="What the source calls it.")
    raw: Any = Field(description="The source's own JSON value, unchanged.")


Block = Annotated[
    # Most frequent first: a validator tries them in this order.
    ToolResultBlock | ToolUseBlock | TextBlock | ThinkingBlock | CodeBlock | ImageBlock | FileBlock | OpaqueBlock,
    Field(discriminator="type"),
]

ToolResultBlock.model_rebuild()
