"""Which files are logs of Azure: those with its marks surely, a policy's own perhaps, and others not."""

import json

import pytest

from azure_logs import answered, asked, gateway, logged
from palaver.importers import importer
from palaver.sources.source import Source

POLICY = {"EventTime": "2026-02-03T10:00:00Z", "RequestId": "r-1", "requestBody": "{}", "responseBody": "{}"}
GUID = "00000000-0000-4000-8000-000000000001"


def verdict(tmp_path, content, name="log.json"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return importer("azure_openai").recognizes(Source.at(path)).verdict


@pytest.mark.parametrize(
    "content",
    [
        gateway("c-1", asked(), answered()),
        {"records": [gateway("c-1")]},
        [logged("c-1", 1, RequestMessages=[])],
        {"tables": [{"columns": [{"name": name} for name in ("CorrelationId", "ApiId", "ResponseCode")], "rows": []}]},
        {"Category": "RequestResponse", "CorrelationId": "c-1", "properties_s": "{}", "Type": "AzureDiagnostics"},
        POLICY,
        "TimeGenerated [UTC],CorrelationId,SequenceNumber,RequestMessages\n",
    ],
)
def test_marks_of_azure(tmp_path, content):
    assert verdict(tmp_path, content) == "yes"


@pytest.mark.parametrize(
    "content",
    [
        {"type": "stream_completion", "content": "x", "region": "norwayeast"},
        {"correlationId": "c-1", "requestBody": "{}", "responseBody": "{}"},
        f"2026-02-03T10:00:00Z,gate,{GUID},192.0.2.7,chat,gpt-4o\n",
        f"request:{GUID}\nPOST /x HTTP/1.1\n\n{{}}\n",
    ],
)
def test_what_could_be_anybodys(tmp_path, content):
    assert verdict(tmp_path, content) == "maybe"


@pytest.mark.parametrize(
    "content",
    [
        "",
        "just words, with a comma\n",
        "name,age\nAda,36\n",
        {"messages": [{"role": "user", "content": "x"}]},
        {"request": asked(), "response": answered()},
        [{"type": "user", "message": {"role": "user", "content": "x"}}],
        {
            "records": [
                {"time": "2026-02-03T10:00:00Z", "category": "StorageRead", "resourceId": "/MICROSOFT.STORAGE/x"}
            ]
        },
        {"schema_version": "1.0.0", "conversation_id": "c", "messages": []},
    ],
)
def test_files_of_others(tmp_path, content):
    assert verdict(tmp_path, content) == "no"


def test_a_capture_of_something_else_is_a_maybe(tmp_path):
    path = tmp_path / "capture.avro"
    path.write_bytes(b"Obj\x01" + b"EnqueuedTimeUtc" * 3)
    assert importer("azure_openai").recognizes(Source.at(path)).verdict == "maybe"
    path.write_bytes(b"Obj\x01" + b"somebody else's")
    assert importer("azure_openai").recognizes(Source.at(path)).verdict == "no"
