"""What of an HTTP message may be kept: nothing that lets anybody in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.redact.policy import MASK, harmless_headers, mask_headers, mask_url

SECRET = "planted-7f3a"  # noqa: S105 - of nobody
SECRET_HEADERS = [
    *("Authorization", "x-api-key", "api-key", "X-Auth-Token", "Cookie", "Set-Cookie", "x-session-token"),
    *("x-access-token", "Bearer", "Proxy-Authorization", "X-Amz-Security-Token", "Ocp-Apim-Subscription-Key"),
    *("x-goog-api-key", "X-Functions-Key", "x-ms-client-principal", "X-CSRF-Token", "anthropic-api-key"),
    *("x-forwarded-client-cert", "X-Amz-Signature", "openai-organization-secret", "x-ms-token-aad-access-token"),
]


@pytest.mark.parametrize("name", SECRET_HEADERS)
def test_a_header_that_may_hold_a_secret_is_masked(name):
    assert mask_headers({name: SECRET}) == {name: MASK}
    assert mask_headers({name: [SECRET, SECRET]}) == {name: [MASK, MASK]}
    assert mask_headers([[name, SECRET]]) == [[name, MASK]]
    assert mask_headers([{"name": name, "value": SECRET}]) == [{"name": name, "value": MASK}]
    assert harmless_headers({name: SECRET}) == {}


@pytest.mark.parametrize("value", ["Bearer abc", "Basic YTpi", "sk-ant-api03-abcdefgh", "eyJhbGciOiJIUzI1NiJ9.e30.x"])
def test_a_value_that_looks_like_a_secret_is_masked_under_any_name(value):
    assert mask_headers({"x-custom": value}) == {"x-custom": MASK}
    assert harmless_headers({"user-agent": value}) == {}


def test_harmless_headers_stay():
    headers = {"Content-Type": "text/event-stream", "Request-Id": "req_1", "X-RateLimit-Remaining-Tokens": "5"}
    assert mask_headers(headers) == headers
    assert harmless_headers(headers) == {name.lower(): value for name, value in headers.items()}


@given(st.text(min_size=1).filter(lambda name: name.strip()))
def test_documents_keep_only_headers_that_are_known_to_be_harmless(name):
    kept = harmless_headers({name: SECRET})
    assert not kept or name.lower() in {"date", "user-agent", "x-app"} or "-" in name


@pytest.mark.parametrize(
    "url",
    [
        f"https://user:{SECRET}@host.example/v1/messages",
        f"https://host.example/v1/messages?key={SECRET}",
        f"https://host.example/v1/messages?api-version=1&code={SECRET}",
        f"https://host.example/v1/messages?{SECRET}",
        f"https://host.example/v1/messages?a=1;sig={SECRET}",
        f"https://host.example/v1/messages#{SECRET}",
        f"https://host.example/v1/messages?api-version=Bearer%20x&x={SECRET}",
        f"https://[host/v1?key={SECRET}",
    ],
)
def test_nothing_in_an_address_lets_anybody_in(url):
    assert SECRET not in mask_url(url)


def test_an_address_still_tells_where_the_request_went():
    url = "https://host.example/openai/deployments/d/chat/completions?api-version=2025-01-01&key=x"
    assert mask_url(url) == url.replace("key=x", f"key={MASK}")
