"""Reading a source of any form."""

from collections.abc import Iterator

from palaver.importers.continue_dev import index
from palaver.importers.continue_dev.conversation import Conversation
from palaver.importers.continue_dev.index import MISSING_SESSION_FILE
from palaver.importers.continue_dev.layout import INDEX, SESSIONS
from palaver.importers.continue_dev.recognize import form_of
from palaver.importers.continue_dev.root import read_root
from palaver.importers.continue_dev.session import read_session
from palaver.importers.continue_dev.share import read_share
from palaver.importers.continue_dev.surroundings import around, nothing_around
from palaver.importers.continue_dev.tool_uses import lone_uses
from palaver.model.build import JsonObject
from palaver.sources.run import Run
from palaver.sources.source import Source


def read_form(source: Source, run: Run) -> Iterator[JsonObject]:
    match run.form or form_of(source):
        case "root":
            yield from read_root(source, run)
        case "share":
            yield from read_share(source, run)
        case "dev_data":
            yield from _events(source, run)
        case "index":
            _index(source, run)
        case _:
            yield from read_session(source, run, around(source))


def _events(source: Source, run: Run) -> Iterator[JsonObject]:
    """One log of events by itself; what is in a session's file stays there."""
    found = nothing_around()
    yield from found.dev_data.read([source], run)
    existing = _session_files(source)
    for session_id, logged in found.dev_data.interactions.items():
        if session_id in existing:
            run.skipped("session-file-exists", len(logged))
            continue
        yield from Conversation(session_id, source, run, found).finish({})
        run.mapped(len(logged))
    tool_uses = found.dev_data.tool_uses
    run.mapped(sum(map(len, tool_uses.values())))
    yield from lone_uses(tool_uses.items())


def _session_files(source: Source) -> set[str]:
    """The sessions of the folder that a log lies in, which may have a folder for its version."""
    folder = source.above()
    for _ in range(2):
        folder = folder.above() if folder is not None else None
        if folder is not None and SESSIONS in folder.listing()[1]:
            names = folder.within(SESSIONS).listing()[0]
            return {name.removesuffix(".json") for name in names if name != INDEX}
    return set()


def _index(source: Source, run: Run) -> None:
    """The index by itself holds no conversation."""
    beside = source.above()
    names = set(beside.listing()[0]) if beside is not None else set[str]()
    for row in index.read_rows(source, run):
        if f"{row.session_id}.json" in names:
            run.skipped("session-file-exists")
        elif row.is_old:
            run.skipped("old-index-row")
        else:
            run.note(MISSING_SESSION_FILE, row.session_id, f"no file of the session {row.title[:80]!r}", kept=False)
            run.skipped("missing-session-file")
