"""Where a session was held: a folder, and the editor with its version, as Continue spells them."""

import re
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

Json = dict[str, Any]

_DRIVE = re.compile(r"/[A-Za-z]:(?:/|$)")
_AGENT = re.compile(r"(?P<editor>.+?)/(?P<editor_version>\S+)\s+\(Continue/(?P<version>[^)\s]+)\)")


def workspace_path(directory: str) -> str:
    """A folder as a path: newer versions write a percent-encoded address, older ones the path itself."""
    if not directory.lower().startswith("file:"):
        return directory
    try:
        parts = urlsplit(directory)
    except ValueError:
        return directory
    path = unquote(parts.path)
    if _DRIVE.match(path):
        return path[1:]
    return f"//{parts.netloc}{path}" if parts.netloc and parts.netloc != "localhost" else path


class Agent(NamedTuple):
    """Who wrote an event: `Visual Studio Code/1.109.5 (Continue/1.2.16)`."""

    editor: str
    version: str


def agent_of(stated: str) -> Agent:
    found = _AGENT.fullmatch(stated.strip())
    return Agent(found["editor"], found["version"]) if found else Agent("", "")


def context(
    workspace_dir: str = "",
    git_branch: str = "",
    providers: list[Json] | None = None,
    codebase_context: Any = None,
    *,
    editor: str = "",
    custom: Json | None = None,
) -> Json | None:
    """The `context` of a document; None where nothing is known."""
    found: Json = {}
    workspace: Json = {}
    if workspace_dir:
        workspace["path"] = workspace_path(workspace_dir)
    if git_branch:
        workspace["git_branch"] = git_branch
    if workspace:
        found["workspace"] = workspace
    if editor:
        found["environment"] = {"editor": editor}
    own = dict(custom or {})
    if providers:
        own["context_providers"] = [{"name": one.get("name"), "query": one.get("query")} for one in providers]
    if codebase_context:
        own["codebase_context"] = codebase_context
    if own:
        found["custom"] = own
    return found or None
