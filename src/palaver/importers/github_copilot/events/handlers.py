"""Which function takes which type of event."""

from collections.abc import Callable

from palaver.importers.github_copilot.events import answers, calls, happenings, prompts, stream, usage
from palaver.importers.github_copilot.events.conversation import Conversation
from palaver.importers.github_copilot.events.disposition import STREAM_PROGRESS, Disposition
from palaver.importers.github_copilot.events.kinds import PLAIN, TEXTS
from palaver.importers.github_copilot.events.kinds import STREAM_PROGRESS as PROGRESS_TYPES
from palaver.model.build import JsonObject

Handler = Callable[[Conversation, JsonObject, JsonObject], Disposition]


def _answer(conversation: Conversation, event: JsonObject, data: JsonObject) -> Disposition:
    if conversation.pieces:
        stream.came_whole(conversation, data)
    return answers.answer(conversation, event, data)


def _passed(conversation: Conversation, event: JsonObject, _data: JsonObject) -> Disposition:
    conversation.seen_at(event)
    return STREAM_PROGRESS


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(PLAIN, happenings.plain),
    **dict.fromkeys(TEXTS, happenings.told),
    **dict.fromkeys(PROGRESS_TYPES, _passed),
    "assistant.message": _answer,
    "assistant.message_delta": stream.piece,
    "assistant.message_start": stream.piece,
    "assistant.reasoning": answers.reasoning,
    "assistant.reasoning_delta": stream.piece,
    "assistant.tool_call_delta": stream.piece,
    "assistant.turn_end": answers.turn_end,
    "assistant.turn_start": answers.turn_start,
    "assistant.usage": usage.usage,
    "mcp.headers_refresh_required": happenings.without_secrets,
    "mcp.oauth_required": happenings.without_secrets,
    "partition.created": happenings.partition,
    "permission.completed": happenings.permission,
    "session.auto_mode_resolved": happenings.model_changed,
    "session.binary_asset": happenings.asset,
    "session.compaction_complete": happenings.compacted,
    "session.context_changed": happenings.moved,
    "session.model_change": happenings.model_changed,
    "session.resume": happenings.began,
    "session.shutdown": happenings.ended,
    "session.snapshot_rewind": happenings.rewound,
    "session.start": happenings.began,
    "session.title_changed": happenings.titled,
    "subagent.completed": happenings.agent_ended,
    "subagent.failed": happenings.agent_ended,
    "subagent.started": happenings.agent_began,
    "system.message": prompts.instructions,
    "tool.execution_complete": calls.complete,
    "tool.execution_partial_result": stream.piece,
    "tool.execution_start": calls.start,
    "tool.user_requested": calls.asked_by_user,
    "user.message": prompts.prompt,
    "user.message_rendered": prompts.rendered,
}
