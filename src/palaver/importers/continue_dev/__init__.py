"""Continue: sessions of the IDE extensions and of the command line `cn`, logged events, shared transcripts.

Where the files are
    `$CONTINUE_GLOBAL_DIR`, else `~/.continue`, which VS Code, JetBrains and `cn` share: `sessions/<id>.json` with an
    index in `sessions/sessions.json`, `dev_data/<version>/<event>.jsonl`, `config.yaml` or `config.json`, and
    `input_history.json` of `cn`. The folder is one source. A session file, an event log, or the Markdown that `/share`
    writes can also be a source by itself; a session file inside the folder yields the same conversation either way,
    because the files around it are read too.

What comes out
    One conversation per session, named after its file. Thoughts (items of their own, `reasoning`, text between
    `<think>` tags) become `thinking` blocks of the answer they lead to, and an answer that was started but left empty
    joins the one that follows; `source_ids` lists the items, and the first names the message. Attached context
    becomes a `file` or `code` block of its message; the providers asked for it are in
    `context.custom.context_providers` and `codebase_context`. A tool result appears once, whether an item, the state of
    its call (`call_state`) or both hold it; tool definitions are in `platform.metadata.tools`. A compaction becomes a
    summary; the messages it covers stay.
    Prompt logs name the model, by its id or by a title that the config resolves, and supply the system message, which
    no item holds; other text found only there is kept as `sent` in `promptLogs`. Events give answers and results their
    times, supply versions and the rating, and hold answers that the user discarded (`on_active_path` false) and whole
    sessions whose files are gone (status `archived`).
    Sessions of 2023 are the state of a program of steps (`history.timeline`). What was typed becomes a `user` message
    and what a model answered an `assistant` message; any other step (an edit, a command, an error) becomes a `system`
    message of the harness: what the step showed, and the step with its observation in an `opaque` block. A hidden step
    is `hidden`, one that the user deleted has `on_active_path` false. Of the state's own config, only the system
    message and the temperature are read.
    The only times in a session file are those of thoughts: messages without one take the time of the message before,
    else the session's, and are marked `timestamp_inferred`.
    Of the events that belong to no session, edits with their prompts become conversations of two messages, and tool
    calls with their results one conversation per day; completions and token counts (Continue's own estimates,
    `estimated_tokens`) become usage records with everything that was logged. Events of version 0.1.0 have no time: they
    take the file's, and are marked. Prompts typed into `cn` that no session holds become one conversation per day.

What is left out, and counted under these rules
    `missing-session-file` (index rows without a file), `old-index-row` (the same in the spelling of 2023),
    `odd-index-row` (rows that name no session, with a note),
    `empty-session` (index rows of sessions without messages), `session-file-exists` (events and index rows read by
    themselves, of sessions that have a file), `secret` (`auth.json`, `permissions.yaml`, `.env`: never opened),
    `other-config` (a config that another one overrides), `other-file` (anything else in the two folders, such as
    `devdata.sqlite`, whose counts are in the events as well), `unreadable-settings`. From the config, only each
    model's title, provider, id, roles and template are read. Dropped: prompts, completions and editor states as far as
    the messages repeat them, the fragments in which completions log tool calls, the profile and tool parameters of
    events that were joined to a session, and the slash commands, context providers and flags of sessions of 2023.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, no_options

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class Continue:
    title = "Continue"
    platform = "continue_dev"
    revision = 1
    record = "history item or row"
    missing_usage = "Continue's sessions have no token counts; `palaver stats --usage` has Continue's own estimates."
    folder_setting = "CONTINUE_GLOBAL_DIR"
    options = no_options

    def locations(self) -> list[Path]:
        configured = os.environ.get("CONTINUE_GLOBAL_DIR")
        return [Path(configured).expanduser() if configured else Path.home() / ".continue"]

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.continue_dev.recognize import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.continue_dev.folder import read_source

        yield from read_source(source, run)

    def describes(self) -> Description:
        from palaver.importers.continue_dev.fields import DESCRIPTION

        return DESCRIPTION


IMPORTER = Continue()
