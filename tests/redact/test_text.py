"""Secrets in text are masked whatever the state of the record, and so are those in findings of a masked run."""

import pytest

from palaver.importers.github_copilot.raw_records import mask_record as mask_telemetry
from palaver.importers.github_copilot.spans.attributes import mask_record as mask_spans
from palaver.redact.logs import mask_record_text
from palaver.redact.policy import mask_header
from palaver.redact.text import is_secret_name, mask_addresses, mask_error, mask_pairs, mask_text, mask_tokens
from palaver.sources.damage import BAD_JSON
from palaver.sources.run import MaskedRun, Run


@pytest.mark.parametrize(
    "text",
    [
        '{"api-key": "HIDDEN", "model": "m"',
        r"{\"api-key\": \"HIDDEN\", \"model\": \"m\"}",
        r"{\\\"api-key\\\": \\\"HIDDEN\\\"}",
        '"{""api-key"": ""HIDDEN""}"',
        r'{"api-key": "HID\nDEN", "model": "m"}',
        '{"attributes": [{"key": "authorization", "value": {"stringValue": "HIDDEN"}}]}',
        "Authorization: Bearer HIDDEN",
        "https://user:HIDDEN@example.com/chat",
        "https://example.com/chat?code=HIDDEN&api-version=1",
    ],
)
def test_a_secret_is_masked_wherever_it_is_quoted(text):
    masked = mask_text(text)
    assert "HID" not in masked
    assert "DEN" not in masked


@pytest.mark.parametrize("mask", [mask_text, mask_telemetry, mask_spans])
@pytest.mark.parametrize(
    "text",
    [
        r"api_token\": \"HIDDEN\", \"model\": \"m\"",
        r'"api_token\": \"HIDDEN\", \"model\": \"m\"',
        r"{\\\"api_token\\\": \\\"HIDDEN\\\"}",
        "(see https://example.com/a)?sig=HIDDEN)",
        '{"apiToken": "HIDDEN"}',
        'y": "api_token", "value": {"stringValue": "HIDDEN"}}]}',
        r"{\"key\": \"api_token\", \"value\": {\"stringValue\": \"HIDDEN\"}}",
    ],
)
def test_a_record_that_is_torn_between_quotes_is_masked_by_every_importer(mask, text):
    assert "HIDDEN" not in mask(text)


def test_empty_values_do_not_make_the_next_one_a_secret():
    text = '{"token": "", "model": "m", "secret": ""}'
    assert mask_text(text) == mask_spans(text) == mask_telemetry(text) == text


@pytest.mark.parametrize("name", ["myApiKey", "serviceCredentials", "userPassword", "x.cookie", "githubToken"])
def test_names_of_spans_that_end_like_a_secret_are_masked_in_records(name):
    assert mask_spans(f'{{"{name}": "HIDDEN", "model": "m"}}') == f'{{"{name}": "[masked]", "model": "m"}}'


@pytest.mark.parametrize("text", ['{"model": "m"}', "status: 200", "https://example.com/chat?api-version=1", ""])
def test_what_is_harmless_stays(text):
    assert mask_text(text) == text
    assert mask_addresses(text) == text


@pytest.mark.parametrize(
    ("message", "masked"),
    [
        (
            "no route to https://user:HIDDEN@b.example/?key=HIDDEN (3)",
            "no route to https://b.example/?key=[masked] (3)",
        ),
        (
            "failed with url: /v1/x?alt=sse&key=HIDDEN (timed out)",
            "failed with url: /v1/x?alt=sse&key=[masked] (timed out)",
        ),
        ("socks5://user:HIDDEN@b.example:1080 refused", "socks5://b.example:1080 refused"),
        ("wss://user:HIDDEN@b.example/v1?key=HIDDEN", "wss://b.example/v1?key=[masked]"),
        ("Invalid header value b'HIDDEN\\n'", "Invalid header value"),
        ("line end in header value: 'HIDDEN\\n'", "line end in header value"),
        ("No such file: '/tmp/ca.pem'", "No such file: '/tmp/ca.pem'"),
    ],
)
def test_the_message_of_an_error_tells_what_happened_without_credentials(message, masked):
    assert mask_error(message) == masked


def test_tokens_are_known_by_their_shape():
    assert mask_tokens("the key sk-0123456789abcdef is wrong") == "the key [masked] is wrong"
    long = "x " * 200
    assert mask_tokens(f"{long}Bearer 0123456789") == f"{long}Bearer [masked]"


@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (lambda text: mask_header("x-custom", text), "eyJ" * 100_000),
        (mask_tokens, "-eyJ" * 100_000),
        (mask_error, ": " * 100_000),
        (mask_error, "header value: " * 100_000),
        (mask_record_text, r"\"a\": " * 100_000),
    ],
    ids=["header", "tokens", "error", "header value", "record"],
)
def test_no_text_takes_time_that_grows_with_its_square(mask, text):
    assert mask(text) == text


def test_names_are_those_of_headers():
    assert is_secret_name("x-api-key")
    assert is_secret_name("Set-Cookie")
    assert not is_secret_name("content-type")


def test_pairs_are_masked_by_the_names_that_an_importer_gives():
    assert mask_pairs('{"machineId": "m", "token": "t"}', lambda name: name == "machineId") == (
        '{"machineId": "[masked]", "token": "t"}'
    )


@pytest.mark.parametrize("mask", [mask_text, mask_telemetry, mask_spans])
def test_a_masked_run_masks_findings_and_quarantined_bytes(mask):
    quarantined = []
    run = Run("log", quarantine=quarantined.append)
    masked = MaskedRun(run, mask)
    masked.note(BAD_JSON, "line 1", 'near "password": "HIDDEN"')
    masked.quarantined(BAD_JSON, b'{"password": "HIDDEN", \xff', "line 2", "at https://example.com/?password=HIDDEN")
    assert run.ledger.quarantined == {"bad-json": 1}
    assert [finding.where for finding in run.findings.first] == ["line 1", "line 2"]
    assert "HIDDEN" not in "".join(finding.message for finding in run.findings.first)
    (kept,) = quarantined
    assert kept.raw == b'{"password": "[masked]", \xff'
    assert "HIDDEN" not in kept.message


def test_bytes_without_a_secret_are_the_same_object():
    quarantined = []
    raw = b'{"model": "m"'
    MaskedRun(Run("log", quarantine=quarantined.append), mask_text).quarantined(BAD_JSON, raw, "line 1")
    assert quarantined[0].raw is raw
