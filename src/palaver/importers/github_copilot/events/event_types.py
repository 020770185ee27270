"""Known event types, grouped by how they are handled, and the metadata names that this importer uses."""

from palaver.model import build

OWN_NAMES: frozenset[str] = build.METADATA | {
    *("chat_session_file", "event", "execution", "joined", "kept_as", "parent_tool_use_id", "partial"),
    *(
        "partitions",
        "rendered_only",
        "shutdowns",
        "source_fields",
        "started_at",
        "turn",
        "usage",
        "vscode",
        "workspace",
    ),
    *("agent", "agent_result", "plan", "timeline"),
}
"""Metadata names set by this importer; a source field of the same name goes to `source_fields`."""

TEXT_FIELDS = {
    "abort": "reason",
    "command.execute": "command",
    "command.queued": "command",
    "elicitation.requested": "message",
    "exit_plan_mode.completed": "feedback",
    "exit_plan_mode.requested": "planContent",
    "model.call_failure": "errorMessage",
    "session.context_cleared": "initialMessage",
    "session.error": "message",
    "session.handoff": "summary",
    "session.info": "message",
    "session.managed_settings_enforced": "message",
    "session.schedule_created": "prompt",
    "session.task_complete": "summary",
    "session.warning": "message",
    "skill.invoked": "content",
    "subagent.failed": "error",
    "system.notification": "content",
    "ui.ephemeral_query": "answer",
    "user_input.completed": "answer",
    "user_input.requested": "question",
}
"""Events with text for the user or the model, and the field that holds it."""

TYPED_BY_USER = frozenset({"exit_plan_mode.completed", "user_input.completed"})
"""Text events whose text a person typed."""

PROGRESS = frozenset(
    {
        "assistant.server_tool_progress",
        "assistant.streaming_delta",
        "hook.progress",
        "tool.execution_progress",
    }
)
"""Progress reports without lasting content."""

HOUSEKEEPING = frozenset(
    {
        *("assistant.idle", "assistant.intent", "assistant.turn_retry", "auto_mode_switch.completed"),
        *("auto_mode_switch.requested", "model.call_start"),
        *("capabilities.changed", "command.completed", "commands.changed", "elicitation.completed"),
        *("external_tool.completed", "external_tool.requested", "factory.run_settled", "factory.run_started"),
        *("factory.run_updated", "hook.end", "hook.start", "mcp.headers_refresh_completed"),
        *("mcp.headers_refresh_required", "mcp.oauth_completed", "mcp.oauth_required", "mcp.prompts.list_changed"),
        *("mcp.resources.list_changed", "mcp.tools.list_changed", "mcp_app.tool_call_complete"),
        *("pending_messages.modified", "permission.requested", "sampling.completed", "sampling.requested"),
        *("session.autopilot_objective_changed", "session.background_tasks_changed", "session.canvas.closed"),
        *("session.canvas.opened", "session.canvas.recorded", "session.canvas.registry_changed"),
        *("session.canvas.removed", "session.canvas.unavailable", "session.compaction_start"),
        *("session.custom_agents_updated", "session.custom_notification", "session.extensions.attachments_pushed"),
        *("session.extensions_loaded", "session.idle", "session.managed_settings_resolved"),
        *("session.mcp_server_status_changed", "session.mcp_servers_loaded", "session.mode_changed"),
        *("session.permissions_changed", "session.plan_changed", "session.remote_steerable_changed"),
        *("session.schedule_cancelled", "session.schedule_rearmed", "session.session_limits_changed"),
        *("session.skills_loaded", "session.todos_changed", "session.tools_updated", "session.truncation"),
        *("session.usage_checkpoint", "session.usage_info", "session.workspace_file_changed"),
        *("session_limits_exhausted.completed", "session_limits_exhausted.requested", "subagent.deselected"),
        *("subagent.selected", "tool_search.activated"),
    }
)
"""Events without text: kept whole as hidden messages."""

SPECIAL = frozenset(
    {
        *("assistant.message", "assistant.message_delta", "assistant.message_start", "assistant.reasoning"),
        *("assistant.reasoning_delta", "assistant.tool_call_delta", "assistant.turn_end", "assistant.turn_start"),
        *("assistant.usage", "partition.created", "permission.completed", "session.auto_mode_resolved"),
        *("session.binary_asset", "session.compaction_complete", "session.context_changed", "session.model_change"),
        *("session.resume", "session.shutdown", "session.snapshot_rewind", "session.start", "session.title_changed"),
        *("subagent.completed", "subagent.started", "system.message", "tool.execution_complete"),
        *("tool.execution_partial_result", "tool.execution_start", "tool.user_requested", "user.message"),
        "user.message_rendered",
    }
)
"""Events that become messages, parts of messages, or properties of their conversation."""

KNOWN_TYPES = SPECIAL | HOUSEKEEPING | PROGRESS | TEXT_FIELDS.keys()

KNOWN_KINDS: frozenset[str] = KNOWN_TYPES | {
    *("attachment:directory", "attachment:extension_context", "attachment:github_actions_job"),
    *("attachment:github_commit", "attachment:github_file", "attachment:github_file_diff"),
    *("attachment:github_reference", "attachment:github_release", "attachment:github_repository"),
    *("attachment:github_snippet", "attachment:github_tree_comparison", "attachment:github_url"),
    *("omitted_binary", "timeline"),
}
"""Kinds of `opaque` blocks that are expected in the output."""
