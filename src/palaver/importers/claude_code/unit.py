"""The files of one session: its own, and those in the folder of the same name beside it."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from palaver.importers._shared.side_files import side_value
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import json_document

_OUTPUTS = "tool-results"


@dataclass(slots=True)
class AgentFile:
    agent_id: str
    source: Source
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the `.meta.json` beside it says."""


@dataclass(slots=True)
class SideFiles:
    agents: list[AgentFile] = field(default_factory=list[AgentFile])
    outputs: dict[str, Source] = field(default_factory=dict[str, Source])
    journals: list[Source] = field(default_factory=list[Source])
    states: list[Source] = field(default_factory=list[Source])
    others: list[Source] = field(default_factory=list[Source])


def side_files(sides: list[Source], run: Run) -> SideFiles:
    """Sort the files below `<session>/` by what they are; the meta files are read at once."""
    found = SideFiles()
    about: dict[str, Any] = {}
    for side in sides:
        path = PurePosixPath(side.name)
        if path.name.startswith("agent-") and path.name.endswith(".meta.json"):
            for value in json_document(side, run):
                about[str(path.parent / path.name.removesuffix(".meta.json"))] = value
                run.folded("conversation")
        elif agent_id_of(side):
            found.agents.append(AgentFile(str(agent_id_of(side)), side))
        elif path.name == "journal.jsonl":
            found.journals.append(side)
        elif path.parent.name == _OUTPUTS:
            found.outputs[path.name] = side
        elif path.parent.name == "workflows" and path.suffix == ".json":
            found.states.append(side)
        else:
            found.others.append(side)
    for agent in found.agents:
        path = PurePosixPath(agent.source.name)
        value = about.get(str(path.parent / agent.source.stem))
        agent.about = value if isinstance(value, dict) else {}
    # An agent that another agent called refers to it: callers first.
    found.agents.sort(key=lambda agent: depth if type(depth := agent.about.get("spawnDepth")) is int else 0)
    return found


def outputs_among(sides: list[Source]) -> dict[str, Source]:
    """The outputs of tools that were too long for the session, by name; also those that an earlier run counted."""
    paths = {side.name: PurePosixPath(side.name) for side in sides}
    return {paths[side.name].name: side for side in sides if paths[side.name].parent.name == _OUTPUTS}


def read_about(agent: AgentFile, run: Run) -> None:
    """Read the `.meta.json` beside an agent file that is imported on its own."""
    beside = agent.source.beside(f"{agent.source.stem}.meta.json")
    if beside.exists():
        for value in json_document(beside, run):
            run.folded("conversation")
            agent.about = value if isinstance(value, dict) else {}


is_session_id = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch
"""Whether a file's stem is the id of a session."""


def agent_id_of(source: Source) -> str | None:
    """The id in an agent file's name, or None for any other file."""
    if source.suffix == ".jsonl" and source.stem.startswith("agent-"):
        return source.stem.removeprefix("agent-") or None
    return None


def index_entry(index: Source, session_id: str | None) -> dict[str, Any]:
    """What `sessions-index.json`, a cache that may be stale or missing, says of a session."""
    return side_value(index, _by_session).get(session_id, {}) if session_id else {}


def _by_session(index: Any) -> dict[str, dict[str, Any]]:
    match index:
        case {"entries": list(entries), **rest}:
            return {
                entry["sessionId"]: {"projectPath": rest.get("originalPath"), **entry}
                for entry in reversed(entries)
                if isinstance(entry, dict) and isinstance(entry.get("sessionId"), str)
            }
        case _:
            return {}
