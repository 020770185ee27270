"""The text of a user turn: what the user wrote, what the extension added, and its `<environment_details>`.

User text is wrapped in `<task>`, `<user_message>`, `<feedback>` or `<answer>`. Everything else comes from the
extension: contents of mentioned files, instructions for slash commands, reminders, task resumption notices. In a turn
without a wrapper and without a tool result, the text that remains after removing the extension's parts is the user's.

Only `<environment_details>` state the mode and model of a turn in Roo Code and Kilo Code. Newer versions write the time
in UTC, older ones in the user's locale, of which only the US format is unambiguous.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from palaver.model.timestamps import is_canonical, timestamp_or_empty

Author = Literal["human", "harness"]

_HUMAN_TAGS = "task|user_message|feedback|answer"
_WRAPPER = re.compile(rf"^<({_HUMAN_TAGS})>\n?", re.MULTILINE)
_SINGLE_WRAPPER = re.compile(rf"\s*<({_HUMAN_TAGS})>(.*)</\1>\s*", re.DOTALL)
_TAGS_WITH_ATTRIBUTES = "file_content|file|folder_content|url_content|git_commit|explicit_instructions|command"
_BARE_TAGS = (
    "environment_details|workspace_diagnostics|git_working_state|terminal_output|system-reminder|hook_context"
    "|hook_context_modification|available_skills"
)
_PROGRAM_TAG = re.compile(rf"^<({_TAGS_WITH_ATTRIBUTES}(?=\s[^>\n]*>)|(?:{_BARE_TAGS})(?=>))[^>]*>", re.MULTILINE)
_PROGRAM_OPENINGS = (
    *("[TASK RESUMPTION]", "[ERROR] You did not use a tool", "[ERROR]", "Files attached by the user:"),
    *("[Sliding window truncation", "# task_progress", "# TODO LIST", "[Response interrupted"),
    *("You responded with only a", "[NOTE] The previous conversation"),
)
_BEFORE_FEEDBACK = re.compile(rf"(?:^|\n)(?:The user|You seem to be having trouble)[^\n]*\n\s*<({_HUMAN_TAGS})>\n?")
_HUMAN_CLOSING_TAGS = tuple(f"</{name}>" for name in _HUMAN_TAGS.split("|"))
_HUMAN_CLOSING_TAG = re.compile(rf"</(?:{_HUMAN_TAGS})>")


class Part(NamedTuple):
    """A piece of text with its author and, for wrapped user text, the wrapper's tag."""

    author: Author
    text: str
    wrapper: str = ""


def has_wrapper(text: str) -> bool:
    return _may_have_wrapper(text) and any(True for _ in _tagged_spans(text, _WRAPPER))


def _may_have_wrapper(text: str) -> bool:
    """Return False if the text cannot contain a wrapper; cheaper than searching line by line."""
    return (at := text.find("</")) >= 0 and _HUMAN_CLOSING_TAG.search(text, at) is not None


def split_by_author(text: str, *, is_wrapped_elsewhere: bool) -> list[Part]:
    """Split a text that is not a tool result into parts by author."""
    found: list[Part] = []
    start = 0
    if _may_have_wrapper(text):
        if whole := _SINGLE_WRAPPER.fullmatch(text):
            _add_parts(found, whole[2], is_human=True, wrapper=whole[1])
            return found
        for tag, begin, body_start, body_end, end in _tagged_spans(text, _WRAPPER):
            _add_parts(found, text[start:begin], is_human=False)
            _add_parts(found, text[body_start:body_end], is_human=True, wrapper=tag)
            start = end
    is_human = not (start or is_wrapped_elsewhere or text.lstrip().startswith(_PROGRAM_OPENINGS))
    _add_parts(found, text[start:], is_human=is_human)
    return found


def _add_parts(found: list[Part], text: str, *, is_human: bool, wrapper: str = "") -> None:
    """Add a text by one author, splitting off the elements that the extension added."""
    start = 0
    if is_human and "</" in text:
        for _, begin, _, _, end in _tagged_spans(text, _PROGRAM_TAG):
            _add(found, Part("human", text[start:begin], wrapper))
            _add(found, Part("harness", text[begin:end]))
            start = end
    _add(found, Part("human" if is_human else "harness", text[start:], wrapper))


