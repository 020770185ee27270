"""The forms in which Claude Code leaves conversations, each with its reader."""

from collections.abc import Iterator
from typing import Any

from palaver.importers.claude_code.history import read_history
from palaver.importers.claude_code.recognize import guess, is_array
from palaver.importers.claude_code.session import SessionReader
from palaver.importers.claude_code.stream_json import StreamReader
from palaver.importers.claude_code.web_export import read_web_export
from palaver.sources.elements import JsonElements
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.source import Source


def read_form(source: Source, run: Run, *, keep_original_files: bool) -> Iterator[dict[str, Any]]:
    match run.form or guess(source).form:
        case "history":
            yield from read_history(source, run)
        case "web-export":
            yield from read_web_export(source, run, keep_original_files=keep_original_files)
        case "stream-json":
            with source.open() as stream:
                reader = StreamReader(source, run, keep_original_files=keep_original_files)
                yield from reader.read_stream(JsonLines(stream, run))
        case form if form == "stream-json-array" or (form is None and is_array(source)):
            with source.open() as stream:
                reader = StreamReader(source, run, keep_original_files=keep_original_files)
                yield from reader.read_stream(JsonElements(stream, run))
        case _:
            yield from SessionReader(source, run, keep_original_files=keep_original_files).read()
