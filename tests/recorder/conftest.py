from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import trustme

from recorder.running import Recorder
from recorder.upstream import Handler, Upstream

_PROTOCOLS = ("http/1.1", "h2")


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="session")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ca") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return path


@pytest.fixture(params=_PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    """The protocol that the upstream of a test speaks."""
    return request.param


class Stage:
    """Upstreams and recorders of a test, which are stopped at its end."""

    def __init__(self, stack: ExitStack, folder: Path, authority: trustme.CA, ca_file: Path) -> None:
        self._stack = stack
        self.folder = folder
        self._authority = authority
        self._ca_file = ca_file

    def upstream(self, handler: Handler, protocol: str = "") -> Upstream:
        authority = self._authority if protocol else None
        return self._stack.enter_context(Upstream(handler, authority=authority, http2=protocol == "h2"))

    def recorder(self, upstream: Upstream | str, **settings: Any) -> Recorder:
        url = upstream if isinstance(upstream, str) else upstream.url
        settings = {"ca": self._ca_file, "timeout_s": 30.0, **settings}
        return self._stack.enter_context(Recorder(self.folder, url, **settings))


@pytest.fixture
def stage(tmp_path: Path, authority: trustme.CA, ca_file: Path) -> Iterator[Stage]:
    with ExitStack() as stack:
        yield Stage(stack, tmp_path / "log", authority, ca_file)
