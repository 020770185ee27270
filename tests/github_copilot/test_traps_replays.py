"""The numbered traps of Copilot's traces and exported logs, one by one."""

import json
from pathlib import Path

from importing import FIXTURES, import_folder

CASES = FIXTURES / "github_copilot"


def test_trap_22_a_dump_of_spans_is_read_though_it_is_no_otlp_and_an_empty_line_is_skipped(tmp_path):
    path = tmp_path / "anything.jsonl"
    path.write_text(
        "{}\n"
        + json.dumps(
            {
                "_spanContext": {"traceId": "t", "spanId": "s"},
                "name": "chat gpt-5",
                "startTime": [1781300001, 133000000],
                "endTime": [1781300003, 967317833],
                "attributes": {
                    "gen_ai.operation.name": "chat",
                    "copilot_chat.debug_name": "agent",
                    "gen_ai.conversation.id": "c",
                    "gen_ai.usage.input_tokens": 7,
                },
            }
        )
        + "\n{}\n"
    )
    imported = import_folder(tmp_path)
    (report,) = imported.reports
    assert report.ledger.skipped == {"circular-record": 2}
    assert (report.ledger.read, report.ledger.mapped, report.findings.counts) == (3, 1, {})
    (used,) = imported.used
    assert (used["started_at"], used["ended_at"]) == ("2026-06-12T21:33:21.133Z", "2026-06-12T21:33:23.967Z")
    assert used["tokens"] == {"input_tokens": 7}
    assert not imported.documents


def test_trap_22_a_file_that_begins_with_empty_lines_is_known(tmp_path):
    case = CASES / "spans_file_exporter" / "source" / "copilot-otel.jsonl"
    (tmp_path / "out.jsonl").write_bytes(b"{}\n" * 5 + case.read_bytes())
    imported = import_folder(tmp_path)
    assert imported.skipped_rules() == {"circular-record"}
    assert len(imported.documents) == 2


def test_trap_22_a_file_with_metrics_alone_is_known(tmp_path):
    case = CASES / "spans_file_exporter" / "source" / "copilot-otel.jsonl"
    sums = [line for line in case.read_bytes().splitlines(keepends=True) if b"scopeMetrics" in line]
    (tmp_path / "out.jsonl").write_bytes(b"".join(sums))
    imported = import_folder(tmp_path)
    assert [used["tokens"] for used in imported.used] == [{"input_tokens": 3750, "output_tokens": 375}]
    assert imported.reports[0].ledger.folded == {"the last sums": 1}


def test_trap_23_roles_and_parts_are_numbers():
    document = _replay()[0]
    assert [message["role"] for message in document["messages"]] == [
        *("system", "user", "user", "assistant", "tool", "assistant", "system", "user", "assistant", "tool"),
    ]
    kinds = [block["type"] for message in document["messages"] for block in message["content"]]
    assert kinds.count("image") == 1
    assert kinds.count("thinking") == 1
    assert "opaque" not in kinds


def test_trap_23_arguments_are_a_text_of_json():
    calls = _blocks("tool_use")
    assert [call["input"] for call in calls] == [
        {"kind": "pear", "rows": "northern"},
        {"filePath": "/grove/orchard.txt", "content": "41."},
    ]


def test_trap_23_one_turn_split_over_several_prompts_is_one():
    document = _replay()[0]
    typed = [message["metadata"]["prompt"] for message in document["messages"] if "prompt" in message["metadata"]]
    assert typed == [
        "Count the pear trees in\nthe northern rows, please.",
        "And now write the number into orchard.txt, with a full stop.",
    ]
    assert document["title"] == "Count the pear trees in the northern rows, please."


def test_trap_23_the_suffix_of_tool_ids_is_stripped_for_joining_and_kept():
    uses, results = _blocks("tool_use"), _blocks("tool_result")
    assert [use["id"] for use in uses] == [result["tool_use_id"] for result in results]
    assert [use["id"] for use in uses] == ["toolu_orchard_01", "toolu_orchard_02"]
    assert results[0]["metadata"]["source_id"] == "toolu_orchard_01__vscode-1770800400001"


def _replay() -> list[dict]:
    return import_folder(CASES / "replay_all_prompts" / "source", "github_copilot").documents


def _blocks(kind: str) -> list[dict]:
    return [block for message in _replay()[0]["messages"] for block in message["content"] if block["type"] == kind]


def test_trap_20_a_debug_log_beside_its_saved_chat_repeats_nothing(tmp_path):
    logs = CASES / "debug_session" / "source" / "debug-logs"
    session = next(logs.iterdir()).name
    storage = tmp_path / "workspaceStorage" / "1f" / "GitHub.copilot-chat"
    target = storage / "debug-logs" / session
    target.mkdir(parents=True)
    (target / "main.jsonl").write_bytes((logs / session / "main.jsonl").read_bytes())
    alone = import_folder(storage, "github_copilot")
    assert [document["conversation_id"] for document in alone.documents] == [session]
    saved: Path = storage.parent / "chatSessions" / f"{session}.jsonl"
    saved.parent.mkdir()
    saved.touch()
    beside = import_folder(storage, "github_copilot")
    assert not beside.documents
    assert beside.skipped_rules() == {"saved-chat-exists"}
    requests = [used for used in beside.used if used["kind"] == "request"]
    assert sum(used.get("tokens", {}).get("input_tokens", 0) for used in requests) == 3750
