"""The upstreams of a recorder: where requests go, and which environment variables send a program's requests here.

A variable that is set already names the upstream, so that a gateway stays in use: all of its value, path included, is
the upstream's URL. Without it, a preset has the provider's own address, and its variables get the path that the
provider's clients expect at the end of a base URL (`/v1` for OpenAI).
"""

import re
import socket
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from palaver.errors import OptionError
from palaver.recorder.addresses import is_any_address, is_loopback
from palaver.redact.policy import mask_url


class Upstream(NamedTuple):
    """A server that requests are forwarded to."""

    name: str
    url: str
    """Without a slash at its end. It may hold a user and a password: print it with `mask_url` only."""
    prefix: str
    """The path below which the recorder accepts its requests: empty, or `/NAME`."""
    variables: dict[str, str]
    """The variables of its clients, with what each value has after the recorder's URL and the prefix."""


class _Preset(NamedTuple):
    url: str
    variables: tuple[str, ...]
    suffix: str
    hosts: tuple[str, ...]
    """The provider's hosts; one that starts with a dot stands for all below it."""


PRESETS = {
    "anthropic": _Preset("https://api.anthropic.com", ("ANTHROPIC_BASE_URL",), "", ("api.anthropic.com",)),
    "openai": _Preset("https://api.openai.com", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "/v1", ("api.openai.com",)),
    "azure-openai": _Preset("", ("AZURE_OPENAI_ENDPOINT",), "", (".openai.azure.com",)),
    "gemini": _Preset(
        "https://generativelanguage.googleapis.com",
        ("GOOGLE_GEMINI_BASE_URL",),
        "",
        ("generativelanguage.googleapis.com",),
    ),
}
_USES_OPENAI = (*PRESETS["openai"].variables, "OPENAI_API_KEY")
"""Variables of which one is set where programs call OpenAI itself."""
_NAMED = re.compile(r"([A-Za-z0-9_.-]*)=(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_NOT_IN_URLS = re.compile(r"[\s\x00-\x1f\x7f\\]")


def choose_upstreams(words: Sequence[str], environment: Mapping[str, str]) -> list[Upstream]:
    """Return the upstreams that the words name: presets, URLs and `NAME=URL`; without any, every preset with a URL.

    A single upstream is mounted at the root, several at `/NAME` each.
    """
    if not words:
        upstreams = _all_presets(environment)
    elif len(words) == 1:
        upstreams = [_upstream(words[0], environment, is_only=True)]
    else:
        upstreams = [_upstream(word, environment, is_only=False) for word in words]
    names = [upstream.name for upstream in upstreams]
    for name in names:
        if names.count(name) > 1:
            raise OptionError(f"--upstream {name} is given twice: name each upstream once, as NAME=URL")
    if len(upstreams) == 1:
        return [upstreams[0]._replace(prefix="")]
    return upstreams


def variables_for(upstreams: Sequence[Upstream], base_url: str, token: str = "") -> dict[str, str]:
    """Return the variables that send requests to a recorder at this URL; a token comes first in the path."""
    root = f"{base_url.rstrip('/')}/{token}".rstrip("/")
    return {
        variable: f"{root}{upstream.prefix}{suffix}"
        for upstream in upstreams
        for variable, suffix in upstream.variables.items()
    }


def refuse_loop(upstreams: Sequence[Upstream], host: str, port: int) -> None:
    """Raise OptionError if an upstream is the recorder itself, which listens on this host and port."""
    for upstream in upstreams:
        parts = urlsplit(upstream.url)
        if _port(parts) == port and _is_same_host(parts.hostname or "", host):
            unset = f", or unset {' and '.join(upstream.variables)}" if upstream.variables else ""
            raise OptionError(
                f"the upstream {upstream.name} is this recorder itself ({mask_url(upstream.url)}): name another with "
                f"--upstream{unset}"
            )


def _all_presets(environment: Mapping[str, str]) -> list[Upstream]:
    """Return the upstreams of all presets that have a URL."""
    chosen = [name for name in PRESETS if PRESETS[name].url or _set_variable(name, environment)]
    upstreams = [_preset(name, environment) for name in chosen]
    if "azure-openai" not in chosen or any(environment.get(each, "").strip() for each in _USES_OPENAI):
        return upstreams
    # Azure's client for JavaScript prefers OpenAI's variable to its own endpoint: OpenAI would get the key for Azure.
    return [each._replace(variables={}) if each.name == "openai" else each for each in upstreams]


def _upstream(word: str, environment: Mapping[str, str], *, is_only: bool) -> Upstream:
    if named := _NAMED.fullmatch(word):
        return _named(named[1], named[2], is_only=is_only)
    if "://" in word:
        if not is_only:
            raise OptionError(f"--upstream {mask_url(word)}: with several upstreams, each URL needs a name: NAME=URL")
        url = _checked_url(word, f"--upstream {mask_url(word)}")
        return _by_host(urlsplit(url).hostname or "", url)
    if word in PRESETS:
        return _preset(word, environment)
    close = get_close_matches(word.lower(), PRESETS, n=1)
    meant = f"did you mean {close[0]}?" if close else f"choose {', '.join(PRESETS)}, a URL, or NAME=URL"
    raise OptionError(f"--upstream {word.rpartition('@')[2]} is not known: {meant}")


def _preset(name: str, environment: Mapping[str, str]) -> Upstream:
    """Return the upstream of a preset: what its variable says, else the provider's own address."""
    preset = PRESETS[name]
    if variable := _set_variable(name, environment):
        url = _checked_url(environment[variable].strip(), variable)
        return Upstream(name, url, f"/{name}", dict.fromkeys(preset.variables, ""))
    if not preset.url:
        raise OptionError(f"--upstream {name} has no address: set {preset.variables[0]}, or write {name}=URL")
    return Upstream(name, preset.url, f"/{name}", dict.fromkeys(preset.variables, preset.suffix))


def _named(name: str, address: str, *, is_only: bool) -> Upstream:
    if not _NAME.fullmatch(name):
        raise OptionError(
            f"--upstream {name}={mask_url(address)}: the name is part of a URL, so it needs a letter and then only "
            "letters, digits, - or _"
        )
    url = _checked_url(address, f"--upstream {name}={mask_url(address)}")
    if name in PRESETS:
        return Upstream(name, url, f"/{name}", dict.fromkeys(PRESETS[name].variables, _suffix(name, url)))
    return _by_host(name, url) if is_only else Upstream(name, url, f"/{name}", {})


def _by_host(name: str, url: str) -> Upstream:
    """Return the only upstream, of the provider that its host shows, else compatible with OpenAI."""
    host = urlsplit(url).hostname or ""
    provider = next((each for each in PRESETS if _is_host_of(each, host)), "openai")
    name = provider if name == host and _is_host_of(provider, host) else name
    return Upstream(name, url, f"/{name}", dict.fromkeys(PRESETS[provider].variables, _suffix(provider, url)))


def _is_host_of(provider: str, host: str) -> bool:
    return any(host == each or (each[0] == "." and host.endswith(each)) for each in PRESETS[provider].hosts)


def _suffix(provider: str, url: str) -> str:
    """Return what clients expect after the URL: nothing if it has a path, or is not the provider's own."""
    return PRESETS[provider].suffix if url == PRESETS[provider].url else ""


def _set_variable(name: str, environment: Mapping[str, str]) -> str:
    """Return the first variable of a preset that has a value; an empty value counts as none."""
    return next((each for each in PRESETS[name].variables if environment.get(each, "").strip()), "")


def _checked_url(text: str, where: str) -> str:
    """Return a URL without slashes at its end; raise OptionError if requests cannot be sent below it."""
    try:
        parts = urlsplit(text)
        _port(parts)
    except ValueError as error:
        raise OptionError(f"{where} is not a URL") from error
    if parts.scheme not in {"http", "https"}:
        raise OptionError(f"{where} is not a URL that starts with https:// or http://")
    if not parts.hostname or _NOT_IN_URLS.search(text):
        raise OptionError(f"{where} is not a URL with a host")
    if parts.query or parts.fragment or text.endswith(("?", "#")):
        raise OptionError(f"{where} has a query or a fragment: requests are sent below the URL, so it must end before")
    return text.rstrip("/")


def _port(parts: SplitResult) -> int:
    return parts.port or (443 if parts.scheme == "https" else 80)


def _is_same_host(upstream: str, listening: str) -> bool:
    """Return whether a host of a URL is the one listened on; a recorder may listen on all of this machine's."""
    upstream, listening = upstream.lower(), listening.lower()
    if upstream == listening:
        return True
    if is_any_address(listening):
        return is_loopback(upstream) or is_any_address(upstream) or upstream == socket.gethostname().lower()
    return (is_loopback(upstream) or is_any_address(upstream)) and is_loopback(listening)
