"""A recording from its start to its summary: the server, the command or the wait for Ctrl-C, and what was counted."""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Self
from urllib.parse import urlsplit

from palaver.api.exchange_log import ExchangeLog
from palaver.cli._command_process import STOP_SIGNALS, run_command, signals_handled
from palaver.cli._terminal import output
from palaver.cli._terminal.recording import (
    announcement,
    call_line,
    import_hint,
    no_calls,
    recording_summary,
    status_line,
)
from palaver.cli._terminal.words import counted
from palaver.config import config_path, load_config
from palaver.model.report import Report
from palaver.prices import Prices
from palaver.recorder.addresses import Address, is_loopback, local_url, public_url
from palaver.recorder.proxy import Proxy
from palaver.recorder.server import ProxyServer
from palaver.recorder.settings import ProxySettings
from palaver.recorder.tally import PricedCall, Tally, Totals
from palaver.recorder.upstreams import Upstream, refuse_loop, variables_for

_GRACE_S = 5.0
"""How long exchanges may go on once the recording is to end."""
_LOOK_EVERY_S = 0.2
_PROXY_VARIABLES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")


class Recording:
    """Records from `__enter__` to `__exit__`; what was recorded can be reported afterwards."""

    def __init__(
        self, log: ExchangeLog, upstreams: Sequence[Upstream], settings: ProxySettings, address: Address
    ) -> None:
        self._log = log
        # Without a handler, Python would print the warnings that `report_problems` prints in its own way.
        logging.getLogger("palaver").addHandler(logging.NullHandler())
        self._upstreams = upstreams
        self._settings = settings
        self._address = address
        self._tally = Tally()
        self._totals = Totals(Prices(load_config(config_path())))
        self._problems: dict[str, bool] = {}
        """What went wrong in the recorder itself, and whether that was reported."""
        self._server = ProxyServer(Proxy(upstreams, log, settings, self._tally), address.host, address.port)
        self._began = self._ended = time.monotonic()
        self._is_command = False

    def __enter__(self) -> Self:
        self._server.start()
        try:
            self._address = Address(self._address.host, urlsplit(self._server.base_url).port or self._address.port)
            refuse_loop(self._upstreams, *self._address)
        except BaseException:
            self._server.stop(0)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(0)
        self._ended = time.monotonic()
        self._count_finished()

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the recorder."""
        return is_loopback(self._address.host)

    @property
    def files(self) -> list[Path]:
        """The log files that were written."""
        return self._log.files

    def announce(self, shown_token: str) -> None:
        """Print where to send requests."""
        url = local_url(self._address) if self.is_local else public_url(self._address)
        root = f"{url}/{shown_token}".rstrip("/")
        variables = variables_for(self._upstreams, url, shown_token)
        output.notify(*announcement(self._upstreams, root, variables, self._log.folder))

    def run(self, words: Sequence[str]) -> int:
        """Run a command with its requests sent here, and return its exit code."""
        self._is_command = True
        code = run_command(words, _environment(self._variables(), os.environ))
        stop = _StopRequests()
        with signals_handled(stop, STOP_SIGNALS):
            self._stop_server(lambda: stop.count > 0, lambda: time.sleep(_LOOK_EVERY_S))
        return code

    def watch(self, *, is_quiet: bool) -> None:
        """Show what passes until Ctrl-C, then let the exchanges that go on end; a second Ctrl-C interrupts them."""
        stop = _StopRequests()
        with signals_handled(stop, STOP_SIGNALS), output.StatusLine(is_quiet=is_quiet) as status:
            while not stop.count:
                self._show(status, is_quiet=is_quiet)
            status.hide()
            self._stop_server(lambda: stop.count > 1, lambda: self._show(status, is_quiet=is_quiet))
            status.hide()

    def _stop_server(self, is_urgent: Callable[[], bool], wait: Callable[[], None]) -> None:
        """Let the exchanges that go on end, for a while; Ctrl-C makes it urgent."""
        deadline = time.monotonic() + _GRACE_S
        if running := self._tally.running_count:
            output.notify(f"{counted(running, 'call')} may go on for {_GRACE_S:.0f} s; Ctrl-C ends it now.")
        while self._tally.running_count and not is_urgent() and time.monotonic() < deadline:
            wait()
        self._server.stop(0 if is_urgent() else max(0.0, deadline - time.monotonic()))

    def report_problems(self) -> None:
        """Print what went wrong in the recorder itself, each problem once."""
        for problem, is_reported in self._problems.items():
            if not is_reported:
                output.report_error(problem)
                self._problems[problem] = True

    def summarize(self, imported: Report | None, *, is_hinting: bool) -> None:
        """Print what was recorded; `is_hinting` adds how to import it."""
        if self._is_command:
            output.notify("")  # after what the command printed
        if not self._totals.calls:
            is_selective = self._settings.sample < 1 or self._settings.include or self._settings.exclude
            output.notify(no_calls(self._variables() if self._is_command and not is_selective else None))
            return
        seconds = self._ended - self._began
        output.notify(*recording_summary(self._totals, seconds, self.files, imported))
        if is_hinting and self.files:
            output.notify(import_hint(self._log.folder))

    def answer(self, imported: Report | None, command_exit_code: int | None, failure: str) -> dict[str, Any]:
        """Return what was recorded as the answer to `--json`."""
        totals = self._totals
        first_token_s = (totals.median_first_token_s, totals.slowest_first_token_s)
        median_ms, slowest_ms = (None if time_s is None else round(time_s * 1_000, 3) for time_s in first_token_s)
        return {
            "log": str(self._log.folder),
            "files": [str(file) for file in self.files],
            "recovered": self._log.recovered,
            "calls": totals.calls,
            "streams": totals.streams,
            "models": dict(sorted(totals.models.items())),
            "tokens": totals.tokens._asdict(),
            "cost": {"amount": float(totals.cost), "currency": "USD"} if totals.priced else None,
            "unpriced": dict(sorted(totals.unpriced.items())),
            "median_first_token_ms": median_ms,
            "slowest_first_token_ms": slowest_ms,
            "errors": dict(sorted(totals.errors.items())),
            "unwritten": totals.unwritten.total(),
            "problems": [*self._log.problems, *self._problems, *([failure] if failure else [])],
            "conversations": None if imported is None else imported.totals()["conversations"],
            "exit_code": command_exit_code,
        }

    def _variables(self) -> dict[str, str]:
        """Return the variables for programs of this machine."""
        return variables_for(self._upstreams, local_url(self._address), self._settings.token)

    def _show(self, status: output.StatusLine, *, is_quiet: bool) -> None:
        """Show what passed since the last time, and wait a moment."""
        news = [priced for priced in self._count_finished() if priced.call.error or not status.is_possible]
        if (news and not is_quiet) or not all(self._problems.values()):
            status.hide()
        if not is_quiet:
            output.notify(*map(call_line, news))
        self.report_problems()
        status.show(status_line(self._tally, self._totals))
        time.sleep(_LOOK_EVERY_S)

    def _count_finished(self) -> list[PricedCall]:
        """Add what has ended to the totals, and return it."""
        counted_calls = [self._totals.add(call) for call in self._tally.take_finished()]
        for priced in counted_calls:
            if reason := priced.call.unwritten:
                self._problems.setdefault(f"a call could not be logged, and went on without: {reason}", False)
        for defect in self._tally.take_defects():
            self._problems.setdefault(f"{defect} (this is a bug in palaver)", False)
        return counted_calls


class _StopRequests:
    """Counts the signals that ask for the end."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1


def _environment(variables: Mapping[str, str], inherited: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a command that reaches the recorder, past any proxy that it uses otherwise."""
    environment = {**inherited, **variables}
    if any(environment.get(name) for name in _PROXY_VARIABLES):
        excepted = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
        hosts = {urlsplit(url).hostname or "" for url in variables.values()}
        environment["no_proxy"] = environment["NO_PROXY"] = ",".join(filter(None, (excepted, *sorted(hosts))))
    return environment
