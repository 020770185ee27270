"""What `palaver record` shows: where to send requests, each exchange or a status line, and the summary at the end."""

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from palaver.cli._terminal.paths import PathLine, shell_path
from palaver.cli._terminal.words import (
    counted,
    duration,
    escaped_line,
    listed,
    local_time,
    money,
    short_number,
    tallied,
)
from palaver.redact.policy import mask_url

if TYPE_CHECKING:
    from rich.console import RenderableType

    from palaver.model.report import Report
    from palaver.recorder.tally import PricedCall, Tally, Tokens, Totals
    from palaver.recorder.upstreams import Upstream

_CHANGES = {"added": "new", "updated": "grown", "unchanged": "known already"}


def announcement(
    upstreams: "Sequence[Upstream]", root: str, variables: Mapping[str, str], folder: Path
) -> "Iterator[RenderableType]":
    """Yield where requests go, and the lines that send a program's requests here, ready to be pasted."""
    yield PathLine(folder, before="Recording into ", style="bold")
    yield ""
    addresses = [f"{root}{upstream.prefix}" for upstream in upstreams]
    width = max(map(len, addresses))
    for address, upstream in zip(addresses, upstreams, strict=True):
        yield _unwrapped(Text.assemble(f"  {address:{width}}", (f"  to {escaped_line(mask_url(upstream.url))}", "dim")))
    if variables:
        yield ""
        yield "Set these where the program to record runs:"
        yield ""
        for name, value in variables.items():
            yield _unwrapped(Text(f"  {_assignment(name, value)}", "cyan"))
    yield ""


def call_line(priced: "PricedCall") -> Text:
    """Return a line for one finished exchange."""
    call = priced.call
    time = local_time(call.timestamp)
    status = "" if call.status is None else str(call.status)
    outcome = Text(f"  {call.error}", "red") if call.error else Text(f"  {status}")
    parts = [duration(call.duration_s)]
    parts += [escaped_line(call.model)] if call.model and any(priced.tokens) else []
    parts += [_token_counts(priced.tokens)] if any(priced.tokens) else []
    parts += [money(priced.cost)] if priced.cost is not None else []
    clock = f"{time:%H:%M:%S}" if time else ""
    return Text.assemble(f"{clock}  {call.method} {escaped_line(call.path)}", outcome, f"  {'  '.join(parts)}")


def status_line(tally: "Tally", totals: "Totals") -> Text:
    """Return what passed so far in a line, the most important first: a narrow terminal cuts its end."""
    running = tally.running_count
    if not totals.calls and not running:
        return _one_line(Text("Waiting for the first call; Ctrl-C ends the recording", "dim"))
    parts = [Text(counted(totals.calls, "call"))]
    if running:
        streams = f", {tally.stream_count:,} streaming" if tally.stream_count else ""
        parts.append(Text(f"{running:,} running{streams}"))
    if errors := totals.errors.total():
        parts.append(Text(counted(errors, "error"), "red"))
    if totals.priced:
        parts.append(Text(money(totals.cost)))
    if any(totals.tokens):
        parts.append(Text(_token_counts(totals.tokens)))
    return _one_line(Text("  ·  ").join(parts))


def recording_summary(
    totals: "Totals", seconds: float, files: Sequence[Path], archived: "Report | None"
) -> "Iterator[RenderableType]":
    """Yield what passed in all: calls, tokens, cost, the time to the first token, errors, and where it is now."""
    streamed = f", {totals.streams:,} of them streamed" if totals.streams else ""
    yield Text(f"{counted(totals.calls, 'call')} in {duration(seconds)}{streamed}", "bold")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    if totals.models:
        table.add_row("Models", escaped_line(tallied(totals.models)))
        table.add_row("Tokens", _all_token_counts(totals.tokens))
        table.add_row("Cost", _cost(totals))
    if (median := totals.median_first_token_s) is not None and (slowest := totals.slowest_first_token_s) is not None:
        times = f"{duration(median)} (median), {duration(slowest)} at most" if totals.streams > 1 else duration(median)
        table.add_row("First token", f"after {times}")
    table.add_row("Errors", Text(escaped_line(tallied(totals.errors)), "red") if totals.errors else "none")
    if totals.unwritten:
        table.add_row("Not logged", Text(_unwritten(totals.unwritten), "red"))
    if files:
        table.add_row("Log", PathLine(files[0], style="") if len(files) == 1 else _several(files))
    if archived is not None:
        table.add_row("Archive", _archived(archived))
    yield table


def import_hint(folder: Path) -> Text:
    """Return how to import a log."""
    return _unwrapped(Text.assemble("To the archive: ", (f"palaver import {shell_path(folder)}", "cyan")))


def no_calls(variables: Mapping[str, str] | None) -> Text:
    """Return that nothing was recorded, and why that may be with a command that got these variables."""
    if not variables:
        return Text("No calls were recorded.")
    return Text(f"No calls were recorded: the command called no API, or does not read {listed(list(variables))}.")


def _token_counts(tokens: "Tokens") -> str:
    cached = tokens.cache_read + tokens.cache_write
    return f"{short_number(tokens.input)} in, " + (
        f"{short_number(cached)} cached, {short_number(tokens.output)} out"
        if cached
        else f"{short_number(tokens.output)} out"
    )


def _all_token_counts(tokens: "Tokens") -> str:
    read = f", {tokens.cache_read:,} read from the cache" if tokens.cache_read else ""
    written = f", {tokens.cache_write:,} written to it" if tokens.cache_write else ""
    if written and not read:
        written = f", {tokens.cache_write:,} written to the cache"
    return f"{tokens.input:,} in{read}{written}, {tokens.output:,} out"


def _cost(totals: "Totals") -> str:
    known = f"{money(totals.cost)} by public prices" if totals.priced else "unknown"
    return f"{known}; no price for {escaped_line(listed(sorted(totals.unpriced)))}" if totals.unpriced else known


def _unwritten(reasons: Counter[str]) -> str:
    return f"{counted(reasons.total(), 'call')}: {escaped_line(listed(sorted(reasons)))}"


def _several(files: Sequence[Path]) -> PathLine:
    return PathLine(files[0].parent, before=f"{counted(len(files), 'file')} in ", style="")


def _archived(report: "Report") -> str:
    changes = report.archive or {}
    count = sum(source.conversations for source in report.sources)
    parts = [f"{changes[name]:,} {word}" for name, word in _CHANGES.items() if changes.get(name)]
    found = counted(count, "conversation") + (f" ({', '.join(parts)})" if parts else "")
    quarantined = sum(source.ledger.quarantined.total() for source in report.sources)
    unread = f"; {counted(quarantined, 'record')} could not be read: `palaver quarantine list`" if quarantined else ""
    return f"{found}: `palaver list`{unread}" if count else f"no conversation in it{unread}"


def _assignment(name: str, value: str) -> str:
    """Return a line for this system's shell; a token's variable in a value is left for the shell to replace."""
    word = value if "$" in value else shlex.quote(value)
    forms = {"nt": f'$env:{name} = "{value}"', "posix": f"export {name}={word}"}
    return forms[os.name]


def _unwrapped(line: Text) -> Text:
    """Leave a long line to the terminal, so that it is copied as one."""
    line.no_wrap, line.overflow = True, "ignore"
    return line


def _one_line(line: Text) -> Text:
    line.no_wrap, line.overflow = True, "ellipsis"
    return line
