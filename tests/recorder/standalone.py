"""A recorder in a process of its own, which can be killed, and whose output and memory can be looked at.

Run as a program, it records until its input ends, and writes to its output where it listens, what happens, and in the
end the most memory it had. All that is logged anywhere goes to its error output, at the finest level.
"""

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

DEADLINE_S = 20.0
_COMPLAINTS = (b"Traceback", b"never retrieved", b"was destroyed", b"ResourceWarning", b"never awaited")
"""What Python says of tasks, sockets and files that are left behind."""


class Standalone:
    """A recorder in a process of its own."""

    def __init__(self, folder: Path, url: str, **settings: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-X", "dev", __file__, json.dumps({"folder": str(folder), "url": url, **settings})],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said: list[dict[str, Any]] = []
        """What it has written to its output."""
        self.errors = b""
        """What it has written to its error output, once it has ended."""
        self._drain = threading.Thread(target=self._read_errors, daemon=True)
        self._drain.start()
        self.url = self.next("url")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        self.said += map(json.loads, self._stdout)
        self._stdout.close()
        self._wait()
        if error is None:
            complaints = [line for line in self.errors.splitlines() if any(word in line for word in _COMPLAINTS)]
            assert not complaints, self.errors.decode()

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def next(self, name: str) -> Any:
        """Wait until it says something of this name, and return what."""
        while line := self._stdout.readline():
            self.said.append(json.loads(line))
            if name in self.said[-1]:
                return self.said[-1][name]
        self._wait()
        raise AssertionError(self.errors.decode())

    def kill(self) -> None:
        """Kill it as `kill -9` does."""
        self._process.send_signal(signal.SIGKILL)
        self._wait()

    @property
    def _stdin(self) -> Any:
        return self._process.stdin

    @property
    def _stdout(self) -> Any:
        return self._process.stdout

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self.errors = self._process.stderr.read()
        self._process.stderr.close()

    def _wait(self) -> None:
        self._process.wait(DEADLINE_S)
        self._drain.join(DEADLINE_S)


class _Reports:
    """Writes down everything that the recorder reports."""

    def __init__(self, say: Any) -> None:
        self._say = say

    def started(self, request_id: str, method: str, path: str) -> None:
        self._say(started=[request_id, method, path])

    def streaming(self, request_id: str) -> None:
        self._say(streaming=request_id)

    def finished(self, exchange: Any) -> None:
        self._say(finished=[*exchange[:8], exchange.error, exchange.place, exchange.unwritten])

    def failed(self, message: str) -> None:
        self._say(failed=message)


def _record(*, folder: str, url: str, ca: str | None = None, halts_in_line: bool = False, **settings: Any) -> None:
    import palaver
    from palaver.recorder.proxy import Proxy
    from palaver.recorder.server import ProxyServer
    from palaver.recorder.settings import ProxySettings
    from palaver.recorder.upstreams import Upstream
    from palaver.streams import exchange_log

    lock = threading.Lock()

    def say(**what: Any) -> None:
        with lock:
            print(json.dumps(what), flush=True)  # noqa: T201 - this is how it talks to the test

    def write_half(descriptor: int, whole: bytes) -> None:
        os.write(descriptor, whole[: len(whole) // 2])
        say(halted=True)
        threading.Event().wait()

    logging.basicConfig(level=1, stream=sys.stderr)
    if halts_in_line:
        exchange_log.write_all = write_half
    with palaver.ExchangeLog(folder) as log:
        proxy_settings = ProxySettings(ca=None if ca is None else Path(ca), **settings)
        proxy = Proxy([Upstream("upstream", url, "", {})], log, proxy_settings, _Reports(say))
        with ProxyServer(proxy, "127.0.0.1", 0) as server:
            say(url=server.base_url, recovered=log.recovered, problems=log.problems)
            sys.stdin.read()
    say(peak_bytes=_peak_bytes())


def _peak_bytes() -> int:
    """Return the most memory that this program had; on Linux, `ru_maxrss` counts that of its parent, too."""
    if sys.platform == "linux":
        fields = (line.split() for line in Path("/proc/self/status").read_text("ascii").splitlines())
        return next(int(words[1]) << 10 for words in fields if words[0] == "VmHWM:")
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


if __name__ == "__main__":
    _record(**json.loads(sys.argv[1]))
