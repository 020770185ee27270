"""Sessions of the Cline SDK: which files are one, and the conversation that it is."""

from collections.abc import Iterator
from pathlib import PurePath

from palaver.importers._shared.contract import Match
from palaver.importers.cline.sdk_files import (
    COMPACTION,
    MESSAGES,
    SessionFiles,
    is_manifest,
    is_messages,
    is_session_id,
    names_beside,
    owner_of,
    stem_of,
)
from palaver.importers.cline.sdk_reading import SessionReader
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.sources.source import Source

FORM = "session"
_LOG = "hooks.jsonl"


def recognize_session(source: Source) -> Match:
    if source.is_folder:
        return Match.no()
    if source.suffix != ".json":
        is_log = source.file_name.endswith(_LOG) and any(name.endswith(MESSAGES) for name in names_beside(source))
        return Match.no("Cline's log of what its hooks saw") if is_log else Match.no()
    if is_messages(source):
        if not source.file_name.endswith(COMPACTION):
            return _yes("messages of a session of the Cline SDK", source)
        owner = owner_of(source)
        if owner is not None and is_messages(owner):
            return Match.no(f"what a model was sent of {owner.file_name}")
        return _yes("a compacted view of a session of the Cline SDK", source)
    if is_manifest(source):
        messages = SessionFiles.of(source).messages
        if messages is not None and is_messages(messages):
            return Match.no(f"the manifest of {messages.file_name}")
        return _yes("the manifest of a session of the Cline SDK", source)
    return _maybe(source)


def _maybe(source: Source) -> Match:
    """Judge a file that is too damaged to be known by what it holds, in a folder that is named like a session."""
    folder = PurePath(source.label.replace("!", "/")).parent.name
    name = source.file_name
    if not is_session_id(folder) or not (name.endswith((MESSAGES, COMPACTION)) or stem_of(name) == folder):
        return Match.no()
    files = SessionFiles.of(source)
    owner = owner_of(source) if name.endswith(COMPACTION) else source.beside(stem_of(name) + MESSAGES)
    if owner is not None and owner.file_name != name and is_messages(owner):
        return Match.no(f"a damaged file beside {owner.file_name}")
    members = tuple(file.name.rpartition("/")[2] for file in files.beside(source))
    return Match.maybe("a damaged file in the folder of a session of the Cline SDK", members, FORM)


def _yes(reason: str, source: Source) -> Match:
    beside = SessionFiles.of(source).beside(source)
    members = tuple(file.name.rpartition("/")[2] for file in beside)
    return Match.yes(reason, members, FORM, source.size_bytes + sum(file.size_bytes for file in beside))


def read_session(source: Source, run: Run) -> Iterator[JsonObject]:
    yield from SessionReader(source, run).documents()
