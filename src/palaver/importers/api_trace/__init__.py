"""API traces: calls of a model's API as proxies and recorders log them, joined into the conversations they belong to.

Where the files are
    Where the recorder was told to write. claude-trace writes `.claude-trace/log-<time>.jsonl` in the folder in which it
    was started, and a page (`.html`) with the same pairs; a fork writes the chunks of its streams beside that
    (`.stream.jsonl`). The chunks are taken along with the log, for answers that it lacks; the page is read where the
    log is not there. Further: records `{request, response, error, duration_ms, id, timestamp}` of a proxy, as
    `palaver cook` takes them (JSON Lines, an array, or one object; streams as `sse_lines`); logs of LLM Interceptor
    (`request`, `response_chunk`, `response_meta` and `response` in any order, its merged lines, and the folder of a
    session that it split into files); HAR files. Anthropic's, OpenAI's and Gemini's formats are known by address and
    shape, Bedrock's event streams by their bytes. claude-code-logger writes to the terminal only, and logs of LiteLLM
    differ from one callback to the next: neither is read.

What comes out
    Conversations, whose messages are what requests repeat and answers add. A call that a client makes for itself is a
    conversation apart: its `helper` is `quota`, `title`, `topic`, `command_prefix`, `command_paths`, `web_page`,
    `summary`, `warmup`, or `side` where only the small model without tools tells. `metadata.user_id` of a request says
    who asked and in which session of Claude Code, in each of its three forms. The id of a call is the `request-id` of
    the answer's headers, else what the record names, else it is made of what was asked and when. Of an answer's
    message, `metadata` has `status_code`, `url`, `headers` and `request_headers` (only harmless ones), `request_body`
    where it could not be read, `reply` where what came back is no answer, and `source_fields`: fields that have no
    place elsewhere. `platform.metadata` has `log` (whose it is), `client` and `recording`. Bedrock's own count of
    tokens replaces the stream's; the model is taken from the address where the request does not name it. A time
    without an offset is read as UTC.

What never comes out
    Credentials: headers that are not known to be harmless, cookies, user and password of an address, the values of its
    parameters. What is set aside is a copy without them.

What is left out, and counted under these rules
    `count-tokens` (tokens that were only counted), `other-traffic` (requests that ask no model: embeddings, models,
    files, telemetry, pages), `text-completion` (a `prompt` that is no conversation), `page` (the page beside a log),
    `control-frame` (when a recording began and ended), `merge-error` (lines in which a merge tells what it could not
    do). Not kept: timings, sizes and cache entries of HAR files, and the numbers and times of chunks.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, no_options

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class ApiTrace:
    title = "API traces"
    platform = "api_trace"
    record = "record"
    options = no_options

    def locations(self) -> list[Path]:
        return [Path.home() / ".claude-trace"]

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.api_trace.recognize import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers._shared.calls import kept_apart
        from palaver.importers.api_trace.masking import DiscreetRun
        from palaver.importers.api_trace.reading import calls_in
        from palaver.threads.conversations import Threads

        discreet = DiscreetRun(run)
        with Threads(self.platform, discreet.note, source.written_at()) as threads:
            for call in calls_in(source, run):
                with kept_apart(call, discreet):
                    threads.add(call)
            yield from threads.documents()

    def exchanges(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        """Every call as an exchange document, in the order of the log where it tells a call in one record."""
        from palaver.importers._shared.calls import kept_apart
        from palaver.importers.api_trace.masking import DiscreetRun
        from palaver.importers.api_trace.reading import calls_in

        discreet = DiscreetRun(run)
        for call in calls_in(source, run):
            with kept_apart(call, discreet):
                yield call.exchange()

    def describes(self) -> Description:
        from palaver.importers.api_trace.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = ApiTrace()
