"""Cline: task folders of the editor extension, SDK sessions, and exported tasks.

Where the files are
    `<User>/globalStorage/saoudrizwan.claude-dev/tasks/<id>/` of every editor based on VS Code, `~/.cline/data/tasks` in
    JetBrains and on the command line; the index is `state/taskHistory.json`. Since mid-2026 sessions are in
    `~/.cline/data/sessions/<id>/` (`<id>.json`, `<id>.messages.json`). A task folder elsewhere is recognized by
    `modelInfo`, by `ACT MODE` and `PLAN MODE` in the environment details, or by tool results in a single block.

What comes out of a task folder
    As for Roo Code, with these differences. A tool result is one text block, `[read_file for 'a.ts'] Result:` and the
    body, even if the call has an id; it belongs to the calls of the previous answer by order. `plan_mode_respond` and
    `act_mode_respond` are text of the model, like `attempt_completion`. Messages before 2026 have no time: it is taken
    from the row that shows them in the UI log, else from the environment details. A row states its index in the
    history. `tokensIn` counts uncached tokens only. `metrics` stay with the answer: their `cached` adds up cache reads
    and writes, which only the rows distinguish. The range of messages removed from the context is hidden. Version,
    editor and system come from `environment_history`; `context_history.json`, `settings.json` (with headers, keys and
    passwords masked) and the focus chain are in `context.custom`.

What comes out of an SDK session
    One conversation for each session with its manifest; agents are conversations of their own, below the one that
    started them. `<id>.compaction.json` holds what the model was sent: what it adds to the messages becomes summaries,
    and its messages are read only if nothing else is left.

What is left out, and counted under these rules
    `older-copy` (a `claude_messages.json` beside the file that replaced it), `empty-session` (files of a session
    without messages). Not kept: how rows are displayed, names of checkpoints, and the `checkpoints` folder.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, no_options

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class Cline:
    title = "Cline"
    platform = "cline"
    revision = 2
    record = "record"
    options = no_options

    def locations(self) -> list[Path]:
        from palaver.importers._cline_family.product import CLINE

        return CLINE.locations()

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers._cline_family.formats import recognize
        from palaver.importers._cline_family.product import CLINE
        from palaver.importers.cline.session_files import recognize_session

        found = recognize(source, CLINE)
        return found if found.verdict != "no" or found.reason else recognize_session(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers._cline_family.formats import read
        from palaver.importers._cline_family.product import CLINE
        from palaver.importers.cline.session_files import FORM, recognize_session
        from palaver.importers.cline.session_reader import read_session

        form = run.form or self.recognizes(source).form
        if form == FORM or (not form and recognize_session(source).reason):
            yield from read_session(source, run)
        else:
            yield from read(source, run, CLINE)

    def describes(self) -> Description:
        from palaver.importers._cline_family.formats import DESCRIPTION
        from palaver.importers.cline.session_blocks import TOOL_OUTPUT
        from palaver.importers.cline.session_messages import OWN_NAMES

        return Description(
            own_names=DESCRIPTION.own_names | OWN_NAMES, known_kinds=DESCRIPTION.known_kinds | {TOOL_OUTPUT}
        )


IMPORTER = Cline()
