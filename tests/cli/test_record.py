"""`palaver record`: around a command, and on its own until Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from loopback import EVENTS, JSON, Answer, Loopback, closed_port, entries, streamed
from planted_credentials import HIDDEN, PASSWORD, QUERY, REQUEST_HEADERS, RESPONSE_HEADERS, USER, found_in
from recorder.running import files_under
from recording_processes import RunningPalaver

SECRET = "sk-ant-made-up-for-this-test-0001"  # noqa: S105 - invented
MESSAGE = {
    "id": "msg_7",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": "The bridge opens at noon."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 20, "cache_read_input_tokens": 3000, "output_tokens": 9},
}
OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
ASKED = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "When?"}]}
CALL = f"""
import json, os, sys, urllib.request
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages?key={SECRET}",
    json.dumps({ASKED!r}).encode(),
    {{"content-type": "application/json", "x-api-key": "{SECRET}"}},
)
sys.stdout.buffer.write(urllib.request.urlopen(request).read())
"""
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="signals and terminals of POSIX")


@pytest.fixture
def upstream(monkeypatch):
    """An API whose address is set as the environment's base URL; it answers what `answer` returns."""
    with Loopback(lambda _: Answer(200, JSON, [json.dumps(MESSAGE).encode()])) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


@pytest.fixture
def recordings(kept):
    return kept / "recordings"


@pytest.fixture
def recorder(start):
    """Start a recorder without a command; it has listened once it is returned."""
    started = []

    def begin(*words, **settings):
        running = RunningPalaver(start, "record", "--listen", "127.0.0.1:0", *words, **settings)
        started.append(running)
        return running, running.wait_for(r"ANTHROPIC_BASE_URL=(\S+)")[1]

    yield begin
    for running in started:
        running.__exit__()


def ask(url, **headers):
    return httpx.post(f"{url}/v1/messages", json=ASKED, headers=headers, trust_env=False)


@contextmanager
def begun_stream(url, expected):
    """Ask for a stream, and wait until this much of it has come; yield what comes after."""
    with httpx.stream("POST", f"{url}/v1/messages", json=ASKED, trust_env=False, timeout=60) as response:
        pieces = response.iter_raw()
        received = b""
        while len(received) < len(expected):
            received += next(pieces)
        assert received == expected
        yield pieces


def test_the_calls_of_a_command_are_recorded_summarized_and_imported(finish, upstream, recordings, run):
    done = finish("record", "--", sys.executable, "-c", CALL)
    summary = done.stderr.decode()
    assert done.returncode == 0, summary
    assert json.loads(done.stdout) == MESSAGE, "standard output is that of the command"
    assert [asked.headers["x-api-key"] for asked in upstream.asked] == [SECRET]
    [entry] = entries(recordings)
    assert entry["response"]["body"] == MESSAGE
    assert "1 call in " in summary
    assert "20 in, 3,000 read from the cache, 9 out" in summary
    assert "$" in summary
    assert "1 conversation (1 new)" in summary
    assert SECRET not in summary + json.dumps(entry)
    [conversation] = json.loads(run("list", "--json").stdout)["conversations"]
    assert conversation["platform"] == "api_trace"


def test_a_stream_comes_through_the_command_line_as_it_was_sent(finish, upstream):
    upstream.answer = lambda _: streamed()
    done = finish("record", "--", sys.executable, "-c", CALL)
    assert done.stdout == b"".join(EVENTS)
    assert "1 of them streamed" in done.stderr.decode()
    assert "First token  after" in done.stderr.decode()


@pytest.mark.usefixtures("upstream")
def test_the_official_client_finds_the_recorder_by_itself(finish, recordings):
    program = f"""
import anthropic
client = anthropic.Anthropic(api_key={SECRET!r}, max_retries=0)
print(client.messages.create(**{ASKED!r}).content[0].text)
"""
    done = finish("record", "--", sys.executable, "-W", "ignore", "-c", program)
    assert done.stdout.decode().strip() == "The bridge opens at noon."
    [entry] = entries(recordings)
    assert SECRET not in json.dumps(entry) + done.stderr.decode()


