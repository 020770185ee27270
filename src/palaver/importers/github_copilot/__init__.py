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
    `unreadable-settings`, `other-event` (telemetry that does not concern completions), `prompt-element` (of replays
    without requests),
    `empty-prompt` (in replays, a prompt without text and entries), `log-note` (Markdown that is neither a request nor a
    call), `circular-record` (the line `{}` of an exporter), `empty-metrics` (metrics without a number),
    `saved-chat-exists` (what a debug log repeats of a chat that is saved beside it), `other-product` (items of a bill
    that are not Copilot's), `download-links` (links to reports).

How the formats are found
    Each format's package offers `recognize`, `read`, `OWN_NAMES` and `KNOWN_KINDS`. The form of a source is the
    format's name, and after a colon what the format itself adds.
"""

import importlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from palaver.importers._shared.contract import Description, Match
from palaver.importers._shared.vscode import user_folders

if TYPE_CHECKING:
    from palaver.importers._shared.options import Options
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class GitHubCopilot:
    title = "GitHub Copilot"
    platform = "github_copilot"
    revision = 3
    record = "record"

    @property
    def options(self) -> "type[Options]":
        from palaver.importers.github_copilot.options import CopilotOptions

        return CopilotOptions

    def locations(self) -> list[Path]:
        return locations()

    def recognizes(self, source: "Source") -> Match:
        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        yield from read(source, run)

    def describes(self) -> Description:
        return description()


IMPORTER = GitHubCopilot()


_EXTENSIONS = ("github.copilot-chat", "GitHub.copilot-chat")


def locations() -> list[Path]:
    """Return the chat folders of every known editor, the command line, JetBrains and Visual Studio."""
    found = [folder for user in user_folders() for folder in _editor_folders(user)]
    home = Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")
    found += [home / name for name in ("session-state", "history-session-state", "jb")]
    if sys.platform == "win32":
        found.append(Path(tempfile.gettempdir()) / "VSGitHubCopilotLogs" / "traces")
    return found


def _editor_folders(user: Path) -> list[Path]:
    """Return the chat folders of an editor, with and without a workspace."""
    storage = user / "globalStorage"
    found = [storage / name for name in ("emptyWindowChatSessions", "transferredChatSessions")]
    found += _extension_folders(storage)
    try:
        workspaces = sorted((user / "workspaceStorage").iterdir())
    except OSError:
        return found
    for workspace in workspaces:
        found += [workspace / "chatSessions", *_extension_folders(workspace)]
    return found


def _extension_folders(storage: Path) -> list[Path]:
    return [storage / name / kind for name in _EXTENSIONS for kind in ("transcripts", "debug-logs")]


class Format(Protocol):
    OWN_NAMES: frozenset[str]
    KNOWN_KINDS: frozenset[str]

    def recognize(self, source: "Source") -> Match:
        """Judge by name, head and listing alone; the form of the match starts with the format's name."""
        ...

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]: ...


NAMES = ("sessions", "events", "completions", "replays", "spans", "metrics")
"""In the order in which they are tried: the first that recognizes a source reads it."""


def recognize(source: "Source") -> Match:
    reason = ""
    for name in NAMES:
        match = _format(name).recognize(source)
        if match.verdict != "no":
            return match
        reason = reason or match.reason
    return Match.no(reason)


def read(source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
    form = run.form or recognize(source).form
    if form:
        yield from _format(form.partition(":")[0]).read(source, run)
    else:
        _quarantine_all(source, run)


@cache
def description() -> Description:
    formats = [_format(name) for name in NAMES]
    return Description(
        own_names=frozenset().union(*(known.OWN_NAMES for known in formats)),
        known_kinds=frozenset().union(*(known.KNOWN_KINDS for known in formats)),
    )


def _quarantine_all(source: "Source", run: "Run") -> None:
    """Quarantine everything in a file that was named as Copilot's and is in none of its formats."""
    from palaver.importers._shared.findings import BAD_CONVERSATION
    from palaver.sources.jsonl import JsonLines
    from palaver.sources.small_files import json_document

    if source.suffix == ".jsonl":
        with source.open() as stream:
            lines = JsonLines(stream, run)
            for value in lines:
                run.quarantined(BAD_CONVERSATION, lines.raw, lines.where(), _reason(value))
    else:
        for value in json_document(source, run):
            run.quarantined(BAD_CONVERSATION, json.dumps(value).encode(), source.name, _reason(value))


def _reason(value: Any) -> str:
    """Return why a value is refused: the field that a completion lacks, if it is anything like one."""
    if isinstance(value, dict) and "completion" in value:
        from palaver.importers.github_copilot.completions.events import missing_field

        return missing_field(value)
    return "it is in none of the formats that are known"


def _format(name: str) -> Format:
    return cast("Format", importlib.import_module(f"palaver.importers.github_copilot.{name}"))
