import json
import shutil
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from palaver.model import build
from palaver.model.json_output.statistics import StatsAnswer

from .conftest import ROOT

AT = "2026-01-01T10:00:00.000Z"


@pytest.fixture
def imported(run, case):
    def keep(*names):
        result = run("import", *(case(name) for name in names))
        assert result.exit_code == 0, result.stderr
        return run

    return keep


def test_totals_count_an_answer_once_and_say_what_was_left_out(imported):
    result = imported("resumed_pair")("stats")
    assert result.exit_code == 0
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "2025-08-01 to 2025-08-30 (nothing in the last 30 days)"
    assert lines[1] == "2 conversations, 10 messages"
    assert lines[2] == "messages by human 5, model 5"
    assert "output         223" in lines
    assert "2 duplicate answers not counted (40,007 tokens)" in result.stdout


def test_conversations_without_messages_are_named(run, tmp_path):
    """`list` shows them, so the numbers of both commands would differ without a word."""
    said = build.message(message_id="a", role="user", timestamp=AT, content=[build.text("Is the gate shut?")])
    documents = [
        build.conversation(conversation_id=name, platform={"name": "toy"}, created_at=AT, messages=messages)
        for name, messages in (("kept", [said]), ("empty", []))
    ]
    (tmp_path / "two.jsonl").write_text("".join(f"{json.dumps(document)}\n" for document in documents))
    assert run("import", tmp_path / "two.jsonl").exit_code == 0
    shown = run("stats", "--all").stdout
    assert shown.splitlines()[1] == "1 conversation, 1 message"
    assert "1 conversation without messages is not counted." in shown
    assert "without messages" not in run("stats", "--since", "2026-01-01").stdout


def test_each_total_opens_to_the_rows_it_counts(imported):
    run = imported("resumed_pair")
    answer = StatsAnswer.model_validate_json(run("stats", "--explain", "--json").stdout)
    assert answer.usages
    rows = [row for row in answer.usages if row.is_counted]
    copies = [row for row in answer.usages if not row.is_counted]
    for name in ("input", "output", "cache_read", "cache_write"):
        assert sum(getattr(row.tokens, name) for row in rows) == getattr(answer.totals.tokens, name)
        naive = sum(getattr(row.own_tokens, name) for row in answer.usages)
        assert naive == getattr(answer.left_out.naive_tokens, name)
    assert sum(row.cost.amount for row in rows) == pytest.approx(answer.totals.cost.amount)
    assert {row.price_source for row in rows} == {"genai-prices"}
    assert len(copies) == answer.left_out.copies == 2
    counted = {(row.platform, row.conversation_id, row.message_id): row for row in rows}
    for copy in copies:
        owner = counted[copy.counted_at.platform, copy.counted_at.conversation_id, copy.counted_at.message_id]
        assert owner.api_message_id == copy.api_message_id
        assert (owner.timestamp, owner.conversation_id) <= (copy.timestamp, copy.conversation_id)


def test_usage_records_are_among_the_rows_of_an_explanation(imported):
    run = imported("warmup_inline")
    answer = StatsAnswer.model_validate_json(run("stats", "--explain", "--json").stdout)
    assert answer.totals.usage_records == 1
    for name in ("input", "output", "cache_read", "cache_write"):
        assert sum(getattr(row.tokens, name) for row in answer.usages) == getattr(answer.totals.tokens, name)
    assert sum(row.cost.amount for row in answer.usages) == pytest.approx(answer.totals.cost.amount)
    (record,) = [row for row in answer.usages if not row.conversation_id]
    shown = run("stats", "--explain").stdout
    assert "(record)" in shown
    assert record.message_id in shown


def test_usage_records_alone_are_explained(run, case):
    (session,) = case("warmup_agent").rglob("agent-*.jsonl")
    assert run("import", session).exit_code == 0
    assert "(record)" in run("stats", "--explain").stdout


def test_the_explanation_for_people_names_copies_prices_and_both_sums(imported):
    result = imported("resumed_pair")("stats", "--explain")
    assert result.exit_code == 0
    assert result.stdout.count("counted at 3f94da80-79d7-4a3f-8db7-21f0bf6fbadc") == 2
    assert "anthropic/claude-sonnet-4-0  input 3, output 15, read 0.3, written 3.75  (genai-prices, 3 answers)" in (
        result.stdout
    )
    assert "1.68 times" in result.stdout


