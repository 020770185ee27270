"""What of an HTTP message may be kept: nothing that lets anybody in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.redact.policy import MASK, harmless_headers, mask_headers, mask_url

SECRET = "planted-7f3a"  # noqa: S105 - invented
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


@pytest.mark.parametrize("name", ["user-agent", "x-request-id", "anthropic-beta", "x-custom"])
def test_each_value_of_a_repeated_header_is_masked_for_itself(name):
    assert mask_headers({name: ["v1", f"sk-{SECRET}-more"]}) == {name: ["v1", MASK]}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("location", f"/callback#{SECRET}"),
        ("location", f"https://b.example/callback#access_token={SECRET}"),
        ("location", f"/callback;jsessionid={SECRET}"),
        ("referer", f"https%3A%2F%2Fuser%3A{SECRET}%40host.example"),
        ("referer", f"%2Fv1%3Fcode%3D{SECRET}"),
        ("user-agent", f"tool/1 (https://user:{SECRET}@host.example)"),
        ("user-agent", f"tool/1 (https://host.example?key={SECRET})"),
        ("via", f"1.1 user:{SECRET}@host.example"),
        ("sec-websocket-protocol", f"realtime, openai-insecure-api-key.ek_{SECRET}"),
        ("sec-websocket-protocol", f"bearer, {SECRET}"),
        ("sec-websocket-protocol", f"base64url.bearer.authorization.k8s.io.{SECRET}"),
        ("x-custom", f"sk%2D{SECRET}"),
        ("x-custom", f"sk%252D{SECRET}"),
        ("x-custom", f"auth={SECRET}"),
        ("x-custom", f"SID={SECRET}; Path=/"),
        ("referer", f"https%253A%252F%252Fuser%253A{SECRET}%2540host.example"),
        ("referer", f"%252Fv1%253Fcode%253D{SECRET}"),
        ("x-custom", f"ApiKey {SECRET}"),
        ("x-custom", f"key={SECRET}&beta=true"),
        ("x-custom", f"for=client; token={SECRET}"),
        ("x-custom", f'{{"api_key": "{SECRET}"}}'),
    ],
)
def test_a_secret_within_a_value_is_masked_under_any_name(name, value):
    masked = mask_headers({name: value})
    assert SECRET not in masked[name]
    assert mask_headers(masked) == masked
    assert SECRET not in harmless_headers({name: value}).get(name, "")


def test_a_header_with_an_address_still_tells_where_it_leads():
    link = f"<https://user:{SECRET}@b.example/?token={SECRET}>; rel=next"
    assert mask_headers({"link": link}) == {"link": f"<https://b.example/?token={MASK}>; rel=next"}


@pytest.mark.parametrize(
    "value",
    [
        *(
            "realtime, openai-beta.realtime-v1",
            "max-age=31536000; includeSubDomains",
            "Monkey.js/1.0 (mailto:me@b.example)",
        ),
        *(
            "#12",
            "text/html; charset=utf-8",
            "multipart/form-data; boundary=--x",
            "00-0af7651916cd43dd8448eb211c80319c-01",
        ),
    ],
)
def test_a_harmless_value_stays(value):
    assert mask_headers({"x-custom": value, "user-agent": value}) == {"x-custom": value, "user-agent": value}


def test_harmless_headers_stay():
    headers = {"Content-Type": "text/event-stream", "Request-Id": "req_1", "X-RateLimit-Remaining-Tokens": "5"}
    headers |= {"X-RateLimit-Limit-Tokens_Usage_Based": "9", "Anthropic-Priority-Input-Tokens-Limit": "10000"}
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
        f"https://host.example/v1?{SECRET}==",
        f"https://host.example/v1?sk-{SECRET}-more=1",
        f"https://host.example/v1?alt=sk%2D{SECRET}-more",
        f"https://host.example/v1?alt=1%26key={SECRET}",
        f"https://host.example/v1/sk%2d{SECRET}-more/content",
        f"https://host.example/v1;key={SECRET}/messages",
        f"https://host.example/v1/messages%3Fapi_key%3D{SECRET}",
        f"https://host.example/forward/https://user:{SECRET}@b.example/v1",
        f"https://host.example/forward/https%3A%2F%2Fuser%3A{SECRET}%40b.example",
        f"https://host.example/forward/https%253A%252F%252Fuser%253A{SECRET}%2540b.example",
        f"https://host.example/v1/sk%252d{SECRET}-more/content",
        f"https://host.example/v1?alt=sse%2526key%253D{SECRET}",
        f"https://host.example/v1?sk%252D{SECRET}-more=1",
        f"https://host.example/v1/messages%2523access_token%253D{SECRET}",
        f"https://user%3A{SECRET}%40host.example/v1",
        f"https://host.example/v1;code={SECRET}/messages",
        f"https://host.example/v1;v=1;session={SECRET}/messages;{SECRET}",
        f"https://host.example/v1/auth={SECRET}/messages",
    ],
)
def test_nothing_in_an_address_lets_anybody_in(url):
    masked = mask_url(url)
    assert SECRET not in masked
    assert mask_url(masked) == masked


def test_an_address_still_tells_where_the_request_went():
    url = "https://host.example/openai/deployments/d/chat/completions?api-version=2025-01-01&key=x"
    assert mask_url(url) == url.replace("key=x", f"key={MASK}")
    url = "https://host.example/v1/models/claude@20250514:rawPredict"
    assert mask_url(url) == url
    url = "http://[::1]:11434/v1;alt=sse/x%2Fy"
    assert mask_url(url.replace("//", f"//user:{SECRET}@")) == mask_url(url) == url
