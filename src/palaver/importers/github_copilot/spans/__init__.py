"""Traces of Copilot: spans of Visual Studio and of the exporters to a file, and debug logs of VS Code.

Where the files are
    Visual Studio: `%LOCALAPPDATA%/Temp/VSGitHubCopilotLogs/traces/*_VSGitHubCopilot_traces.jsonl`, each line an OTLP
    envelope. VS Code and the command line: wherever `github.copilot.chat.otel.outfile` or
    `COPILOT_OTEL_FILE_EXPORTER_PATH` says; each line is a span, an event or metrics as OpenTelemetry's JavaScript has
    them in memory, which is not OTLP. `debug-logs/<session id>/main.jsonl` in the storage of VS Code's extension, with
    the logs of what it started (`<label>-<id>.jsonl`) beside it. Traces of other programs are not claimed: a span must
    have attributes `gen_ai.…` or `copilot_chat.…`, and no name of another program.

What comes out
    One conversation for each `gen_ai.conversation.id`, in however many files it is told; a sub-agent's is
    `<id>:agent-<span id>`. Each `chat` span is a call whose request repeats what was said before; each message stands
    there once. Spans of tools give results their times (`duration_ms`), errors and what else is known (`attributes`); a
    call whose model's words were not recorded is told by itself. Other spans stand in `context.custom.spans`, events in
    `context.custom.events`. Where nothing that was said was recorded, spans, events and metrics are usage records,
    those of `chat` as requests, all others as sums that no total counts. Texts that were cut by the exporter are kept
    up to there, and what follows them has `context_incomplete`.
    Of a debug log, prompts, answers and tools are messages; other entries stand in `context.custom.events`. Where the
    chat itself is saved beside it, or its transcript, only usage is taken.

What is left out, and counted under these rules
    `circular-record` (the line `{}`, which the exporter writes for what it cannot write), `empty-metrics` (metrics
    without a number), `saved-chat-exists` (what a debug log repeats of a chat that is saved beside it). Metrics are
    running sums: earlier ones are folded into the last. What may let somebody in is masked: headers, keys, parameters
    of addresses.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.importers.github_copilot.spans.names import KNOWN_KINDS, OWN_NAMES
from palaver.sources.run import Run
from palaver.sources.source import Source

__all__ = ["KNOWN_KINDS", "OWN_NAMES", "read", "recognize"]


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.spans.shapes import recognize as look

    return look(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.spans.reading import read_unit

    yield from read_unit(source, run)
