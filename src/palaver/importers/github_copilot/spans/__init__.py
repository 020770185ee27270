"""Traces of Copilot: OpenTelemetry spans of Visual Studio, VS Code and the command line, and debug logs of VS Code.

Where the files are
    Visual Studio: `%LOCALAPPDATA%/Temp/VSGitHubCopilotLogs/traces/*_VSGitHubCopilot_traces.jsonl`, each line an OTLP
    envelope. VS Code and the command line: the path in `github.copilot.chat.otel.outfile` or
    `COPILOT_OTEL_FILE_EXPORTER_PATH`; each line is a span, an event or metrics as OpenTelemetry's JavaScript has them
    in memory, which is not OTLP. Debug logs: `debug-logs/<session id>/main.jsonl` in the storage of VS Code's
    extension, with the logs of the sessions it started (`<label>-<id>.jsonl`) beside it. Traces of other programs are
    not claimed: a span must have attributes `gen_ai.…` or `copilot_chat.…`, and not name another program.

What comes out
    One conversation per `gen_ai.conversation.id`, across any number of files; a sub-agent's id is
    `<id>:agent-<span id>`. Each `chat` span is a call whose request repeats the earlier messages; each message appears
    once. Tool spans add times (`duration_ms`), errors and other attributes (`attributes`) to results; a tool call that
    the model's recorded answers lack gets a message of its own. Other spans go to `context.custom.spans`, events to
    `context.custom.events`. Without recorded content, spans, events and metrics become usage records: those of `chat`
    as requests, all others as sums that no total counts. Texts that the exporter truncated are kept up to the cut, and
    the answer has `context_incomplete`.
    Prompts, answers and tool runs of a debug log are messages; other entries go to `context.custom.events`. If the
    chat or its transcript is saved beside the log, only usage is taken.

What is left out, and counted under these rules
    `circular-record` (the line `{}`, which the exporter writes for objects it cannot serialize), `empty-metrics`
    (metrics without a number), `saved-chat-exists` (messages of a debug log whose chat is saved beside it). Metrics
    are running sums: earlier ones are folded into the last. Credentials are masked: headers, keys, parameters of
    addresses.
"""

from collections.abc import Iterator
from typing import Any

from palaver.importers._shared.contract import Match
from palaver.sources.run import Run
from palaver.sources.source import Source

OWN_NAMES = frozenset(
    {
        *("attributes", "span", "spans", "events", "prompt", "resource", "metrics", "opaque_parts", "trace_id"),
        *("span_id", "parent_span_id", "source_id", "result", "unread", "log", "stated_role"),
        *("helper", "unanswered", "answer_cut", "request", "response", "error", "instructions"),
    }
)
KNOWN_KINDS: frozenset[str] = frozenset({"result"})


def recognize(source: Source) -> Match:
    from palaver.importers.github_copilot.spans.recognition import recognize as recognize_traces

    return recognize_traces(source)


def read(source: Source, run: Run) -> Iterator[dict[str, Any]]:
    from palaver.importers.github_copilot.spans.reader import read_unit

    yield from read_unit(source, run)
