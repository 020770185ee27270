"""mitmproxy with palaver in an environment of its own, kept in `.cache/`, for a test and for a benchmark.

mitmproxy pins its packages: version 11, the last for Python 3.11, needs older ones than some of palaver's dependencies
take. So palaver is installed without them, but for those that its addon imports; docs/record.md has the same advice.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from palaver.storage.file_locks import try_to_lock

CHECKOUT = Path(__file__).resolve().parents[1]
ADDON_NEEDS = ("msgspec", "orjson", "platformdirs")
"""What the addon imports that mitmproxy does not bring."""
DEADLINE_S = 300
_LISTENING = re.compile(r"listening at (?:\S*:)?([0-9]+)\.")
_MITMDUMP = "from mitmproxy.tools.main import mitmdump; mitmdump()"


class UnavailableError(Exception):
    """The environment cannot be built here; the message says why."""


@dataclass(frozen=True)
class Mitmdump:
    """A mitmdump that runs."""

    url: str
    pid: int


def mitmproxy_python() -> Path:
    """Return the Python of the environment; build it if it does not exist yet.

    Raises:
        UnavailableError: It cannot be built, for want of a network or for another reason.
    """
    folder = CHECKOUT / ".cache" / f"mitmproxy-{sys.implementation.cache_tag}"
    folder.parent.mkdir(exist_ok=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with _locked(folder.with_suffix(".lock")):
        ready = folder / "ready"
        if not ready.exists():
            venv.create(folder, clear=True, with_pip=True)
            install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _run([*install, "mitmproxy", *ADDON_NEEDS])
            _run([*install, "--no-deps", "--editable", CHECKOUT])
            ready.touch()
    return python


@contextmanager
def mitmdump(script: Path, *options: str) -> Iterator[Mitmdump]:
    """Run mitmdump with an addon script on a free port; stop it at the end, so that its addons finish."""
    command = [mitmproxy_python(), "-c", _MITMDUMP, "--listen-host", "127.0.0.1", "--listen-port", "0"]
    with tempfile.TemporaryDirectory() as home:
        settings = ["--set", f"confdir={home}", "--scripts", str(script)]
        process = subprocess.Popen(
            [*command, *settings, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        with process:
            try:
                yield Mitmdump(_url_of(process), process.pid)
            finally:
                process.terminate()


def _url_of(process: "subprocess.Popen[bytes]") -> str:
    printed = ""
    assert process.stdout is not None
    for line in process.stdout:
        printed += line.decode("utf-8", "replace")
        if found := _LISTENING.search(printed):
            # What it prints from now on is read, so that it never has to wait.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return f"http://127.0.0.1:{found[1]}"
    raise UnavailableError(f"mitmdump did not start: {printed}")


def _run(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"mitmproxy cannot be installed: {(done.stderr or done.stdout).strip()[-2_000:]}")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait until no other process builds the environment."""
    deadline = time.monotonic() + DEADLINE_S
    while (lock := try_to_lock(path)) is None:
        if time.monotonic() > deadline:
            raise UnavailableError(f"another process holds {path}")
        time.sleep(0.2)
    with lock:
        yield
