"""An importer whose files say what each of its revisions makes of them, so that tests can change it at will.

A file `*.script` holds `{"1": reading, "2": reading}`, by revision. A reading has `documents`, `usage`, and the texts
that are `quarantined`. From the second revision on, `*.moved.script` belongs to the platform `successor`,
`*.left.script` to none, and `*.later.script` to none until the third revision, which brings the importer `successor`.
"""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from palaver import importers
from palaver.importers._shared.contract import Match, no_options
from palaver.model import build
from palaver.sources.damage import NOT_AN_OBJECT

Json = dict[str, Any]


AT = "2026-01-01T10:00:0{}.000Z"


class Scripted:
    title = "Scripted"
    record = "record"
    options = no_options
    revision = 1
    """Shared by all scripted importers: each test says which revision runs."""

    def __init__(self, platform: str) -> None:
        self.platform = platform

    def locations(self) -> list[Path]:
        return [Path.home() / ".scripted"] if self.platform == "scripted" else []

    def recognizes(self, source: Any) -> Match:
        if source.suffix != ".script":
            return Match.no()
        later = {"moved": "successor", "left": "", "later": "successor" if Scripted.revision > 2 else ""}
        claimed_by = later.get(source.name.split(".")[-2], "scripted") if Scripted.revision > 1 else "scripted"
        return Match.yes("a script") if claimed_by == self.platform else Match.no()

    def read(self, source: Any, run: Any):
        with source.open() as stream:
            reading = self._reading(stream.read())
        for raw in reading.get("quarantined", ()):
            run.read()
            run.quarantined(NOT_AN_OBJECT, raw.encode(), "somewhere")
        for record in reading.get("usage", ()):
            run.read()
            run.used(record)
            run.mapped()
        for document in reading.get("documents", ()):
            run.read()
            run.mapped()
            yield {**document, "platform": {**document["platform"], "name": self.platform}}
        if "failure" in reading:
            raise OSError(reading["failure"])

    def _reading(self, content: bytes) -> Json:
        readings = orjson.loads(content)
        return readings.get(str(Scripted.revision)) or readings["1"]


class Point:
    def __init__(self, name: str) -> None:
        self.name = name
        self._importer = Scripted(name)

    def load(self) -> Scripted:
        return self._importer


@pytest.fixture
def scripted():
    """Install the importers `scripted` and `successor`; the second is there from the second revision on."""
    before = importers._external_importers
    install(1)
    yield
    importers._external_importers = before
    importers.importer.cache_clear()


def install(revision: int) -> None:
    points = [Point("scripted"), *([Point("successor")] if revision > 1 else [])]
    importers._external_importers = lambda: tuple(points)
    importers.importer.cache_clear()
    set_revision(revision)


def set_revision(number: int) -> None:
    Scripted.revision = number


def document(name: str, *messages: Json, **fields: Any) -> Json:
    return build.conversation(
        conversation_id=name,
        platform={"name": "scripted", **fields.pop("platform", {})},
        created_at=AT.format(0),
        messages=list(messages),
        **fields,
    )


def message(name: str, text: str, second: int = 1, **fields: Any) -> Json:
    fields.setdefault("role", "user")
    return build.message(message_id=name, timestamp=AT.format(second), content=[build.text(text)], **fields)


def write(path: Path, *readings: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({str(number): reading for number, reading in enumerate(readings, 1)}), "utf-8")
    return path
