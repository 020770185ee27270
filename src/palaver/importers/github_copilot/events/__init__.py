"""Logs of events: sessions of the command line, transcripts of VS Code, partitions of JetBrains.

Where the files are
    `$COPILOT_HOME`, else `~/.copilot`: `session-state/<session id>/events.jsonl` with what lies beside it, before that
    `session-state/<session id>.jsonl`, before that `history-session-state/session_<id>_<time>.json`; of JetBrains
    `jb/<conversation id>/partition-<n>.jsonl`; of VS Code `transcripts/<session id>.jsonl` in the extension's storage.
    `session-store.db` is not read: its turns are those of the logs, and its tokens by call name no message.

What comes out
    One conversation a session, one for each agent (`<session id>:agent-<id>`), linked to the call that started it. A
    transcript of VS Code is another account of a saved chat: it is a conversation `<session id>:transcript`, and what
    was used counts only where that chat is gone. A log in which a session with another id starts holds several. The
    links of messages follow the order of the log: `parentId` names the event before, and is kept only where it does
    not. Prompts that nobody typed (`source`, `isAutopilotContinuation`) have the author `harness`, those of other
    agents `model`. What the model saw of a prompt stands in `transformedContent` or `renderedMessage`. Chunks of an
    answer, and the reasoning before it, are one message. A call has what its start adds in `execution`; a call without
    a result stays without one. Other events are `system` messages, hidden where they are housekeeping. Totals at the
    end of a session, which count from its start and not from the end before, stand in `context.custom.shutdowns`;
    without any message they are usage records.

What is left out, and counted under these rules
    `stream-progress` (how far something was), `no-conversation` (facts of a session without any message), `side-file`
    (checkpoints, snapshots, files and notes of the agent, the database of its tasks, locks). Pieces of messages that
    follow whole are folded into them. Not kept: ids and times of events that became part of another, secrets of
    clients, headers of answers, queries in the addresses of servers.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.events.kinds import KNOWN_KINDS, OWN_NAMES
from palaver.sources.run import Run
from palaver.sources.source import Source

__all__ = ["KNOWN_KINDS", "OWN_NAMES", "read", "recognize"]


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.events.recognition import recognize as look

    return look(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.events.reading import read_unit

    yield from read_unit(source, run)
