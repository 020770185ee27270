"""A recorder that runs in the process of a test: the proxy, its log, and what it has reported."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import palaver
from palaver.recorder.proxy import Proxy
from palaver.recorder.server import ProxyServer
from palaver.recorder.settings import ProxySettings
from palaver.recorder.upstreams import Upstream as Target
from palaver.streams.exchange import FinishedExchange
from recorder.upstream import DEADLINE_S

Json = dict[str, Any]


class Events:
    """What a recorder reports, for tests that wait for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.paths: list[str] = []
        self.streams: list[str] = []
        self.ended: list[FinishedExchange] = []
        self.failures: list[str] = []

    def started(self, request_id: str, method: str, path: str) -> None:  # noqa: ARG002 - the interface
        self._note(self.paths, path)

    def streaming(self, request_id: str) -> None:
        self._note(self.streams, request_id)

    def finished(self, exchange: FinishedExchange) -> None:
        self._note(self.ended, exchange)

    def failed(self, message: str) -> None:
        self._note(self.failures, message)

    def wait_for(self, is_true: Callable[[], Any]) -> None:
        with self._changed:
            assert self._changed.wait_for(is_true, DEADLINE_S), (self.paths, self.ended, self.failures)

    def wait_until_ended(self, count: int = 1) -> list[FinishedExchange]:
        self.wait_for(lambda: len(self.ended) >= count)
        return self.ended

    def _note(self, where: list[Any], what: Any) -> None:
        with self._changed:
            where.append(what)
            self._changed.notify_all()


class Recorder:
    """Records the traffic to some upstreams in a folder until it is closed."""

    def __init__(self, folder: Path, url: str | Sequence[Target], **settings: Any) -> None:
        self.folder = folder
        self.events = Events()
        self.log = palaver.ExchangeLog(folder)
        targets = [Target("upstream", url, "", {})] if isinstance(url, str) else url
        proxy = Proxy(targets, self.log, ProxySettings(**settings), self.events)
        self.server = ProxyServer(proxy, "127.0.0.1", 0)
        self.server.start()
        self.url = self.server.base_url

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def lines(self, count: int = 1) -> list[Json]:
        """Wait until this many exchanges have ended, and return the lines of the log; there must be no others."""
        self.events.wait_until_ended(count)
        found = lines(self.folder)
        assert len(found) == count
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        self.server.stop(0)
        self.log.close()
        if error is None:
            assert not self.events.failures
            assert not list((self.folder / "journal").rglob("*.part")), "every exchange was settled"


def lines(folder: Path) -> list[Json]:
    return [json.loads(line) for path in sorted(folder.glob("log-*.jsonl")) for line in path.read_bytes().splitlines()]


def files_under(folder: Path) -> bytes:
    """Return the content of all files of a folder, and their names."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return b"\n".join(path.name.encode() + b"\n" + path.read_bytes() for path in files)
