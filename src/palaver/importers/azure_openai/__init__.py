"""Azure OpenAI: logs of API Management gateways and of Azure OpenAI resources.

Where the files are
    Where a diagnostic setting, an export or a query put them: blobs of the storage account (`PT1H.json` and, exported
    from a workspace, `PT05M.json`: a row a line), messages of an Event Hub (`{"records": […]}`, one or many) and its
    captures (Avro, plain or deflated), results of a query (`{"tables": […]}`), rows as `az monitor log-analytics query`
    prints them, and the CSV that the portal saves. Also what a `log-to-eventhub` policy made up itself: objects with
    bodies, lines of cells, HTTP messages with an id before them, and `stream_completion` records of a proxy. Where such
    an object has its bodies, their shapes tell, or `-O fields=request=req.body,response=resp.body,id=trace` (further
    names: time, caller, model, deployment, version, url, status, duration, region, input_tokens, output_tokens; cells
    without a header are `cell_0`, `cell_1` and so on).

What comes out
    Rows of `ApiManagementGatewayLogs`, `ApiManagementGatewayLlmLog`, `AzureDiagnostics` and of the resource's own
    categories that have the same correlation id are one call. Each call's request repeats all that was said before:
    calls are joined into conversations by who asked (subscription, else user) and by what was said; `-O thread=no`
    gives one conversation a call instead, with the correlation id as its id. Messages that the log spreads over rows
    are put together by their numbers. The client's bodies count; where the backend's or the other log's say something
    else, they are kept as `backend_request_body`, `llm_request_messages` and so on. Bodies are JSON, streams, either
    in base64 or packed, of OpenAI's chat, Responses and older completions, of Anthropic and of Gemini.
    `platform.version` is the API's version, `platform.model` the model that answered; `deployment` stands in
    `platform.metadata`. Metadata of an answer have what the log says of it: `region`, `status_code`, `url`,
    `request_headers`, `backend_time_ms`, `resource_log` (rows of the resource), columns without a place under their own
    names, `other_values` where rows of one call disagree, and `filters`: the categories that a content filter objected
    to. A prompt that was refused, a limit that was met, a page of the gateway are the call's error.
    A log often holds the first 8,192 bytes of a body: what is there is read, and told (`cut-body`); such a call stands
    alone. Tokens are the answer's own, else the greatest that the log counted.

    Calls without content become usage records: the resource's own logs never hold prompts, and most gateways log no
    bodies.

What is left out, and counted under these rules
    `no-content` (rows without bodies or messages that tell of no model either: audits, calls of other services),
    `no-conversation` (calls for embeddings, images and other services), `other-log` (rows of other categories).
    Not kept: headers that are not known to be harmless, columns that may hold a secret, parameters of addresses but for
    a few; and `category`, `Type` and `TableName`, which only tell where a row is from. In what is set aside, secrets
    are masked.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match

if TYPE_CHECKING:
    from palaver.importers._shared.options import Options
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class AzureOpenAI:
    title = "Azure OpenAI"
    platform = "azure_openai"
    record = "row"

    @property
    def options(self) -> "type[Options]":
        from palaver.importers.azure_openai.options import AzureOptions

        return AzureOptions

    def locations(self) -> list[Path]:
        return []

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.azure_openai.recognize import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.azure_openai.reading import conversations

        yield from conversations(source, run, is_threaded=getattr(run.options, "thread", "yes") == "yes")

    def exchanges(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        """The same calls as exchange documents."""
        from palaver.importers._shared.calls import kept_apart
        from palaver.importers.azure_openai.reading import calls

        for call in calls(source, run):
            with kept_apart(call, run):
                yield call.exchange()

    def describes(self) -> Description:
        from palaver.importers.azure_openai.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = AzureOpenAI()