def test_own_prices_are_taken_and_named(imported, kept):
    run = imported("resumed_pair")
    (kept / "config.toml").write_text('[prices."claude-sonnet-4*"]\ninput = 0\noutput = 1000000\n', "utf-8")
    answer = json.loads(run("stats", "--explain", "--json").stdout)
    assert answer["totals"]["cost"]["amount"] == 223
    assert answer["usages"][0]["price_source"] == "config.toml"


def test_a_model_without_a_price_has_no_cost_and_is_named(run, answered):
    answered(model="nobody-9")
    answer = json.loads(run("stats", "--json").stdout)
    assert answer["unpriced"] == [{"model": "nobody-9", "answers": 1}]
    assert answer["totals"]["cost"] is None
    assert "1 answer by models without a known price: nobody-9." in run("stats").stdout


def test_groups_are_the_wanted_ones(imported):
    run = imported("resumed_pair", "parallel_tool_calls")
    for by in ("day", "week", "month", "project", "model", "platform", "conversation"):
        answer = json.loads(run("stats", "--by", by, "--json").stdout)
        assert answer["by"] == by
        assert sum(group["tokens"]["output"] for group in answer["groups"]) == answer["totals"]["tokens"]["output"]
        shown = run("stats", "--by", by).stdout
        for group in answer["groups"]:
            assert by in {"project", "platform", "conversation"} or str(group["group"]) in shown
    tools = json.loads(run("stats", "--by", "tool", "--json").stdout)
    assert sum(group["tool_calls"] for group in tools["groups"]) == tools["totals"]["tool_calls"] > 0


def test_totals_and_table_are_about_one_range_of_time(imported):
    run = imported("resumed_pair", "forked_pair")
    recent = StatsAnswer.model_validate_json(run("stats", "--json").stdout)
    every = StatsAnswer.model_validate_json(run("stats", "--all", "--json").stdout)
    assert (recent.range, every.range) == ("latest_days", "all_time")
    for answer in (recent, every):
        assert sum(group.tokens.output for group in answer.groups) == answer.totals.tokens.output
        assert sum(sum(group.messages.values()) for group in answer.groups) == sum(answer.totals.messages.values())
    assert recent.totals.tokens.output < every.totals.tokens.output
    assert [group.group for group in recent.groups] == [group.group for group in every.groups][-len(recent.groups) :]
    assert recent.since[:10] <= recent.groups[0].group <= recent.groups[-1].group < recent.until[:10]
    assert recent.all_time.conversations == every.totals.conversations
    assert recent.all_time.cost == every.totals.cost
    assert (every.all_time, every.since, every.until) == (None, None, None)
    assert f"All time: {every.totals.conversations} conversations, $" in run("stats").stdout
    assert "\n…" in run("stats", "--by", "day").stdout, "the pause in between is one row of dots"


def test_the_last_row_adds_up_the_rows_above_it(imported):
    table = imported("resumed_pair", "forked_pair")("stats", "--by", "project").stdout.split("\n\n")[2].splitlines()
    assert table[0].split()[:2] == ["project", "msgs"]
    assert table[-1].split()[:2] == ["total", str(sum(int(row.split()[1]) for row in table[1:-1]))]


@pytest.mark.parametrize(
    ("words", "heading"),
    [
        (["--since", "2025-08-01"], "Since 2025-08-01"),
        (["--since", "2025-08-01", "--until", "2025-09-01"], "2025-08-01 to 2025-08-31"),
        (["--until", "2025-08-30T12:30"], "Before 2025-08-30 12:30"),
        (["--by", "model"], "All time"),
        (["--all"], "All time"),
    ],
)
def test_the_heading_names_the_range(imported, words, heading):
    assert imported("resumed_pair")("stats", *words).stdout.splitlines()[0] == heading


