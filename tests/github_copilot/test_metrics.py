"""Reports of usage: every figure once, under an id that is always the same, and never a conversation."""

import json

import pytest

from importing import FIXTURES, check, import_folder
from palaver.importers import match_importers

MARK = "REDACTED-BY-FIXTURE"
CASES = sorted(path for path in (FIXTURES / "github_copilot").glob("metrics_*"))


def row(**fields):
    return {
        "day": "2026-04-01",
        "organization_id": "1",
        "user_id": 7,
        "user_login": "linden",
        "user_initiated_interaction_count": 3,
        "code_generation_activity_count": 5,
        "totals_by_ide": [],
        **fields,
    }


def read(folder, value, name="report.json"):
    text = value if isinstance(value, str) else json.dumps(value)
    (folder / name).write_text(text, "utf-8")
    imported = import_folder(folder)
    check(imported)
    assert not imported.documents
    return imported


def by_table(imported):
    found = {}
    for record in imported.used:
        found.setdefault(record.get("metadata", {}).get("table", ""), []).append(record)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_report_is_a_conversation(case):
    imported = import_folder(case / "source")
    assert imported.units
    assert not imported.documents
    assert imported.used


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ids_are_unique_and_always_the_same(case):
    for file in (case / "source").iterdir():
        first, second = (import_folder(file).used for _ in range(2))
        assert first == second
        assert len({record["usage_id"] for record in first}) == len(first) > 0


def test_a_figure_is_named_by_the_way_to_it(tmp_path):
    found = by_table(
        read(
            tmp_path,
            [
                row(
                    totals_by_ide=[{"ide": "vscode", "loc_added_sum": 4}],
                    pull_requests={"total_created": 2},
                )
            ],
        )
    )
    assert found[""][0]["counts"]["pull_requests.total_created"] == 2
    assert found["totals_by_ide"][0]["counts"] == {"totals_by_ide.loc_added_sum": 4}
    assert found["totals_by_ide"][0]["metadata"]["ide"] == "vscode"


def test_what_does_not_add_up_is_no_count(tmp_path):
    (record,) = read(
        tmp_path, [row(weekly_active_users=5, monthly_active_chat_users=6, avg_lines=1.5, acceptance_rate=0.4)]
    ).used
    assert record["counts"] == {"user_initiated_interaction_count": 3, "code_generation_activity_count": 5}
    assert (record["metadata"]["weekly_active_users"], record["metadata"]["avg_lines"]) == (5, 1.5)
    assert record["metadata"]["acceptance_rate"] == 0.4


def test_tokens_of_the_command_line_are_tokens(tmp_path):
    usage = {"prompt_tokens_sum": 900, "output_tokens_sum": 80, "avg_tokens_per_request": 98.0}
    found = by_table(read(tmp_path, [row(totals_by_cli={"request_count": 10, "token_usage": usage})]))
    (record,) = found["totals_by_cli"]
    assert record["tokens"] == {"input_tokens": 900, "output_tokens": 80}
    assert record["metadata"]["token_usage"] == {"avg_tokens_per_request": 98.0}
    assert "tokens" not in found[""][0]


def test_a_longer_report_gives_the_days_that_it_shares_the_same_ids(tmp_path):
    table = [{"language": "c", "model": "m", "loc_added_sum": 1}]
    short = read(tmp_path, [row(totals_by_language_model=table)]).used
    days = [row(day="2026-03-31"), row(totals_by_language_model=table, user_initiated_interaction_count=9)]
    longer = read(tmp_path, "".join(json.dumps(one) + "\n" for one in days)).used
    assert {record["usage_id"] for record in short} < {record["usage_id"] for record in longer}


def test_days_of_nobody_in_particular_stay_two_where_they_differ(tmp_path):
    day = {"date": "2024-11-05", "total_active_users": 1, "total_engaged_users": 1, "copilot_ide_chat": None}
    assert len({record["usage_id"] for record in read(tmp_path, [day, {**day, "total_active_users": 2}]).used}) == 2


def test_rows_that_nothing_tells_apart_are_all_kept(tmp_path):
    rows = [{"language": "c", "loc_added_sum": 1}, {"language": "c", "loc_added_sum": 2}]
    found = by_table(read(tmp_path, [row(totals_by_language_feature=rows)]))["totals_by_language_feature"]
    assert len({record["usage_id"] for record in found}) == 2


