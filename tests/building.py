"""The wheel, built once for all tests that use it, also where several processes run them."""

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
SCRIPTS = Path(sysconfig.get_path("scripts"))
_DEADLINE_SECONDS = 300


def finish(words, **settings):
    """Run a command that must succeed, and return what it printed."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_environment(folder: Path) -> dict[str, str]:
    """An environment in which nothing leads to the checkout or to the user's own files."""
    home = folder / "home"
    home.mkdir(exist_ok=True, parents=True)
    taken = ("PYTHON", "PALAVER", "PYTEST", "XDG", "VIRTUAL_ENV", "PIPX", "UV_TOOL", "CLAUDE", "COLUMNS", "FORCE_COLOR")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(taken)}
    # uv has certificates of its own, which do not include those of a company's proxy.
    environment["UV_SYSTEM_CERTS"] = "true"
    own = {"HOME": home, "USERPROFILE": home, "PALAVER_HOME": folder / "data", "UV_CACHE_DIR": folder / "cache"}
    return {**environment, **{name: str(path) for name, path in own.items()}}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel that `make wheel` builds."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    built = shared / "wheel"
    try:
        built.mkdir()
    except FileExistsError:
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while not list(built.glob("*.whl")):
            assert time.monotonic() < deadline, "another process did not build the wheel"
            time.sleep(0.1)
    else:
        parts = shared / "wheel.parts"
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        finish([*pip, "--wheel-dir", parts, CHECKOUT])
        [part] = parts.glob("*.whl")
        part.rename(built / part.name)
    [file] = built.glob("*.whl")
    return file
