"""The lines of the table, in the order of the limits that the project set itself, and who measures each."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib import import_module

from datasets import Asked
from rows import Row


@dataclass(frozen=True)
class Line:
    name: str
    section: str
    room: str
    """The module that measures it, which only the process imports that does."""
    function: str

    def measure(self, asked: Asked) -> list[Row]:
        function: Callable[[str, Asked], list[Row]] = getattr(import_module(self.room), self.function)
        return function(self.name, asked)


def _lines(section: str, room: str, function: str, *names: str) -> list[Line]:
    return [Line(name, section, room, function) for name in names]


_MEMORY = "Peak memory: large sources, and many"
LINES = [
    *_lines(
        "Claude Code → validated JSON Lines, --jobs 1; yardstick: read, split, orjson.loads",
        *("imports", "to_json_lines"),
        *("claude_code-ascii", "claude_code-unicode", "claude_code-samples"),
    ),
    *_lines(
        "ChatGPT ZIP → validated JSON Lines, --jobs 1; yardstick: orjson.loads of the conversations, cut beforehand",
        *("imports", "to_json_lines"),
        *("chatgpt-ascii", "chatgpt-unicode", "chatgpt-lean"),
    ),
    *_lines(
        "Claude Code → archive, all cores; the first yardstick",
        *("imports", "to_archive"),
        *("archive-claude_code-ascii", "archive-claude_code-unicode"),
    ),
    *_lines(
        "ChatGPT ZIP → archive, all cores; the second yardstick",
        *("imports", "to_archive"),
        *("archive-chatgpt-ascii", "archive-chatgpt-unicode"),
    ),
    *_lines("Rescan of unchanged files; yardstick: os.scandir and stat", "archive", "rescan", "rescan"),
    *_lines("An appended line", "archive", "append", "append"),
    *_lines(_MEMORY, "imports", "to_json_lines", "chatgpt-large", "claude_code-single"),
    *_lines(_MEMORY, "imports", "to_archive", "archive-chatgpt-large", "archive-claude_code-single"),
    *_lines(_MEMORY, "validate", "report", "report-chatgpt-large", "report-claude_code-single"),
    *_lines(_MEMORY, "memory", "to_json_lines", "curve"),
    *_lines(_MEMORY, "memory", "to_archive", "archive-curve"),
    *_lines("SSE assembly", "streams", "assembly", "sse"),
    *_lines("SSE assembly", "streams", "active", "active"),
    *_lines("SSE assembly", "streams", "recorders", "recorder"),
    *_lines("SSE assembly", "streams", "merging", "merge"),
    *_lines("Recording, over the same calls without it; yardstick: mitmproxy", "record", "measure", "record"),
    *_lines("Cook", "cook", "measure", "cook"),
    *_lines(
        "Validation, a second",
        *("validate", "judging"),
        *("validate-claude_code-ascii", "validate-claude_code-unicode"),
        *("validate-chatgpt-ascii", "validate-chatgpt-unicode"),
    ),
    *_lines("Search", "search", "measure", "search"),
    *_lines("Start", "starting", "measure", "help"),
    *_lines("Start", "starting", "reading", "reading"),
    *_lines(
        "Other importers → validated JSON Lines, --jobs 1; the first yardstick, JSON in strings parsed too",
        *("imports", "to_json_lines"),
        *("azure_openai", "api_trace", "continue_dev", "roo_code", "github_copilot"),
    ),
    *_lines(
        "How cost grows: 1x, 4x and 16x as much",
        *("growth", "of_imports"),
        *("growth-claude_code-jsonl", "growth-chatgpt-jsonl", "growth-claude_code-archive", "growth-chatgpt-archive"),
    ),
    *_lines("How cost grows: 1x, 4x and 16x as much", "growth", "of_cooking", "growth-cook"),
    *_lines("How cost grows: 1x, 4x and 16x as much", "growth", "of_searching", "growth-search"),
]
NAMES = [line.name for line in LINES]


def chosen(patterns: list[str]) -> list[Line]:
    """Those whose names one of the patterns fits; all, if there are none."""
    return [line for line in LINES if not patterns or any(fnmatch(line.name, pattern) for pattern in patterns)]
