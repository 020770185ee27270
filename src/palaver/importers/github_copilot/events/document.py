"""The document of a conversation: its title, platform, links and context around the messages."""

from typing import Any

from palaver.importers.github_copilot.events.session import Conversation, Session
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import timestamp_or_empty

PLATFORM = "github_copilot"

_TITLE_LENGTH = 200
_EDITORS = {"transcript": "VS Code", "jetbrains": "JetBrains"}
_CONTEXT_MAPPED = {"cwd", "branch", "headCommit"}
_START_MAPPED = {"sessionId", "copilotVersion", "startTime", "context", "selectedModel"}


def document(conversation: Conversation, *, is_final: bool = True) -> JsonObject:
    session = conversation.session
    messages = conversation.messages
    fragment = None
    if conversation.sequence or not is_final:
        fragment = {"sequence": conversation.sequence, "final": is_final}
    is_main = conversation is session.main
    started = session.started or {}
    created_at = conversation.created_at or session.nearest_time()
    if is_main and (started_at := timestamp_or_empty(started.get("startTime"))):
        created_at = min(started_at, created_at)
    return build.conversation(
        conversation_id=conversation.conversation_id,
        title=_title(conversation, is_main=is_main),
        platform=_platform(conversation, started),
        session=_links(conversation),
        context=_context(session, is_main=is_main),
        created_at=created_at,
        updated_at=conversation.updated_at or None,
        status=conversation.status,
        messages=messages,
        summaries=conversation.summaries or None,
        fragment=fragment,
    )


def _title(conversation: Conversation, *, is_main: bool) -> str | None:
    """Return the given title, else the start of the first prompt: a person's, or for an agent any prompt."""
    if is_main and (title := _given_title(conversation)):
        return title
    authors = ("human",) if is_main else ("human", "model", "harness")
    for message in conversation.messages:
        if message["role"] == "user" and message["metadata"].get("author_kind") in authors:
            for block in message["content"]:
                if block["type"] == "text" and (text := " ".join(block["text"][:1000].split())):
                    conversation.title = text[:_TITLE_LENGTH]
                    return conversation.title
    if not is_main and not conversation.title:
        name = conversation.platform_metadata.get("agent", {}).get("agentDisplayName")
        return name if isinstance(name, str) and name else None
    return conversation.title or None


def _given_title(conversation: Conversation) -> str:
    """Return the title that the user or the product gave, or an empty string."""
    custom = conversation.session.custom
    workspace: JsonObject = custom.get("workspace", {})
    vscode: JsonObject = custom.get("vscode", {})
    by_user = workspace.get("name") if workspace.get("user_named") else None
    by_event = conversation.platform_metadata.get("title")
    for title in (by_user, vscode.get("customTitle"), by_event, workspace.get("name"), workspace.get("summary")):
        if isinstance(title, str) and title.strip():
            return title.strip()
    return ""


def _platform(conversation: Conversation, started: JsonObject) -> JsonObject:
    session = conversation.session
    platform: JsonObject = {"name": PLATFORM}
    if isinstance((version := started.get("copilotVersion")), str) and version:
        platform["version"] = version
    models = conversation.models
    if model := max(models, key=lambda name: models[name]) if models else conversation.model:
        platform["model"] = model
    metadata: JsonObject = dict(conversation.platform_metadata)
    metadata.pop("title", None)
    if conversation is session.main:
        for name, value in started.items():
            if value is not None and not (name in _START_MAPPED and _is_mapped(name, value)):
                metadata.setdefault(name, value)
        for name, value in session.context.items():
            if name not in _CONTEXT_MAPPED or not isinstance(value, str):
                metadata[name] = value
    if metadata:
        platform["metadata"] = metadata
    return platform


def _is_mapped(name: str, value: Any) -> bool:
    """Whether the value of a mapped start field has the type that its mapping needs."""
    if name == "startTime":
        return bool(timestamp_or_empty(value))
    return type(value) is (dict if name == "context" else str)


def _links(conversation: Conversation) -> JsonObject:
    links: JsonObject = {"session_id": conversation.session.session_id}
    links["is_sidechain"] = conversation.agent_id is not None
    if conversation.parent_id:
        links["parent_conversation_id"] = conversation.parent_id
    if conversation.fork_point:
        links["fork_point"] = conversation.fork_point
    return links


def _context(session: Session, *, is_main: bool) -> JsonObject | None:
    session_context: JsonObject = session.context
    side_file: JsonObject = session.custom.get("workspace", {})
    workspace: JsonObject = {}
    for name, value in (
        ("path", session_context.get("cwd") or side_file.get("cwd")),
        ("git_branch", session_context.get("branch") or side_file.get("branch")),
        ("git_commit", session_context.get("headCommit")),
    ):
        if isinstance(value, str) and value:
            workspace[name] = value
    context: JsonObject = {"workspace": workspace} if workspace else {}
    if editor := _EDITORS.get(session.main.platform_metadata.get("kept_as", "")):
        context["environment"] = {"editor": editor}
    if is_main:
        custom: JsonObject = dict(session.custom)
        if session.shutdowns:
            custom["shutdowns"] = session.shutdowns
        if custom:
            context["custom"] = custom
    return context or None