def test_the_answer_in_json_follows_the_output_of_the_command(finish, upstream, recordings):
    answers = iter(
        [Answer(200, JSON, [json.dumps(MESSAGE).encode()]), Answer(529, JSON, [json.dumps(OVERLOADED).encode()])]
    )
    upstream.answer = lambda _: next(answers)
    program = f"{CALL}\nprint()\nurllib.request.urlopen(request)"
    done = finish("record", "--json", "--", sys.executable, "-c", program)
    assert done.returncode == 1
    first, _, rest = done.stdout.decode().partition("\n")
    assert json.loads(first) == MESSAGE
    answer = json.loads(rest)
    assert (answer["calls"], answer["streams"], answer["exit_code"]) == (2, 0, 1)
    assert answer["tokens"] == {"input": 20, "output": 9, "cache_read": 3000, "cache_write": 0}
    assert answer["errors"] == {"529 overloaded_error": 1}
    assert answer["models"] == {"claude-sonnet-4-5": 1}
    assert answer["cost"]["amount"] > 0
    assert answer["files"] == [str(file) for file in recordings.glob("log-*.jsonl")]


@posix_only
@pytest.mark.parametrize(
    ("program", "exit_code"), [("exit 3", 3), ("kill -TERM $$", 143), ("kill -KILL $$", 137), ("true", 0)]
)
def test_the_exit_code_is_that_of_the_command(finish, program, exit_code):
    assert finish("record", "--quiet", "--", "sh", "-c", program).returncode == exit_code


def test_a_command_that_does_not_exist(finish):
    done = finish("record", "no-such-command", "--json")
    assert (done.returncode, done.stdout) == (127, b"")
    assert done.stderr.decode().splitlines() == ["palaver: no-such-command: command not found"]


@posix_only
def test_a_command_that_cannot_be_run(finish, tmp_path):
    (tmp_path / "notes.txt").write_text("not a program")
    done = finish("record", str(tmp_path / "notes.txt"))
    assert done.returncode == 126
    assert done.stderr.decode().splitlines() == [f"palaver: {tmp_path}/notes.txt cannot be run: Permission denied"]


def test_standard_input_and_output_belong_to_the_command(finish):
    copy = "import shutil, sys; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    every_byte = bytes(range(256)) * 1_000
    done = finish("record", "--quiet", "--", sys.executable, "-c", copy, stdin=every_byte)
    assert (done.returncode, done.stdout, done.stderr) == (0, every_byte, b"")


def test_options_after_the_command_are_its_own(finish):
    show = "import sys; print(sys.argv[1:])"
    done = finish("record", "--quiet", sys.executable, "-c", show, "--upstream", "--json", "-q")
    assert done.stdout.decode().strip() == "['--upstream', '--json', '-q']"


def test_the_command_gets_the_variables_of_all_providers_and_no_other(finish, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "intranet.example")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://made-up.openai.azure.com")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-invented-1")
    done = finish("record", "--quiet", sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))")
    environment = json.loads(done.stdout)
    root = environment["ANTHROPIC_BASE_URL"].removesuffix("/anthropic")
    assert root.startswith("http://127.0.0.1:")
    assert environment["OPENAI_BASE_URL"] == environment["OPENAI_API_BASE"] == f"{root}/openai/v1"
    assert environment["GOOGLE_GEMINI_BASE_URL"] == f"{root}/gemini"
    assert environment["AZURE_OPENAI_ENDPOINT"] == f"{root}/azure-openai"
    assert environment["NO_PROXY"] == environment["no_proxy"] == "intranet.example,127.0.0.1"
    assert os.environ["AZURE_OPENAI_ENDPOINT"] == "https://made-up.openai.azure.com"


def test_without_a_call_the_summary_says_why_that_may_be(finish):
    done = finish("record", "--upstream", "anthropic", "--", sys.executable, "-c", "pass")
    assert "No calls were recorded" in done.stderr.decode()
    assert "ANTHROPIC_BASE_URL" in done.stderr.decode()


@pytest.mark.usefixtures("upstream")
@pytest.mark.parametrize(
    ("words", "is_logged"),
    [
        (["--include", "/v1/mess*"], True),
        (["--include", "/v1/models"], False),
        (["--exclude", "*"], False),
        (["--sample", "0"], False),
    ],
)
def test_calls_that_are_not_to_be_logged_only_pass(finish, recordings, words, is_logged):
    done = finish("record", *words, "--", sys.executable, "-c", CALL)
    assert json.loads(done.stdout) == MESSAGE
    assert len(entries(recordings)) == is_logged
    assert ("No calls were recorded.\n" in done.stderr.decode()) is not is_logged


def test_with_redact_keys_in_bodies_are_masked(finish, upstream, recordings):
    answer = {**MESSAGE, "content": [{"type": "text", "text": f"Your key is {SECRET}."}]}
    upstream.answer = lambda _: Answer(200, JSON, [json.dumps(answer).encode()])
    done = finish("record", "--redact", "--", sys.executable, "-c", CALL)
    assert json.loads(done.stdout) == answer
    [entry] = entries(recordings)
    assert SECRET not in json.dumps(entry)


