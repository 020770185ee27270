"""The document of a transcript: title, platform, session, context and summaries around its messages."""

from typing import TYPE_CHECKING

from palaver.importers.claude_code.content import plain_text
from palaver.importers.claude_code.line_context import without_injections
from palaver.model import build
from palaver.model.build import JsonObject

if TYPE_CHECKING:
    from palaver.importers.claude_code.transcript import Transcript


PLATFORM = "claude_code"

_TITLE_LENGTH = 200
_TITLE_SCAN_LENGTH = 500
_TITLE_SOURCES = ("custom", "ai", "summary", "index", "prompt")
_CONTROL_CHARACTERS = dict.fromkeys([*range(9), *range(14, 32), 127], " ")
_NOT_A_BRANCH = frozenset({"", "HEAD"})
_ALWAYS_INCLUDED = frozenset({"slug", "entrypoint"})


def document(transcript: "Transcript", messages: list[JsonObject], *, is_final: bool) -> JsonObject:
    """Build the document of some messages: the whole conversation, or a fragment of it."""
    summaries = _summaries(transcript)
    fragment = None
    if transcript.sequence or not is_final:
        fragment = {"sequence": transcript.sequence, "final": is_final, "start": transcript.emitted_count}
    return build.conversation(
        conversation_id=transcript.conversation_id,
        title=_title(transcript, messages),
        platform=_platform(transcript),
        session=_session(transcript),
        context=_context(transcript),
        created_at=transcript.created_at,
        updated_at=transcript.updated_at,
        status=transcript.status,
        messages=messages,
        summaries=summaries,
        metrics={"total_cost": transcript.cost} if transcript.cost else None,
        tags=transcript.tags or None,
        fragment=fragment,
    )


def _summaries(transcript: "Transcript") -> list[JsonObject] | None:
    """Return the summaries, each with its last message; the last one that ends in this file becomes a title."""
    for summary in transcript.summaries:
        if covered := transcript.resolve_line(summary.get("leaf_uuid")):
            summary["covers_messages"] = [covered]
            transcript.titles["summary"] = summary["text"]
        # A summary without a time gets one that stays the same while the session grows.
        summary["timestamp"] = transcript.include_time(summary["timestamp"]) or transcript.created_at
    return transcript.summaries or None


def _title(transcript: "Transcript", messages: list[JsonObject]) -> str | None:
    titles = transcript.titles
    for source in _TITLE_SOURCES:
        if title := titles.get(source):
            return title
    authors = ("human", "model") if transcript.is_sidechain else ("human",)
    for message in messages:
        metadata = message["metadata"]
        is_bare_command = "command_name" in metadata and not metadata.get("command_args")
        if message["role"] == "user" and metadata.get("author_kind") in authors and not is_bare_command:
            words = " ".join(without_injections(plain_text(message["content"]))[:_TITLE_SCAN_LENGTH].split())
            if not words.isprintable():
                words = " ".join(words.translate(_CONTROL_CHARACTERS).split())
            if words:
                titles["prompt"] = words[:_TITLE_LENGTH]
                return titles["prompt"]
    return titles.get("command") or titles.get("last")


def _platform(transcript: "Transcript") -> JsonObject:
    platform: JsonObject = {"name": PLATFORM}
    versions = [version for version in transcript.header.seen["version"] if isinstance(version, str)]
    if versions:
        platform["version"] = versions[-1]
    if transcript.models:
        platform["model"] = max(transcript.models, key=lambda model: transcript.models[model])
    metadata = dict(transcript.platform_metadata)
    for name, values in transcript.header.seen.items():
        if len(values) > 1 or (values and name in _ALWAYS_INCLUDED):
            metadata[name] = values if len(values) > 1 else values[0]
    if metadata:
        platform["metadata"] = metadata
    return platform


def _session(transcript: "Transcript") -> JsonObject:
    session: JsonObject = {"is_sidechain": transcript.is_sidechain}
    if transcript.session_id:
        session["session_id"] = transcript.session_id
    if transcript.parent_id:
        session["parent_conversation_id"] = transcript.parent_id
    if transcript.fork_point:
        session["fork_point"] = transcript.fork_point
    return session


def _context(transcript: "Transcript") -> JsonObject | None:
    context: JsonObject = {}
    workspace: JsonObject = {}
    for name, key in (("path", "cwd"), ("git_branch", "gitBranch")):
        values = transcript.header.seen[key]
        if values and isinstance(values[0], str) and values[0] not in _NOT_A_BRANCH:
            workspace[name] = values[0]
    if workspace:
        context["workspace"] = workspace
    if transcript.custom:
        context["custom"] = transcript.custom
    return context or None
