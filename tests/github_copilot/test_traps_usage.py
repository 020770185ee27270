"""Traps of the format document that are about telemetry and figures."""

import json

from importing import check, import_folder

TIMES = [f"2026-02-03T10:0{minute}:00.000Z" for minute in range(3)]


def read(folder, name, text):
    (folder / name).write_text(text, "utf-8")
    imported = import_folder(folder)
    check(imported)
    return imported


def test_trap_24_metrics_are_never_conversations(tmp_path):
    day = {
        "date": "2024-11-05",
        "total_active_users": 4,
        "total_engaged_users": 4,
        "copilot_ide_chat": {
            "total_engaged_users": 4,
            "editors": [
                {"name": "vscode", "total_engaged_users": 4, "models": [{"name": "default", "total_chats": 34}]}
            ],
        },
    }
    imported = read(tmp_path, "metrics.json", json.dumps([day]))
    assert not imported.documents
    (chats,) = [record for record in imported.used if "34" in json.dumps(record["counts"])]
    assert chats["kind"] == "period"
    assert chats["counts"] == {"copilot_ide_chat.editors.models.total_chats": 34}


def test_trap_24_what_one_table_says_is_never_added_to_another(tmp_path):
    row = {
        "day": "2026-04-25",
        "organization_id": "1",
        "code_generation_activity_count": 25,
        "user_initiated_interaction_count": 24,
        "totals_by_ide": [{"ide": "vscode", "code_generation_activity_count": 40}],
        "totals_by_model_feature": [{"model": "others", "feature": "others", "code_generation_activity_count": 2}],
    }
    imported = read(tmp_path, "report.json", json.dumps([row]))
    sums = {}
    for record in imported.used:
        for name, count in record["counts"].items():
            sums[name] = sums.get(name, 0) + count
    assert sums == {
        "code_generation_activity_count": 25,
        "user_initiated_interaction_count": 24,
        "totals_by_ide.code_generation_activity_count": 40,
        "totals_by_model_feature.code_generation_activity_count": 2,
    }


def test_trap_24_only_telemetry_with_words_becomes_completions(tmp_path):
    events = [
        {
            "name": "ghostText.produced",
            "timestamp": TIMES[number],
            "properties": {"headerRequestId": f"r{number}", "languageId": "python", **words},
        }
        for number, words in enumerate(({"completionText": "return 1"}, {"completionText": "return 2"}, {}))
    ]
    imported = read(tmp_path, "telemetry.jsonl", "".join(json.dumps(event) + "\n" for event in events))
    (document,) = imported.documents
    assert document["platform"]["model"] == "copilot-codex"
    assert [message["content"][0]["code"] for message in document["messages"]] == ["return 1", "return 2"]
    assert [record["request_id"] for record in imported.used] == ["r2"]


def test_trap_25_a_report_in_three_shapes_gives_the_same(tmp_path):
    row = {
        "user_id": 338097,
        "user_login": "hazel",
        "day": "2026-04-25",
        "organization_id": "100000001",
        "user_initiated_interaction_count": 24,
        "code_generation_activity_count": 25,
        "totals_by_feature": [{"feature": "copilot_cli", "user_initiated_interaction_count": 24}],
    }
    shapes = {
        "lines": json.dumps(row) + "\n" + json.dumps({**row, "day": "2026-04-26"}) + "\n",
        "array": json.dumps([row, {**row, "day": "2026-04-26"}]),
        "wrapped": json.dumps({"day_totals": [row, {**row, "day": "2026-04-26"}]}),
    }
    found = []
    for name, text in shapes.items():
        (tmp_path / name).mkdir()
        found.append(read(tmp_path / name, "report.json", text).used)
    assert len(found[0]) == 4
    assert found[0] == found[1] == found[2]


def test_trap_25_ids_of_organizations_are_texts_and_those_of_users_numbers(tmp_path):
    row = {"day": "2026-04-25", "user_initiated_interaction_count": 1, "code_generation_activity_count": 2}
    rows = [
        {**row, "organization_id": "100000001", "used_chat": True},
        {**row, "organization_id": "100000001", "user_id": 338097, "used_chat": True},
    ]
    imported = read(tmp_path, "report.json", json.dumps(rows))
    assert [record["subject"] for record in imported.used] == [
        {"kind": "organization", "id": "100000001"},
        {"kind": "user", "id": "338097"},
    ]
    assert all(record["counts"].keys() == row.keys() - {"day"} for record in imported.used)
    assert len({record["usage_id"] for record in imported.used}) == 2
