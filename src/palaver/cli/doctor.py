"""`palaver doctor`: health checks of the archive, its sources, the settings and this machine."""

from typing import TYPE_CHECKING, Annotated

import typer

from palaver.archive.health import Check
from palaver.cli._archive import archive_path
from palaver.cli._arguments import AsJson
from palaver.cli._terminal import output
from palaver.cli._terminal.words import display_path, display_paths
from palaver.workflows.doctor import checks
from palaver.workflows.doctor import repair as repair_archive

if TYPE_CHECKING:
    from rich.table import Table

_STYLES = {"ok": "green", "warning": "yellow", "problem": "bold red"}
_VERDICT_WIDTH = max(map(len, _STYLES))
_NAME_WIDTH = 15


def doctor(
    *,
    full: Annotated[bool, typer.Option("--full", help="Check everything instead of samples; takes longer.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild the search index and free unused space.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check the health of the archive and its sources.

    Also checks the settings and this machine. Each line is one check: ok, a warning or a problem, and what to do about
    it. Sessions that an assistant will delete soon and that are not in the archive are a problem. Nothing changes
    without --repair.

    Exit codes: 0 no problem, 1 a problem was found, 2 the archive could not be repaired.
    """
    path = archive_path()
    repaired = repair_archive(path) if repair else []
    for sentence in repaired if not as_json else ():
        output.notify(f"Repaired: {sentence}.")
    found: list[Check] = []
    for check in checks(path, is_full=full):
        found.append(check)
        if not as_json:
            output.answer(_shown(check))
    is_well = all(check.verdict != "problem" for check in found)
    if as_json:
        answers = [
            {
                "name": check.name,
                "verdict": check.verdict,
                "told": check.message,
                "advice": check.advice,
                "details": list(check.details),
            }
            for check in found
        ]
        output.answer_json({"archive": str(path), "is_well": is_well, "checks": answers, "repaired": repaired})
    raise typer.Exit(0 if is_well else 1)


def _shown(check: Check) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=_VERDICT_WIDTH)
    table.add_column(width=_NAME_WIDTH)
    text = Text(display_paths(check.message), overflow="fold")
    for detail in check.details:
        text.append(f"\n  {display_path(detail)}", "dim")
    if check.advice:
        text.append(f"\n{display_paths(check.advice)}", _STYLES[check.verdict])
    table.add_row(Text(check.verdict, _STYLES[check.verdict]), check.name, text)
    return table
