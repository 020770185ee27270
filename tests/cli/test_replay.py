"""`palaver replay`: the printed command, run in real shells with the real curl, and the printed payload."""

import gzip
import json
import os
import subprocess
import tempfile

import pytest

import palaver
from loopback import JSON, Answer, Loopback
from shells import find_shell

KEY = "made-up-key-7"
AWKWARD = {
    "quotes": """It's "quoted", `ticked`, $HOME, $(exit 1), !!, %s %d, ~, *, #""",
    "escapes": "one \\ two \\\\ three \\\\\\ \n\t\r \\' \\\\' '\\ ''",
    "letters": "Zürich, 東京, 🎏, \u00a0",
    "long": "tide " * 60_000,
}
BODIES = {
    "json": json.dumps({"model": "m", "messages": [{"role": "user", "content": AWKWARD}]}).encode(),
    "json with spelled letters": json.dumps(AWKWARD, ensure_ascii=False, separators=(",", ":")).encode(),
    "text": b"'a' \\b \\\\c 'd\\",
    "several lines": b"one\ntwo\r\n\tthree\n",
    "terminal controls": b"\x1b[2Jcleared",
    "bytes": bytes(range(256)),
    "gzip": gzip.compress(b'{"model": "m"}'),
}


@pytest.fixture
def upstream():
    with Loopback(lambda _: Answer(200, JSON, [b"{}"])) as server:
        yield server


@pytest.fixture
def record():
    """Record an exchange, and return the word that names it."""

    def exchange(url, body=b"", method="POST", **headers):
        with palaver.ExchangeLog() as log:
            started = log.start(method, url, [(name.replace("_", "-"), value) for name, value in headers.items()])
            started.send(body)
            started.end_request()
            started.respond(200, [("content-type", "application/json")])
            return started.finish().place

    return exchange


def execute(shell, command, **variables):
    environment = {**os.environ, "no_proxy": "*", "HOME": "/nowhere", **variables}
    # As a script: an argument may not be as long as a body.
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".sh") as script:
        script.write(command)
        script.flush()
        done = subprocess.run([find_shell(shell), script.name], capture_output=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "fish"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_the_command_sends_the_same_body_from_every_shell(run, record, upstream, shell, body):
    find_shell("curl")
    place = record(f"{upstream.url}/v1/messages", body, content_type="application/json")
    printed = run("replay", place, "--curl").stdout
    assert "\x1b" not in printed, "it would act on the terminal"
    assert execute(shell, printed) == b"{}"
    [asked] = upstream.asked
    assert asked.body == body


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "fish"])
def test_the_command_repeats_the_request_and_takes_keys_from_variables(run, record, upstream, shell):
    find_shell("curl")
    url = f"{upstream.url}/v1beta/models/it's:generateContent?alt=sse&key={KEY}&x=%2F+[]"
    headers = {"x_api_key": KEY, "x_goog_api_key": KEY, "anthropic_version": "2023-06-01", "cookie": f"id={KEY}"}
    more = {"authorization": f"Bearer {KEY}", "accept_encoding": "gzip", "x_note": "it's a $NOTE", "x_empty": ""}
    place = record(url, b'{"contents": []}', content_type="application/json; charset=utf-8", **headers, **more)
    done = run("replay", place, "--curl")
    assert KEY not in done.output
    for name in ("$ANTHROPIC_API_KEY", "$ANTHROPIC_AUTH_TOKEN", "$GEMINI_API_KEY"):
        assert name in done.stderr
    assert "by hand: cookie" in done.stderr
    keys = {"ANTHROPIC_API_KEY": "first", "ANTHROPIC_AUTH_TOKEN": "second", "GEMINI_API_KEY": "third"}
    execute(shell, done.stdout, **keys)
    [asked] = upstream.asked
    assert asked.method == "POST"
    assert "key=third" in asked.path
    assert asked.path.startswith("/v1beta/models/it's:generateContent?alt=sse&key=third&")
    assert asked.headers.pop("host") == upstream.host
    assert asked.headers.pop("content-length") == "16"
    assert asked.headers == {
        "x-api-key": "first",
        "authorization": "Bearer second",
        "x-goog-api-key": "third",
        "anthropic-version": "2023-06-01",
        "content-type": "application/json; charset=utf-8",
        "x-note": "it's a $NOTE",
        "x-empty": "",
    }


@pytest.mark.parametrize(("method", "body"), [("GET", b""), ("POST", b""), ("PUT", b"{}")])
def test_the_command_repeats_the_method(run, record, upstream, method, body):
    find_shell("curl")
    place = record(f"{upstream.url}/v1/models", body, method)
    printed = run("replay", place, "--curl").stdout
    execute("sh", printed)
    assert [(asked.method, asked.body) for asked in upstream.asked] == [(method, body)]


