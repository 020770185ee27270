"""Where a session was held: a folder, and the editor with its version, as Continue spells them."""

import re
from typing import Any, NamedTuple

from palaver.importers._shared.vscode import path_in
from palaver.model.build import JsonObject

_AGENT = re.compile(r"(?P<editor>.+?)/(?P<editor_version>\S+)\s+\(Continue/(?P<version>[^)\s]+)\)")
_LONGEST_AGENT = 400


class Agent(NamedTuple):
    """Who wrote an event: `Visual Studio Code/1.109.5 (Continue/1.2.16)`."""

    editor: str
    version: str


def agent_of(stated: str) -> Agent:
    found = _AGENT.fullmatch(stated.strip()) if len(stated) <= _LONGEST_AGENT else None
    return Agent(found["editor"], found["version"]) if found else Agent("", "")


def context(
    workspace_dir: str = "",
    git_branch: str = "",
    providers: list[JsonObject] | None = None,
    codebase_context: Any = None,
    *,
    editor: str = "",
    custom: JsonObject | None = None,
) -> JsonObject | None:
    """The `context` of a document; None where nothing is known."""
    found: JsonObject = {}
    workspace: JsonObject = {}
    if workspace_dir:
        workspace["path"] = path_in(workspace_dir)
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
