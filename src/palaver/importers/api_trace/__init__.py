"""API traces: calls of model APIs as logged by proxies and recorders, joined into conversations.

Where the files are
    `palaver record` writes `log-<time>.jsonl` in the folder `recordings` of palaver's data folder, or in the one that
    `--log` names. Other recorders write wherever they were started: claude-trace `.claude-trace/log-<time>.jsonl`, and
    a page (`.html`) with the same pairs; a fork writes the chunks of its streams beside them (`.stream.jsonl`).
    Chunks are read together with the log, for answers that it lacks; the page is read if there is no log. Further:
    records `{request, response, error, duration_ms, id, timestamp}` of a proxy, as accepted by `palaver cook` (JSON
    Lines, an array, or one object; streams as `sse_lines`, bodies also as text); logs of LLM Interceptor (`request`,
    `response_chunk`, `response_meta` and `response` in any order, its merged lines, and the folder of a session that it
    split into files); HAR files. Anthropic's, OpenAI's and Gemini's formats are recognized by address and shape, of the
    request and of the answer apart, since some proxies translate; Bedrock's event streams by their bytes. Not read:
    claude-code-logger, which writes to the terminal only, and logs of LiteLLM, which differ from one callback to the
    next.

What comes out
    Conversations, joined from the messages that requests repeat and answers add. Several answers to one request follow
    each other, each with its `completion_index`. A conversation that starts with the prompt of a `Task` or `Agent` call
    in the same log is that agent's and names the conversation that called it. A call that a client makes for itself
    is a separate conversation; its `helper` is `quota`, `title`, `topic`, `command_prefix`, `command_paths`,
    `web_page`, `summary`, `warmup`, or `side` if only the small model without tools gives it away. `metadata.user_id`
    of a request, in each of its three forms, names the caller and the session of Claude Code. The id of a call is the
    `request-id` of the answer's headers, else the id in the record, else derived from the content and the time.
    `metadata` of an answer's message has `status_code`, `url`, `headers` and `request_headers` (only harmless ones),
    `request_body` if it is unreadable, `reply` if the response is not an answer, and `source_fields` for all unmapped
    fields.
    The duration of a streamed call ends with its last chunk, if the log states when that came; then
    `time_to_first_chunk_ms` counts from the request to the first chunk and `stream_ms` from there to the last one.
    If a stream holds several messages, each is an answer to the request, with its own `api_message_id` and usage; if
    the log states an id of the request, the `request_id` of the second ends in `-2`. `platform.metadata` has `log` (the
    recorder), `client` and `recording`. Bedrock's own token count replaces the stream's; the model is taken from the
    address if the request does not name it. A time without an offset is read as UTC.
    If the log has the time of every event, `time_to_first_token_ms` counts from the request to the first event with
    content. `sent` says when the request was sent (`at`), with which system prompt (`system_prompt`, the id of its
    message; only in a session, where it may change), and with which tools (`tools`, a key of `tool_sets` in
    `platform.metadata`); its `request` is equal where the same caller sent the same messages again.

What never comes out
    Credentials: headers that are not known to be harmless, cookies, user and password of an address, the values of its
    parameters. Quarantined records are copies without them.

What is left out, and counted under these rules
    `count-tokens` (requests that only count tokens), `other-traffic` (requests that ask no model: embeddings, models,
    files, telemetry, pages), `text-completion` (a `prompt` without a conversation), `page` (the page beside a log),
    `control-frame` (start and end of a recording), `merge-error` (lines that report a failed merge), `websocket` (their
    messages are not logged). Not kept: timings, sizes and cache entries of HAR files, the numbers and times of single
    chunks, and the version of HTTP.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match, no_options
from palaver.storage.user_folders import recordings_folder

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source
    from palaver.threads.call import Call


class ApiTrace:
    title = "API traces"
    platform = "api_trace"
    revision = 3
    record = "record"
    options = no_options

    def locations(self) -> list[Path]:
        return [Path.home() / ".claude-trace", Path(recordings_folder())]

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.api_trace.recognition import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers._shared.call_errors import quarantine_on_error
        from palaver.importers.api_trace.masking import masked_run
        from palaver.importers.api_trace.reader import calls_in
        from palaver.threads.conversations import Threads

        masked = masked_run(run)
        with Threads(self.platform, masked.note, source.written_at()) as threads:
            for call in calls_in(source, masked):
                with quarantine_on_error(call, masked):
                    threads.add(call)
            yield from threads.documents()

    def calls(self, source: "Source", run: "Run") -> "Iterator[Call]":
        """Yield every call: those of one record in log order, those of several at the end."""
        from palaver.importers.api_trace.masking import masked_run
        from palaver.importers.api_trace.reader import calls_in

        for call in calls_in(source, masked_run(run)):
            yield call
            yield from call.following

    def describes(self) -> Description:
        from palaver.model import build

        return Description(
            own_names=frozenset(
                {*build.METADATA, "status_code", "url", "headers", "request_headers", "request_body", "reply"}
                | {"source_fields", "log", "client", "recording", "helper", "time_to_first_chunk_ms", "stream_ms"}
                | {"time_to_first_token_ms", "sent", "unanswered"}
            )
        )


IMPORTER = ApiTrace()
