"""Roo Code: tasks of the editor extension, in all generations of its format, and exports of them.

Where the files are
    `<User>/globalStorage/rooveterinaryinc.roo-cline/tasks/<id>/` of every editor made from VS Code (also
    `rooveterinaryinc.roo-code-nightly`, and wherever the setting `customStoragePath` says). A task is a folder with
    `api_conversation_history.json` (once `claude_messages.json`) or `ui_messages.json`, or both, and side files;
    either of the two may be pointed at alone. A folder that lies elsewhere is Roo Code's unless it bears a mark of
    Cline or Kilo Code. `tasks/_index.json` is read for tasks whose folder is gone, and `roo_task_....md` as the export
    that it is.

What comes out
    One conversation a task, its id the folder's name; messages in the order of the API history, with ids
    `<task>:<place>`. A user's turn becomes up to three messages, all of role `user`: the results of tools
    (`<id>:result`, author `tool`), the person's words without their wrapper (`<id>`, author `human`, the wrapper's
    name in `metadata.wrapper`), and what the program added (`<id>:context`, author `harness`): contents of what was
    mentioned, reminders, and the surroundings, whose facts stand in `metadata.environment`. Words that the person said
    in a result (a reason for a denial, an answer) are there and in a message of their own.
    Before 2026 calls are tags in the answer's text: they become `tool_use` blocks with made ids, and results in text
    belong to them by order; the line before a result is its `metadata.description`. The words of `attempt_completion`
    are text before the call. `is_error` is set where a result says so itself. A call of an MCP tool names its server.
    What the model does not see any more has `metadata.in_context: false`: a summary or a marker that the file still
    holds hides it. Summaries and markers are `system` messages, never anybody's words, and summaries also stand in
    `summaries` with the messages that they cover.
    The interface's log gives an answer its tokens and cost, times where the history has none, and reasoning that is
    shown only. Rows whose words the history holds are folded; all others become messages of their own where they stand
    in time, with `metadata.ui`: requests that died, errors, output of commands, what a summary of 2025 removed for
    good. A task with the log alone is rebuilt from it. Rows that other tools wrote are read as what they seem to be.
    The model of a turn is the one in its surroundings. Modes are in `platform.metadata` (`mode`, `active_mode`,
    `available_modes`, `mode_persistence`), what the history item says beyond that in `history_item`. No version saves
    the system prompt: where the storage knows the user's own mode or instructions, one `system` message is put
    together. A subtask names its parent; the parent's result has its id as `metadata.subtask_id`.
    A history past 32 MB comes in fragments.

What is left out, and counted under these rules
    `older-copy` (a `claude_messages.json` beside the file that took its place). Not kept: how rows are shown
    (`isAnswered`, `progressStatus`, partial states of a row), names of checkpoints, and the `checkpoints` folder.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, no_options

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class RooCode:
    title = "Roo Code"
    platform = "roo_code"
    record = "record"
    options = no_options

    def locations(self) -> list[Path]:
        from palaver.importers._cline_family.product import ROO_CODE

        return ROO_CODE.locations()

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers._cline_family.forms import recognize
        from palaver.importers._cline_family.product import ROO_CODE

        return recognize(source, ROO_CODE)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers._cline_family.forms import read
        from palaver.importers._cline_family.product import ROO_CODE

        yield from read(source, run, ROO_CODE)

    def describes(self) -> Description:
        from palaver.importers._cline_family.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = RooCode()
