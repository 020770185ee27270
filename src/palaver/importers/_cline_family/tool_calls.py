"""Tool calls written as tags in the model's text, and the tool and parameter names of each product.

The syntax resembles XML but has no attributes and no entities: only known names are tags, and everything between the
tags of a parameter is its value. The text is scanned once from left to right, by the products' own rules.

The lists keep names that a product dropped or renamed, because older tasks use them. Kilo Code is a fork of Roo Code
that adopted tools from Cline.
"""

import re
from dataclasses import dataclass
from functools import cache

_SHARED_TOOLS = (
    *("execute_command", "read_file", "write_to_file", "search_files", "list_files", "list_code_definition_names"),
    *("browser_action", "use_mcp_tool", "access_mcp_resource", "ask_followup_question", "attempt_completion"),
    *("new_task", "apply_patch"),
)
_ROO_TOOLS = (
    *("apply_diff", "search_and_replace", "search_replace", "edit", "edit_file", "insert_content", "switch_mode"),
    *("fetch_instructions", "codebase_search", "update_todo_list", "run_slash_command", "generate_image"),
    *("custom_tool", "skill", "read_command_output"),
)
_CLINE_TOOLS = (
    *("replace_in_file", "plan_mode_respond", "plan_mode_response", "act_mode_respond", "load_mcp_documentation"),
    *("condense", "summarize_task", "new_rule", "report_bug", "web_fetch", "web_search", "use_subagents", "use_skill"),
    *("generate_explanation", "inspect_site"),
)
_SHARED_PARAMETERS = (
    *("command", "path", "content", "regex", "file_pattern", "recursive", "action", "url", "coordinate", "text"),
    *("server_name", "tool_name", "arguments", "uri", "question", "result", "diff", "query", "prompt"),
)
_ROO_PARAMETERS = (
    *("mode_slug", "reason", "line", "mode", "message", "cwd", "follow_up", "task", "size", "args", "start_line"),
    *("end_line", "todos", "image", "files", "operations", "patch", "file_path", "old_string", "new_string"),
    *("expected_replacements", "search", "replace", "use_regex", "ignore_case", "skill", "artifact_id", "offset"),
    *("limit", "timeout"),
)
_CLINE_PARAMETERS = (
    *("requires_approval", "absolutePath", "options", "response", "context", "title", "what_happened", "timeout"),
    *("steps_to_reproduce", "api_request_output", "additional_context", "needs_more_exploration", "task_progress"),
    *("allowed_domains", "blocked_domains", "input", "from_ref", "to_ref", "skill_name"),
    *(f"prompt_{number}" for number in range(1, 6)),
)
_ALL_TOOLS = frozenset({*_SHARED_TOOLS, *_ROO_TOOLS, *_CLINE_TOOLS})
_ALL_PARAMETERS = frozenset({*_SHARED_PARAMETERS, *_ROO_PARAMETERS, *_CLINE_PARAMETERS})

TOOLS = {
    "roo_code": frozenset({*_SHARED_TOOLS, *_ROO_TOOLS}),
    "cline": frozenset({*_SHARED_TOOLS, *_CLINE_TOOLS}),
    "kilo_code": _ALL_TOOLS,
}
PARAMETERS = {
    "roo_code": frozenset({*_SHARED_PARAMETERS, *_ROO_PARAMETERS}),
    "cline": frozenset({*_SHARED_PARAMETERS, *_CLINE_PARAMETERS}),
    "kilo_code": _ALL_PARAMETERS,
}

MESSAGE_PARAMETERS = {
    "attempt_completion": "result",
    "plan_mode_respond": "response",
    "plan_mode_response": "response",
    "act_mode_respond": "response",
}
"""Tools that address the user, each with the parameter that holds the text."""


def is_tool_name(name: str) -> bool:
    """Return whether any of the products has a tool of this name."""
    return name in _ALL_TOOLS or name == "subagents"


