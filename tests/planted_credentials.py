"""Invented credentials in every place of a request and its answer where they are masked always, not only on request."""

TOKEN = "recorder-token-s3cret00"  # noqa: S105 - an invented one
REQUEST_HEADERS = {
    "authorization": "Bearer s3cret01",
    "x-api-key": "s3cret02",
    "api-key": "s3cret03",
    "x-goog-api-key": "s3cret04",
    "cookie": "session=s3cret05; other=s3cret06",
    "proxy-authorization": "Basic czNjcmV0MDc=",
    "x-amz-security-token": "s3cret08",
    "x-custom-token": "s3cret09",
    "x-my-secret": "s3cret10",
    "x-harmless": "sk-s3cret11-and-more",
    "x-plain": "Bearer s3cret12",
    "x-note": "AIzas3cret13-and-more",
    "x-jwt": "s3cret14",
    "user-agent": "tool/1 sk-s3cret15-and-more",
    "referer": "http://someone:s3cret16@page.example/?key=s3cret17",
    "x-forwarded-uri": "/v1?sig=s3cret18",
    "x-session-id": "s3cret19",
    "openai-account": "s3cret20",
}
RESPONSE_HEADERS = {
    "set-cookie": "session=s3cret21; Path=/",
    "www-authenticate": 'Digest nonce="s3cret22"',
    "location": "https://someone:s3cret23@b.example/?sig=s3cret24",
    "link": "<https://b.example/?token=s3cret25>; rel=next",
    "x-new-token": "s3cret26",
    "x-request-id": "sk-s3cret27-and-more",
    "authentication-info": "s3cret28",
}
PATH = "/v1/files/sk-s3cret29-and-more/content"
QUERY = (
    "key=s3cret30&sig=s3cret31&sv=2024&se=2026&api_key=s3cret32&s3cret33&beta=true&alt=sk-s3cret34-and-more&x=s3cret35"
)
USER, PASSWORD = "s3cret36", "s3cret37"
BROKEN_HEADER = "x-broken s3cret38"
HIDDEN = [TOKEN, "czNjcmV0MDc=", *(f"s3cret{number:02}" for number in range(39))]


def found_in(text: bytes) -> list[str]:
    return [secret for secret in HIDDEN if secret.encode() in text]
