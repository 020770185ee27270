"""GitHub Copilot: chats in VS Code, the command line, other editors, completions, debug logs, and usage metrics.

Where the files are
    `User/workspaceStorage/<hash>/chatSessions`, `User/globalStorage/emptyWindowChatSessions` and the storage of the
    extension, for every editor derived from VS Code, also on servers; `$COPILOT_HOME`, else `~/.copilot`, for the
    command line and JetBrains; `VSGitHubCopilotLogs` in the temporary folder for Visual Studio; and wherever an
    exported chat, a replay, a trace, a telemetry dump or a response of GitHub's API was saved.

What comes out
    Each format is a package with its own documentation: `sessions` (saved and exported chats, and the replayed log of
    newer versions), `events` (command line, JetBrains, transcripts), `completions` (suggestions in the editor, by file
    and time), `replays` (exported request logs), `spans` (traces and debug logs), `metrics` (daily figures, seats and
    bills, which become usage records and never conversations).

What is left out, and counted under these rules
    `empty-session` (no request was ever made), `stream-progress` (progress reports), `no-conversation` (session data
    without any message), `side-file` (checkpoints, snapshots, files of the agent), `unreadable-side-file`,
    `other-event` (telemetry that does not concern completions), `prompt-element` (of replays without requests),
    `empty-prompt` (in replays, a prompt without text and entries), `log-note` (Markdown that is neither a request nor a
    call), `circular-record` (the line `{}` of an exporter), `empty-metrics` (metrics without a number),
    `saved-chat-exists` (what a debug log repeats of a chat that is saved beside it), `other-product` (items of a bill
    that are not Copilot's), `download-links` (links to reports).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match

if TYPE_CHECKING:
    from palaver.importers._shared.options import Options
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class GitHubCopilot:
    title = "GitHub Copilot"
    platform = "github_copilot"
    record = "record"

    @property
    def options(self) -> "type[Options]":
        from palaver.importers.github_copilot.options import CopilotOptions

        return CopilotOptions

    def locations(self) -> list[Path]:
        from palaver.importers.github_copilot.locations import locations

        return locations()

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.github_copilot.formats import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.github_copilot.formats import read

        yield from read(source, run)

    def describes(self) -> Description:
        from palaver.importers.github_copilot.formats import description

        return description()


IMPORTER = GitHubCopilot()
