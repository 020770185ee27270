"""What a text in a user's turn is made of: the person's words in their wrapper, and what the program put around them.

The person's words stand in `<task>`, `<user_message>`, `<feedback>` or `<answer>`. All else is the program's: contents
of what was mentioned, instructions behind commands, reminders, words that a task is resumed with. Where a turn has no
wrapper and no result of a tool, what remains without the program's own parts is the person's.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

Author = Literal["human", "harness"]

_HUMAN = "task|user_message|feedback|answer"
_WRAPPER = re.compile(rf"^<({_HUMAN})>\n?", re.MULTILINE)
_WHOLE = re.compile(rf"\s*<({_HUMAN})>(.*)</\1>\s*", re.DOTALL)
_WITH_NAMES = "file_content|file|folder_content|url_content|git_commit|explicit_instructions|command"
_PLAIN = (
    "environment_details|workspace_diagnostics|git_working_state|terminal_output|system-reminder|hook_context"
    "|hook_context_modification|available_skills"
)
_ADDED = re.compile(rf"^<({_WITH_NAMES}(?=\s[^>\n]*>)|(?:{_PLAIN})(?=>))[^>]*>", re.MULTILINE)
_OPENINGS = (
    *("[TASK RESUMPTION]", "[ERROR] You did not use a tool", "[ERROR]", "Files attached by the user:"),
    *("[Sliding window truncation", "# task_progress", "# TODO LIST", "[Response interrupted"),
    *("You responded with only a", "[NOTE] The previous conversation"),
)
_BEFORE_FEEDBACK = re.compile(rf"(?:^|\n)(?:The user|You seem to be having trouble)[^\n]*\n\s*<({_HUMAN})>\n?")
_CLOSINGS = tuple(f"</{name}>" for name in _HUMAN.split("|"))
_CLOSING = re.compile(rf"</(?:{_HUMAN})>")


class Part(NamedTuple):
    author: Author
    text: str
    wrapper: str = ""


class _Enclosed(NamedTuple):
    """Where a tag, its closing one and what is between them stand."""

    tag: str
    start: int
    begun: int
    ended: int
    end: int


def _enclosed(text: str, opening: re.Pattern[str]) -> Iterator[_Enclosed]:
    """Every tag that an expression finds and that is closed, one behind the other."""
    unclosed: set[str] = set()
    place = 0
    while found := opening.search(text, place):
        tag = found[1]
        closing = f"</{tag}>"
        ended = -1 if tag in unclosed else text.find(closing, found.end())
        if ended < 0:
            unclosed.add(tag)
            place = found.end()
            continue
        place = ended + len(closing)
        yield _Enclosed(tag, found.start(), found.end(), ended, place)


def has_wrapper(text: str) -> bool:
    return _may_wrap(text) and any(True for _ in _enclosed(text, _WRAPPER))


def _may_wrap(text: str) -> bool:
    """Whether it is worth the effort to look for a wrapper line by line."""
    return (at := text.find("</")) >= 0 and _CLOSING.search(text, at) is not None


def parts(text: str, *, is_wrapped_elsewhere: bool) -> list[Part]:
    """The parts of a text that is no result of a tool, in order."""
    found: list[Part] = []
    start = 0
    if _may_wrap(text):
        if whole := _WHOLE.fullmatch(text):
            _add_around(found, whole[2], is_human=True, wrapper=whole[1])
            return found
        for tag, begin, begun, ended, end in _enclosed(text, _WRAPPER):
            _add_around(found, text[start:begin], is_human=False)
            _add_around(found, text[begun:ended], is_human=True, wrapper=tag)
            start = end
    is_human = not (start or is_wrapped_elsewhere or text.lstrip().startswith(_OPENINGS))
    _add_around(found, text[start:], is_human=is_human)
    return found


def _add_around(found: list[Part], text: str, *, is_human: bool, wrapper: str = "") -> None:
    """Add a text as one author's, without the parts in it that the program added."""
    start = 0
    if is_human and "</" in text:
        for _, begin, _, _, end in _enclosed(text, _ADDED):
            _add(found, Part("human", text[start:begin], wrapper))
            _add(found, Part("harness", text[begin:end]))
            start = end
    _add(found, Part("human" if is_human else "harness", text[start:], wrapper))


def _add(found: list[Part], part: Part) -> None:
    if stripped := part.text.strip():
        found.append(part._replace(text=stripped))


def feedback_in(text: str) -> Part | None:
    """The person's words in a tool's result: an answer, a reason for a denial, what is to be changed."""
    stripped = text.strip()
    if not stripped.endswith(_CLOSINGS):
        return None
    if whole := _WHOLE.fullmatch(stripped):
        return _spoken(whole[1], whole[2])
    if said := _BEFORE_FEEDBACK.search(stripped):
        closing = f"</{said[1]}>"
        if stripped.endswith(closing):
            return _spoken(said[1], stripped[said.end() : -len(closing)])
    return None


def _spoken(wrapper: str, text: str) -> Part | None:
    return Part("human", text.strip(), wrapper) if text.strip() else None
