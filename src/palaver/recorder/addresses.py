"""Where a recorder listens, and the token that keeps others out when it listens on more than loopback."""

import ipaddress
import os
import re
import secrets
import socket
from typing import NamedTuple
from urllib.parse import urlsplit

from palaver.errors import OptionError

DEFAULT_PORT = 8788
TOKEN_VARIABLE = "PALAVER_RECORD_TOKEN"  # noqa: S105 - a name
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,200}")


class Address(NamedTuple):
    """A host and a port to listen on; port 0 is any free one."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT`; an IPv6 address has brackets."""
    try:
        parts = urlsplit(f"//{text}")
        if parts.hostname and parts.port is not None and parts.netloc == text and "@" not in text:
            return Address(parts.hostname, parts.port)
    except ValueError:
        pass
    raise OptionError(f"--listen {text}: write HOST:PORT, such as 127.0.0.1:{DEFAULT_PORT} or [::1]:{DEFAULT_PORT}")


def local_url(address: Address) -> str:
    """Return the URL of a recorder for programs of this machine."""
    host = address.host
    if is_any_address(host):
        host = "::1" if ":" in host else "127.0.0.1"
    return f"http://{Address(host, address.port)}"


def public_url(address: Address) -> str:
    """Return the URL of a recorder for programs of other machines."""
    host = socket.gethostname() if is_any_address(address.host) else address.host
    return f"http://{Address(host, address.port)}"


def required_token(address: Address) -> tuple[str, bool]:
    """Return the token that requests need, and whether it is a new one; "" on loopback, unless one is set.

    It is the value of $PALAVER_RECORD_TOKEN. Without one, a recorder that others can reach gets a random one.
    """
    token = os.environ.get(TOKEN_VARIABLE, "").strip()
    if token:
        if not _TOKEN.fullmatch(token):
            raise OptionError(f"{TOKEN_VARIABLE} must have 16 to 200 letters, digits, - or _: it is part of URLs")
        return token, False
    return ("", False) if is_loopback(address.host) else (secrets.token_urlsafe(24), True)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, reached by its own programs only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_any_address(host: str) -> bool:
    """Return whether a host stands for every address of this machine."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
