"""Chat sessions of VS Code: saved ones of every version, exported ones, and the log that newer versions append to.

Where the files are
    `User/workspaceStorage/<hash>/chatSessions/<id>.json` or `.jsonl`, and without a workspace
    `User/globalStorage/emptyWindowChatSessions`; "Chat: Export Chat..." writes `chat.json` where the user likes. The
    editor reads the log first, and so does this: a `.json` of the same name beside it is older. `workspace.json`, one
    folder up, names the folder that a session is about; it is read and not counted.

What comes out
    One conversation a session, with the session's id; an export, which has none, gets one made of its first request. A
    long one comes in fragments. A request is a `user` message (`metadata.author_kind` is `harness` where nobody typed
    it) with a block for each thing attached to it. Its response is an `assistant` message with the parts in their
    order: texts with the references that stand in them (`citations` tell where), `thinking`, edits as `code` with their
    files, calls of tools as `tool_use`; all other kinds are kept whole as `opaque` blocks. A call's arguments and
    result are found in the rounds that the extension noted: by id, else by name in order. Results stand in a message of
    role `tool` behind the answer. Calls and thoughts that were not shown are blocks with `hidden`.
    Undone requests, those that the log removed, and those that only the older file holds are `metadata.hidden` and not
    `on_active_path`; the last two say where they come from in `metadata.kept_from`. What an answer took back stands in
    `metadata.discarded_parts`. A draft is no message: it stands in `context.custom.draft`.

What is left out, and counted under these rules
    `empty-session` (no request was ever made). Of results that are rendered prompts, the words are kept and not
    the layout; of texts, not which icons and HTML they may show.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.sessions.kinds import KNOWN_KINDS, OWN_NAMES
from palaver.sources.run import Run
from palaver.sources.source import Source

__all__ = ["KNOWN_KINDS", "OWN_NAMES", "read", "recognize"]


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.sessions.files import recognize_file

    return recognize_file(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.sessions.reading import read_sessions

    yield from read_sessions(source, run)
