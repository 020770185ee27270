"""The files of one session: its own, and those in the sibling folder of the same name."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from palaver.sources.run import Run
from palaver.sources.small_files import json_document
from palaver.sources.source import Source

_OUTPUTS = "tool-results"


@dataclass(slots=True)
class AgentFile:
    agent_id: str
    source: Source
    meta: dict[str, Any] = field(default_factory=dict[str, Any])
    """Content of the `.meta.json` beside it."""


@dataclass(slots=True)
class SideFiles:
    """The files below `<session>/`, by kind."""

    agents: list[AgentFile] = field(default_factory=list[AgentFile])
    outputs: dict[str, Source] = field(default_factory=dict[str, Source])
    journals: list[Source] = field(default_factory=list[Source])
    workflow_states: list[Source] = field(default_factory=list[Source])
    others: list[Source] = field(default_factory=list[Source])


def sort_side_files(sides: list[Source], run: Run) -> SideFiles:
    """Sort the files below `<session>/` by kind, and read the meta files at once."""
    found = SideFiles()
    metas: dict[str, Any] = {}
    for side in sides:
        path = PurePosixPath(side.name)
        if path.name.startswith("agent-") and path.name.endswith(".meta.json"):
            for value in json_document(side, run):
                metas[str(path.parent / path.name.removesuffix(".meta.json"))] = value
                run.folded("conversation")
        elif agent_id_of(side):
            found.agents.append(AgentFile(str(agent_id_of(side)), side))
        elif path.name == "journal.jsonl":
            found.journals.append(side)
        elif path.parent.name == _OUTPUTS:
            found.outputs[path.name] = side
        elif path.parent.name == "workflows" and path.suffix == ".json":
            found.workflow_states.append(side)
        else:
            found.others.append(side)
    for agent in found.agents:
        path = PurePosixPath(agent.source.name)
        value = metas.get(str(path.parent / agent.source.stem))
        agent.meta = value if isinstance(value, dict) else {}
    # Callers first: an agent that another agent called refers to it.
    found.agents.sort(key=lambda agent: depth if type(depth := agent.meta.get("spawnDepth")) is int else 0)
    return found


def output_files(sides: list[Source]) -> dict[str, Source]:
    """Return the tool outputs too long for the session file, by name, including those that an earlier run counted."""
    paths = {side.name: PurePosixPath(side.name) for side in sides}
    return {paths[side.name].name: side for side in sides if paths[side.name].parent.name == _OUTPUTS}


def read_agent_meta(agent: AgentFile, run: Run) -> None:
    """Read the `.meta.json` beside an agent file that is imported on its own."""
    beside = agent.source.sibling(f"{agent.source.stem}.meta.json")
    if beside.exists():
        for value in json_document(beside, run):
            run.folded("conversation")
            agent.meta = value if isinstance(value, dict) else {}


is_session_id = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch
"""Match a file's stem that is a session id."""


def agent_id_of(source: Source) -> str | None:
    """Return the id in an agent file's name, or None for any other file."""
    if source.suffix == ".jsonl" and source.stem.startswith("agent-"):
        return source.stem.removeprefix("agent-") or None
    return None
