"""Secrets: what lets in reaches neither a call nor a finding nor the quarantine, however a file is damaged."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from azure_logs import QUESTION, Log, answered, asked, gateway
from importing import FIXTURES
from palaver.importers.azure_openai.column_values import mask_column
from palaver.redact.text import mask_text

MARK = "REDACTED-BY-FIXTURE"
FILES = {
    path.name: path.read_bytes()
    for case in ("secrets", "http_messages")
    for path in (FIXTURES / "azure_openai" / case / "source").iterdir()
}


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=150)
@given(st.data())
def test_a_file_that_is_cut_or_has_lost_a_byte_gives_no_secret_away(tmp_path_factory, name, data):
    raw = FILES[name]
    kept = [at for at in range(len(raw)) if not inside_a_name(raw, at)]
    at = data.draw(st.sampled_from(kept))
    changed = data.draw(st.sampled_from([raw[:at], raw[:at] + raw[at + 1 :], raw[:at] + b"}" + raw[at:]]))
    log = Log(tmp_path_factory.mktemp("log") / name, changed)
    told = json.dumps([[call.answer, call.platform, call.request, call.response] for call in log.calls])
    told += json.dumps([finding.to_json() for finding in log.run.findings.first])
    assert MARK not in told
    assert not [entry for entry in log.quarantined if MARK.encode() in entry.raw]


def inside_a_name(raw, at):
    """Whether a byte belongs to what tells that a secret follows: without that, nobody can know."""
    end = raw.find(MARK.encode(), at)
    return 0 <= end - at < 60 or MARK.encode() in raw[max(0, at - 60) : at + len(MARK)]


@pytest.mark.parametrize(
    "text",
    [
        '{"Authorization": "Bearer S3CRET-S3CRET"}',
        '{"requestHeaders": "{\\"api-key\\": \\"S3CRET-S3CRET\\"}"}',
        '"{""Cookie"": ""a=S3CRET-S3CRET""}"',
        "Ocp-Apim-Subscription-Key: S3CRET-S3CRET\r\nHost: x",
        "https://user:S3CRET-S3CRET@example.net/?subscription-key=S3CRET-S3CRET&api-version=1",
        "words with a bearer S3CRET-S3CRET among them",
    ],
)
def test_secrets_are_masked_in_whatever_form(text):
    assert "S3CRET" not in mask_text(text)
    assert "[masked]" in mask_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "Requests have exceeded the token rate limit.",
        '{"role": "user", "content": "Where do I find my session key and the cookie recipe?"}',
        "https://example.net/openai/deployments/x/chat/completions?api-version=2025-01-01-preview",
    ],
)
def test_what_only_speaks_of_secrets_stays(text):
    assert mask_text(text) == text


def test_columns_lose_what_may_be_a_secret():
    assert mask_column("subscriptionKey", "abc") is None
    assert mask_column("requestHeaders", {"Authorization": "x", "x-ms-region": "Norway East"}) == {
        "x-ms-region": "Norway East"
    }
    assert mask_column("traces", [{"accessToken": "x", "note": "y"}]) == [{"note": "y"}]
    assert mask_column("blob", "https://example.net/b?sig=x") == "https://example.net/b?sig=[masked]"
    assert mask_column("backendTokens", 17) == 17


def test_an_error_that_quotes_a_key_is_masked(tmp_path):
    refused = {"error": {"message": f"Incorrect API key provided: {'0123456789abcdef' * 2}.", "code": "401"}}
    call = Log(tmp_path / "PT1H.json", [gateway("c-1", asked(), refused, responseCode=401)]).call
    assert call.error["message"] == "Incorrect API key provided: [masked]."


@pytest.mark.parametrize("cut", [0, 3])
@pytest.mark.parametrize("request_fields", [{"messages": [QUESTION]}, {"prompt": "Who?", "best_of": 2}])
def test_credentials_of_other_services_are_not_kept_with_a_request(tmp_path, request_fields, cut):
    authentication = {"type": "api_key", "key": MARK}
    parameters = {"authentication": authentication, "embedding_dependency": {"authentication": authentication}}
    tool = {"type": "mcp", "authorization": MARK, "server_url": f"https://b.example/?key={MARK}"}
    request = {**request_fields, "data_sources": [{"parameters": parameters}], "tools": [tool]}
    body = json.dumps(request)[: -cut or None]
    call = Log(tmp_path / "PT1H.json", [gateway("c-1", body, answered())]).call
    assert MARK not in json.dumps([call.request, call.answer, call.platform])
    assert "data_sources" in call.request
