"""A log of Azure API Management's gateway for language models: a row of tokens, then messages in rows of 32 KB."""

from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import BinaryIO

import orjson

from prose import Prose
from traffic import Json, Spoken, Truth, calls, counted

__all__ = ["generate_log"]

_CHUNK_BYTES = 32 * 1024
_HELD_ROWS = 30


def generate_log(folder: Path, megabytes: float, prose: Prose) -> Truth:
    truth = Truth()
    with (folder / "ApiManagementGatewayLlmLog.jsonl").open("wb") as file:
        held: list[bytes] = []
        for call in calls(prose, truth, int(megabytes * 1_000_000)):
            held += [counted(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE), truth) for row in _rows(call)]
            if len(held) > _HELD_ROWS:
                _write_shuffled(file, held, prose.rng)
        _write_shuffled(file, held, prose.rng)
    return truth


def _write_shuffled(file: BinaryIO, held: list[bytes], rng: Random) -> None:
    """Rows of several calls, out of order, as they arrive."""
    rng.shuffle(held)
    file.writelines(held)
    held.clear()


def _rows(call: Spoken) -> list[Json]:
    moment = _time(call.seconds)
    sent = [{"role": "system", "content": call.prompt}]
    sent += [{"role": role, "content": said} for role, said in call.history]
    got = [{"role": "assistant", "content": call.answer}]
    row: Json = {
        "TimeGenerated": moment,
        "CorrelationId": call.name,
        "SequenceNumber": 0,
        "OperationName": "ChatCompletions_Create",
        "DeploymentName": "gpt-4o-prod",
        "ModelName": "gpt-4o",
        "ApiVersion": "2025-01-01-preview",
        "RequestId": f"chatcmpl-{call.name}",
        "IsStreamCompletion": False,
        "PromptTokens": call.tokens[0],
        "CompletionTokens": call.tokens[1],
        "TotalTokens": sum(call.tokens),
        "RequestMessages": "",
        "ResponseMessages": "",
        "Region": "Sweden Central",
        "_ResourceId": "/subscriptions/0/resourcegroups/rg/providers/microsoft.apimanagement/service/apim",
        "Type": "ApiManagementGatewayLlmLog",
    }
    empty = {"DeploymentName": "", "ModelName": "", "PromptTokens": 0, "CompletionTokens": 0, "TotalTokens": 0}
    rows = [row]
    for field, messages in (("RequestMessages", sent), ("ResponseMessages", got)):
        text = orjson.dumps(messages).decode()
        for start in range(0, len(text), _CHUNK_BYTES):
            piece = {field: text[start : start + _CHUNK_BYTES], "SequenceNumber": len(rows)}
            rows.append({**row, **empty, **piece})
    return rows


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S.%f}0Z"
