import json


def test_all_levels_are_told_in_numbers(run, case):
    run("import", case("resumed_pair"))
    result = run("duplicates")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "1  unchanged source   2 files, 6.4 kB  not read again",
        "2  same conversation  0 conversations from several sources  merged",
        "3  same content       1 pair of conversations, 4 messages shared  linked",
        "4  repeated message   0 messages within 5,000 ms of the first  marked, never removed",
    ]


def test_the_details_of_a_level(run, case, tmp_path):
    run("import", case("resumed_pair"))
    [copied] = (folder for folder in case("resumed_pair").rglob("*") if folder.name.startswith("-home"))
    for file in copied.iterdir():
        (tmp_path / "moved").mkdir(exist_ok=True)
        (tmp_path / "moved" / file.name).write_bytes(file.read_bytes())
    run("import", tmp_path / "moved")
    assert "identical to" in run("duplicates", "--level", "1").stdout
    assert run("duplicates", "--level", "2").stdout.count("  from 2 sources") == 2
    shown = run("duplicates", "--level", "3").stdout
    assert "67%  4 messages      same content, first in 3f94da80" in shown
    [pair] = json.loads(run("duplicates", "--level", "3", "--json").stdout)["linked_pairs"]
    assert (pair["first"]["conversation_id"][:8], pair["other"]["conversation_id"][:8]) == ("3f94da80", "7bd2b6bc")
    assert "No duplicates at this level." in run("duplicates", "--level", "4").stdout


def test_the_window_is_that_of_the_option_then_that_of_the_settings(run, case, kept):
    run("import", case("resumed_pair"))
    assert json.loads(run("duplicates", "--json").stdout)["marked"]["window_ms"] == 5000
    (kept / "config.toml").write_text("[duplicates]\nwindow_ms = 7\n", "utf-8")
    assert json.loads(run("duplicates", "--json").stdout)["marked"]["window_ms"] == 7
    assert json.loads(run("duplicates", "--window", "9", "--json").stdout)["marked"]["window_ms"] == 9


def test_no_more_is_shown_than_wanted(run, case):
    run("import", case("resumed_pair"), case("forked_pair"))
    assert "1 of 3 shown; --limit N or --all shows more." in run("duplicates", "--level", "3", "-n", "1").stdout
    assert len(json.loads(run("duplicates", "--level", "3", "-n", "1", "--json").stdout)["linked_pairs"]) == 1
    assert len(json.loads(run("duplicates", "--level", "3", "--all", "--json").stdout)["linked_pairs"]) == 3