def test_no_credential_is_in_the_archive_the_log_or_anything_that_is_printed(finish, upstream, kept, monkeypatch, run):
    upstream.answer = lambda _: Answer(200, JSON | RESPONSE_HEADERS, [json.dumps(MESSAGE).encode()])
    monkeypatch.setenv("ANTHROPIC_BASE_URL", upstream.url.replace("://", f"://{USER}:{PASSWORD}@"))
    url = f'os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages?{QUERY}"'
    call = f"import httpx, os; httpx.post({url}, json={ASKED!r}, headers={REQUEST_HEADERS!r}, trust_env=False)"
    done = finish("record", "--", sys.executable, "-c", call)
    assert done.returncode == 0, done.stderr.decode()
    [asked] = upstream.asked
    assert len(found_in(str([asked.path, asked.headers]).encode())) > len(HIDDEN) / 2, "the upstream has them"
    [log] = (kept / "recordings").glob("log-*.jsonl")
    shown = [
        run(*words).stdout
        for words in (
            ("show", "latest:2", "--wire"),
            ("show", "latest", "--json"),
            ("show", "latest", "--raw"),
            ("findings",),
            ("replay", f"{log}:1", "--dry-run"),
        )
    ]
    assert "[masked]" in "".join(shown)
    assert b"The bridge opens at noon." in b"".join(file.read_bytes() for file in kept.glob("archive.db*"))
    assert found_in("".join(shown).encode() + done.stdout + done.stderr + files_under(kept)) == []


@pytest.mark.parametrize(("ending", "exit_code"), [(0, 2), (3, 3)])
@pytest.mark.usefixtures("upstream")
def test_an_import_that_fails_leaves_the_log_and_the_exit_code_of_a_failed_command(finish, kept, ending, exit_code):
    kept.mkdir()
    (kept / "archive.db").write_bytes(b"not a database" * 1_000)
    done = finish("record", "--", sys.executable, "-c", f"{CALL}\nsys.exit({ending})")
    assert done.returncode == exit_code
    assert "the log could not be imported" in done.stderr.decode()
    assert len(entries(kept / "recordings")) == 1


