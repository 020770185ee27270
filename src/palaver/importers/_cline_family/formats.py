"""The formats of these products: task folders, task indexes and Markdown exports."""

from collections.abc import Iterator
from typing import Any

from palaver.importers._cline_family.markdown_export import export_product, read_export
from palaver.importers._cline_family.product import Product
from palaver.importers._cline_family.task import OWN_NAMES
from palaver.importers._cline_family.task_folder import recognize_task
from palaver.importers._cline_family.task_index import FORM as INDEX
from palaver.importers._cline_family.task_index import read_index, recognize_index
from palaver.importers._cline_family.task_reader import read_task
from palaver.importers._shared.contract import Description, Match
from palaver.sources.run import Run
from palaver.sources.source import Source

MARKDOWN = "markdown"


def recognize(source: Source, product: Product) -> Match:
    found = recognize_task(source, product)
    if found.verdict == "no" and not found.reason and not source.is_folder:
        found = recognize_index(source, product)
        if found.verdict == "no" and not found.reason and _is_export(source, product):
            return Match.yes(f"a task that {product.title} exported", form=MARKDOWN)
    return found


def read(source: Source, run: Run, product: Product) -> Iterator[dict[str, Any]]:
    match run.form or recognize(source, product).form:
        case form if form == INDEX:
            yield from read_index(source, run, product)
        case form if form == MARKDOWN or (not form and source.suffix == ".md"):
            yield from read_export(source, run, product.platform)
        case _ if source.file_name in _INDEX_FILES:
            yield from read_index(source, run, product)
        case _:
            yield from read_task(source, run, product)


_INDEX_FILES = ("_index.json", "taskHistory.json")


def _is_export(source: Source, product: Product) -> bool:
    return source.suffix == ".md" and export_product(source.file_name, source.head()) == product.platform


_TASK_FIELDS = frozenset(
    {
        *("active_mode", "available_modes", "mode_persistence", "history_item", "custom_instructions", "time_zone"),
        *("task_metadata", "context_history", "settings", "focus_chain"),
    }
)
"""Names that the importer gives to properties of a task."""
_OPAQUE_ROWS = frozenset(
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
"""Rows of the UI log that may hold data besides text; it becomes an opaque block on purpose."""

DESCRIPTION = Description(own_names=OWN_NAMES | _TASK_FIELDS, known_kinds=_OPAQUE_ROWS | {"row", "content"})
