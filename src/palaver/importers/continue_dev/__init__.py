"""Continue: sessions of the IDE extensions and of the command line `cn`, logged events, shared transcripts.

Where the files are
    `$CONTINUE_GLOBAL_DIR`, else `~/.continue`, which VS Code, JetBrains and `cn` share: `sessions/<id>.json` with an
    index in `sessions/sessions.json`, `dev_data/<version>/<event>.jsonl`, `config.yaml` or `config.json`, and
    `input_history.json` of `cn`. The folder is one source. A session's file or a log of events by itself is one, too;
    a session in the folder is told the same way as with the folder, since what lies around it is looked at. So is
    the Markdown that `/share` writes.

What comes out
    One conversation a session, named like its file. Thoughts (items of their own, `reasoning`, between `<think>` tags)
    are `thinking` blocks of the answer that they lead to, and an answer that was begun without a word is part of the
    one that follows; `source_ids` name the items, the first of which names the message. What was sent along is a `file`
    or `code` block of its message, and who was asked for it stands in `context.custom.context_providers` and
    `codebase_context`. A tool's result stands once, whether an item, the state of its call (`call_state`) or both have
    it; definitions of tools are in `platform.metadata.tools`. A compaction is a summary; what it stands for stays.
    Prompt logs name the model, by its id or by a title that the config resolves, and give the system message, which no
    item holds; what else only they say is kept as `sent` in `promptLogs`. Events give answers and results their times,
    tell the versions and the rating, and hold answers that the user left behind (`on_active_path` false), and whole
    sessions whose files are gone (status `archived`).
    A session's file has no times but those of thoughts: messages without one have that of the message before, else the
    session's, and say so in `timestamp_inferred`.
    Events that belong to no session: edits with their prompts are conversations of two messages, calls of tools with
    their results are one a day; completions and counts of tokens (Continue's own guesses, `estimated_tokens`) are usage
    records with all that was logged. Those of version 0.1.0 have no time: the file's stands, marked. What was
    typed into `cn` and is in no session is a conversation of prompts, one a day.

What is left out, and counted under these rules
    `missing-session-file` (rows of the index without a file), `old-index-row` (the same in a spelling of 2023),
    `empty-session` (rows of sessions in which nothing was said), `session-file-exists` (events and rows read by
    themselves, of sessions that have a file), `secret` (`auth.json`, `permissions.yaml`, `.env`: never opened),
    `other-config` (a config that does not count), `other-file` (anything else in the two folders, such as
    `devdata.sqlite`, whose counts stand in the events, too), `unreadable-side-file`. Of the config nothing is read but
    each model's title, provider, id, roles and template. Not kept: prompts, completions and editor states as far as the
    messages say the same, of calls of tools the pieces in which completions log them, and of events that joined a
    session the profile and the tools' parameters.
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
    record = "history item or row"
    options = no_options

    def locations(self) -> list[Path]:
        configured = os.environ.get("CONTINUE_GLOBAL_DIR")
        return [Path(configured).expanduser() if configured else Path.home() / ".continue"]

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.continue_dev.recognize import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.continue_dev.reading import read_form

        yield from read_form(source, run)

    def describes(self) -> Description:
        from palaver.importers.continue_dev.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = Continue()
