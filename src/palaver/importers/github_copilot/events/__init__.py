"""Event logs: Copilot CLI sessions, VS Code transcripts, JetBrains partitions.

Where the files are
    Under `$COPILOT_HOME`, else `~/.copilot`: `session-state/<session id>/events.jsonl` with its side files; in older
    versions `session-state/<session id>.jsonl`; before that `history-session-state/session_<id>_<time>.json`.
    JetBrains: `jb/<conversation id>/partition-<n>.jsonl`. VS Code: `transcripts/<session id>.jsonl` in the extension's
    storage. `session-store.db` is not read: its turns repeat the logs, and its token counts name no message.

What comes out
    One conversation per session, plus one per agent (`<session id>:agent-<id>`), linked to the call that started it. A
    VS Code transcript duplicates a saved chat: it becomes the conversation `<session id>:transcript`, and its usage
    counts only if that chat is gone. A log in which a session with another id starts yields several conversations.
    Messages are linked in log order: `parentId` names the preceding event, and is kept only where it does not. Prompts
    that no person typed (`source`, `isAutopilotContinuation`) have the author `harness`, those of other agents
    `model`. The prompt as the model saw it is in `transformedContent` or `renderedMessage`. The chunks of an answer and
    the reasoning before it form one message. What a call's start event adds is in `execution`; a call without a result
    stays without one. Other events become `system` messages, hidden if they are housekeeping. Totals at the end of a
    session, which count from its start and not from the previous end, are in `context.custom.shutdowns`; in a session
    without messages they become usage records.

What is left out, and counted under these rules
    `stream-progress` (progress reports), `no-conversation` (properties of a session without messages), `side-file`
    (checkpoints, snapshots, the agent's files and notes, its task database, locks). Streamed pieces of a message that
    also arrives whole are folded into it. Dropped: ids and times of events merged into another message, client
    secrets, response headers, query strings of server addresses.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.events.event_types import KNOWN_KINDS, OWN_NAMES
from palaver.sources.run import Run
from palaver.sources.source import Source

__all__ = ["KNOWN_KINDS", "OWN_NAMES", "read", "recognize"]


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.events.recognition import recognize as recognize_log

    return recognize_log(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.events.reader import read_unit

    yield from read_unit(source, run)