def _add(found: list[Part], part: Part) -> None:
    if stripped := part.text.strip():
        found.append(part._replace(text=stripped))


class _TaggedSpan(NamedTuple):
    """Offsets of an element: its opening tag, its body and the end of its closing tag."""

    tag: str
    start: int
    body_start: int
    body_end: int
    end: int


def _tagged_spans(text: str, opening: re.Pattern[str]) -> Iterator[_TaggedSpan]:
    """Yield the closed elements whose opening tag matches, without overlaps."""
    unclosed: set[str] = set()
    offset = 0
    while found := opening.search(text, offset):
        tag = found[1]
        closing = f"</{tag}>"
        body_end = -1 if tag in unclosed else text.find(closing, found.end())
        if body_end < 0:
            unclosed.add(tag)
            offset = found.end()
            continue
        offset = body_end + len(closing)
        yield _TaggedSpan(tag, found.start(), found.end(), body_end, offset)


def feedback_in(text: str) -> Part | None:
    """Return the user text in a tool result (an answer, a reason for a denial, a requested change), or None."""
    stripped = text.strip()
    if not stripped.endswith(_HUMAN_CLOSING_TAGS):
        return None
    if whole := _SINGLE_WRAPPER.fullmatch(stripped):
        return _feedback(whole[1], whole[2])
    if denial := _BEFORE_FEEDBACK.search(stripped):
        closing = f"</{denial[1]}>"
        if stripped.endswith(closing):
            return _feedback(denial[1], stripped[denial.end() : -len(closing)])
    return None


def _feedback(wrapper: str, text: str) -> Part | None:
    return Part("human", text.strip(), wrapper) if text.strip() else None


_OPENING, _CLOSING = "<environment_details>", "</environment_details>"
_MODE = "# Current Mode\n"
_MODE_LENGTH = 600
_COST = "# Current Cost\n"
_UTC_TIME = "Current time in ISO 8601 UTC format: "
_LOCAL_TIME = re.compile(
    r"# Current Time\n([0-9]{1,2}/[0-9]{1,2}/[0-9]{4}, [0-9:]+\s[AP]M)"
    r" \(([^,()\n]+), UTC([+-])([0-9]{1,2}):([0-9]{2})\)"
)
_TIME_ZONE = "User time zone: "
_WORKSPACE = re.compile(r"# (?:Current Workspace|Current Working) Directory \((.*)\) Files\n")
_LINE, _TAG_VALUE = r"(\S[^\n]*+)(?<!\s)", r"([^\s<][^<]*+)(?<!\s)"
_ROO_SECTIONS = re.compile(
    rf"{_LINE}\n{_TIME_ZONE}{_LINE}\n\n{_COST}{_LINE}\n\n"
    rf"{_MODE}<slug>{_TAG_VALUE}</slug>\n<name>{_TAG_VALUE}</name>\n<model>{_TAG_VALUE}</model>"
)
"""The sections of Roo Code versions that write the time in UTC, in their fixed order."""
_CLINE_MODES = {"ACT MODE": "act", "PLAN MODE": "plan"}


Environment = dict[str, str]
"""The stated ones of `mode`, `mode_name`, `model`, `time`, `time_zone`, `cost` and `workspace`, in this order."""


def is_environment(text: str) -> bool:
    """Return whether a block holds nothing but environment details, by the products' own test."""
    if not (text.startswith("<") or text[:1].isspace()):
        return False
    stripped = text.strip()
    return stripped.startswith(_OPENING) and stripped.endswith(_CLOSING)


def environment_in(text: str) -> Environment:
    found = _roo_environment(text) or _environment_by_section(text)
    if "Directory (" in text and (workspace := _workspace(text)):
        found["workspace"] = workspace
    return found


