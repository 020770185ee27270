import json

from palaver.importers import importer, platforms


def test_every_importer_is_listed_with_its_places_and_options(run, home):
    (home / ".claude" / "projects").mkdir(parents=True)
    result = run("sources")
    assert result.exit_code == 0
    assert result.stderr == ""
    for platform in platforms():
        assert importer(platform).title in result.stdout
        assert f"palaver import {platform} PATH" in result.stdout
    assert "~/.claude/projects  found" in result.stdout
    assert "~/.claude/transcripts" not in result.stdout
    assert "places are not here: --all lists them" in result.stdout
    assert "ask for one in Settings > Data controls" in result.stdout
    every_place = run("sources", "--all").stdout
    assert "~/.claude/transcripts  not here" in every_place
    assert all(str(path).replace(str(home), "~") in every_place for path in importer("cline").locations())
    assert "-O original_files=yes|no  Keep the whole file" in result.stdout
    assert "[default: no]" in result.stdout


def test_the_list_as_json(run, home):
    (home / ".claude" / "projects").mkdir(parents=True)
    known = {source["platform"]: source for source in json.loads(run("sources", "--json").stdout)["sources"]}
    assert list(known) == platforms()
    claude = known["claude_code"]
    assert (claude["title"], claude["record"]) == ("Claude Code", "line")
    assert {"path": str(home / ".claude" / "projects"), "exists": True} in claude["locations"]
    assert {"path": str(home / ".claude" / "history.jsonl"), "exists": False} in claude["locations"]
    [option] = claude["options"]
    assert (option["name"], option["type"], option["default"]) == ("original_files", "bool", False)
    assert option["description"].startswith("Keep the whole file")