def test_a_user_has_one_seat_however_many_teams_give_it(tmp_path):
    seats = [
        {"created_at": "2025-01-01T00:00:00Z", "last_activity_at": time, "plan_type": "business", "assignee": who}
        for time, who in (
            ("2026-01-01T00:00:00Z", {"login": "linden", "id": 1, "avatar_url": "https://x.example.org"}),
            ("2026-02-01T00:00:00Z", {"login": "linden", "id": 1}),
            (None, {"login": "maple", "id": 2}),
        )
    ]
    imported = read(tmp_path, {"total_seats": 2, "seats": seats})
    assert sum(record["counts"]["seats"] for record in imported.used) == 2
    linden = next(record for record in imported.used if record["subject"]["id"] == "linden")
    assert linden["ended_at"] == "2026-02-01T00:00:00.000Z"
    assert [seat["last_activity_at"] for seat in linden["metadata"]["other_seats"]] == ["2026-01-01T00:00:00Z"]
    assert "avatar_url" not in json.dumps(imported.used)
    assert imported.reports[0].ledger.folded == {"the same user's seat": 1}


def test_a_seat_that_does_not_say_since_when_it_is_one_is_noted(tmp_path):
    seat = {"last_activity_at": "2026-01-01T00:00:00Z", "plan_type": "business", "assignee": {"login": "linden"}}
    imported = read(tmp_path, {"total_seats": 1, "seats": [seat]})
    assert imported.used[0]["metadata"]["timestamp_inferred"] is True
    assert imported.reports[0].findings.counts == {"inferred-timestamp": 1}


def test_net_amounts_are_the_cost_in_dollars_and_quantities_have_their_unit(tmp_path):
    item = {"product": "Copilot", "sku": "s", "unitType": "ai-credits", "netQuantity": 4.0, "netAmount": 0.04}
    period = {"year": 2026, "month": 12}
    (record,) = read(tmp_path, {"timePeriod": period, "usageItems": [{**item, "user": "linden", "model": "M"}]}).used
    assert record["cost"] == {"amount": 0.04, "currency": "USD"}
    assert record["counts"] == {"ai-credits.netQuantity": 4.0}
    assert (record["started_at"], record["ended_at"]) == ("2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z")
    assert (record["subject"], record["model"]) == ({"kind": "user", "id": "linden"}, "M")


def test_links_to_reports_are_known_and_kept_nowhere(tmp_path):
    link = f"https://reports.example.org/a.json?sig={MARK}"
    for indent in (None, 2):
        links = json.dumps({"download_links": [link], "report_day": "2026-04-01"}, indent=indent)
        imported = read(tmp_path, links, "links.json")
        assert imported.reports[0].ledger.skipped == {"download-links": 1}
        assert not imported.used
        assert not imported.quarantined
    lines = "".join(json.dumps(one) + "\n" for one in (row(), {"download_links": [link]}, {"link": link}))
    imported = read(tmp_path, lines, "report.ndjson")
    assert MARK not in json.dumps(imported.used)
    assert MARK.encode() not in b"".join(one.raw for one in imported.quarantined)


def test_figures_beside_links_are_kept(tmp_path):
    lines = "".join(
        json.dumps(one) + "\n" for one in (row(), row(day="2026-04-02", download_links=["https://x.example"]))
    )
    imported = read(tmp_path, lines)
    assert len(imported.used) == 2
    assert "example" not in json.dumps(imported.used)


@pytest.mark.parametrize(
    "value",
    [
        [{"date": "2024-01-01", "total_active_users": 3}],
        [{"day": "2024-01-01", "steps": 9000}],
        {"seats": ["12A", "12B"], "total_price": 3},
        {"usageItems": [{"product": "Actions", "sku": "actions_linux", "netAmount": 3}]},
        {"day_totals": [{"day": "2024-01-01", "litres": 3}]},
    ],
)
def test_files_of_others_are_not_claimed(tmp_path, value):
    (tmp_path / "x.json").write_text(json.dumps(value), "utf-8")
    (unclaimed,) = import_folder(tmp_path, "github_copilot").found.unclaimed
    assert unclaimed.endswith("x.json")


def test_no_other_importer_claims_a_report():
    for case in CASES:
        for unit in import_folder(case / "source").units:
            claims = {name for name, match in match_importers(unit.source).items() if match.verdict != "no"}
            assert claims == {"github_copilot"}


def test_what_is_nested_beyond_reason_is_set_aside(tmp_path):
    deep = json.dumps(row(totals_by_ide="here")).replace('"here"', '[{"t": ' * 300 + "1" + "}]" * 300)
    imported = read(tmp_path, f"{json.dumps(row())}\n{deep}\n")
    assert [one.code for one in imported.quarantined] == ["too-deep"]
    assert len(imported.used) == 1
