"""A session that was recorded and written down: one conversation, its tokens once, its latency at each answer."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from homes import FIXTURES
from palaver.archive.recorded_calls import RecordedCall, SentContext
from palaver.cli._terminal.recorded_call import recorded_call_lines

RECORDED = FIXTURES / "api_trace" / "recorded_session" / "source" / "log-2026-03-01-09-00-00.jsonl"
SESSION = "5a5a0000-0000-4000-8000-000000000001"
ANSWERED = "I will look it up in the log of this morning."
SECOND = "The fog lifted at 07:40, and Ines noted it in the log."
CUT = "07:40, fog lifts from the west, wind light, "


def session_lines(answers: list[tuple[str, str, str]]) -> list[dict[str, Any]]:
    """The transcript of the recorded session: a prompt, and these answers with the ids of their calls."""
    common = {"sessionId": SESSION, "cwd": "/home/ada/station", "version": "2.1.90", "isSidechain": False}
    prompt = "When did the fog lift this morning, and who noted it in the log?"
    lines: list[dict[str, Any]] = [
        {
            **common,
            "type": "user",
            "uuid": "u-0",
            "parentUuid": None,
            "timestamp": "2026-03-01T08:59:59.000Z",
            "message": {"role": "user", "content": prompt},
        }
    ]
    for number, (api_id, request_id, text) in enumerate(answers, 1):
        message = {
            "id": api_id,
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-4-5-20250929",
            "content": [{"type": "text", "text": text}],
            # What is written down while the answer is still coming has too few output tokens.
            "usage": {"input_tokens": 40, "cache_read_input_tokens": 1200, "output_tokens": 1},
        }
        lines.append(
            {
                **common,
                "type": "assistant",
                "uuid": f"a-{number}",
                "parentUuid": lines[-1]["uuid"],
                "timestamp": f"2026-03-01T09:00:{9 + 10 * number}.000Z",
                "requestId": request_id,
                "message": message,
            }
        )
    return lines


@pytest.fixture
def transcript(home: Path) -> Path:
    """Where Claude Code keeps the session, with its three answers."""
    path = home / ".claude" / "projects" / "-home-ada-station" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    write(
        path,
        [("msg_rec_1", "req_rec_1", ANSWERED), ("msg_rec_2", "req_rec_2", SECOND), ("msg_rec_3", "req_rec_3", CUT)],
    )
    return path


@pytest.fixture
def recording(kept: Path) -> Path:
    """Where `palaver record` keeps its log."""
    folder = kept / "recordings"
    folder.mkdir(parents=True)
    shutil.copy(RECORDED, folder)
    return folder / RECORDED.name


def write(path: Path, answers: list[tuple[str, str, str]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in session_lines(answers)), encoding="utf-8")


def totals(run: Any, *words: str) -> dict[str, Any]:
    return json.loads(run("stats", "--json", *words).stdout)["totals"]["tokens"]


@pytest.mark.usefixtures("transcript")
def test_scan_finds_the_recording_and_tokens_count_once(run, recording):
    alone = run("scan")
    assert alone.exit_code == 0, alone.stderr
    tokens = totals(run)
    # Three answers of 40 + 1,200 tokens; the recording has all of the output of two, and the first event of the third.
    assert (tokens["input"], tokens["cache_read"], tokens["output"]) == (120, 3_600, 32 + 21 + 1)
    groups = json.loads(run("stats", "--by", "project", "--json").stdout)["groups"]
    counted = [(group["group"], group["tokens"]["output"]) for group in groups if group["tokens"]["output"]]
    assert counted == [("/home/ada/station", 54)]
    recording.unlink()
    assert run("scan").exit_code == 0
    assert totals(run) == tokens


@pytest.mark.parametrize("width", [40, 60, 120])
def test_each_tool_has_one_line_however_narrow_the_terminal(width):
    names = [f"a_long_parameter_{number}" for number in range(9)]
    schema = {"type": "object", "properties": dict.fromkeys(names)}
    tools = [{"name": "Tide", "description": "Look up the tide. " * 9, "input_schema": schema}, {"name": "Fog"}]
    call = RecordedCall(*(1, "api_trace", "c", "m"), *(None,) * 10, retries=[], metadata={})
    shown = recorded_call_lines(call, SentContext([], tools, {}), width, name="c:1", line=None, whole_tools=False)
    *_, tide, fog = (line.plain for line in shown)
    assert (tide[:22], len(tide), tide[-1]) == ("  Tide(a_long_paramete", width, "…")
    assert fog == "  Fog()"


@pytest.mark.usefixtures("transcript", "recording")
def test_stats_says_how_many_conversations_were_recorded_as_well(run):
    run("scan")
    counted = json.loads(run("stats", "--all", "--json").stdout)["totals"]
    listed = json.loads(run("list", "--all", "--json").stdout)
    assert counted["recordings"] == listed["hidden_recordings"] > 0
    assert counted["conversations"] == listed["total"] + counted["recordings"]
    assert f"({counted['recordings']} recorded as well)" in run("stats", "--all").stdout


@pytest.mark.usefixtures("transcript", "recording")
def test_each_answer_has_its_times_and_retries(run):
    run("scan")
    shown = run("show", f"claude_code:{SESSION}").stdout
    first, second, third = (line for line in shown.splitlines() if "first token" in line)
    assert "2.50 s, first token 1.30 s, 1 retry" in first
    assert "2.00 s, first token 1.10 s" in second
    assert "retr" not in second
    assert "1.60 s, first token 1.30 s" in third
    assert "retr" not in third
    answer = json.loads(run("show", SESSION, "--json").stdout)
    calls = {call["message_id"]: call for call in answer["recorded_calls"]}
    assert list(calls) == ["a-1", "a-2", "a-3"]
    (failed,) = calls["a-1"]["retries"]
    assert (failed["status_code"], failed["category"], failed["message"]) == (529, "overloaded", "Overloaded")
    assert calls["a-1"]["tools"] is None


@pytest.mark.usefixtures("transcript", "recording")
def test_wire_shows_what_was_sent_for_one_answer(run, recording):
    run("scan")
    first = run("show", f"{SESSION}:2", "--wire")
    assert first.exit_code == 0
    assert "You keep the log of a lighthouse, and answer in one sentence." in first.stdout
    assert "Read(file_path)  Read a file of the station." in first.stdout
    assert "Tide" not in first.stdout
    assert "529 overloaded: Overloaded" in first.stdout
    assert f"{recording}:2" in first.stdout.replace("~", str(Path.home()))
    second = run("show", f"{SESSION}:3", "--wire", "--tools").stdout
    assert "Tide(hour)" in second
    assert '"description": "Look up the tide at an hour."' in second
    (recorded_as,) = (line.split()[-1] for line in second.splitlines() if line.strip().startswith("recorded"))
    assert SECOND in run("show", recorded_as).stdout
    answer = json.loads(run("show", f"{SESSION}:3", "--wire", "--json").stdout)
    (call,) = (call for call in answer["recorded_calls"] if call["tools"] is not None)
    assert (call["message_id"], [tool["name"] for tool in call["tools"]]) == ("a-2", ["Read", "Tide"])
    assert call["system_prompt"][0]["text"].startswith("You keep the log")
    assert call["settings"]["max_tokens"] == 1024


@pytest.mark.usefixtures("transcript", "recording")
def test_wire_needs_an_answer_that_was_recorded(run):
    run("scan")
    whole = run("show", SESSION, "--wire")
    assert (whole.exit_code, whole.stdout) == (2, "")
    assert f"{SESSION}:N" in whole.stderr
    prompt = run("show", f"{SESSION}:1", "--wire")
    assert (prompt.exit_code, prompt.stdout) == (1, "")
    assert "No recorded call belongs to this message" in prompt.stderr


@pytest.mark.usefixtures("recording", "transcript")
def test_what_a_transcript_has_is_hidden_and_the_rest_is_a_conversation_of_its_own(run):
    run("scan")
    listed = json.loads(run("list", "--json").stdout)
    assert [row["platform"] for row in listed["conversations"]] == ["claude_code"]
    # The call that failed first could not be joined with the others, and it was answered later.
    assert listed["hidden_recordings"] == 2
    assert "2 recordings: --recorded shows them" in run("list").stderr
    everything = json.loads(run("list", "--recorded", "--json").stdout)
    assert sorted(row["platform"] for row in everything["conversations"]) == ["api_trace", "api_trace", "claude_code"]
    assert everything["hidden_recordings"] == 0
    assert run("forget", "--platform", "claude_code", "--yes").exit_code == 0
    assert json.loads(run("list", "--json").stdout)["hidden_recordings"] == 0


@pytest.mark.usefixtures("recording")
def test_an_answer_that_the_transcript_lacks_keeps_the_recording_listed(run, transcript):
    write(transcript, [("msg_rec_1", "req_rec_1", ANSWERED), ("msg_rec_2", "req_rec_2", SECOND)])
    run("scan")
    listed = json.loads(run("list", "--json").stdout)
    assert sorted(row["platform"] for row in listed["conversations"]) == ["api_trace", "claude_code"]
    assert listed["hidden_recordings"] == 1
    assert totals(run)["output"] == 54


@pytest.mark.usefixtures("recording")
def test_calls_that_name_only_the_request_are_joined_by_it(run, tmp_path):
    """A document as Copilot's replays give it: the answer's id is not known, that of the request is."""
    messages = [
        {
            "message_id": f"m-{number}",
            "role": "assistant",
            "timestamp": f"2026-03-01T09:01:0{number}.000Z",
            "content": [{"type": "text", "text": text}],
            "tokens": {"input_tokens": 40, "cache_read_input_tokens": 1200, "output_tokens": output},
            "metadata": {"author_kind": "model", "request_id": f"req_rec_{number}"},
        }
        for number, text, output in ((1, ANSWERED, 30), (2, SECOND, 21), (3, CUT, 50))
    ]
    document = {
        "schema_version": "1.0.0",
        "conversation_id": "replayed",
        "platform": {"name": "github_copilot"},
        "created_at": "2026-03-01T09:01:00.000Z",
        "messages": messages,
        "context": {"workspace": {"path": "/home/ada/station"}},
    }
    path = tmp_path / "replayed.jsonl"
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")
    run("import", path)
    alone = totals(run)
    assert (alone["input"], alone["output"]) == (120, 101)
    run("scan")
    joined = totals(run)
    assert (joined["input"], joined["cache_read"]) == (120, 3_600)
    assert joined["output"] == 32 + 21 + 50
    assert totals(run, "--since", "2026-03-01", "--until", "2026-03-02") == joined
    assert json.loads(run("list", "--json").stdout)["hidden_recordings"] == 2
    assert run("show", "replayed").stdout.count("first token") == 3
    recorded = json.loads(run("list", "--recorded", "--platform", "api_trace", "--json").stdout)["conversations"]
    threaded = max(recorded, key=lambda row: row["messages"])
    (elsewhere,) = json.loads(run("show", threaded["short_id"], "--json").stdout)["counted_elsewhere"]
    assert (elsewhere["conversation_id"], elsewhere["messages"]) == ("replayed", 3)
