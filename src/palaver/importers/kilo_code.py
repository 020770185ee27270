"""Kilo Code: tasks of its versions 4 and 5, which are a fork of Roo Code, and exports of them.

Where the files are
    `<User>/globalStorage/kilocode.kilo-code/tasks/<id>/` of every editor made from VS Code, `kilo code.kilo-code` in
    JetBrains, `~/.kilocode` of the old command line. A task folder that lies elsewhere is told by questions that only
    this product asks. Later versions keep a database of OpenCode's, which is not read here.

What comes out, and what is left out
    As for Roo Code, whose format it is; tools of Cline are known as well. The rule `older-copy` is the same.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, no_options

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class KiloCode:
    title = "Kilo Code"
    platform = "kilo_code"
    record = "record"
    options = no_options

    def locations(self) -> list[Path]:
        from palaver.importers._cline_family.product import KILO_CODE

        return KILO_CODE.locations()

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers._cline_family.forms import recognize
        from palaver.importers._cline_family.product import KILO_CODE

        return recognize(source, KILO_CODE)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers._cline_family.forms import read
        from palaver.importers._cline_family.product import KILO_CODE

        yield from read(source, run, KILO_CODE)

    def describes(self) -> Description:
        from palaver.importers._cline_family.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = KiloCode()
