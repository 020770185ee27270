"""What tests of Azure's logs share: rows as a gateway writes them, and calls that come out of a file of them."""

import json
from pathlib import Path
from typing import Any

from palaver.importers.azure_openai.conversations import calls
from palaver.sources.run import Quarantined, Run
from palaver.sources.source import Source
from palaver.threads.call import Call
from palaver.workflows.read_unit import parse_options

Json = dict[str, Any]

URL = "https://gate.example.net/openai/deployments/gpt-4o-mill/chat/completions?api-version=2025-01-01-preview"
QUESTION = {"role": "user", "content": "Who turns the mill when there is no wind?"}
ANSWER = {"role": "assistant", "content": "Nobody does, the miller sleeps."}


def asked(*messages: Any, **settings: Any) -> Json:
    return {"messages": list(messages) or [QUESTION], **settings}


def answered(message: Any = ANSWER, **fields: Any) -> Json:
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    choices = [{"index": 0, "finish_reason": "stop", "message": message}]
    return {"id": "chatcmpl-Mill", "object": "chat.completion", "model": "gpt-4o-2024-11-20"} | {
        "choices": choices,
        "usage": usage,
        **fields,
    }


def gateway(call_id: str = "c-1", request: Any = None, response: Any = None, **fields: Any) -> Json:
    """A record of GatewayLogs; `fields` go to its properties, or beside them where the log has them there."""
    properties: Json = {"url": URL, "responseCode": 200, "apimSubscriptionId": "miller"}
    for name, body in (("requestBody", request), ("responseBody", response)):
        if body is not None:
            properties[name] = body if isinstance(body, str) else json.dumps(body)
    record = {"time": "2026-02-03T10:00:00Z", "category": "GatewayLogs", "correlationId": call_id, "durationMs": 900}
    beside = {
        name: fields.pop(name) for name in list(fields) if name in {"time", "category", "durationMs", "truncated"}
    }
    return {**record, **beside, "properties": {**properties, **fields}}


def logged(call_id: str, number: int | None, **columns: Any) -> Json:
    """A row of ApiManagementGatewayLlmLog."""
    row = {"TimeGenerated": "2026-02-03T10:00:01Z", "CorrelationId": call_id, "SequenceNumber": number}
    return {**row, "Type": "ApiManagementGatewayLlmLog", **columns}


class Log:
    """A file of a log, and what came of reading it."""

    def __init__(self, path: Path, content: Any, **options: str) -> None:
        path.write_bytes(_bytes(content))
        self.quarantined: list[Quarantined] = []
        self.used: list[Json] = []
        self.run = Run(
            str(path),
            parse_options("azure_openai", options),
            quarantine=self.quarantined.append,
            used=self.used.extend,
        )
        self.calls: list[Call] = list(calls(Source.at(path), self.run))
        assert self.run.ledger.adds_up, self.run.ledger

    @property
    def call(self) -> Call:
        (call,) = self.calls
        return call

    @property
    def codes(self) -> set[str]:
        return set(self.run.findings.counts)


def _bytes(content: Any) -> bytes:
    match content:
        case bytes():
            return content
        case str():
            return content.encode()
        case list():
            return b"".join(json.dumps(record).encode() + b"\n" for record in content)
        case _:
            return json.dumps(content).encode()
