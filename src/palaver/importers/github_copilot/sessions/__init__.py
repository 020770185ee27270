"""Chat sessions of VS Code: those saved by any version, exported ones, and the log that newer versions append to.

Where the files are
    `User/workspaceStorage/<hash>/chatSessions/<id>.json` or `.jsonl`, and without a workspace
    `User/globalStorage/emptyWindowChatSessions`; "Chat: Export Chat..." writes `chat.json` to a place of the user's
    choice. Like the editor, this reads the log first: a `.json` of the same name beside it is older. `workspace.json`,
    one folder up, names the folder that a session belongs to; it is read but not counted.

What comes out
    One conversation per session, with the session's id; an export, which has none, gets one derived from its first
    request. A long session comes in fragments. A request is a `user` message (`metadata.author_kind` is `harness` if no
    person typed it) with a block for each attachment. Its response is an `assistant` message with the parts in order:
    texts with their inline references (`citations` give the positions), `thinking`, edits as `code` with their files,
    tool calls as `tool_use`; all other kinds are preserved as `opaque` blocks. A call's arguments and result come from
    the rounds that the extension recorded, matched by id, else by name in order. Results are in a message of role
    `tool` after the answer. Calls and thoughts that were not shown are blocks with `hidden`.
    Undone requests, those that the log removed, and those that only the older file contains are `metadata.hidden` and
    not `on_active_path`; for the last two, `metadata.kept_from` names their origin. Retracted parts of an answer are in
    `metadata.discarded_parts`. A draft is not a message: it is in `context.custom.draft`.

What is left out, and counted under these rules
    `empty-session` (no request was ever made). Of results that are rendered prompts, the text is preserved but not the
    layout; of texts, not which icons and HTML they may show.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.sessions.kinds import KNOWN_KINDS, OWN_NAMES
from palaver.sources.run import Run
from palaver.sources.source import Source

__all__ = ["KNOWN_KINDS", "OWN_NAMES", "read", "recognize"]


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.sessions.recognition import recognize_file

    return recognize_file(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.sessions.reader import read_sessions

    yield from read_sessions(source, run)