def test_a_head_request_is_not_waited_for(run, record):
    printed = run("replay", record("https://api.openai.com/v1/models", method="HEAD"), "--curl").stdout
    assert "--head" in printed
    assert "--request" not in printed


def test_the_payload_is_what_convert_reads(run, record, tmp_path):
    request = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "When does it open?"}],
    }
    place = record("https://api.anthropic.com/v1/messages", json.dumps(request).encode())
    payload = run("replay", place, "--payload").stdout
    assert json.loads(payload) == request
    (tmp_path / "payload.json").write_text(payload)
    converted = run("convert", tmp_path / "payload.json", "--from", "anthropic", "--to", "openai-chat")
    assert [message["role"] for message in json.loads(converted.stdout)["messages"]] == ["system", "user"]


def test_a_dry_run_prints_both_forms(run, record):
    place = record("https://api.openai.com/v1/responses", b'{"model": "m", "input": "Hello"}', authorization="Bearer x")
    both = run("replay", place, "--dry-run").stdout
    assert both == run("replay", place, "--curl").stdout + "\n" + run("replay", place, "--payload").stdout
    assert "$OPENAI_API_KEY" in both


@pytest.mark.parametrize(
    ("url", "header", "variable"),
    [
        ("https://api.openai.com/v1/chat/completions", "authorization", "OPENAI_API_KEY"),
        ("https://api.anthropic.com/v1/messages", "authorization", "ANTHROPIC_AUTH_TOKEN"),
        ("https://made-up.openai.azure.com/openai/responses", "authorization", "AZURE_OPENAI_AD_TOKEN"),
        ("https://made-up.openai.azure.com/openai/responses", "api-key", "AZURE_OPENAI_API_KEY"),
        ("https://api.anthropic.com/v1/messages", "x-api-key", "ANTHROPIC_API_KEY"),
        ("https://generativelanguage.googleapis.com/v1beta/models", "x-goog-api-key", "GEMINI_API_KEY"),
    ],
)
def test_each_provider_has_its_own_variable(run, record, url, header, variable):
    printed = run("replay", record(url, **{header: KEY}), "--curl")
    assert f"${variable}" in printed.stdout
    assert printed.stderr == f"Set ${variable} before: keys are masked in the log.\n"


def test_secrets_in_the_logs_of_other_recorders_are_masked(run, tmp_path):
    request = {"method": "POST", "url": f"https://user:{KEY}@api.openai.com/v1", "headers": {"Authorization": KEY}}
    (tmp_path / "log.jsonl").write_text(json.dumps({"request": request, "response": None}) + "\n")
    done = run("replay", f"{tmp_path}/log.jsonl:1", "--curl")
    assert KEY not in done.output
    assert "$OPENAI_API_KEY" in done.stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (2, "has no line 2: it has 1"),
        (0, "does not name a request"),
        ("x", "does not name a request"),
    ],
)
def test_a_line_that_is_not_there_is_refused(run, record, line, message):
    name, _, _ = record("https://api.openai.com/v1/models").partition(":")
    done = run("replay", f"{name}:{line}", "--curl")
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "null",
        '{"request": null}',
        '{"request": {"method": "GET"}}',
        '{"request": {"url": 1, "method": "GET"}}',
    ],
)
def test_a_line_that_is_not_an_exchange_is_refused(run, tmp_path, line):
    (tmp_path / "log.jsonl").write_text(f"{line}\n")
    done = run("replay", f"{tmp_path}/log.jsonl:1", "--dry-run")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "line 1 of" in done.stderr
    assert "is not an exchange" in done.stderr


def test_a_body_that_is_not_json_has_no_payload(run, record, upstream):
    place = record(f"{upstream.url}/v1", b"opaque", content_encoding="shared-brotli")
    done = run("replay", place, "--payload")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "is encoded (shared-brotli): print it with --curl" in done.stderr
    assert run("replay", place, "--dry-run").stdout == run("replay", place, "--curl").stdout + "\n"
    (done,) = [run("replay", record(f"{upstream.url}/v1"), "--payload")]
    assert "has no body" in done.stderr


def test_a_request_that_was_compressed_is_printed_without_its_content_encoding(run, record, upstream):
    place = record(f"{upstream.url}/v1", gzip.compress(b'{"model":"m"}'), content_encoding="gzip")
    assert json.loads(run("replay", place, "--payload").stdout) == {"model": "m"}
    assert "content-encoding" not in run("replay", place, "--curl").stdout


def test_a_log_that_cannot_be_found_is_named_with_the_folder_of_recordings(run, kept):
    done = run("replay", "log-2026-01-01-00-00-00.jsonl:1", "--curl")
    assert done.exit_code == 2
    assert str(kept / "recordings") in done.stderr
