"""`palaver statusline`: one line, quickly, whatever is wrong, with the numbers that `palaver stats` has."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import platformdirs
import pytest

from palaver.archive.connection import user_archive
from palaver.config import config_path
from palaver.prices import Prices
from palaver.prices.known_rows import KnownRows, Question, answers

SESSION = "11111111-1111-4111-8111-111111111111"
MODEL = "claude-sonnet-4-5-20250929"


@pytest.fixture
def transcript(home):
    folder = home / ".claude" / "projects" / "-home-ada"
    folder.mkdir(parents=True)
    return folder / f"{SESSION}.jsonl"


@pytest.fixture
def answered(transcript):
    """Append an answer to the transcript, or to that of an agent."""
    numbers = count(1)

    def append(output=1000, *, name=None, model=MODEL, ago=timedelta(0), agent=None, stop_reason="end_turn"):
        number = next(numbers)
        at = datetime.now(UTC) - ago
        line = {
            "type": "assistant",
            "uuid": f"22222222-2222-4222-8222-{number:012}",
            "parentUuid": None,
            "isSidechain": bool(agent),
            "sessionId": SESSION,
            "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.{number:03}Z",
            "cwd": "/home/ada",
            "message": {
                "id": name or f"msg_{number}",
                "type": "message",
                "role": "assistant",
                "model": model,
                "stop_reason": stop_reason,
                "stop_sequence": None,
                "content": [{"type": "text", "text": f"Answer {number}."}],
                "usage": {"input_tokens": 10, "output_tokens": output, "cache_read_input_tokens": 5000},
            },
        }
        if agent:
            line["agentId"] = agent
        path = transcript.with_suffix("") / "subagents" / f"agent-{agent}.jsonl" if agent else transcript
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    return append


@pytest.fixture
def line(finish, transcript):
    """The line that Claude Code would show."""

    def shown(given=None, **fields):
        passed = {
            "session_id": SESSION,
            "transcript_path": str(transcript),
            "model": {"id": MODEL, "display_name": "Sonnet 4.5"},
            "workspace": {"current_dir": "/home/ada"},
            **fields,
        }
        done = finish("statusline", stdin=json.dumps(passed).encode() if given is None else given)
        assert (done.returncode, done.stderr) == (0, b"")
        [text] = done.stdout.decode().splitlines()
        return text

    return shown


def parts(text):
    return text.split(" · ")


def test_it_shows_the_session_today_and_the_block(run, answered, transcript, line):
    answered(output=2000)
    answered(output=3000, name="msg_again", stop_reason=None)
    answered(output=4000, name="msg_again")
    assert run("import", transcript).exit_code == 0
    name, session, today, block = parts(line())
    assert (name, session) == ("Sonnet 4.5", "this session 6.0k tokens $0.09")
    assert (
        today == f"today ${json.loads(run('stats', '--json').stdout)['totals']['cost']['amount']:.2f}" == "today $0.09"
    )
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    assert block.startswith("block ")
    assert block.endswith(" min left")
    hours, minutes = int(block.split()[1]), int(block.split()[3])
    left = (start + timedelta(hours=5) - datetime.now(UTC)) / timedelta(minutes=1)
    assert abs(60 * hours + minutes - left) <= 2


def test_lines_that_no_scan_has_read_count_as_they_will_after_it(run, answered, transcript, line):
    answered(output=2000)
    answered(output=3000, name="msg_open", stop_reason=None)
    assert run("import", transcript).exit_code == 0
    before = line()
    answered(output=40_000, name="msg_open")
    answered(output=50_000)
    answered(output=60_000, agent="abc123")
    live = line()
    assert run("import", transcript).exit_code == 0
    assert line() == live != before
    amount = json.loads(run("stats", "--json").stdout)["totals"]["cost"]["amount"]
    assert f"today ${amount:.2f}" in live
    assert "this session 152k tokens $" in live


def test_what_was_archived_in_another_session_is_not_of_today_again(run, answered, transcript, line):
    """A resumed session repeats answers; they belong to the session, and to the day of the first copy."""
    answered(output=10_000, name="msg_old", ago=timedelta(days=3))
    first = transcript.with_name("33333333-3333-4333-8333-333333333333.jsonl")
    first.write_text(transcript.read_text("utf-8").replace(SESSION, first.stem), "utf-8")
    assert run("import", first).exit_code == 0
    assert parts(line())[1:] == ["this session 10k tokens $0.15", "today $0.00"]
    answered(output=10_000)
    assert parts(line())[1:3] == ["this session 20k tokens $0.30", "today $0.15"]


def test_an_answer_that_was_only_recorded_begins_a_block_as_well(run, answered, line, tmp_path):
    answered(output=10_000, name="msg_recorded")
    at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z"
    message = {
        "message_id": "m-1",
        "role": "assistant",
        "timestamp": at,
        "content": [{"type": "text", "text": "Answer 1."}],
        "tokens": {"input_tokens": 10, "output_tokens": 10_000, "cache_read_input_tokens": 5000},
        "metadata": {
            "author_kind": "model",
            "api_message_id": "msg_recorded",
            "model_override": MODEL,
            "request_id": "req_1",
            "sent": {"at": at},
        },
    }
    document = {"schema_version": "1.0.0", "conversation_id": "w", "platform": {"name": "api_trace"}, "created_at": at}
    path = tmp_path / "recorded.jsonl"
    path.write_text(json.dumps({**document, "messages": [message]}) + "\n", "utf-8")
    assert run("import", path).exit_code == 0
    *_, today, block = parts(line())
    assert today == "today $0.15"
    assert block.endswith(" min left")


def test_without_an_archive_the_transcript_is_enough(answered, line, kept):
    answered(output=2000)
    assert parts(line())[:2] == ["Sonnet 4.5", "this session 2.0k tokens $0.03"]
    assert "today" not in line()
    assert not kept.exists(), "nothing is written where no archive is"


def test_claude_codes_own_cost_is_shown_where_there_is_no_price(answered, line):
    answered(model="nobody-9")
    assert "this session $1.23" in line(cost={"total_cost_usd": 1.234})
    assert "session" not in line()


@pytest.mark.parametrize(
    "window",
    [
        {"used_percentage": 34.2},
        {"context_window_size": 1000, "current_usage": {"input_tokens": 40, "cache_read_input_tokens": 300}},
    ],
)
def test_the_context_is_shown_where_claude_code_states_it(answered, line, window):
    answered()
    assert "Sonnet 4.5 · context 34% · " in line(context_window=window)


def test_without_input_it_is_the_newest_session(run, answered, transcript, line):
    answered(output=2000)
    assert run("import", transcript).exit_code == 0
    assert parts(line(b""))[:2] == [MODEL, "last session 2.0k tokens $0.03"]


@pytest.mark.parametrize(
    "given", [b"", b"\xff\x00", b"[1]", b'{"session_id": 5, "model": [], "cost": {}}', b"{" * 9999]
)
def test_nothing_breaks_a_prompt(line, given, kept):
    assert line(given) == "palaver: no archive yet (`palaver scan`)"
    kept.mkdir()
    (kept / "archive.db").write_bytes(b"once upon a time")
    assert line(given).startswith("palaver: no figures")
    (kept / "archive.db").unlink()


def test_a_damaged_memory_of_the_line_is_made_again(run, answered, transcript, line, kept):
    answered()
    assert run("import", transcript).exit_code == 0
    expected = line()
    for text in ("{", '{"usage": 5, "prices": {"state": 3}}'):
        (kept / "statusline.json").write_text(text, "utf-8")
        assert line() == expected


def test_the_terminal_is_safe_from_names(answered, line):
    answered()
    assert "\x1b" not in line(model={"display_name": "\x1b[31mred\x07"})


def test_own_prices_count_from_the_moment_they_are_written(run, answered, transcript, line, kept):
    answered(output=1_000_000)
    assert run("import", transcript).exit_code == 0
    assert "today $15.00" in line()
    (kept / "config.toml").write_text('[prices."claude-*"]\ninput = 0\noutput = 7\n', "utf-8")
    assert "today $7.00" in line()


def test_the_command_line_prints_the_same(run, answered, transcript, line):
    answered()
    assert run("import", transcript).exit_code == 0
    assert run("statusline").stdout == line(b"") + "\n"


def test_the_entry_imports_no_command_line(run, answered, transcript, line):
    answered()
    assert run("import", transcript).exit_code == 0
    line()
    answered()
    code = (
        "import sys; sys.argv = ['palaver', 'statusline']; from palaver.__main__ import main; main(); "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    given = json.dumps({"session_id": SESSION, "transcript_path": str(transcript)})
    done = subprocess.run([sys.executable, "-c", code], input=given, capture_output=True, text=True, check=True)
    shown, modules = done.stdout.splitlines()
    assert "this session 2.0k tokens" in shown
    assert not {"typer", "click", "pydantic", "rich", "genai_prices", "platformdirs", "dateutil"} & set(modules.split())


# -- what it stands on ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "variables",
    [{}, {"PALAVER_HOME": "~/kept"}, {"XDG_DATA_HOME": "/x", "XDG_CONFIG_HOME": "/y"}, {"PALAVER_CONFIG": "~/c.toml"}],
)
def test_folders_are_where_platformdirs_puts_them(monkeypatch, variables):
    for name in ("PALAVER_HOME", "PALAVER_CONFIG", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    data, settings = platformdirs.user_data_path, platformdirs.user_config_path
    home = variables.get("PALAVER_HOME")
    expected_data = Path(home).expanduser() if home else data("palaver", appauthor=False)
    expected_settings = Path(home).expanduser() if home else settings("palaver", appauthor=False)
    assert user_archive() == expected_data / "archive.db"
    assert config_path() == Path(variables.get("PALAVER_CONFIG") or expected_settings / "config.toml").expanduser()


@pytest.mark.parametrize(
    "model", [MODEL, "gpt-4o", "gemini-2.5-pro", "deepseek-chat", "deepseek-reasoner", "nobody-9", None]
)
def test_a_row_of_another_process_is_the_row_of_this_one(model):
    prices = Prices()
    for at in ("2025-06-01T10:05:00.000Z", "2025-06-01T17:35:00.000Z", "2026-03-01T23:59:59.999Z"):
        question = Question(model, at, "claude_code", None)
        [entry] = answers([question])
        stored = {"state": "s", "rows": {question.key: [json.loads(json.dumps(entry))]}}
        assert KnownRows("s", stored).row(question) == prices.row(model, at, "claude_code")
        assert at.startswith(entry["during"])
        assert KnownRows("later", stored).row(question) is None
