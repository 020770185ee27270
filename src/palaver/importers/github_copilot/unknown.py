"""Files that were named as Copilot's and are in none of its formats: all that is in them is set aside."""

import json
from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.exports import BAD_CONVERSATION
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source
from palaver.sources.whole import json_document

_WORDS = "it is in none of the formats that are known"


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    if source.suffix == ".jsonl":
        with source.open() as stream:
            lines = JsonLines(stream, run)
            for _ in lines:
                run.quarantined(BAD_CONVERSATION, lines.raw, lines.where(), _WORDS)
    else:
        for value in json_document(source, run):
            run.quarantined(BAD_CONVERSATION, json.dumps(value).encode(), source.name, _WORDS)
    yield from ()
