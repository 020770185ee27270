"""What is kept about an extension outside of its own folder: what an editor remembers, and what its settings say.

An editor's memory and its settings hold much that is nobody's business here, keys among it: from the memory only
`taskHistory`, `customInstructions` and `customModes` are looked at, from the settings only the folder that an
extension was told to store in.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from palaver.importers._shared.vscode import remembered, user_folders
from palaver.model.build import JsonObject

_LARGEST_BYTES = 1 << 24
_COMMENTS = re.compile(r'("(?:[^"\\]|\\.)*+"?)|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMAS = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*+[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class State:
    """What an extension had remembered for itself, as far as it concerns tasks."""

    items: tuple[JsonObject, ...] = ()
    """What it knows of its tasks."""
    instructions: str | None = None
    modes: tuple[JsonObject, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.items or self.instructions or self.modes)


def state_in(value: Any) -> State:
    """What a whole memory says of tasks; the rest of it is not kept."""
    if not isinstance(value, dict):
        return State()
    instructions = value.get("customInstructions")
    return State(
        objects_in(value.get("taskHistory")),
        instructions if isinstance(instructions, str) and instructions.strip() else None,
        objects_in(value.get("customModes")),
    )


def objects_in(value: Any) -> tuple[JsonObject, ...]:
    """The objects of a list; none where it is no list."""
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, list) else ()


def remembered_state(memory: Path, extension: str) -> State:
    """What an editor remembers for an extension in its `state.vscdb`."""
    return state_in(remembered(memory, extension))


def custom_storages(names: Iterable[str]) -> dict[Path, Path]:
    """The folders that extensions were told to store in, each with the `User` folder of the editor that says so."""
    found: dict[Path, Path] = {}
    wanted = tuple(names)
    if wanted:
        for user in user_folders():
            for settings in _settings_of(user):
                for name in wanted:
                    folder = settings.get(name)
                    if isinstance(folder, str) and "\0" not in folder and Path(folder).is_absolute():
                        found.setdefault(Path(folder), user)
    return found


def _settings_of(user: Path) -> Iterator[JsonObject]:
    """The settings of an editor: the user's, those of its profiles, and on a server those of the machine."""
    if not user.is_dir():
        return
    profiles = sorted(user.glob("profiles/*/settings.json"))
    for path in (user / "settings.json", *profiles, user.parent / "Machine" / "settings.json"):
        settings = relaxed_json(_text_of(path))
        if isinstance(settings, dict):
            yield settings


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            from palaver.sources.whole import read_at_most

            return read_at_most(stream, _LARGEST_BYTES).decode("utf-8-sig", errors="replace")
    except OSError:
        return ""


def relaxed_json(text: str) -> Any:
    """The value of JSON with comments and commas before closing brackets; None where it cannot be read."""
    plain = _LAST_COMMAS.sub(r"\1", _COMMENTS.sub(r"\1", text))
    try:
        return orjson.loads(plain)
    except orjson.JSONDecodeError:
        return None
