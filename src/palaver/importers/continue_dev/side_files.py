"""Files around a session in Continue's folder: the index, the config, the input history, logged events.

From `config.yaml` or `config.json` come the models, by the titles under which sessions name them; keys are never read.
From `input_history.json` come the prompts typed at the command line with their times, which sessions lack.
"""

import re
from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from palaver.errors import PalaverError
from palaver.importers._shared.side_files import read_side_file
from palaver.importers.continue_dev import layout
from palaver.importers.continue_dev.dev_data import DevData
from palaver.importers.continue_dev.fields import text_of
from palaver.importers.continue_dev.layout import CONFIGS, DEV_DATA, INDEX, INPUT_HISTORY, SESSIONS, IndexRow
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.ids import conversation_uuid
from palaver.model.timestamps import timestamp_or_empty
from palaver.sources.arrays.elements import open_elements
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.run import Run
from palaver.sources.small_files import UNREADABLE_SIDE_FILE, read_at_most
from palaver.sources.source import Source

Models = dict[str, JsonObject]
_LARGEST_BYTES = 1 << 24
_STRING = r'("(?:[^"\\\n]|\\.)*+"?)'
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_CACHE_SIZE = 2
_Stamp = tuple[tuple[str, int, float | None], ...]


def read_models(source: Source) -> Models | None:
    """Return the models of a config by title, or None if it cannot be read."""
    value = read_side_file(source)
    if value is None and source.suffix == ".json":
        value = _parse_json_with_comments(source)
    if not isinstance(value, dict):
        return None
    found: Models = {}
    entries = value.get("models")
    for entry in [*(entries if isinstance(entries, list) else ()), value.get("tabAutocompleteModel")]:
        match entry:
            case {"override": dict(override), **block}:
                model = _model_fields({**block, **override})
            case dict():
                model = _model_fields(entry)
            case _:
                continue
        if title := model.pop("title", ""):
            found.setdefault(title, model)
    return found


def _model_fields(entry: JsonObject) -> JsonObject:
    """Return the few fields that identify a model; any other may be a secret."""
    found: JsonObject = {"title": text_of(entry, "name") or text_of(entry, "title")}
    for name in ("provider", "model"):
        if text := text_of(entry, name):
            found[name] = text
    if isinstance((roles := entry.get("roles")), list) and all(isinstance(role, str) for role in roles):
        found["roles"] = roles
    templates = entry.get("promptTemplates")
    if template := text_of(entry, "template") or text_of(templates if isinstance(templates, dict) else {}, "chat"):
        found["template"] = template
    return found


def _parse_json_with_comments(source: Source) -> Any:
    """Parse JSON with comments and trailing commas, which editors allow."""
    try:
        with source.open() as stream:
            text = read_at_most(stream, _LARGEST_BYTES).decode(errors="replace")
    except (PalaverError, OSError):
        return None
    bare = _LAST_COMMA.sub(_keep_string, _COMMENT.sub(_keep_string, text.removeprefix("\ufeff")))
    try:
        return orjson.loads(bare)
    except orjson.JSONDecodeError:
        return None


def _keep_string(found: re.Match[str]) -> str:
    return found[1] or ""


class InputHistory:
    """Prompts typed at the command line, newest first as in the file."""

    def __init__(self) -> None:
        self.prompts: list[tuple[str, str, JsonObject]] = []
        self._by_text: dict[str, list[int]] = {}

    def read(self, source: Source, run: Run) -> None:
        try:
            with open_elements(source, run, label=source.file_name) as elements:
                for value in elements:
                    match value:
                        case {"text": str(text), **rest}:
                            self._by_text.setdefault(text.strip(), []).append(len(self.prompts))
                            self.prompts.append((text, timestamp_or_empty(rest.get("timestamp")), rest))
                        case _:
                            run.quarantined(NOT_AN_OBJECT, elements.raw, elements.where(), "no text was typed")
        except (PalaverError, OSError) as error:
            run.note(UNREADABLE_SIDE_FILE, source.name, str(error), kept=False)

    def has_prompt(self, text: str) -> bool:
        return text.strip() in self._by_text

    def time_of(self, text: str) -> str:
        """Return when a text was typed; empty unless it was typed exactly once."""
        indexes = self._by_text.get(text.strip(), ())
        return self.prompts[indexes[0]][1] if len(indexes) == 1 else ""

    def documents_without_session(self, held: set[str], platform: str, source: Source) -> tuple[list[JsonObject], int]:
        """Return the prompts that no session holds, as one conversation per day, and how many there are."""
        days: dict[str, list[tuple[str, str, JsonObject]]] = {}
        for prompt in reversed(self.prompts):
            if prompt[0].strip() not in held:
                days.setdefault(prompt[1][: len("2026-01-01")], []).append(prompt)
        documents = [_day_conversation(day, prompts, platform, source) for day, prompts in sorted(days.items())]
        return documents, sum(map(len, days.values()))


