"""Credentials for other services in the body of a request are masked always, and nothing else of it changes."""

import codecs
import json

import pytest

from palaver.model.build import JsonObject
from palaver.redact.logs import mask_entry, mask_settings

SECRET = "planted-7f3a"  # noqa: S105 - invented
SERVERS: list[JsonObject] = [
    {"mcp_servers": [{"type": "url", "url": "https://mcp.example.com", "authorization_token": SECRET}]},
    {"tools": [{"type": "mcp", "server_label": "x", "authorization": SECRET}]},
    {"tools": [{"type": "mcp", "headers": {"Authorization": f"Bearer {SECRET}", "X-Api-Key": SECRET}}]},
    {"tools": [{"type": "mcp", "server_url": f"https://user:{SECRET}@mcp.example.com/sse?key={SECRET}"}]},
    {"mcp_servers": [{"type": "url", "url": f"https://user:{SECRET}@mcp.example.com/sse?key={SECRET}"}]},
    {"tools": [{"type": "mcp", "HEADERS": {"cookie": SECRET}}], "temperature": 0.5},
    {"data_sources": [{"type": "azure_search", "parameters": {"authentication": {"type": "api_key", "key": SECRET}}}]},
    {"data_sources": [{"parameters": {"authentication": {"type": "connection_string", "connection_string": SECRET}}}]},
    {
        "data_sources": [
            {"parameters": {"embedding_dependency": {"authentication": {"type": "api_key", "key": SECRET}}}}
        ]
    },
    {"dataSources": [{"type": "AzureCognitiveSearch", "parameters": {"key": SECRET, "embeddingKey": SECRET}}]},
    {"dataSources": [{"parameters": {"authentication": {"type": "ConnectionString", "connectionString": SECRET}}}]},
    {
        "tools": [
            {"mcpServers": [{"streamableHttpTransport": {"url": f"https://user:{SECRET}@b.example/?key={SECRET}"}}]}
        ]
    },
    {"tools": [{"mcp_servers": [{"streamable_http_transport": {"url": f"https://b.example/?key={SECRET}"}}]}]},
    {"tools": [{"type": "mcp_server", "url": f"https://user:{SECRET}@b.example/?key={SECRET}"}]},
    {"tools": [{"googleMaps": {"authConfig": {"apiKeyConfig": {"apiKeyString": SECRET}, "apiKey": SECRET}}}]},
    {"tools": [{"retrieval": {"external_api": {"auth_config": {"oauth_config": {"access_token": SECRET}}}}}]},
    {"tools": [{"parallelAiSearch": {"apiKey": SECRET}}, {"exaAiSearch": {"api_key": SECRET}}]},
    {"tools": [{"type": "mcp", "headers": {"X-Plain": f"sk-{SECRET}", "Accept": "text/html"}}]},
    {"tools": [{"type": "shell", "domain_secrets": [{"domain": "b.example", "name": "API", "value": SECRET}]}]},
]
KEPT = [
    b"",
    b"no JSON, authorization: x",
    b'{"model": "m", "temperature": 1.50, "big": 123456789012345678901234567890}',
    json.dumps({"messages": [{"role": "user", "content": f'{{"authorization": "{SECRET}"}} in a text'}]}).encode(),
    b'{"tools": [{"type": "mcp", "server_url": "https://mcp.example.com/sse", "headers": {}, "n": 1.50}]}',
    b'{"tools": [{"parameters": {"properties": {"headers": {"type": "object", "title": "Headers"}}}, "n": 1.50}]}',
    b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\n{"authorization": "planted"}\r\n--x--',
    b'{"authorization": null, "n": 1.50}',
    b'{"tools": [{"schema": {"properties": {"api_key": {"type": "string"}, "url": {"default": "?key"}}}, "n": 1.50}]}',
    b'{"messages": [{"content": [{"type": "tool_use", "input": {"api_key": "written", "url": "?k=x"}}], "n": 1.50}]}',
    b'{"mcp_servers": [{"type": "url", "url": "https://mcp.example.com/sse", "name": "x"}], "n": 1.50}',
    b'{"messages": [{"content": [{"type": "tool_use", "input": {"headers": {"cookie": "x"}}}]}], "n": 1.50}',
    b'{"input": [{"type": "mcp_call", "headers": {"x-api-key": "written"}, "authorization": "written"}], "n": 1.50}',
    b'{"messages": [{"content": [{"type": "image", "source": {"type": "url", "url": "https://b.example/?sig=x"}}]}]}',
    b"\xff\xfe\x00",
]


@pytest.mark.parametrize("settings", SERVERS)
def test_connection_settings_are_masked(settings: JsonObject) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": f"my password is {SECRET}-0"}], **settings}
    masked = json.loads(mask_settings(json.dumps(body).encode()))
    assert masked["messages"] == body["messages"]
    assert SECRET not in json.dumps({**masked, "messages": None})
    assert {name: masked[name] for name in body if name not in settings} == {
        name: body[name] for name in body if name not in settings
    }


@pytest.mark.parametrize("settings", SERVERS)
def test_a_body_that_was_cut_off_is_masked(settings: JsonObject) -> None:
    body = json.dumps({**settings, "messages": []}).encode()
    start = body.index(SECRET.encode())
    for end in range(start + 8, len(body)):
        assert SECRET.encode()[:8] not in mask_settings(body[:end])


@pytest.mark.parametrize("settings", SERVERS)
def test_a_byte_order_mark_hides_no_settings(settings: JsonObject) -> None:
    assert SECRET.encode() not in mask_settings(codecs.BOM_UTF8 + json.dumps(settings).encode())


@pytest.mark.parametrize("body", KEPT)
def test_a_body_without_such_settings_stays_byte_for_byte(body: bytes) -> None:
    assert mask_settings(body) == body


def test_a_body_that_is_nested_too_deeply_is_masked_all_the_same() -> None:
    body = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b',"authorization": "planted-7f3a"}'
    assert SECRET.encode() not in mask_settings(body)


HEADERS: JsonObject = {"headers": {"cookie": "written", "authorization": "written"}}
ANSWERS: list[JsonObject] = [
    {"content": [{"type": "tool_use", "name": "fetch", "input": HEADERS}]},
    {"candidates": [{"content": {"parts": [{"functionCall": {"name": "fetch", "args": HEADERS}}]}}]},
    {"output": [{"type": "mcp_call", "arguments": HEADERS}]},
    {"choices": [{"message": {"tool_calls": [{"function": {"arguments": HEADERS}}]}}]},
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_a_model_wrote_stays_in_an_answer(answer: JsonObject) -> None:
    tools = [{"type": "mcp", "headers": {"authorization": SECRET}}]
    masked = mask_entry({"response": {"body": {**json.loads(json.dumps(answer)), "tools": tools}}})
    assert masked["response"]["body"].items() >= answer.items()
    assert SECRET not in json.dumps(masked)
