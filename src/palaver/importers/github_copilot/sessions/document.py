"""A session as a document: its messages, and what belongs to the whole."""

from collections import Counter
from typing import Any

from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP
from palaver.importers.github_copilot.sessions.kept import rest_of, says_nothing
from palaver.importers.github_copilot.sessions.noticed import UNSENT_DRAFT
from palaver.importers.github_copilot.sessions.requests import Messages
from palaver.importers.github_copilot.sessions.session import Request, Session, fingerprint
from palaver.importers.github_copilot.sessions.uris import is_plain, path_of
from palaver.importers.github_copilot.sessions.workspace import workspace_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import readable_timestamp
from palaver.sources.run import Run
from palaver.sources.source import Source

PLATFORM = "github_copilot"
_STATUSES: dict[str, build.Status] = {
    "complete": "completed",
    "failed": "error",
    "pending": "active",
    "needs_input": "active",
}
"""Cancelled is none of them: the editor also calls so what was still open when it saved it."""


class Writer:
    """Writes the documents of one source."""

    def __init__(self, source: Source, run: Run) -> None:
        self._source = source
        self._run = run
        self._workspace = workspace_of(source)

    def document(self, session: Session) -> JsonObject | None:
        """The conversation of a session; None where there is nothing to tell."""
        facts, requests = session.state, session.requests
        draft, context = self._context(facts)
        if not requests:
            if draft:
                self._run.note(UNSENT_DRAFT, session.where, f"a draft of {len(draft)} characters", kept=False)
            if "pendingRequests" in context.get("custom", {}):
                self._run.note(UNSENT_DRAFT, session.where, "requests that were never made", kept=False)
            return None

        def note(kind: FindingKind, place: str, words: str) -> None:
            self._run.note(kind, f"{session.where}, {place}" if place else session.where, words)

        created_at = self._taken(facts, "creationDate", session.where)
        last_at = self._taken(facts, "lastMessageDate", session.where)
        if not created_at:
            stated = [time for request in requests if (time := _time(request))]
            created_at = min(stated, default="") or self._source.written_at()
            self._run.note(INFERRED_TIMESTAMP, session.where, "the session has no time of its own")
        conversation_id, own = _name(facts, requests)
        platform: JsonObject = {"name": PLATFORM}
        if version := _version(requests):
            platform["version"] = version
        messages = Messages(created_at, note)
        requests.reverse()
        while requests:
            messages.add(requests.pop())  # a long session would else be held twice
        title = _title(facts) or messages.title or None
        if model := _model(messages.all):
            platform["model"] = model
        if metadata := rest_of(facts, ()):
            platform["metadata"] = metadata
        return build.conversation(
            conversation_id=conversation_id,
            title=title,
            platform=platform,
            session={"session_id": conversation_id} if own else None,
            context=context,
            created_at=created_at,
            updated_at=max(last_at, messages.latest) or None,
            status=_STATUSES.get(messages.state or ""),
            messages=messages.all,
        )

    def _context(self, facts: JsonObject) -> tuple[str, JsonObject]:
        """The draft, if there is one, and where the session took place."""
        custom: JsonObject = {}
        workspace: JsonObject = {}
        if path := path_of(facts.get("workingDirectory")):
            workspace["path"] = path
            if isinstance(facts["workingDirectory"], str) or is_plain(facts["workingDirectory"]):
                del facts["workingDirectory"]
        elif self._workspace:
            workspace["path"] = self._workspace
        draft = ""
        state = facts.pop("inputState", None)
        if isinstance(state, dict):
            if isinstance((text := state.get("inputText")), str) and text:
                draft = custom["draft"] = text
            state = rest_of(state, {"inputText"} if isinstance(state.get("inputText"), str) else ())
        if not says_nothing(state):
            custom["inputState"] = state
        if not says_nothing(pending := facts.pop("pendingRequests", None)):
            custom["pendingRequests"] = pending
        repository = facts.pop("repoData", None)
        if isinstance(repository, dict):
            repository = {name: _without_login(item) for name, item in repository.items()}
            for ours, theirs in (("git_branch", "localBranch"), ("git_commit", "localHeadCommit")):
                if isinstance((stated := repository.get(theirs)), str) and stated:
                    workspace[ours] = stated
                    del repository[theirs]
        if not says_nothing(repository):
            custom["repoData"] = repository
        context: JsonObject = {"workspace": workspace} if workspace else {}
        context["environment"] = {"editor": "VS Code"}
        if custom:
            context["custom"] = custom
        return draft, context

    def _taken(self, facts: JsonObject, name: str, where: str) -> str:
        """A time out of the facts, where one that cannot be read remains."""
        time = readable_timestamp(facts.get(name))
        if time:
            del facts[name]
        elif facts.get(name) is not None:
            self._run.note(BAD_TIMESTAMP, where, f"{name} {facts[name]!r:.60}")
        return time


def _name(facts: JsonObject, requests: list[Request]) -> tuple[str, bool]:
    """The session's id, and whether it is its own: an export has none, and gets one of its first request."""
    if isinstance((name := facts.get("sessionId")), str) and name:
        del facts["sessionId"]
        return name, True
    match requests[0].value:
        case {"requestId": str(identifier)} if identifier:
            pass
        case first:
            identifier = fingerprint(first)
    return conversation_uuid(PLATFORM, _time(requests[0]), identifier), False


def _without_login(value: Any) -> Any:
    """An address without the name and password that it may be opened with."""
    if not isinstance(value, str) or "@" not in value:
        return value
    scheme, mark, rest = value.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}" if mark else value


def _time(request: Request) -> str:
    return readable_timestamp(request.value.get("timestamp")) if isinstance(request.value, dict) else ""


def _title(facts: JsonObject) -> str:
    for name in ("customTitle", "computedTitle"):
        if isinstance((title := facts.get(name)), str) and title:
            del facts[name]
            return title
    return ""


def _version(requests: list[Request]) -> str | None:
    """The version of the extension that answered last."""
    for request in reversed(requests):
        match request.value:
            case {"agent": {"extensionVersion": str(version)}} if version:
                return version
            case _:
                pass
    return None


def _model(messages: list[JsonObject]) -> str | None:
    """The model that answered most often."""
    models = [message["metadata"].get("model_override") for message in messages]
    counted = Counter(model for model in models if model)
    return counted.most_common(1)[0][0] if counted else None
