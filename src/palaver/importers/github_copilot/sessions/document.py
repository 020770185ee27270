"""A session as a document: its messages, platform, context, and the workspace it belongs to."""

from collections import Counter
from typing import Any

from palaver.errors import PalaverError
from palaver.importers._shared.findings import BAD_TIMESTAMP, INFERRED_TIMESTAMP
from palaver.importers._shared.side_files import read_side_file
from palaver.importers._shared.vscode import path_from_uri
from palaver.importers.github_copilot.sessions.kinds import UNSENT_DRAFT
from palaver.importers.github_copilot.sessions.messages import Messages
from palaver.importers.github_copilot.sessions.session import Request, Session, fingerprint
from palaver.importers.github_copilot.sessions.unmapped_fields import is_blank, unmapped_fields
from palaver.importers.github_copilot.sessions.vscode_values import is_plain_uri, path_of
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.run import Run
from palaver.sources.source import Source

_SESSIONS_FOLDER = "chatSessions"
_WORKSPACE_FILE = "workspace.json"
PLATFORM = "github_copilot"
_STATUSES: dict[str, build.Status] = {
    "complete": "completed",
    "failed": "error",
    "pending": "active",
    "needs_input": "active",
}
"""`cancelled` has no status: the editor also uses it for requests that were still open when it saved them."""


class DocumentBuilder:
    """Builds the documents of one source."""

    def __init__(self, source: Source, run: Run) -> None:
        self._source = source
        self._run = run
        self._workspace = workspace_of(source)

    def document(self, session: Session) -> JsonObject | None:
        """Return the conversation of a session, or None if it has no requests."""
        state, requests = session.state, session.requests
        draft, context = self._context(state)
        if not requests:
            if draft:
                self._run.note(UNSENT_DRAFT, session.where, f"a draft of {len(draft)} characters", kept=False)
            if "pendingRequests" in context.get("custom", {}):
                self._run.note(UNSENT_DRAFT, session.where, "requests that were never made", kept=False)
            return None

        def note(kind: FindingKind, location: str, message: str) -> None:
            self._run.note(kind, f"{session.where}, {location}" if location else session.where, message)

        created_at = self._pop_time(state, "creationDate", session.where)
        last_at = self._pop_time(state, "lastMessageDate", session.where)
        if not created_at:
            times = [time for request in requests if (time := _request_time(request))]
            created_at = min(times, default="") or self._source.written_at()
            self._run.note(INFERRED_TIMESTAMP, session.where, "the session has no time of its own")
        conversation_id, has_own_id = _conversation_id(state, requests)
        platform: JsonObject = {"name": PLATFORM}
        if version := _extension_version(requests):
            platform["version"] = version
        messages = Messages(created_at, note)
        requests.reverse()
        while requests:
            messages.add(requests.pop())  # releases each one: a long session would otherwise be in memory twice
        title = _pop_title(state) or messages.title or None
        if model := _main_model(messages.messages):
            platform["model"] = model
        if metadata := unmapped_fields(state, ()):
            platform["metadata"] = metadata
        return build.conversation(
            conversation_id=conversation_id,
            title=title,
            platform=platform,
            session={"session_id": conversation_id} if has_own_id else None,
            context=context,
            created_at=created_at,
            updated_at=max(last_at, messages.latest) or None,
            status=_STATUSES.get(messages.state or ""),
            messages=messages.messages,
        )

    def _context(self, state: JsonObject) -> tuple[str, JsonObject]:
        """Return the unsent draft, or an empty string, and the context of the session."""
        custom: JsonObject = {}
        workspace: JsonObject = {}
        if path := path_of(state.get("workingDirectory")):
            workspace["path"] = path
            if isinstance(state["workingDirectory"], str) or is_plain_uri(state["workingDirectory"]):
                del state["workingDirectory"]
        elif self._workspace:
            workspace["path"] = self._workspace
        draft = ""
        input_state = state.pop("inputState", None)
        if isinstance(input_state, dict):
            if isinstance((text := input_state.get("inputText")), str) and text:
                draft = custom["draft"] = text
            input_state = unmapped_fields(
                input_state, {"inputText"} if isinstance(input_state.get("inputText"), str) else ()
            )
        if not is_blank(input_state):
            custom["inputState"] = input_state
        if not is_blank(pending := state.pop("pendingRequests", None)):
            custom["pendingRequests"] = pending
        repository = state.pop("repoData", None)
        if isinstance(repository, dict):
            repository = {name: _without_credentials(item) for name, item in repository.items()}
            for our_name, source_name in (("git_branch", "localBranch"), ("git_commit", "localHeadCommit")):
                if isinstance((value := repository.get(source_name)), str) and value:
                    workspace[our_name] = value
                    del repository[source_name]
        if not is_blank(repository):
            custom["repoData"] = repository
        context: JsonObject = {"workspace": workspace} if workspace else {}
        context["environment"] = {"editor": "VS Code"}
        if custom:
            context["custom"] = custom
        return draft, context

    def _pop_time(self, state: JsonObject, name: str, where: str) -> str:
        """Remove a time from the state and return it; one that cannot be read stays there."""
        time = timestamp_or_empty(state.get(name))
        if time:
            del state[name]
        elif state.get(name) is not None:
            self._run.note(BAD_TIMESTAMP, where, f"{name} {state[name]!r:.60}")
        return time


def _conversation_id(state: JsonObject, requests: list[Request]) -> tuple[str, bool]:
    """Return the session's id and True; for an export, which has none, one derived from its first request and False."""
    if isinstance((name := state.get("sessionId")), str) and name:
        del state["sessionId"]
        return name, True
    match requests[0].value:
        case {"requestId": str(identifier)} if identifier:
            pass
        case first:
            identifier = fingerprint(first)
    return conversation_uuid(PLATFORM, _request_time(requests[0]), identifier), False


def _without_credentials(value: Any) -> Any:
    """Remove a user name and password from a URL."""
    if not isinstance(value, str) or "@" not in value:
        return value
    scheme, separator, rest = value.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}" if separator else value


def _request_time(request: Request) -> str:
    return timestamp_or_empty(request.value.get("timestamp")) if isinstance(request.value, dict) else ""


def _pop_title(state: JsonObject) -> str:
    for name in ("customTitle", "computedTitle"):
        if isinstance((title := state.get(name)), str) and title:
            del state[name]
            return title
    return ""


def _extension_version(requests: list[Request]) -> str | None:
    """Return the version of the extension that answered last."""
    for request in reversed(requests):
        match request.value:
            case {"agent": {"extensionVersion": str(version)}} if version:
                return version
            case _:
                pass
    return None


def _main_model(messages: list[JsonObject]) -> str | None:
    """Return the model that answered most often."""
    models = [message["metadata"].get("model_override") for message in messages]
    counted = Counter(model for model in models if model)
    return counted.most_common(1)[0][0] if counted else None


def workspace_of(source: Source) -> str:
    """Return the path or URI of the workspace that a session file belongs to; empty if unknown.

    The editor names it in `workspace.json`, beside the `chatSessions` folder.
    """
    try:
        folder = source.parent_folder()
        if folder is None or folder.label.replace("\\", "/").rpartition("/")[2].rpartition("!")[2] != _SESSIONS_FOLDER:
            return ""
        storage = folder.parent_folder()
        return read_side_file(storage.sibling(_WORKSPACE_FILE), _path_in_workspace_file) if storage else ""
    except (PalaverError, OSError):
        return ""


def _path_in_workspace_file(value: Any) -> str:
    match value:
        case {"folder": str(address)} | {"workspace": str(address)}:
            return path_from_uri(address)
        case _:
            return ""
