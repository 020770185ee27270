"""A logged request as a command for `curl`, which works when it is pasted into sh, bash, zsh or fish.

Secrets are masked in a log, so the shell's variables take their places: `$ANTHROPIC_API_KEY` and others. The body goes
through a pipe, because a system limits the length of an argument.
"""

import base64
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from palaver.errors import ContentError, SourceError
from palaver.model.build import JsonObject
from palaver.redact.policy import MASK, mask_headers, mask_url
from palaver.streams.content_encoding import content_decoder
from palaver.streams.exchange_entry import header_values

_BREAK = " \\\n  "
_AFTER_PIPE = "\n  "
_KEY_VARIABLES = {
    "x-api-key": "ANTHROPIC_API_KEY",
    "api-key": "AZURE_OPENAI_API_KEY",
    "x-goog-api-key": "GEMINI_API_KEY",
}
_NOT_REPEATED = frozenset(
    {"host", "content-length", "accept-encoding", "connection", "keep-alive", "proxy-connection", "te", "trailer"}
    | {"transfer-encoding", "upgrade", "expect"}
)
"""Headers that curl sets itself, or that belong to a single connection."""
_DOUBLE_QUOTED = re.compile(r"['\\]{2,}|'|\\\Z")
"""What fish reads in another way than other shells between single quotes."""
_MASKED_KEY = re.compile(rf"([?&]key=){re.escape(MASK)}")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal would not show or would act on."""


class _Request(msgspec.Struct):
    method: str
    url: str
    headers: dict[str, Any] = {}
    body: msgspec.Raw = msgspec.Raw()
    body_raw: str = ""
    body_base64: str = ""


class _Entry(msgspec.Struct):
    request: _Request


class LoggedRequest(NamedTuple):
    """The request of an exchange as it was logged."""

    method: str
    url: str
    headers: dict[str, list[str]]
    body: bytes
    is_json: bool


class CurlCommand(NamedTuple):
    text: str
    variables: list[str]
    """Variables that have to be set before, with the secrets that are masked in the log."""
    left_out: list[str]
    """What is masked and has no variable: names of headers, or a part of the URL."""


def logged_request(log: Path, number: int) -> LoggedRequest:
    """Return the request in a line of a log; lines count from 1.

    Raises:
        SourceError: The log cannot be read, or has no such line.
        ContentError: The line is not an exchange.
    """
    try:
        request = msgspec.json.decode(_line(log, number), type=_Entry).request
    except (msgspec.DecodeError, RecursionError) as error:
        raise ContentError(
            f"line {number:,} of {log} is not an exchange: it has no request with a method and URL"
        ) from error
    # Other recorders mask less.
    masked: JsonObject = mask_headers(request.headers)
    headers = {name.lower(): [str(value) for value in header_values(masked, name)] for name in masked}
    if content_decoder(", ".join(headers.get("content-encoding", ()))) is not None:
        headers.pop("content-encoding", None)  # the recorder has removed it from the body
    url = mask_url(request.url)
    if request.body:
        return LoggedRequest(request.method, url, headers, bytes(request.body), is_json=True)
    try:
        body = base64.b64decode(request.body_base64, validate=True) or request.body_raw.encode()
    except ValueError as error:
        raise ContentError(f"line {number:,} of {log} has a body that cannot be decoded: {error}") from error
    return LoggedRequest(request.method, url, headers, body, is_json=False)


def payload(request: LoggedRequest) -> bytes:
    """Return the JSON body of a request, indented for reading.

    Raises:
        ContentError: The body is not JSON, or is encoded.
    """
    if request.is_json:
        return msgspec.json.format(request.body, indent=2)
    if not request.body:
        raise ContentError("the request has no body: there is no payload to print")
    encoding = ", ".join(request.headers.get("content-encoding", ()))
    reason = f"is encoded ({encoding})" if encoding else "is not JSON"
    raise ContentError(f"the body of the request {reason}: print it with --curl")


def _line(log: Path, number: int) -> bytes:
    count = 0
    try:
        with log.open("rb") as stream:
            for count, line in enumerate(stream, 1):
                if count == number:
                    return line
    except OSError as error:
        raise SourceError(f"cannot read {log}: {error.strerror or error}") from error
    raise SourceError(f"{log} has no line {number:,}: it has {count:,}")


def curl_command(request: LoggedRequest) -> CurlCommand:
    """Return the command that sends a request again."""
    variables: list[str] = []
    left_out: list[str] = []
    words = ["curl --globoff --no-buffer"]
    if request.method == "HEAD":
        words.append("--head")
    elif request.method != ("POST" if request.body else "GET"):
        words.append(f"--request {_quoted(request.method)}")
    repeated = {name: values for name, values in request.headers.items() if name not in _NOT_REPEATED}
    for name, values in repeated.items():
        for value in values:
            if MASK not in value:
                words.append(f"--header {_quoted(f'{name}: {value}' if value else f'{name};')}")
            elif variable := _variable(name, value, request):
                variables.append(variable)
                scheme = "Bearer " if name == "authorization" else ""
                words.append(f'--header "{name}: {scheme}${variable}"')
            else:
                left_out.append(name)
    # curl adds these, unless they are removed; with the last one, it would ask for consent to send a long body.
    added = ("accept", "user-agent", *(("content-type", "expect") if request.body else ()))
    words += [f"--header {_quoted(f'{name}:')}" for name in added if name not in repeated]
    words += ["--data-binary @-"] if request.body else []
    words.append(_url(request.url, variables, left_out))
    return CurlCommand(_body_pipe(request.body) + _BREAK.join(words), list(dict.fromkeys(variables)), left_out)


def _variable(name: str, value: str, request: LoggedRequest) -> str:
    """Return the variable that usually holds the value of a masked header, or "" for a header without one."""
    if value != MASK:
        return ""
    if name == "authorization":
        if "anthropic-version" in request.headers or ".anthropic.com/" in request.url:
            return "ANTHROPIC_AUTH_TOKEN"
        return "AZURE_OPENAI_AD_TOKEN" if ".azure.com/" in request.url else "OPENAI_API_KEY"
    return _KEY_VARIABLES.get(name, "")


def _url(url: str, variables: list[str], left_out: list[str]) -> str:
    """Return a URL as a word of the shell, with a variable for a key in its query."""
    head, key, rest = _MASKED_KEY.split(url, maxsplit=1) if _MASKED_KEY.search(url) else (url, "", "")
    if MASK in head + rest:
        left_out.append("a part of the URL")
    if not key:
        return _quoted(url)
    variables.append("GEMINI_API_KEY")
    return f'{_quoted(head + key)}"$GEMINI_API_KEY"{_quoted(rest) if rest else ""}'


def _body_pipe(body: bytes) -> str:
    """Return the command that writes a body, up to and including the `|` behind it."""
    if not body:
        return ""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or _UNSAFE.search(text):
        return f"printf %s {shlex.quote(base64.b64encode(body).decode())} | base64 --decode |{_AFTER_PIPE}"
    return f"printf %s {_quoted(text)} |{_AFTER_PIPE}"


def _quoted(text: str) -> str:
    """Quote a text so that sh, bash, zsh and fish read the same."""
    return f"'{_DOUBLE_QUOTED.sub(_double_quoted, text)}'"


def _double_quoted(found: re.Match[str]) -> str:
    escaped = found[0].replace("\\", "\\\\")
    return f"'\"{escaped}\"'"
