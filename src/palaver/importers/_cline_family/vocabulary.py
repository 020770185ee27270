"""The names of tools and parameters that the products know: only these are calls when they stand in a text as tags.

Names that a product dropped or renamed stay, since its older tasks have them. Kilo Code is a fork of Roo Code that took
over tools of Cline.
"""

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
_EVERY_TOOL = frozenset({*_SHARED_TOOLS, *_ROO_TOOLS, *_CLINE_TOOLS})
_EVERY_PARAMETER = frozenset({*_SHARED_PARAMETERS, *_ROO_PARAMETERS, *_CLINE_PARAMETERS})

TOOLS = {
    "roo_code": frozenset({*_SHARED_TOOLS, *_ROO_TOOLS}),
    "cline": frozenset({*_SHARED_TOOLS, *_CLINE_TOOLS}),
    "kilo_code": _EVERY_TOOL,
}
PARAMETERS = {
    "roo_code": frozenset({*_SHARED_PARAMETERS, *_ROO_PARAMETERS}),
    "cline": frozenset({*_SHARED_PARAMETERS, *_CLINE_PARAMETERS}),
    "kilo_code": _EVERY_PARAMETER,
}

ANSWERS = {
    "attempt_completion": "result",
    "plan_mode_respond": "response",
    "plan_mode_response": "response",
    "act_mode_respond": "response",
}
"""Tools whose call is how the model speaks to the user, with the parameter that holds its words."""


def names_a_tool(name: str) -> bool:
    """Whether a word is the name of a tool in any of the products."""
    return name in _EVERY_TOOL or name == "subagents"


def mcp_of(name: str) -> dict[str, str]:
    """The server and the tool that the name of an MCP tool is made of; models write `__` for `--`."""
    if not name.startswith("mcp"):
        return {}
    for separator in ("--", "__"):
        prefix = f"mcp{separator}"
        if name.startswith(prefix):
            server, found, tool = name[len(prefix) :].partition(separator)
            if found and server and tool:
                return {"server": server, "tool": tool}
    return {}
