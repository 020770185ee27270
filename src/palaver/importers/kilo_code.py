"""Kilo Code: tasks of versions 4 and 5, which are a fork of Roo Code, and exported tasks.

Where the files are
    `<User>/globalStorage/kilocode.kilo-code/tasks/<id>/` of every editor based on VS Code, `kilo code.kilo-code` in
    JetBrains, `~/.kilocode` for the old command line. A task folder elsewhere is recognized by prompts that only this
    product shows. Later versions keep an OpenCode database, which is not read here.

What comes out, and what is left out
    As for Roo Code, which has the same format and the same rule `older-copy`; Cline's tools are known as well.
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
    revision = 2
    record = "record"
    options = no_options

    def locations(self) -> list[Path]:
        from palaver.importers._cline_family.product import KILO_CODE

        return KILO_CODE.locations()

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers._cline_family.formats import recognize
        from palaver.importers._cline_family.product import KILO_CODE

        return recognize(source, KILO_CODE)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers._cline_family.formats import read
        from palaver.importers._cline_family.product import KILO_CODE

        yield from read(source, run, KILO_CODE)

    def describes(self) -> Description:
        from palaver.importers._cline_family.formats import DESCRIPTION

        return DESCRIPTION


IMPORTER = KiloCode()