def _roo_environment(text: str) -> Environment | None:
    at = text.find(_UTC_TIME)
    if at < 0 or (sections := _ROO_SECTIONS.match(text, at + len(_UTC_TIME))) is None:
        return None
    time, zone, cost, mode, name, model = sections.groups()
    before = text[:at]
    if not is_canonical(time) or _TIME_ZONE in before or _COST in before or _MODE in before:
        return None  # the first statement wins
    return {"mode": mode, "mode_name": name, "model": model, "time": time, "time_zone": zone, "cost": cost}


def _environment_by_section(text: str) -> Environment:
    found: Environment = {}
    if _MODE in text:
        _add_mode(found, text)
    zone = _line(text, _TIME_ZONE)
    time = ""
    if stated := _line(text, _UTC_TIME):
        time = stated if is_canonical(stated) else timestamp_or_empty(stated)
    elif "# Current Time\n" in text and (local := _LOCAL_TIME.search(text)):
        when, zone, sign, hours, minutes = local.groups()
        time = timestamp_or_empty(f"{' '.join(when.split())} {sign}{hours:0>2}:{minutes}")
    if time:
        found["time"] = time
    if zone:
        found["time_zone"] = zone
    if cost := _line(text, _COST):
        found["cost"] = cost
    return found


def _add_mode(found: Environment, text: str) -> None:
    at = text.find(_MODE) + len(_MODE)
    section = text[at : at + _MODE_LENGTH]
    mode = _tag(section, "slug") or _CLINE_MODES.get(section.partition("\n")[0].strip(), "")
    for key, value in (("mode", mode), ("mode_name", _tag(section, "name")), ("model", _tag(section, "model"))):
        if value:
            found[key] = value


def _workspace(text: str) -> str:
    found = _WORKSPACE.search(text, max(0, text.find("Directory (") - 20))
    return found[1] if found else ""


def _line(text: str, before: str) -> str:
    """Return the rest of the line after a prefix."""
    at = text.find(before)
    if at < 0:
        return ""
    at += len(before)
    end = text.find("\n", at)
    return text[at : end if end >= 0 else len(text)].strip()


def _tag(section: str, name: str) -> str:
    at = section.find(f"<{name}>")
    end = section.find(f"</{name}>", at)
    return section[at + len(name) + 2 : end].strip() if 0 <= at < end else ""


_MENTION = re.compile(r"""@(?:"[^"\n]*"|(?:\\ |[^\s\\]|\\(?! ))+?)(?=[.,;:!?)\]]*(?:\s|$))|\A/[\w:.-]+(?:\s+|$)""")
"""A file, folder, address or view that the user mentioned (`@/src/a.ts`, `@"/my notes.md"`, `@/my\\ notes.md`,
`@problems`), or the command that a prompt begins with."""
_SENT_FORM = "(see below for "
"""In what the model gets instead of a mention."""
_LONGEST_EXPANSION = 1_000


def may_be_rewritten(typed: str) -> bool:
    """Return whether the model may have got a prompt in other words than those that were typed."""
    return "@" in typed or typed.startswith("/")


def is_sent_form(sent: str, typed: str) -> bool:
    """Return whether a text is what the user typed, with mentions and commands worded as the model gets them.

    The extension writes `'src/a.ts' (see below for file content)` for `@/src/a.ts`, and appends the content. For a
    command, Roo Code writes `Command 'init' (see below for command content)`; Cline removes it and adds instructions.
    """
    at = start = 0
    is_rewritten = False
    for mention in _MENTION.finditer(typed):
        piece = typed[start : mention.start()]
        if not sent.startswith(piece, at):
            return False
        at, start = at + len(piece), mention.end()
        if sent.startswith(mention[0], at):
            at += len(mention[0])
            continue
        end = sent.find(")", sent.find(_SENT_FORM, at)) + 1
        expansion = sent[at:end]
        is_command = mention[0].startswith("/")
        if is_command and not expansion.startswith(_SENT_COMMAND):
            is_rewritten = True
            continue
        if _SENT_FORM not in expansion or "\n" in expansion or len(expansion) > _LONGEST_EXPANSION:
            return False
        at, is_rewritten = end, True
        if is_command:
            start = mention.start() + len(mention[0].rstrip())
    return is_rewritten and sent[at:] == typed[start:]


_SENT_COMMAND = "Command '"
