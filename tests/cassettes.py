"""Recorded API traffic from the samples beside the checkout: requests with their answers, decoded."""

import base64
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from importing import CHECKOUT
from palaver.streams import assemble
from palaver.wire import wire_format

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples")
needs_samples = pytest.mark.skipif(
    not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES} (PALAVER_SAMPLES names another folder)"
)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_HOSTS = {
    "anthropic": ("/v1/messages",),
    "openai_chat": ("/chat/completions",),
    "openai_responses": ("/responses",),
    "gemini": (":generateContent", ":streamGenerateContent"),
}


@dataclass(frozen=True)
class Recorded:
    """One call: what was sent, and what came back as JSON or as the body of a stream."""

    name: str
    url: str
    request: Any
    status: int
    answer: Any = None
    stream: bytes | None = None


@cache
def recorded(name: str) -> list[Recorded]:
    """Every recorded call of one format, wherever in the samples it stands."""
    calls = []
    for file in sorted((SAMPLES / "sse").rglob("*.yaml")):
        content = yaml.load(file.read_text("utf-8"), Loader=_LOADER)  # noqa: S506 - a safe one
        for number, call in enumerate(content.get("interactions") or ()):
            url = call["request"]["uri"].partition("?")[0]
            if url.endswith(_HOSTS[name]):
                calls += _call(f"{file.relative_to(SAMPLES / 'sse')}#{number}", url, call)
    return calls


def sampled(source: str) -> Iterator[tuple[str, str, Any]]:
    """Every recorded request and response of a format that is no error, streams put together, by place and part."""
    for call in recorded(source.replace("-", "_")):
        if isinstance(call.request, dict) and call.request:
            yield call.name, "request", call.request
        answer = call.answer if call.stream is None else assemble(source, call.stream).payload
        if isinstance(answer, dict) and wire_format(source).error_from_wire(answer) is None:
            yield call.name, "response", answer


def _call(name: str, url: str, call: dict[str, Any]) -> Iterator[Recorded]:
    sent, got = call["request"], call["response"]
    request = sent["parsed_body"] if "parsed_body" in sent else _json(_bytes(sent.get("body")))
    status = got["status"]["code"] if isinstance(got["status"], dict) else got["status"]
    if isinstance(got.get("parsed_body"), dict | list):
        yield Recorded(name, url, request, status, got["parsed_body"])
        return
    body = got.get("body")
    raw = _unpacked(_bytes(body.get("string") if isinstance(body, dict) else body))
    answer = _json(raw)
    yield Recorded(name, url, request, status, answer, None if answer is not None else raw)


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else (body or "").encode()


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def _unpacked(raw: bytes) -> bytes:
    if raw.startswith(b"\x1f\x8b"):
        return gzip.decompress(raw)
    if raw[:2] in {b"\x78\x9c", b"\x78\x01"}:
        return zlib.decompress(raw)
    if raw.startswith(b"H4sI"):
        return gzip.decompress(base64.b64decode(raw))
    return raw