def mcp_parts(name: str) -> dict[str, str]:
    """Split the name of an MCP tool into server and tool, or return {}; models write `__` instead of `--`."""
    if not name.startswith("mcp"):
        return {}
    for separator in ("--", "__"):
        prefix = f"mcp{separator}"
        if name.startswith(prefix):
            server, found, tool = name[len(prefix) :].partition(separator)
            if found and server and tool:
                return {"server": server, "tool": tool}
    return {}


_FILE_CONTENT_TOOLS = frozenset({"write_to_file", "new_rule"})
"""Tools whose `content` may include its own closing tag: the last one before the end of the call closes it."""


@dataclass(slots=True)
class TextCall:
    """A call written as tags."""

    name: str
    input: dict[str, str]
    rest: str = ""
    """Text between the tags that belongs to no parameter."""
    is_partial: bool = False
    """Whether the text ends before the call is closed."""


Piece = str | TextCall


def split_calls(text: str, platform: str) -> list[Piece]:
    """Split a text into prose and calls, in order; prose is trimmed and dropped if empty."""
    if "<" not in text:
        return [text] if text else []
    opening = _tool_tags(platform)
    found: list[Piece] = []
    start = 0
    while opened := opening.search(text, start):
        _add_prose(found, text[start : opened.start()])
        call, start = _call(text, opened[1], opened.end(), platform)
        found.append(call)
    if not start:
        return [text] if text else []
    _add_prose(found, text[start:])
    return found


def _add_prose(found: list[Piece], text: str) -> None:
    if prose := text.strip():
        found.append(prose)


def _call(text: str, name: str, at: int, platform: str) -> tuple[TextCall, int]:
    """Return the call whose opening tag ends at `at`, and the offset after its closing tag."""
    call = TextCall(name, {})
    closing = f"</{name}>"
    parameter = _parameter_tags(platform)
    between: list[str] = []
    end = 0
    while True:
        opened = parameter.match(text, at + text.startswith("\n", at))  # usually the next parameter follows directly
        if opened is None:
            if 0 <= end < at:  # not searched yet, or found inside a value
                end = text.find(closing, at)
            opened = parameter.search(text, at, end if end >= 0 else len(text))
        if opened is None:
            break
        between.append(text[at : opened.start()])
        key = opened[1]
        value, at, is_closed = _value(text, key, opened.end(), name)
        if key in call.input:
            between.append(call.input[key])  # the last value wins; earlier ones go to `rest`
        call.input[key] = value
        if not is_closed:
            call.is_partial = True
            return _with_rest(call, between), len(text)
    call.is_partial = end < 0
    between.append(text[at:] if end < 0 else text[at:end])
    return _with_rest(call, between), len(text) if end < 0 else end + len(closing)


def _value(text: str, key: str, start: int, tool: str) -> tuple[str, int, bool]:
    """Return the value of a parameter, the offset after its closing tag, and whether it is closed."""
    closing = f"</{key}>"
    end = text.find(closing, start)
    if key == "content" and tool in _FILE_CONTENT_TOOLS and end >= 0:
        behind = text.find(f"</{tool}>", end)
        end = text.rfind(closing, start, behind if behind >= 0 else len(text))
    if end < 0:
        return _trimmed(key, text[start:]), len(text), False
    return _trimmed(key, text[start:end]), end + len(closing), True


def _trimmed(key: str, value: str) -> str:
    """Strip a value; from `content`, remove only one line break at either end."""
    return value.removeprefix("\n").removesuffix("\n") if key == "content" else value.strip()


def _with_rest(call: TextCall, between: list[str]) -> TextCall:
    call.rest = "\n".join(filter(None, map(str.strip, between)))
    return call


@cache
def _tool_tags(platform: str) -> re.Pattern[str]:
    return _opening_tags(TOOLS[platform])


@cache
def _parameter_tags(platform: str) -> re.Pattern[str]:
    return _opening_tags(PARAMETERS[platform])


def _opening_tags(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile(rf"<({'|'.join(sorted(names, key=len, reverse=True))})>")