NOTING_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: os.write(1, b"got SIGINT\\n"))
os.write(1, b"ready\\n")
"""
WAITING_FOR_SIGNALS = """
import signal, sys
signals = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
print("got", signal.Signals(signal.sigwait(signals)).name, flush=True)
assert not signal.sigtimedwait(signals, 0), "it came twice"
sys.exit(7)
"""


@posix_only
@pytest.mark.usefixtures("upstream")
def test_ctrl_c_on_a_terminal_goes_to_the_command_once_and_the_recorder_stays(start, recordings):
    program = f"{NOTING_CTRL_C}\nsys.stdin.readline()\n{CALL}\nsys.exit(5)"
    with RunningPalaver(start, "record", "--", sys.executable, "-c", program, is_on_terminal=True) as running:
        running.wait_for("ready")
        running.type(b"\x03")
        running.wait_for("got SIGINT")
        running.type(b"go on\n")
        assert running.finish() == 5
    assert running.output.count("got SIGINT") == 1
    assert "1 call in " in running.output
    assert SECRET not in running.output
    assert len(entries(recordings)) == 1


@posix_only
def test_a_command_that_ctrl_c_ends_has_the_exit_code_that_shells_give_it(start):
    with RunningPalaver(start, "record", "--", "sh", "-c", "echo ready; exec cat", is_on_terminal=True) as running:
        running.wait_for("ready")
        running.type(b"\x03")
        assert running.finish() == 130
    assert "No calls were recorded" in running.output


@posix_only
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_that_only_palaver_gets_is_passed_on(start, name):
    with RunningPalaver(start, "record", "--", sys.executable, "-c", WAITING_FOR_SIGNALS) as running:
        running.wait_for("ready")
        running.send(getattr(signal, name))
        assert running.finish() == 7, running.output
    assert running.output.count(f"got {name}") == 1


@posix_only
def test_an_ignored_signal_stays_ignored_for_the_command(start):
    show = "import signal; print(signal.getsignal(signal.SIGHUP).name)"
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    with RunningPalaver(start, "record", "-q", "--", sys.executable, "-c", show, **ignore) as running:
        running.finish()
    assert "SIG_IGN" in running.output


@posix_only
def test_without_a_command_it_prints_variables_and_calls_until_ctrl_c(recorder, upstream, recordings, kept):
    running, url = recorder()
    assert ask(url, **{"x-api-key": SECRET}).json() == MESSAGE
    running.wait_for(r"POST /v1/messages  200  .*claude-sonnet-4-5  20 in, 3\.0k cached, 9 out  \S*\$")
    upstream.answer = lambda _: Answer(529, JSON, [json.dumps(OVERLOADED).encode()])
    assert ask(url).status_code == 529
    running.wait_for("529 overloaded_error")
    running.send(signal.SIGINT)
    assert running.finish() == 0
    assert "2 calls in " in running.output
    assert f"palaver import {recordings}" in running.output
    assert f"to {upstream.url}" in running.output
    assert SECRET not in running.output
    assert not (kept / "archive.db").exists()


@posix_only
@pytest.mark.usefixtures("upstream")
def test_with_archive_the_log_is_imported_at_the_end(recorder, run):
    running, url = recorder("--archive")
    ask(url)
    running.wait_for("POST")
    running.send(signal.SIGTERM)
    assert running.finish() == 0
    assert "1 conversation (1 new)" in running.output
    assert len(json.loads(run("list", "--json").stdout)["conversations"]) == 1


@posix_only
def test_on_a_terminal_one_line_sums_up_what_passed(recorder, upstream):
    held = threading.Event()
    upstream.answer = lambda _: streamed(EVENTS[0], held, *EVENTS[1:])
    running, url = recorder(is_on_terminal=True)
    running.wait_for("Waiting for the first call")
    client = threading.Thread(target=ask, args=(url,))
    client.start()
    running.wait_for("1 running, 1 streaming")
    held.set()
    client.join()
    running.wait_for(r"1 call  ·  <\$0\.01  ·  3 in, 4 out")
    running.type(b"\x03")
    assert running.finish() == 0
    assert "1 call in " in running.output


@posix_only
def test_errors_and_cost_come_first_so_that_a_narrow_terminal_shows_them(recorder, upstream, monkeypatch):
    monkeypatch.setenv("COLUMNS", "45")
    running, url = recorder(is_on_terminal=True)
    ask(url)
    upstream.answer = lambda _: Answer(529, JSON, [json.dumps(OVERLOADED).encode()])
    ask(url)
    running.wait_for(r"2 calls  ·  1 error  ·  <\$0\.01  ·  20 in,…")
    running.type(b"\x03")
    assert running.finish() == 0


@posix_only
@pytest.mark.usefixtures("upstream")
def test_the_line_leaves_room_for_the_echo_of_ctrl_c(recorder, monkeypatch):
    """Behind a full line, ^C would begin a new one, and the line would stay."""
    monkeypatch.setenv("COLUMNS", "40")
    running, _ = recorder(is_on_terminal=True)
    assert len(running.wait_for("Waiting for the first .*…")[0]) == 37
    running.type(b"\x03")
    assert running.finish() == 0


@posix_only
def test_ctrl_c_lets_a_stream_end(recorder, upstream, recordings):
    held = threading.Event()
    upstream.answer = lambda _: streamed(*EVENTS[:3], held, *EVENTS[3:])
    running, url = recorder("--quiet")
    with begun_stream(url, b"".join(EVENTS[:3])) as rest:
        running.send(signal.SIGINT)
        running.wait_for("1 call may go on")
        held.set()
        assert b"".join(rest) == b"".join(EVENTS[3:])
    assert running.finish() == 0
    [entry] = entries(recordings)
    assert "error" not in entry


@posix_only
def test_a_second_ctrl_c_interrupts_what_runs(recorder, upstream, recordings):
    held = threading.Event()
    upstream.answer = lambda _: streamed(*EVENTS[:3], held, *EVENTS[3:])
    running, url = recorder()
    with begun_stream(url, b"".join(EVENTS[:3])) as rest:
        running.send(signal.SIGINT)
        running.wait_for("1 call may go on")
        running.send(signal.SIGINT)
        with pytest.raises(httpx.TransportError):
            next(rest)
    held.set()
    assert running.finish() == 0
    assert "recorder_stopped 1" in running.output
    [entry] = entries(recordings)
    assert entry["error"]["type"] == "recorder_stopped"
    assert entry["response"]["body_raw"].encode() == b"".join(EVENTS[:3])


@posix_only
def test_ctrl_c_after_the_command_interrupts_what_it_left_behind(start, upstream, recordings):
    held = threading.Event()
    upstream.answer = lambda _: streamed(*EVENTS[:3], held, *EVENTS[3:])
    program = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("calls go to", os.environ["ANTHROPIC_BASE_URL"], flush=True)
signal.sigwait({signal.SIGTERM})
sys.exit(4)
"""
    with RunningPalaver(start, "record", "--", sys.executable, "-c", program) as running:
        url = running.wait_for(r"calls go to (\S+)")[1]
        with begun_stream(url, b"".join(EVENTS[:3])) as rest:
            running.send(signal.SIGTERM)
            running.wait_for("1 call may go on")
            running.send(signal.SIGINT)
            with pytest.raises(httpx.TransportError):
                next(rest)
        held.set()
        assert running.finish() == 4
    assert "recorder_stopped 1" in running.output
    assert [entry["error"]["type"] for entry in entries(recordings)] == ["recorder_stopped"]