def test_what_is_recent_is_shown_as_the_last_days(run, answered):
    answered(model="claude-sonnet-4-5", at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z")
    result = run("stats")
    assert result.stdout.splitlines()[:2] == ["Last 30 days", "1 conversation, 1 message"]
    assert "All time: 1 conversation, <$0.01: `palaver stats --all`" in result.stdout


def test_spellings_of_a_model_are_one_row_unless_exact(run, answered):
    spellings = ["claude-sonnet-4-5", "claude-sonnet-4.5", "anthropic/claude-sonnet-4.5", "claude-sonnet-4-5-20250929"]
    for spelling in spellings:
        answered(model=spelling)
    [row] = json.loads(run("stats", "--by", "model", "--json").stdout)["groups"]
    assert (row["group"], row["answers"], row["models"]) == ("claude-sonnet-4-5", 4, sorted(spellings))
    rows = json.loads(run("stats", "--by", "model", "--exact", "--json").stdout)["groups"]
    assert {row["group"]: row["answers"] for row in rows} == dict.fromkeys(spellings, 1)
    assert sum(row["cost"]["amount"] for row in rows) > 0
    assert run("stats", "--by", "model").stdout.count("sonnet") == 1


def test_the_current_block_is_marked(run, answered):
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    for back in (0, 3, 30):
        answered(model="claude-sonnet-4-5", at=f"{hour - timedelta(hours=back):%Y-%m-%dT%H:%M:%S}.000Z")
    answer = StatsAnswer.model_validate_json(run("stats", "--by", "block", "--json").stdout)
    assert [group.answers for group in answer.groups] == [1, 2]
    assert [group.block.is_active for group in answer.groups] == [False, True]
    assert answer.groups[1].group == f"{hour - timedelta(hours=3):%Y-%m-%dT%H:%M:%S}.000Z"
    assert answer.groups[1].block.end == f"{hour + timedelta(hours=2):%Y-%m-%dT%H:%M:%S}.000Z"
    shown = run("stats", "--by", "block", "--utc").stdout
    assert f"{hour - timedelta(hours=3):%Y-%m-%d %H:%M} active" in shown
    assert f"Active block: {hour - timedelta(hours=3):%H:%M} to {hour + timedelta(hours=2):%H:%M}, " in shown


def test_platforms_without_token_counts_are_explained(run):
    source = ROOT / "fixtures" / "chatgpt" / "branches" / "source"
    assert run("import", source).exit_code == 0
    assert "ChatGPT's export has no token counts." in run("stats").stdout
    [without] = json.loads(run("stats", "--json").stdout)["without_tokens"]
    assert (without["platform"], without["answers"] > 0) == ("chatgpt", True)


def test_a_lower_bound_is_explained(run, answered):
    answered(model="claude-sonnet-4-5", stop_reason=None)
    assert (
        "Output of 1 answer is a lower bound (Claude Code logs it before it finishes). Why: docs/prices.md#lower-bounds"
    ) in run("stats").stdout
    assert "\n## Lower bounds\n" in (ROOT / "docs" / "prices.md").read_text("utf-8")


@pytest.mark.parametrize(("budget", "exit_code", "sentence"), [("1000000", 0, " left"), ("0.01", 1, " over budget")])
def test_a_budget_is_compared_with_the_cost(run, spent_two, budget, exit_code, sentence):
    assert spent_two == 2
    result = run("stats", "--budget", budget, "--since", "month")
    assert result.exit_code == exit_code
    [line] = [line for line in result.stdout.splitlines() if line.startswith("Budget $")]
    assert line.startswith(f"Budget ${float(budget):,.2f}: $2.00 spent")
    assert line.endswith(sentence)
    compared = json.loads(run("stats", "--budget", budget, "--json").stdout)["budget"]
    assert (compared["spent"], compared["is_over"]) == (2, exit_code == 1)
    assert compared["left"] == max(float(budget) - 2, 0)
    assert compared["ends_at"] > f"{datetime.now(UTC):%Y-%m-%d}", "the current month"


@pytest.fixture
def spent_two(answered, kept):
    """Two dollars, spent now."""
    answered(model="mine", at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}.000Z")
    (kept / "config.toml").write_text('[prices."mine"]\ninput = 1000000\noutput = 1000000\n', "utf-8")
    return 2


def test_nothing_spent_is_within_the_budget(imported):
    result = imported("plain_session")("stats", "--budget", "5", "--since", "today")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "Budget $5.00: $0.00 spent (0%), $5.00 left" in result.stdout


@pytest.mark.parametrize("words", [["--all", "--since", "7d"], ["--all", "--budget", "5"], ["--budget", "0"]])
def test_options_that_contradict_each_other_are_refused(imported, words):
    assert imported("plain_session")("stats", *words).exit_code == 2


def test_filters_look_at_the_time_of_messages(imported):
    run = imported("resumed_pair")
    assert json.loads(run("stats", "--since", "2025-08-30", "--json").stdout)["totals"]["tokens"]["output"] == 71
    assert json.loads(run("stats", "--until", "2025-08-30", "--json").stdout)["totals"]["tokens"]["output"] == 152


def test_nothing_to_count_is_told_and_exits_with_1(imported):
    result = imported("plain_session")("stats", "--platform", "chatgpt")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Nothing matches these filters.\n"


def test_bars_fit_the_terminal_and_are_ascii_where_they_must(start_palaver):
    for width in (60, 80, 120):
        shown = start_palaver("stats", "--by", "day", COLUMNS=str(width), FORCE_COLOR="1", NO_COLOR="1")
        table = shown.decode().split("\nday ")[1].split("\n\n")[0].splitlines()
        assert max(map(len, table[1:])) <= width
    assert "█" in shown.decode()
    assert b"#" in start_palaver("stats", "--by", "day", PYTHONIOENCODING="ascii")
    start_palaver("stats", "--by", "day", PYTHONIOENCODING="ascii").decode("ascii")


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_columns_are_left_out_before_anything_is_cut(start_palaver, width):
    shown = start_palaver("stats", "--by", "model", COLUMNS=str(width), FORCE_COLOR="1", NO_COLOR="1").decode()
    assert max(map(len, shown.splitlines())) <= width
    head, *rows = shown.split("\nmodel ")[1].split("\n\n")[0].splitlines()
    assert "cost" in head.split()
    assert ("cache w" in head) == (width > 60)
    assert [row.split()[0] for row in rows] == ["claude-opus-5", "claude-sonnet-4", "total"]
    assert " ".join(shown.split()).count("duplicate answers not counted") == 1, "words are not broken"


@pytest.fixture
def start_palaver(imported, finish, monkeypatch):
    imported("resumed_pair", "forked_pair")

    def output(*words, **environment):
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            done = finish(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return output


def test_control_characters_in_names_are_shown(run, answered):
    answered(model="\x1b]0;evil\x07", project="/home/ada/\x1b[31mred")
    for words in (["--by", "project"], ["--by", "model"], ["--explain"]):
        shown = run("stats", *words)
        assert shown.exit_code == 0
        assert "\x1b" not in shown.stdout
        assert "\\x1b" in shown.stdout


@pytest.fixture
def answered(run, tmp_path):
    """One answer in the archive, by a model, in a project."""

    numbers = count(1)

    def keep(model, project="/home/ada", at="2026-01-01T10:00:00.000Z", stop_reason="end_turn"):
        number = next(numbers)
        session = tmp_path / f"11111111-1111-4111-8111-{number:012}.jsonl"
        line = {
            "type": "assistant",
            "uuid": f"22222222-2222-4222-8222-{number:012}",
            "sessionId": session.stem,
            "timestamp": at,
            "cwd": project,
            "message": {
                "id": f"msg_{number}",
                "role": "assistant",
                "model": model,
                "content": [{"type": "text", "text": "Noon."}],
                "stop_reason": stop_reason,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        }
        session.write_text(json.dumps(line) + "\n", "utf-8")
        assert run("import", session).exit_code == 0

    return keep


def test_no_answer_depends_on_the_order_in_which_sources_came(run, tmp_path):
    """Sums of fractions come out equal, and what is equally great has an order."""
    sources = []
    for name, used in (("a", 0.1), ("b", 0.2), ("c", 0.3)):
        asked = build.message(message_id="m1", role="user", timestamp=AT, content=[build.text(name)])
        cost = {"amount": used, "currency": "USD"}
        answered = build.message(
            message_id="m2", role="assistant", timestamp=AT, content=[build.text("Yes.")],
            tokens={"output_tokens": 1}, metadata={"model": f"nobody-{name}"}, cost=cost,
        )  # fmt: skip
        conversation = build.conversation(
            conversation_id=name, platform={"name": "ucs"}, created_at=AT, messages=[asked, answered]
        )
        record = build.usage(
            usage_id=name, platform={"name": "ucs"}, kind="request", started_at=AT,
            model=f"nobody-{name}", tokens={"output_tokens": 1}, counts={"credits": used, "seats": 1},
        )  # fmt: skip
        sources.append(tmp_path / f"{name}.jsonl")
        sources[-1].write_text(json.dumps(conversation) + "\n" + json.dumps(record) + "\n", "utf-8")
    questions = [("--by", "conversation"), ("--by", "model"), ("--usage",), ("--usage", "--by", "model")]
    answers = []
    for order in (sources, sources[::-1]):
        shutil.rmtree(tmp_path / "kept", ignore_errors=True)
        for source in order:
            assert run("import", source).exit_code == 0
        answers.append([run("stats", *words, *end).stdout for words in questions for end in ((), ("--json",))])
    assert answers[0] == answers[1]
    counts = json.loads(answers[0][5])["totals"]["counts"]
    assert counts == {"credits": 0.6, "seats": 3}
