"""The document of a conversation: what stands around its messages."""

from typing import Any

from palaver.importers.github_copilot.events.conversation import Conversation
from palaver.importers.github_copilot.events.session import Session
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.timestamps import readable_timestamp

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
    if is_main and (stated := readable_timestamp(started.get("startTime"))):
        created_at = min(stated, created_at)
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
    """What the user or the product called it; else the first words that a person typed, or that an agent was told."""
    if is_main and (named := _named(conversation)):
        return named
    authors = ("human",) if is_main else ("human", "model", "harness")
    for message in conversation.messages:
        if message["role"] == "user" and message["metadata"].get("author_kind") in authors:
            for block in message["content"]:
                if block["type"] == "text" and (said := " ".join(block["text"][:1000].split())):
                    conversation.title = said[:_TITLE_LENGTH]
                    return conversation.title
    if not is_main and not conversation.title:
        name = conversation.facts.get("agent", {}).get("agentDisplayName")
        return name if isinstance(name, str) and name else None
    return conversation.title or None


def _named(conversation: Conversation) -> str:
    custom = conversation.session.custom
    workspace: JsonObject = custom.get("workspace", {})
    vscode: JsonObject = custom.get("vscode", {})
    given = workspace.get("name") if workspace.get("user_named") else None
    titled = conversation.facts.get("title")
    for name in (given, vscode.get("customTitle"), titled, workspace.get("name"), workspace.get("summary")):
        if isinstance(name, str) and name.strip():
            return name.strip()
    return ""


def _platform(conversation: Conversation, started: JsonObject) -> JsonObject:
    session = conversation.session
    platform: JsonObject = {"name": PLATFORM}
    if isinstance((version := started.get("copilotVersion")), str) and version:
        platform["version"] = version
    models = conversation.models
    if model := max(models, key=lambda name: models[name]) if models else conversation.model:
        platform["model"] = model
    metadata: JsonObject = dict(conversation.facts)
    metadata.pop("title", None)
    if conversation is session.main:
        for name, value in started.items():
            if value is not None and not (name in _START_MAPPED and _is_told(name, value)):
                metadata.setdefault(name, value)
        for name, value in session.context.items():
            if name not in _CONTEXT_MAPPED or not isinstance(value, str):
                metadata[name] = value
    if metadata:
        platform["metadata"] = metadata
    return platform


def _is_told(name: str, value: Any) -> bool:
    """Whether a field of the start has a place elsewhere, and fits there."""
    if name == "startTime":
        return bool(readable_timestamp(value))
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
    told: JsonObject = session.context
    beside: JsonObject = session.custom.get("workspace", {})
    workspace: JsonObject = {}
    for name, value in (
        ("path", told.get("cwd") or beside.get("cwd")),
        ("git_branch", told.get("branch") or beside.get("branch")),
        ("git_commit", told.get("headCommit")),
    ):
        if isinstance(value, str) and value:
            workspace[name] = value
    context: JsonObject = {"workspace": workspace} if workspace else {}
    if editor := _EDITORS.get(session.main.facts.get("kept_as", "")):
        context["environment"] = {"editor": editor}
    if is_main:
        custom: JsonObject = dict(session.custom)
        if session.shutdowns:
            custom["shutdowns"] = session.shutdowns
        if custom:
            context["custom"] = custom
    return context or None
