"""Azure OpenAI: logs of API Management gateways and of Azure OpenAI resources.

Where the files are
    Wherever a diagnostic setting, an export or a query put them: blobs of the storage account (`PT1H.json`, and
    `PT05M.json` when exported from a workspace: one row per line), messages of an Event Hub (`{"records": […]}`, one or
    many) and its captures (Avro, plain or deflated), query results (`{"tables": […]}`), rows as printed by
    `az monitor log-analytics query`, and the CSV that the portal saves. Also the formats that a `log-to-eventhub`
    policy defines itself: objects with bodies, lines of cells, HTTP messages preceded by an id, and
    `stream_completion` records of a proxy. The bodies in this object are found by their shape, or by
    `-O fields=request=req.body,response=resp.body,id=trace` (further names: time, caller, model, deployment, version,
    url, status, duration, region, input_tokens, output_tokens; cells without a header are `cell_0`, `cell_1` and so
    on).

What comes out
    Rows of `ApiManagementGatewayLogs`, `ApiManagementGatewayLlmLog`, `AzureDiagnostics` and of the resource's own
    categories that share a correlation id form one call. Each request repeats the conversation so far: calls are joined
    into conversations by caller (subscription, else user) and by content. `-O thread=no` makes one conversation of each
    call instead, with the correlation id as its id. Messages that the log spreads over several rows are joined in the
    order of their numbers. The client's bodies take precedence; where the backend's or the other log's differ, they are
    kept as `backend_request_body`, `llm_request_messages` and so on. Bodies can be JSON or streams, plain, in base64 or
    compressed, in the formats of OpenAI (chat, Responses and the older completions), Anthropic and Gemini.
    `platform.version` is the version of the API, `platform.model` the model that answered; `deployment` is in
    `platform.metadata`. The metadata of an answer holds what the log records about it: `region`, `status_code`, `url`,
    `request_headers`, `backend_time_ms`, `resource_log` (rows of the resource), unmapped columns under their own names,
    `other_values` where the rows of a call disagree, and `filters`: the categories that a content filter objected to.
    A refused prompt, an exceeded limit or an error page of the gateway becomes the call's error.
    A log often holds only the first 8,192 bytes of a body: these are read and reported (`cut-body`), and the call is
    not joined with others. Token counts are the answer's own, else the greatest that the log counted.

    Calls without content become usage records: the resource's own logs never hold prompts, and most gateways log no
    bodies.

What is left out, and counted under these rules
    `no-content` (rows with no bodies or messages that do not name a model either: audits, calls of other services),
    `no-conversation` (calls for embeddings, images and other services), `other-log` (rows of other categories).
    Dropped: headers that are not known to be harmless, columns that may hold a secret, all but a few parameters of
    URLs; and `category`, `Type` and `TableName`, which only name the table of a row. Secrets are masked in quarantined
    data.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Description, Match

if TYPE_CHECKING:
    from palaver.importers._shared.options import Options
    from palaver.sources.run import Run
    from palaver.sources.source import Source
    from palaver.threads.call import Call


class AzureOpenAI:
    title = "Azure OpenAI"
    platform = "azure_openai"
    revision = 3
    record = "row"

    @property
    def options(self) -> "type[Options]":
        from palaver.importers.azure_openai.description import AzureOptions

        return AzureOptions

    def locations(self) -> list[Path]:
        return []

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.azure_openai.recognition import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.azure_openai.conversations import conversations

        yield from conversations(source, run, is_threaded=getattr(run.options, "thread", "yes") == "yes")

    def calls(self, source: "Source", run: "Run") -> "Iterator[Call]":
        """Yield every call of a log."""
        from palaver.importers.azure_openai.conversations import calls
        from palaver.redact.text import mask_text
        from palaver.sources.run import MaskedRun

        yield from calls(source, MaskedRun(run, mask_text))

    def describes(self) -> Description:
        from palaver.importers.azure_openai.description import DESCRIPTION

        return DESCRIPTION


IMPORTER = AzureOpenAI()
