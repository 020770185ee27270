"""What imports and scans say at their end: figures that add up, problems by the command that shows them."""

import json
import re
import shutil

import pytest
from rich.console import Console

from palaver.cli._terminal.paths import shell_path, shortened_path
from palaver.cli._terminal.platform_table import PlatformTable
from palaver.model.report import Report, SourceReport


@pytest.fixture
def projects(home):
    folder = home / ".claude" / "projects"
    folder.mkdir(parents=True)
    return folder


def test_copies_of_conversations_are_explained(run, projects, session):
    for name in ("-home-ada", "-home-ben", "-home-eve"):
        (projects / name).mkdir()
        shutil.copy(session, projects / name)
    shown = run("scan").stderr
    assert (
        "3 conversations read: 1 new, 2 are further copies of conversations already counted (`palaver duplicates`)"
        in shown
    )
    assert "Done: 1 conversation\n" in shown


def test_the_figures_of_a_scan_add_up(run, projects, case):
    shutil.copytree(case("resumed_pair"), projects / "-home-ada")
    shutil.copytree(case("resumed_pair"), projects / "-home-ben")
    shown = run("scan").stderr
    [line] = [line for line in shown.splitlines() if " conversations read: " in line]
    read, new, copies = map(int, re.findall(r"\d+", line))
    assert read == new + copies
    assert f"Done: {new} conversations\n" in shown
    assert len(json.loads(run("list", "--all", "--agents", "--json").stdout)["conversations"]) == new


def test_findings_are_one_line_of_a_scan_and_a_table_of_a_dry_run(run, projects, damaged):
    shutil.copy(damaged, projects)
    shown = run("scan").stderr
    assert "3 records could not be read: `palaver quarantine list`\n" in shown
    assert "3 things noticed (3 errors): `palaver findings`\n" in shown
    assert "byte" not in shown.replace(" bytes in", "")
    assert "With errors" not in shown
    assert f"{projects.name}/{damaged.name}, line 2, byte " in run("scan", "--again", "--dry-run").stderr


def test_a_healthy_import_does_not_speak_for_the_rules(run, session):
    assert "No problems found while reading; `palaver validate` checks the rules\n" in run("import", session).stderr
    shown = run("import", session, "--output", "-").stderr
    assert shown.endswith("\nNo problems found while reading; `palaver validate` checks the rules\n")


def test_files_that_are_not_conversations_are_listed_once(run, projects, session):
    shutil.copy(session, projects)
    (projects / "notes.txt").write_text("water the beans")
    assert "1 file skipped: not a conversation\n  ~/.claude/projects/notes.txt\n" in run("scan").stderr
    assert run("scan").stderr == "Nothing new (1 source unchanged)\n"
    (projects / "notes.txt").write_text("water the beans, and the peas")
    (projects / "todo.txt").write_text("mow")
    assert run("scan").stderr == (
        "Nothing new (1 source unchanged)\n\n1 file skipped: not a conversation\n  ~/.claude/projects/todo.txt\n"
    )
    unclaimed = [str(projects / name) for name in ("notes.txt", "todo.txt")]
    assert json.loads(run("scan", "--json").stdout)["unclaimed"] == unclaimed
    [check] = [
        check for check in json.loads(run("doctor", "--json").stdout)["checks"] if check["name"] == "other files"
    ]
    assert (check["verdict"], check["details"]) == ("ok", unclaimed)


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (60, "~/.config/Code/User/globalStorage/roo-cline/tasks"),
        (48, "~/…/Code/User/globalStorage/roo-cline/tasks"),
        (40, "~/…/User/globalStorage/roo-cline/tasks"),
        (24, "~/…/roo-cline/tasks"),
        (10, "~/…/tasks"),
        (8, "…/tasks"),
        (4, "t…as"),
    ],
)
def test_a_path_is_shortened_in_the_middle(width, shown):
    assert shortened_path("~/.config/Code/User/globalStorage/roo-cline/tasks", width) == shown


def test_a_path_of_the_home_folder_is_quoted_for_the_shell(home):
    assert shell_path(home / "Downloads" / "plain.zip") == "~/Downloads/plain.zip"
    assert shell_path(home / "Downloads" / "chat's export.zip") == "~/Downloads/'chat'\"'\"'s export.zip'"
    assert shell_path("/mnt/a b") == "/mnt/'a b'"


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (120, ["platform", "conversations", "messages", "sources", "place"]),
        (80, ["platform", "conversations", "messages", "sources", "place"]),
        (60, ["platform", "conversations", "messages", "place"]),
        (44, ["platform", "conversations", "messages"]),
    ],
)
def test_columns_are_left_out_before_paths_are_mangled(width, columns):
    report = Report()
    report.sources.append(SourceReport("/home/ada/.claude/projects/a/b.jsonl", "claude_code"))
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(PlatformTable(report, {"claude_code": ["/home/ada/.claude/projects"]}))
    head, row = capture.get().splitlines()
    assert head.split() == columns
    assert len(row) <= width
    assert row.endswith("projects") == ("place" in columns)
