"""What a report has to know of these products: names of our own, and rows that are kept whole on purpose."""

from palaver.importers._cline_family.task import OURS
from palaver.importers._shared.contract import Description

_OF_THE_WHOLE = frozenset(
    {
        *("active_mode", "available_modes", "mode_persistence", "history_item", "custom_instructions", "time_zone"),
        *("task_metadata", "context_history", "settings", "focus_chain"),
    }
)
"""Names that are given to facts about a task."""
_ROWS = frozenset(
    {
        *("api_req_started", "api_req_finished", "api_req_retried", "api_req_retry_delayed", "api_req_deleted"),
        *("api_req_rate_limit_wait", "api_req_failed", "deleted_api_reqs", "error", "error_retry", "diff_error"),
        *("condense_context", "condense_context_error", "sliding_window_truncation", "compaction", "condense"),
        *("mcp_server_request_started", "mcp_notification", "shell_integration_warning", "rooignore_error"),
        *("clineignore_error", "user_feedback_diff", "user_edit_todos", "plan_mode_respond", "act_mode_respond"),
        *("browser_action_result", "codebase_search_result", "resume_task", "resume_completed_task", "info"),
        *("mistake_limit_reached", "auto_approval_max_req_reached", "too_many_tools_warning", "task_progress"),
        *("hook_status", "hook_output_stream", "subagent", "subagent_usage", "conditional_rules_applied"),
        *("command_permission_denied", "load_mcp_documentation", "report_bug", "summarize_task", "new_task"),
        *("payment_required_prompt", "unauthorized_prompt", "invalid_model", "checkpoint_restore"),
    }
)
"""Rows of the interface that may say something beside their words; what is no words in them is kept whole."""

DESCRIPTION = Description(own_names=OURS | _OF_THE_WHOLE, known_kinds=_ROWS | {"row", "content"})
