"""Roo Code: tasks of the editor extension, in all generations of its format, and exported tasks.

Where the files are
    `<User>/globalStorage/rooveterinaryinc.roo-cline/tasks/<id>/` of every editor based on VS Code (also
    `rooveterinaryinc.roo-code-nightly`, and the folder in the setting `customStoragePath`). A task is a folder with
    `api_conversation_history.json` (formerly `claude_messages.json`), `ui_messages.json` or both, and side files;
    either of the two can be imported alone. A folder elsewhere is attributed to Roo Code unless it shows signs of Cline
    or Kilo Code. `tasks/_index.json` is read for tasks whose folder is gone, and `roo_task_....md` as an exported task.

What comes out
    One conversation for each task, with the name of the folder as id; messages in the order of the API history, with
    ids `<task>:<index>`. A user turn becomes up to three messages, all of role `user`: tool results (`<id>:result`,
    author `tool`), what the user wrote, without its wrapper (`<id>`, author `human`, the wrapper's name in
    `metadata.wrapper`), and what the extension added (`<id>:context`, author `harness`): contents of mentioned files,
    reminders, and the environment details, which are parsed into `metadata.environment`. A prompt with mentions is
    shown as it was typed (`@/plan.md`), according to the UI log; `metadata.sent_as` is what the model got (`'plan.md'
    (see below for file content)`). Text that the user wrote in a result (a reason for a denial, an answer) stays there
    and also becomes a message.
    Before 2026, calls are tags in the text of the answer: they become `tool_use` blocks with generated ids, and results
    in text form belong to them by order; the line before a result is its `metadata.description`. The text of
    `attempt_completion` becomes a text block before the call. `is_error` is set if the result itself states a failure.
    A call of an MCP tool names its server.
    Messages that the model no longer sees have `metadata.in_context: false`: a summary or marker that is still in the
    file hides them. Summaries and markers are `system` messages, and summaries are also in `summaries` with the
    messages that they cover.
    The UI log supplies tokens and cost of an answer, times missing from the history, and reasoning that is only
    displayed. Rows whose text is in the history are folded; all others become messages in chronological position, with
    `metadata.ui`: failed requests, errors, output of commands, messages that a summary of 2025 removed for good. A task
    with only the log is rebuilt from it. Rows written by other tools are interpreted as far as possible.
    The model of a turn is the one in its environment details. Modes are in `platform.metadata` (`mode`, `active_mode`,
    `available_modes`, `mode_persistence`), other fields of the history item in `history_item`. No version saves the
    system prompt: if the storage has a custom mode or instructions of the user, a `system` message is built from them.
    A subtask names its parent; the result in the parent has its id as `metadata.subtask_id`.
    A history larger than 32 MB comes in fragments.

What is left out, and counted under these rules
    `older-copy` (a `claude_messages.json` beside the file that replaced it). Not kept: how rows are displayed
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
    revision = 2
    record = "record"
    options = no_options

    def locations(self) -> list[Path]:
        from palaver.importers._cline_family.product import ROO_CODE

        return ROO_CODE.locations()

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers._cline_family.formats import recognize
        from palaver.importers._cline_family.product import ROO_CODE

        return recognize(source, ROO_CODE)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers._cline_family.formats import read
        from palaver.importers._cline_family.product import ROO_CODE

        yield from read(source, run, ROO_CODE)

    def describes(self) -> Description:
        from palaver.importers._cline_family.formats import DESCRIPTION

        return DESCRIPTION


IMPORTER = RooCode()
