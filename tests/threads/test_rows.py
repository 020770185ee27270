"""The law of threading, from log files to the archive: rows in any order, spread over any files, say the same."""

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archiving import exported, keep_folder
from calling import many_calls
from palaver.model.timestamps import milliseconds_of
from palaver.threads.call import Call

LAW = settings(max_examples=15, deadline=None, derandomize=True, database=None)


def gateway_row(call: Call) -> dict[str, Any]:
    """A row of API Management's gateway log."""
    failed = {"error": {"code": "429", "message": "slow down"}}
    url = f"https://gateway.example/openai/deployments/{call.platform['deployment']}/chat/completions?api-version=1"
    return {
        "time": call.started_at,
        "category": "GatewayLogs",
        "correlationId": call.call_id,
        "durationMs": 5_000,
        "properties": {
            "method": "POST",
            "url": url,
            "responseCode": 200 if call.response else 429,
            "apimSubscriptionId": call.caller,
            "requestBody": json.dumps(call.request),
            "responseBody": json.dumps(call.response or failed),
        },
    }


def traced_pair(call: Call) -> dict[str, Any]:
    """A line of a claude-trace log."""
    seconds = milliseconds_of(call.started_at or "") / 1_000
    failed = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
    return {
        "request": {
            "timestamp": seconds,
            "method": "POST",
            "url": "https://api.anthropic.com/v1/messages",
            "headers": {"content-type": "application/json"},
            "body": call.request,
        },
        "response": {
            "timestamp": seconds + 5,
            "status_code": 200 if call.response else 429,
            "headers": {"request-id": call.call_id},
            "body": call.response or failed,
        },
        "logged_at": call.started_at,
    }


LOGS: dict[str, tuple[list[str], Callable[[Call], dict[str, Any]]]] = {
    "PT1H-{}.json": (["openai-chat"], gateway_row),
    "log-2026-01-01-00-00-{:02}.jsonl": (["anthropic"], traced_pair),
}


def archived(name: str, files: list[list[dict[str, Any]]]) -> list[bytes]:
    with TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        for number, rows in enumerate(files):
            if rows:
                (logs / name.format(number)).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        report = keep_folder(logs, Path(folder) / "archive.db")
        assert not report.refused
        assert [source.failure for source in report.sources if source.failure] == []
        return sorted(exported(Path(folder) / "archive.db"))


@pytest.mark.parametrize("name", LOGS, ids=["azure_openai", "api_trace"])
def test_rows_in_any_order_and_any_files_give_the_same_conversations(name):
    wires, row_of = LOGS[name]

    @LAW
    @given(many_calls(wires, session_ids=[""]), st.data())
    def law(calls, data):
        rows = [row_of(call) for call in calls]
        expected = archived(name, [rows])
        assert expected
        files: list[list[dict[str, Any]]] = [[], [], []]
        for row in data.draw(st.permutations(rows)):
            files[data.draw(st.integers(0, 2))].append(row)
        assert archived(name, files) == expected

    law()