def _day_conversation(
    day: str, prompts: list[tuple[str, str, JsonObject]], platform: str, source: Source
) -> JsonObject:
    """Build the conversation of one day.

    The oldest prompts leave the file one by one, so message ids cannot depend on positions in it.
    """
    conversation_id = conversation_uuid(platform, day, source.file_name)
    messages: list[JsonObject] = []
    ids = Counter[str]()
    for text, typed_at, rest in prompts:
        metadata: JsonObject = {"author_kind": "human", "context_incomplete": True}
        if unmapped := {field: value for field, value in rest.items() if field != "timestamp" or not typed_at}:
            metadata["source_fields"] = unmapped
        if not typed_at:
            metadata["timestamp_inferred"] = True
        message_id = conversation_uuid(conversation_id, typed_at, text)
        ids[message_id] += 1
        messages.append(
            build.message(
                message_id=f"{message_id}:{ids[message_id]}" if ids[message_id] > 1 else message_id,
                parent_message_id=messages[-1]["message_id"] if messages else None,
                role="user",
                timestamp=typed_at or source.written_at(),
                content=[build.text(text)],
                metadata=metadata,
            )
        )
    return build.conversation(
        conversation_id=conversation_id,
        title="Typed at the command line",
        platform={"name": platform, "metadata": {"recovered_from": source.file_name}},
        created_at=min(message["timestamp"] for message in messages),
        status="archived",
        messages=messages,
    )


class SideFiles(NamedTuple):
    rows: dict[str, IndexRow]
    models: Models
    input_history: InputHistory
    dev_data: DevData


def empty_side_files() -> SideFiles:
    return SideFiles({}, {}, InputHistory(), DevData())


def active_config(root: Source) -> Source | None:
    """Return the config that Continue uses, or None: `config.yaml` takes precedence over `config.json`."""
    files = root.listing()[0]
    return next((Source(root.folder, name) for name in CONFIGS if name in files), None)


def dev_data_files(root: Source) -> list[Source]:
    """Return the event logs, ordered by name."""
    if DEV_DATA not in root.listing()[1]:
        return []
    return [file for file in root.files_below(DEV_DATA) if file.suffix == ".jsonl"]


def read_side_files(session: Source) -> SideFiles:
    """Read the files around a session file without counting them; empty if the session is not in Continue's folder.

    The last results are cached, since the files of one folder are read once per session.
    """
    root = continue_folder(session)
    if root is None:
        return empty_side_files()
    sessions = root.subfolder(SESSIONS)
    index = Source(sessions.folder, INDEX)
    files = [index, *filter(None, [active_config(root)]), Source(root.folder, INPUT_HISTORY)]
    files += dev_data_files(root)
    stamp = tuple((file.label, file.size_bytes, file.modified_at()) for file in files)
    if stamp in _cache:
        _cache.move_to_end(stamp)
        return _cache[stamp]
    _cache[stamp] = found = _read_folder(root, index)
    if len(_cache) > _CACHE_SIZE:
        _cache.popitem(last=False)
    return found


_cache: OrderedDict[_Stamp, SideFiles] = OrderedDict()


def continue_folder(file: Source, folder: str = SESSIONS) -> Source | None:
    """Return Continue's folder if the file is in its `sessions`, else None."""
    inside = file.parent_folder()
    root = inside.parent_folder() if inside is not None else None
    if root is None:
        return None
    twin = Source(root.subfolder(folder).folder, file.name.rpartition("/")[2])
    is_same = twin.exists() and (twin.size_bytes, twin.modified_at()) == (file.size_bytes, file.modified_at())
    return root if is_same else None


def _read_folder(root: Source, index: Source) -> SideFiles:
    run = Run(root.label)
    found = empty_side_files()
    if index.exists():
        found.rows.update((row.session_id, row) for row in layout.read_index(index, run))
    if (config := active_config(root)) is not None:
        found.models.update(read_models(config) or {})
    if INPUT_HISTORY in root.listing()[0]:
        found.input_history.read(Source(root.folder, INPUT_HISTORY), run)
    _exhaust(found.dev_data.read(dev_data_files(root), run, joins_only=True))
    return found


def _exhaust(documents: Iterator[JsonObject]) -> None:
    for _ in documents:
        pass
