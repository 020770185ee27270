"""Segments of a logged prompt, one per message, and the format that Continue writes without a chat template.

In that format each message is `<role>`, a line break, the text, and a blank line. Nothing is escaped: a text with such
a tag after a blank line is read as two messages, but none of it is lost.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_TAG = re.compile(r"\n\n<(system|user|assistant|tool|thinking)>\n")
_CHUNK = re.compile(r"\n\n<assistant>\n")
_END = "\n\n"


class Segment(NamedTuple):
    role: str
    """system, user, assistant, tool or thinking."""
    text: str


def split_at(prompt: str, markers: re.Pattern[str], start: int = 0) -> Iterator[tuple[re.Match[str], str]]:
    """Yield every marker from an offset on, with the text between it and the next one."""
    found = list(markers.finditer(prompt, start))
    ends = [marker.start() for marker in found[1:]]
    for marker, end in zip(found, [*ends, len(prompt)], strict=True):
        yield marker, prompt[marker.end() : end]


def drop_open_answer(segments: list[Segment]) -> list[Segment]:
    """Drop the empty answer made from the final marker, which asks the model to continue."""
    if segments and segments[-1] == Segment("assistant", ""):
        return segments[:-1]
    return segments


def promote_leading_system(segments: list[Segment]) -> list[Segment]:
    """Restore a system message that is written as the user's: the first of two user messages in a row."""
    if [role for role, _ in segments[:2]] == ["user", "user"]:
        return [Segment("system", segments[0].text), *segments[1:]]
    return segments


def has_role_tags(prompt: str) -> bool:
    return prompt.startswith(("<system>\n", "<user>\n", "<assistant>\n", "<tool>\n", "<thinking>\n"))


def parse_role_tags(prompt: str) -> list[Segment]:
    segments = [Segment(marker[1], text) for marker, text in split_at(_END + prompt, _TAG)]
    return [*segments[:-1], Segment(segments[-1].role, segments[-1].text.removesuffix(_END))]


def join_chunks(completion: str) -> str:
    """Join an answer of which every streamed chunk was written as a message."""
    return "".join(text for _, text in split_at(_END + completion, _CHUNK)).removesuffix(_END)
