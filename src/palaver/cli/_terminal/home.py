"""The screen that `palaver` alone shows: the archive by platform, what is new, and the commands to try next."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from palaver.archive.contents import Contents
from palaver.cli._archive import platform_title
from palaver.cli._terminal.empty_machine import EmptyMachine
from palaver.cli._terminal.layout import wrapped
from palaver.cli._terminal.next_steps import next_steps
from palaver.cli._terminal.paths import PathLine
from palaver.cli._terminal.words import counted, time_ago
from palaver.workflows.news import News

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Console, ConsoleOptions, RenderableType


class _Paragraph:
    """A sentence wrapped at words."""

    def __init__(self, text: str, style: str = "") -> None:
        self._text, self._style = text, style

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "Iterator[Text]":
        yield Text("\n".join(wrapped(self._text, options.max_width)), self._style)


def home_screen(
    contents: Contents, news: News, steps: "Mapping[str, str]", *, archive: Path | None
) -> "Iterator[RenderableType]":
    """Yield the parts of the screen; `archive` is None until there is one."""
    if contents.platforms:
        yield from _holdings(contents)
        if archive:
            yield PathLine(archive, before="Archive: ")
        yield ""
        yield _Paragraph(_news(contents, news))
    elif news.files:
        yield _Paragraph("The archive is empty." if archive else "There is no archive yet.", "bold")
        yield _Paragraph(f"On this machine: {_files(news.files)}")
    else:
        yield EmptyMachine()
    if not news.is_complete:
        yield _Paragraph("There was no time to look at every place; `palaver scan` does.", "yellow")
    if contents.platforms or news.files:
        yield ""
        yield from next_steps(steps)
    yield ""
    yield Text("All commands: palaver --help", "dim")


def _holdings(contents: Contents) -> "Iterator[RenderableType]":
    now = datetime.now(UTC)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("platform", no_wrap=True)
    for name in ("conversations", "messages"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("newest", no_wrap=True)
    for held in contents.platforms:
        numbers = (f"{held.conversations:,}", f"{held.messages:,}")
        table.add_row(platform_title(held.platform), *numbers, Text(time_ago(held.newest, now), "dim"))
    agents = sum(held.agents for held in contents.platforms)
    conversations = counted(sum(held.conversations for held in contents.platforms), "conversation")
    messages = counted(sum(held.messages for held in contents.platforms), "message")
    by_agents = f" ({agents:,} by agents)" if agents else ""
    yield Text.assemble((conversations, "bold"), by_agents, ", ", (messages, "bold"))
    yield ""
    yield table
    yield ""


def _news(contents: Contents, news: News) -> str:
    ago = ""
    if contents.last_import:
        ago = f" ({time_ago(contents.last_import, datetime.now(UTC))})".replace("(now)", "(just now)")
    if news.files:
        return f"New or changed since the last import{ago}: {_files(news.files)}"
    if news.outdated:
        titles = ", ".join(platform_title(platform) for platform in sorted(news.outdated))
        return f"No new files since the last import{ago}, but this version reads {titles} better"
    return f"Nothing new since the last import{ago}"


def _files(files: Counter[str]) -> str:
    return ", ".join(
        f"{counted(number, 'file')} of {platform_title(platform)}" for platform, number in files.most_common()
    )
