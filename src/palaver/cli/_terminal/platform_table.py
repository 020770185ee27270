"""The table of what a scan read, by platform; columns are left out before a path becomes unreadable."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from palaver.cli._archive import platform_title
from palaver.cli._terminal.paths import shortened_path
from palaver.cli._terminal.words import display_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions

    from palaver.model.report import Report

_GAP = "  "
_NARROWEST_PLACE = 16
_NARROW_PLACE = 26
_NUMBERS = ("conversations", "messages", "sources")
_NARROW_NUMBERS = ("conversations", "messages")


@dataclass(slots=True)
class _Row:
    """What was read of one platform."""

    conversations: int = 0
    messages: int = 0
    sources: int = 0
    places: set[str] = field(default_factory=set[str])


class PlatformTable:
    """What was read of each platform, the most conversations first, and where."""

    def __init__(self, report: "Report", paths_by_platform: "Mapping[str, Sequence[str]]") -> None:
        places = {name: [os.path.realpath(path) for path in paths] for name, paths in paths_by_platform.items()}
        self._rows: dict[str, _Row] = {}
        for source in report.sources:
            row = self._rows.setdefault(source.platform, _Row())
            row.conversations += source.conversations
            row.messages += source.messages
            row.sources += 1
            around = (place for place in places.get(source.platform, ()) if _is_in(source.source, place))
            row.places.add(next(around, source.source))

    def __bool__(self) -> bool:
        return bool(self._rows)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        rows = sorted(self._rows.items(), key=lambda row: (-row[1].conversations, platform_title(row[0])))
        titles = [platform_title(platform) for platform, _ in rows]
        width = max(map(cell_len, ("platform", *titles)))
        numbers = _NUMBERS
        left = options.max_width - width - sum(len(_GAP) + len(name) for name in numbers) - len(_GAP)
        if left < _NARROW_PLACE:
            numbers = _NARROW_NUMBERS
            left += len(_GAP) + len("sources")
        with_place = left >= _NARROWEST_PLACE
        heads = [f"{'platform':{width}}", *numbers, *(["place"] if with_place else [])]
        yield Text(_GAP.join(heads), "dim", no_wrap=True)
        for title, (_, row) in zip(titles, rows, strict=True):
            cells = [f"{getattr(row, name):>{len(name)},}" for name in numbers]
            text = Text(_GAP.join([title + " " * (width - cell_len(title)), *cells]), no_wrap=True)
            yield text.append(f"{_GAP}{_place(row.places, left)}", "dim") if with_place else text


def _place(places: set[str], width: int) -> str:
    if len(places) == 1:
        return shortened_path(display_path(*places), width)
    return f"{len(places):,} places"


def _is_in(source: str, path: str) -> bool:
    return source == path or source.startswith(path + os.sep)
