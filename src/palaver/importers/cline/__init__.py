"""Cline: task folders of the editor extension, sessions of its SDK, and exports of tasks.

Where the files are
    `<User>/globalStorage/saoudrizwan.claude-dev/tasks/<id>/` of every editor made from VS Code, `~/.cline/data/tasks`
    in JetBrains and on the command line; the index is `state/taskHistory.json`. Since the middle of 2026 sessions lie
    in `~/.cline/data/sessions/<id>/` (`<id>.json`, `<id>.messages.json`). A task folder that lies elsewhere is told by
    `modelInfo`, by `ACT MODE` and `PLAN MODE` in the surroundings, or by results in one block.

What comes out of a task folder
    As for Roo Code, with these differences. A result is one block of text, `[read_file for 'a.ts'] Result:` and the
    body, even where the call has an id: it belongs to the calls of the answer before by order. `plan_mode_respond` and
    `act_mode_respond` are words of the model, as `attempt_completion` is. Messages have no time until 2026: it is that
    of the row that the interface shows for them, else the one in the surroundings. A row names its place in the
    history. `tokensIn` counts what came from no cache. `metrics` stay with the answer: its `cached` is what was read
    and what was written, which only the rows tell apart. The range of messages that were taken out of the context is
    hidden. Version, editor and system are those of `environment_history`; `context_history.json`, `settings.json`
    (headers, keys and passwords are masked) and the list of steps stand in `context.custom`.

What comes out of a session of the SDK
    One conversation a session with its manifest; agents are conversations of their own, below the one that started
    them. What `<id>.compaction.json` holds is what the model was sent, and is read only where nothing else is left.

What is left out, and counted under these rules
    `older-copy` (a `claude_messages.json` beside the file that took its place), `empty-session` (files of a session in
    which nothing was said). Not kept: how rows are shown, names of checkpoints, and the `checkpoints` folder.
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
    record = "record"
    options = no_options

    def locations(self) -> list[Path]:
        from palaver.importers._cline_family.product import CLINE

        return CLINE.locations()

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers._cline_family.forms import recognize
        from palaver.importers._cline_family.product import CLINE
        from palaver.importers.cline.sdk import recognize_session

        found = recognize(source, CLINE)
        return found if found.verdict != "no" or found.reason else recognize_session(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers._cline_family.forms import read
        from palaver.importers._cline_family.product import CLINE
        from palaver.importers.cline.sdk import FORM, read_session, recognize_session

        form = run.form or self.recognizes(source).form
        if form == FORM or (not form and recognize_session(source).reason):
            yield from read_session(source, run)
        else:
            yield from read(source, run, CLINE)

    def describes(self) -> Description:
        from palaver.importers.cline.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = Cline()