@posix_only
@pytest.mark.usefixtures("upstream")
def test_beyond_this_machine_requests_need_the_token_that_is_printed(start, recordings):
    with RunningPalaver(start, "record", "--listen", "0.0.0.0:0") as running:
        port, token = running.wait_for(r"ANTHROPIC_BASE_URL=http://[^:]+:(\d+)/([\w-]{20,})/anthropic").groups()
        assert ask(f"http://127.0.0.1:{port}/anthropic").status_code == 401
        assert ask(f"http://127.0.0.1:{port}/{token}/anthropic").json() == MESSAGE
        running.wait_for("POST /v1/messages  200")
        running.send(signal.SIGINT)
        assert running.finish() == 0
    assert running.output.count(token) == running.output[: running.output.index("200")].count(token)
    assert not any(token.encode() in path.read_bytes() for path in recordings.rglob("*") if path.is_file())


@posix_only
@pytest.mark.usefixtures("upstream")
def test_a_token_that_the_user_set_is_not_printed(recorder, monkeypatch):
    monkeypatch.setenv("PALAVER_RECORD_TOKEN", "made-up-token-0123456789")
    running, url = recorder()
    assert "$PALAVER_RECORD_TOKEN" in url
    assert ask(os.path.expandvars(url)).json() == MESSAGE
    running.send(signal.SIGINT)
    running.finish()
    assert "made-up-token" not in running.output


@posix_only
def test_calls_of_a_killed_recorder_are_recovered_at_the_next_start(recorder, upstream, recordings, finish):
    held = threading.Event()
    upstream.answer = lambda _: streamed(*EVENTS[:3], held, *EVENTS[3:])
    running, url = recorder()
    with begun_stream(url, b"".join(EVENTS[:3])):
        running.send(signal.SIGKILL)
        running.finish()
    held.set()
    done = finish("record", "--", sys.executable, "-c", "pass")
    assert "Recovered 1 call of a recorder that was killed: log-" in done.stderr.decode()
    [entry] = entries(recordings)
    assert entry["response"]["body_raw"].encode() == b"".join(EVENTS[:3])


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files as Linux does")
def test_a_full_disk_is_reported_once_and_traffic_goes_on(recorder, upstream):
    import resource

    upstream.answer = lambda _: Answer(200, JSON, [json.dumps({**MESSAGE, "padding": "x" * 50_000}).encode()])
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))}
    running, url = recorder(**limit)
    assert [ask(url).json()["id"] for _ in range(2)] == ["msg_7", "msg_7"]
    running.wait_for("(?s)POST.*POST")
    running.send(signal.SIGINT)
    assert running.finish() == 0
    assert running.output.count("a call could not be logged, and went on without") == 1
    assert "Not logged  2 calls: File too large" in running.output


def test_a_recorder_that_is_its_own_upstream_is_refused(finish, monkeypatch):
    port = closed_port()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://localhost:{port}/anthropic")
    done = finish("record", "--listen", f"127.0.0.1:{port}")
    assert done.returncode == 2
    assert "the upstream anthropic is this recorder itself" in done.stderr.decode()


def test_an_address_in_use_is_refused(finish, upstream):
    done = finish("record", "--listen", upstream.host)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert "choose another address with --listen" in line


@pytest.mark.parametrize("missing", ["uvicorn", "starlette", "httpx2", "httptools"])
def test_without_the_extra_one_line_says_how_to_get_it(finish, missing):
    program = f"import sys; sys.modules[{missing!r}] = None; from palaver.cli import main; main()"
    done = finish(command=["-c", program, "record", "--", sys.executable, "-c", "pass"])
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "palaver: palaver record needs an extra: pip install 'palaver[record]'"
    ]
    shown = finish(command=["-c", program, "record", "--help"])
    assert shown.returncode == 0, shown.stderr


def test_help_imports_nothing_of_the_extra():
    program = """
import contextlib, sys
sys.argv = ["palaver", "record", "--help"]
with contextlib.suppress(SystemExit):
    from palaver.cli import main
    main()
print([name for name in ("uvicorn", "starlette", "httpx2", "orjson") if name in sys.modules], file=sys.stderr)
"""
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert done.stderr.decode().strip() == "[]"
