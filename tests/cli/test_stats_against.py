"""`palaver stats --against`: each difference from a report of ccusage is explained by a recount, or said to be open."""

import json
import time
from itertools import count

import pytest

from palaver.model.json_output.statistics import StatsAnswer

MODEL = "claude-sonnet-4-5-20250929"
OTHER = "claude-opus-4-5-20251101"
KINDS = ("inputTokens", "outputTokens", "cacheCreationTokens", "cacheReadTokens")
USED = (10, 100, 1000, 10_000)
COST = 0.0082800  # of USED with MODEL: 3, 15, 3.75 and 0.30 USD per million


@pytest.fixture
def projects(home):
    folder = home / ".claude" / "projects" / "-home-ada"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def answered(projects):
    numbers = count(1)

    def append(at="2026-03-05T12:00:00.000Z", *, used=USED, name=None, session=1, model=MODEL, folder=None):
        number = next(numbers)
        sent, answer, written, read = used
        file = (folder or projects) / f"11111111-1111-4111-8111-{session:012}.jsonl"
        line = {
            "type": "assistant",
            "uuid": f"22222222-2222-4222-8222-{number:012}",
            "sessionId": file.stem,
            "timestamp": at,
            "cwd": "/home/ada",
            "message": {
                "id": name or f"msg_{number}",
                "role": "assistant",
                "model": model,
                "stop_reason": "end_turn",
                "content": [{"type": "text", "text": f"Answer {number} of the tides."}],
                "usage": {
                    "input_tokens": sent,
                    "output_tokens": answer,
                    "cache_creation_input_tokens": written,
                    "cache_read_input_tokens": read,
                },
            },
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")
        return file

    return append


def counted(times=1, *, cost=COST, used=USED):
    return dict(zip(KINDS, (times * number for number in used), strict=True)) | {"totalCost": times * cost}


def daily(**days):
    return {"daily": [{"date": day.replace("_", "-").strip("d-"), **figures} for day, figures in days.items()]}


@pytest.fixture
def against(run, tmp_path, projects):
    """The comparison of everything in the projects with a report, and the exit code."""

    def compared(report, *words, imports=True):
        if imports:
            assert run("import", "claude_code", projects).exit_code in {0, 1}
        file = tmp_path / "ccusage.json"
        file.write_text(json.dumps(report), "utf-8")
        result = run("stats", "--against", file, "--utc", *words, "--json")
        assert result.exit_code in {0, 1}, result.stderr
        answer = StatsAnswer.model_validate_json(result.stdout)
        shown = run("stats", "--against", file, "--utc", *words)
        assert shown.exit_code == result.exit_code == int(not answer.comparison.is_explained)
        return answer.comparison, shown.stdout

    return compared


def reasons(comparison):
    return [[reason.reason for reason in row.reasons] for row in comparison.rows]


def test_equal_reports_are_equal(answered, against):
    answered()
    answered("2026-03-06T12:00:00.000Z")
    comparison, shown = against(daily(d2026_03_05=counted(), d2026_03_06=counted()))
    assert comparison.is_explained
    assert [row.cost_reason for row in comparison.rows] == [None, None]
    assert shown.splitlines() == ["2 of 2 days are equal", "", "The tokens are equal."]


def test_copies_that_were_counted_again_are_found(answered, against):
    answered(name="msg_same")
    answered(name="msg_same", session=2)
    comparison, shown = against(daily(d2026_03_05=counted(2)))
    assert reasons(comparison) == [["copies"]]
    assert comparison.rows[0].reasons[0].tokens.model_dump() == {
        "input": 10, "output": 100, "cache_write": 1000, "cache_read": 10_000
    }  # fmt: skip
    assert comparison.rows[0].cost_reason == "tokens"
    assert "+11,110 tokens: ccusage counts copies of answers as well (1 answer)." in shown
    assert "Every difference of tokens is explained." in shown


def test_what_nothing_explains_is_said_to_be_open(answered, against):
    answered()
    comparison, shown = against(daily(d2026_03_05=counted(3)))
    assert not comparison.is_explained
    assert comparison.rows[0].unexplained.cache_read == 20_000
    assert "22,220 tokens unexplained (input +20, output +200, cache write +2,000, cache read +20,000)." in shown


def test_sessions_whose_files_are_gone_are_found(run, answered, against, projects):
    answered()
    answered(session=2).with_name("kept").write_text("")
    assert run("import", "claude_code", projects).exit_code in {0, 1}
    projects.joinpath("11111111-1111-4111-8111-000000000002.jsonl").unlink()
    comparison, shown = against(daily(d2026_03_05=counted()), imports=False)
    assert reasons(comparison) == [["deleted_files"]]
    assert "sessions whose files were deleted" in shown


def test_sessions_of_other_folders_are_found(run, answered, against, tmp_path):
    answered()
    elsewhere = answered(session=2, folder=tmp_path / "backup")
    assert run("import", elsewhere).exit_code == 0
    assert reasons(against(daily(d2026_03_05=counted()))[0]) == [["other_folders"]]


def test_two_reasons_at_once_are_told_apart(run, answered, against, tmp_path):
    answered(name="msg_same")
    answered(name="msg_same", session=2)
    elsewhere = answered(session=3, folder=tmp_path / "backup", used=(7, 70, 700, 7000))
    assert run("import", elsewhere).exit_code == 0
    comparison, shown = against(daily(d2026_03_05=counted(2)))
    assert reasons(comparison) == [["copies", "other_folders"]], shown


def test_lines_logged_before_the_end_are_found_by_equal_input_and_cache(answered, against):
    answered()
    answered(used=(5, 50, 500, 5000))
    fewer = dict(zip(KINDS, (15, 42, 1500, 15_000), strict=True)) | {"totalCost": 0}
    comparison, shown = against(daily(d2026_03_05=fewer))
    assert reasons(comparison) == [["early_lines"]]
    assert "-108 tokens: ccusage counts lines that were logged before the answers finished" in shown
    more = dict(zip(KINDS, (15, 151, 1500, 15_000), strict=True)) | {"totalCost": 0}
    assert not against(daily(d2026_03_05=more), imports=False)[0].is_explained


def test_a_report_of_an_earlier_hour_lacks_the_last_answers(answered, against):
    answered()
    answered("2026-03-05T13:00:00.000Z", used=(7, 70, 700, 7000))
    answered("2026-03-05T14:00:00.000Z", used=(8, 80, 800, 8000))
    comparison, _ = against(daily(d2026_03_05=counted()))
    assert reasons(comparison) == [["later"]]
    assert comparison.rows[0].reasons[0].answers == 2


def test_days_of_another_time_zone_are_recognized(answered, against, monkeypatch):
    if not hasattr(time, "tzset"):  # Windows has no time zone per process: its days are then those of UTC
        answered()
        assert against(daily(d2026_03_05=counted()))[0].time_zone == "UTC"
        return
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        answered("2026-03-05T20:00:00.000Z")  # already the sixth in Tokyo
        comparison, shown = against(daily(d2026_03_06=counted()))
        assert (comparison.time_zone, comparison.is_explained) == ("local", True)
        assert "ccusage's days are those of this machine's time zone: compared in these." in shown
        assert against(daily(d2026_03_05=counted()), imports=False)[0].time_zone == "UTC"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_models_are_compared_apart_where_the_report_has_them(answered, against):
    answered()
    answered(model=OTHER)
    broken = [{"modelName": name, **counted(times), "cost": COST} for name, times in ((f"{MODEL}-fast", 1), (OTHER, 2))]
    report = {"daily": [{"period": "2026-03-05", "agent": "all", **counted(3), "modelBreakdowns": broken}]}
    comparison, _ = against(report)
    assert [(row.model, row.unexplained.input) for row in comparison.rows] == [(OTHER, 10), (MODEL, 0)]


def test_the_same_tokens_at_another_price_are_explained(answered, against):
    answered()
    comparison, shown = against(daily(d2026_03_05=counted(cost=0.5)))
    assert (comparison.is_explained, comparison.rows[0].cost_reason) == (True, "prices")
    assert "Cost $0.50 at ccusage, <$0.01 at palaver: same tokens, other prices." in shown


def test_a_report_without_costs_is_compared_by_tokens(answered, against):
    answered()
    comparison, shown = against(daily(d2026_03_05=counted(cost=0)))
    assert comparison.rows[0].cost_reason is None
    assert "The report has no costs." in shown


def test_days_before_and_after_the_report_are_not_compared(answered, against):
    for day in (1, 5, 6, 7, 9):
        answered(f"2026-03-{day:02}T12:00:00.000Z")
    comparison, _ = against(daily(d2026_03_05=counted(), d2026_03_07=counted()))
    assert [(row.name, row.theirs.tokens.input, row.ours.tokens.input) for row in comparison.rows] == [
        ("2026-03-05", 10, 10),
        ("2026-03-06", 0, 10),
        ("2026-03-07", 10, 10),
    ]
    assert not comparison.is_explained


@pytest.mark.parametrize(
    ("period", "report"),
    [
        ("day", {"type": "daily", "data": [{"date": "2026-03-05", **counted(2)}], "summary": {}}),
        ("day", {"projects": {"a": [{"date": "2026-03-05", **counted()}], "b": [{"date": "2026-03-05", **counted()}]}}),
        ("week", {"weekly": [{"week": "2026-03-01", **counted(2)}]}),
        ("week", {"weekly": [{"week": "2026-03-02", **counted(2)}]}),
        ("month", {"monthly": [{"month": "2026-03", **counted(2)}], "totals": {}}),
        ("session", {"sessions": [{"sessionId": "11111111-1111-4111-8111-000000000001", **counted(2)}]}),
        ("session", {"session": [{"period": "11111111-1111-4111-8111-000000000001", **counted(2)}]}),
        (
            "block",
            {
                "blocks": [
                    {
                        "startTime": "2026-03-05T12:00:00.000Z",
                        "isGap": False,
                        "tokenCounts": {
                            "inputTokens": 20,
                            "outputTokens": 200,
                            "cacheCreationInputTokens": 2000,
                            "cacheReadInputTokens": 20_000,
                        },
                        "costUSD": 2 * COST,
                    },
                    {"startTime": "2026-03-05T18:00:00.000Z", "isGap": True},
                ]
            },
        ),
    ],
)
def test_every_report_of_ccusage_is_read(answered, against, period, report):
    answered()
    answered("2026-03-05T13:30:00.000Z")
    comparison, _ = against(report)
    assert (comparison.period, len(comparison.rows)) == (period, 1)
    assert comparison.rows[0].theirs == comparison.rows[0].ours


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("date,tokens", "is not JSON: write it with `ccusage daily --json`"),
        ("[1]", "is not a report of ccusage"),
        ('{"daily": []}', "has no usage to compare"),
        ('{"daily": [5, {"date": 7}]}', "has no usage to compare"),
        ('{"sessions": [{"sessionId": "-home-ada", "inputTokens": 1}]}', "names folders instead of sessions"),
    ],
)
def test_a_file_that_is_no_report_is_refused(run, answered, tmp_path, text, sentence):
    assert run("import", answered()).exit_code == 0
    (tmp_path / "x.json").write_text(text, "utf-8")
    result = run("stats", "--against", tmp_path / "x.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert sentence in result.stderr
    assert "cannot be read" in run("stats", "--against", tmp_path / "nowhere.json").stderr
    assert run("stats", "--against", tmp_path / "x.json", "--usage").exit_code == 2
