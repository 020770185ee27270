"""Claude Code: session files, agents, prompts that outlived their session, web exports, stream-json logs.

Where the files are
    `$CLAUDE_CONFIG_DIR` (several, separated by commas), else `~/.claude` and `~/.config/claude`; in each of them
    `projects/<folder>/<session id>.jsonl` with `<session id>/subagents/**` and `<session id>/tool-results/*`,
    `projects/<folder>/sessions-index.json`, `projects/<folder>/memory/*.md`, and `history.jsonl`.

What comes out
    One conversation per session and one per agent (`<session id>:agent-<id>`), linked to its session and to the call
    that started it, whether the agent has its own file, was written inline, or is known from progress lines only. Lines
    that share an API message id become one message; its usage is the field-wise maximum, counted once. Lines keep their
    order; `metadata.author_kind` names the author. Events and attachments become `system` messages, hidden if they are
    housekeeping. `toolUseResult` is stored in the tool result's `metadata`, without what the result or the call already
    contains. A result whose call the file lacks is marked `context_incomplete`.

    Slash commands (`/name arguments`), shell commands (`!ls`) and notes for the memory (`#text`) are `human`, and their
    text is what the person typed; the tags in which they are stored are in `metadata.stored_text`. What a command
    expands to, and what it prints, is `harness`. Warm-up agents are not conversations, but their answers were billed:
    they become usage records.

    Prompts in `history.jsonl` that no session file holds become the conversation `<session id>:history`: all prompts of
    a deleted session, with the status `archived`, and those that Claude Code does not store in the session, such as
    questions behind `/btw`. A deleted session that `sessions-index.json` knows gets its title, branch and times from
    there, and its first prompt unless the history has it.

    The memory of a project, `memory/*.md`, is one conversation (`memory:<folder>`), in which each file is a message.

What is kept under its own name
    In the metadata of a message: `sourceToolAssistantUUID` (of a tool result: the line of the answer that made the
    call, which is the `message_id` or one of the `source_ids` of that answer), `promptId` (shared by all that follows
    one prompt), `permissionMode`, `todos` (the list of tasks when the prompt was sent), `operation` (of a queued
    prompt). In its `tokens`: `iterations` (the calls behind one answer, which its figures already include), `speed`,
    `inference_geo` and `server_tool_use` (searches and fetches that the provider ran).

What is left out, and counted under these rules
    `progress` (states of running tools and hooks), `file-history` (names of backups), `queue-operation` (without a
    text), `warmup-agent` (all but the usage), `stream-event` (parts of messages that also come whole),
    `session-file-exists` (prompts that the session itself holds, and entries of the index whose session has its file),
    `session-in-archive` (the same of a session that was imported before its file went),
    `just-typed` (prompts of the last minute, which their session may still get; read when the history next changes),
    `no-conversation` (session fields in a file without any message, and entries of the index without title and prompt),
    `odd-index-row` (entries of the index that name no session, with a note), `unreferenced-output`, `side-file`,
    `unreadable-side-file`. Dropped from imported lines: fields that repeat the conversation's first line (`cwd`,
    `gitBranch`, `version`, `slug`, `entrypoint`), `originalFile` (unless `original_files` is on), HTTP headers of
    failed calls.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, Retention

if TYPE_CHECKING:
    from palaver.importers._shared.options import Options
    from palaver.sources.run import Run
    from palaver.sources.source import Source

_NOT_CONVERSATIONS = {"journal.jsonl": "a workflow's journal"}
_DEFAULT_RETENTION_DAYS = 30


class ClaudeCode:
    title = "Claude Code"
    platform = "claude_code"
    revision = 2
    record = "line"
    folder_setting = "CLAUDE_CONFIG_DIR"

    @property
    def options(self) -> "type[Options]":
        from palaver.importers.claude_code.description import ClaudeCodeOptions

        return ClaudeCodeOptions

    def locations(self) -> list[Path]:
        return [root / name for root in _roots() for name in ("projects", "transcripts", "history.jsonl")]

    def retentions(self) -> list[Retention]:
        return [_retention(root) for root in _roots()]

    def recognizes(self, source: "Source") -> Match:
        if source.is_folder:
            return _match_folder(source)
        if reason := _NOT_CONVERSATIONS.get(source.file_name):
            return Match.no(reason)
        from palaver.importers.claude_code.formats import identify_format

        match = identify_format(source)
        if match.form is None:
            return Match.no(match.reason)
        members = (f"{source.stem}.meta.json",) if source.stem.startswith("agent-") else (source.stem,)
        verdict = Match.yes if match.is_sure else Match.maybe
        return verdict(match.reason, members if match.form == "session" else (), match.form)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.claude_code.formats import read_form

        yield from read_form(
            source, run, keep_original_files=bool(run.options.original_files) if run.options else False
        )

    def reopening(self, conversation_id: str, project: str | None, files: list[Path]) -> str | None:
        """Return the command that resumes a session whose file is where Claude Code looks for it."""
        folders = [root / "projects" for root in _roots()]
        is_there = any(
            path.name == f"{conversation_id}.jsonl" and path.parent.parent in folders and path.exists()
            for path in files
        )
        if not is_there:
            return None
        command = f"claude --resume {conversation_id}"
        # A session is found only from the folder it was started in.
        return f"cd {_quoted(project)} && {command}" if project else command

    def describes(self) -> Description:
        from palaver.importers.claude_code.description import DESCRIPTION

        return DESCRIPTION


def _quoted(folder: str) -> str:
    """Return a folder as the shells of this system read it."""
    if os.name == "nt":
        return f'"{folder}"'
    import shlex

    return shlex.quote(folder)


def _match_folder(source: "Source") -> Match:
    if source.label.endswith("memory"):
        from palaver.importers.claude_code.memory import memory_project

        if project := memory_project(source):
            return Match.yes(f"the memory of the project {project}", form="memory")
    return Match.no()


def _retention(root: Path) -> Retention:
    """Read `cleanupPeriodDays`: Claude Code deletes session files that did not change for that many days."""
    import orjson

    file = root / "settings.json"
    try:
        settings = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        settings = None
    match settings:
        case {"cleanupPeriodDays": int(days)} if days >= 0 and not isinstance(days, bool):
            pass
        case _:
            days = _DEFAULT_RETENTION_DAYS
    return Retention(root / "projects", days, ".jsonl", f"cleanupPeriodDays in {file}")


def _roots() -> list[Path]:
    if configured := os.environ.get("CLAUDE_CONFIG_DIR"):
        return [Path(part.strip()).expanduser() for part in configured.split(",") if part.strip()]
    return [Path.home() / ".claude", Path.home() / ".config" / "claude"]


IMPORTER = ClaudeCode()
