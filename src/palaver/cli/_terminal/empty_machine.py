"""What to do on a machine without conversations: where assistants keep them, and how to bring them in.

Made from the registry of importers, in about ten lines however many platforms there are.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from palaver.cli._terminal.layout import wrapped
from palaver.cli._terminal.words import display_path, listed
from palaver.importers import importer, platforms
from palaver.importers._shared.contract import HasExport, HasFolderSetting, Importer
from palaver.importers._shared.vscode import user_folders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions

_TITLES_SHOWN = 6
_GAP = "   "


class EmptyMachine:
    """Advice for a machine on which no conversations were found."""

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        for line in _lines():
            text = Text("\n".join(wrapped(line, options.max_width)))
            text.highlight_regex(rf"^  (?! ).*?(?={_GAP})", "bold")
            text.highlight_regex(r"(?<!`)palaver [a-z]+(?: \S+)?", "cyan")
            yield text


def _lines() -> "Iterator[str]":
    known = [importer(platform) for platform in platforms()]
    places = {product.platform: product.locations() for product in known}
    number = sum(map(len, places.values()))
    yield f"No AI conversations found on this machine (looked in {number:,} places: `palaver sources --all`)."
    yield ""
    in_editors = [product for product in known if _is_in_editors(places[product.platform])]
    in_folders = [product for product in known if places[product.platform] and product not in in_editors]
    in_folders.sort(key=lambda product: (-len(places[product.platform]), not isinstance(product, HasFolderSetting)))
    if in_folders:
        yield _keeps_in_folder(in_folders[0], places[in_folders[0].platform])
    if others := in_folders[1:]:
        folders = [_folder(places[product.platform]) for product in others[:_TITLES_SHOWN]]
        yield f"  {_titles(others)}{_GAP}in {listed(folders)}"
    if in_editors:
        yield f"  {_titles(in_editors)}{_GAP}inside VS Code and its relatives"
    if exported := [product for product in known if isinstance(product, HasExport)]:
        yield f"  {_titles(exported)}{_GAP}never on disk: export them under Settings, then"
        yield ""
        yield f"      palaver import ~/Downloads/{exported[0].platform}-export.zip"
    yield ""
    yield "Somewhere else?   palaver import PATH"
    yield "Just looking?     palaver demo   (sample conversations in a temporary archive)"


def _is_in_editors(places: list[Path]) -> bool:
    folders = set(user_folders())
    return any(not folders.isdisjoint(place.parents) for place in places)


def _keeps_in_folder(product: Importer, places: list[Path]) -> str:
    setting = f" (or where {product.folder_setting} points)" if isinstance(product, HasFolderSetting) else ""
    return f"  {product.title}{_GAP}keeps them in {_folder(places)}{setting}"


def _folder(places: list[Path]) -> str:
    """Return the folder that holds the first place and others, or that place if it is the only one."""
    parent = places[0].parent
    return display_path(parent if sum(place.parent == parent for place in places) > 1 else places[0])


def _titles(products: "Sequence[Importer]") -> str:
    titles = [product.title for product in products[:_TITLES_SHOWN]]
    return ", ".join(titles) + (f" and {len(products) - _TITLES_SHOWN} more" if len(products) > _TITLES_SHOWN else "")
