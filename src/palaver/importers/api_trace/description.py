"""What a report has to know of API traces: names of our own."""

from palaver.importers._shared.contract import Description
from palaver.model import build

DESCRIPTION = Description(
    own_names=frozenset(
        {*build.METADATA, "status_code", "url", "headers", "request_headers", "request_body", "reply"}
        | {"source_fields", "log", "client", "recording", "helper"}
    )
)
