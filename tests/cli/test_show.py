"""`palaver show`, over archives of fixtures and of conversations made for the purpose."""

import json
from contextlib import closing

import pytest
from rich.cells import cell_len

from archiving import exported, keep_fixtures, keep_folder
from importing import CHECKOUT
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.model import build

FIXTURES = CHECKOUT / "fixtures"
CLAUDE_CODE = FIXTURES / "claude_code"


@pytest.fixture
def archive(kept):
    return kept / "archive.db"


@pytest.fixture
def keep(archive):
    def kept_documents(*documents):
        for document in documents:
            with closing(open_to_write(archive)) as connection:
                connection.execute("begin")
                Ingest(connection).add([(conversation_rows(document), None)])
                connection.execute("commit")

    return kept_documents


@pytest.fixture
def shown(run):
    def printed(*words):
        result = run("show", *words)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return printed


@pytest.fixture
def terminal(monkeypatch):
    def of_width(width):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")

    return of_width


def message(name, *blocks, role="assistant", kind="model", second=0, parent=None, **fields):
    metadata = {"author_kind": kind, **fields.pop("metadata", {})}
    return {
        **build.message(
            message_id=name,
            role=role,
            timestamp=f"2026-01-01T10:{second // 60:02}:{second % 60:02}.000Z",
            content=[build.text(block) if isinstance(block, str) else block for block in blocks],
            metadata=metadata,
        ),
        **({} if parent is None else {"parent_message_id": parent}),
        **fields,
    }


def conversation(name, *messages, **fields):
    return {
        **build.conversation(
            conversation_id=name,
            platform={"name": "claude_code"},
            created_at="2026-01-01T10:00:00.000Z",
            messages=list(messages),
        ),
        "title": "A talk",
        **fields,
    }


def call(name, tool="Bash", **arguments):
    return {"type": "tool_use", "id": name, "name": tool, "input": arguments}


def result(name, content="done", *, is_error=False):
    return {"type": "tool_result", "tool_use_id": name, "content": content, "is_error": is_error}


# -- the head ---------------------------------------------------------------------------------------------------------


def test_the_head_tells_what_it_is(archive, shown):
    keep_folder(CLAUDE_CODE / "subagents_folder", archive)
    head, _, _ = shown("75cd0b95").partition("\n\n")
    lines = head.splitlines()
    assert lines[0] == "Survey the keeper's log for nights without light, then run the lens workflow."
    facts = {line[2:12].strip(): line[12:] for line in lines[1:]}
    assert facts["id"] == "75cd0b95-f638-428d-9684-0dadeba1f47f"
    assert facts["platform"] == "Claude Code 2.1.200"
    assert facts["project"] == "/home/ada/lighthouse  (branch main)"
    assert facts["model"] == "claude-opus-5"
    assert facts["messages"] == "7, 1 of them by a person, 2 tool calls, 3 agents"
    assert facts["tokens"] == "9 in, 312 out, 88k cache read, 4.1k cache write"
    assert facts["from"].endswith("75cd0b95-f638-428d-9684-0dadeba1f47f.jsonl")
    assert "cost" not in facts


def test_the_head_tells_tags_and_ratings(archive, shown, keep):
    keep(conversation("one", message("m", "x"), tags=["garden"]))
    with closing(open_to_write(archive)) as connection:
        connection.execute("insert into rating values ('claude_code', 'one', 4.5, 'quite fine', '2026')")
    printed = shown("one")
    assert "  tags      garden\n" in printed
    assert "  rating    ★★★★½  quite fine\n" in printed


def test_the_head_of_an_agent_names_the_conversation_it_belongs_to(archive, shown, keep):
    keep_folder(CLAUDE_CODE / "subagents_folder", archive)
    assert "  agent of  75cd0b95  Survey the keeper's log" in shown("agent-aab7a3")
    assert "  agent of  75cd0b95  " in shown("aab7a330")
    session = {"is_sidechain": True, "parent_conversation_id": "gone"}
    keep(conversation("gone:agent-1", message("m", "x"), session=session))
    assert "  agent of  gone  (not in the archive)" in shown("gone:agent-1")


def test_costs_are_told_when_they_are_asked_for(archive, shown):
    keep_folder(CLAUDE_CODE / "plain_session", archive)
    assert "$" not in shown("latest")
    printed = shown("latest", "--cost")
    assert "\n  cost      $" in printed
    assert "  $0.0" in printed.partition("\n\n")[2]


def test_a_model_without_a_price_has_no_cost(keep, shown):
    answer = message("m", "x", tokens={"input_tokens": 5}, metadata={"model_override": "nobody-knows-1"})
    keep(conversation("one", answer))
    assert "  cost      1 answer without a known price\n" in shown("one", "--cost")


# -- messages ---------------------------------------------------------------------------------------------------------


def test_who_wrote_it_is_told_by_a_word(keep, shown):
    keep(
        conversation(
            "one",
            message("a", "asked", role="user", kind="human"),
            message("b", "answered", metadata={"model_override": "model-1"}),
            message("c", "reminded", role="user", kind="harness"),
            message("d", "prompted", role="user", kind="model"),
            message("e", "nobody knows", role="function", metadata={"author_kind": None}),
        )
    )
    entries = shown("one").split("\n\n")[1:]
    words = [entry.split("  ")[0] for entry in entries]
    assert words == ["human", "model", "harness", "model as user", "function"]
    assert entries[1].splitlines()[0].endswith("  model-1")


def test_what_the_program_around_the_model_said_is_folded(keep, shown):
    reminder = "<system-reminder>\nMind the step.\n</system-reminder>"
    keep(conversation("one", message("a", reminder, role="user", kind="harness")))
    [line] = [line for line in shown("one").splitlines() if line.startswith("harness")]
    assert line.endswith("<system-reminder> Mind the step. </system-reminder>  3 lines")
    assert "\n  Mind the step.\n" in shown("one", "--all")


def test_thinking_is_folded(keep, shown):
    thoughts = {"type": "thinking", "thinking": "Is it tea?\nOr rather coffee?"}
    withheld = {"type": "thinking", "thinking": "", "redacted_data": "secret"}
    keep(conversation("one", message("a", thoughts, withheld, "Tea.")))
    assert "  thinking  2 lines\n  thinking  withheld\n  Tea.\n" in shown("one")
    for flag in ("--thinking", "--all"):
        assert "  Is it tea?\n  Or rather coffee?\n" in shown("one", flag)


def test_calls_that_ran_side_by_side_have_their_own_results(archive, shown):
    keep_folder(CLAUDE_CODE / "parallel_tool_calls", archive)
    printed = shown("latest")
    assert [line for line in printed.splitlines() if line.startswith("  Bash")] == [
        "  Bash  wc -l rows/apples.txt  ok, 49 characters",
        "  Bash  wc -l rows/pears.txt  ok, 48 characters",
        "  Bash  wc -l rows/quinces.txt  ok, 48 characters",
    ]
    assert "\ntool " not in printed


def test_calls_unfold(keep, shown):
    keep(
        conversation(
            "one",
            message("a", call("t1", command="make", script="one\ntwo")),
            message("b", result("t1", "first\nsecond", is_error=True), role="user", kind="tool"),
        )
    )
    assert "  Bash  make  error, 2 lines\n" in shown("one")
    for flag in ("--tools", "--all"):
        lines = shown("one", flag).splitlines()
        start = lines.index("  Bash  make  error, 2 lines")
        assert lines[start + 1 :] == [
            "    command: make",
            "    script:",
            "      one",
            "      two",
            "    │ first",
            "    │ second",
        ]


def test_a_call_without_a_result_and_a_result_without_a_call_are_told(keep, shown):
    keep(
        conversation(
            "one",
            message("a", call("t1", command="make")),
            message("b", result("t0", "from before"), role="user", kind="tool"),
        )
    )
    printed = shown("one")
    assert "  Bash  make  no result\n" in printed
    assert "  result  from before  ok, 11 characters\n" in printed


def test_a_result_far_behind_its_call_stands_where_it_is(keep, shown):
    between = [message(f"m{number}", f"word {number}") for number in range(150)]
    late = message("late", result("t1", "at last"), role="user", kind="tool")
    keep(conversation("one", message("a", call("t1", command="make")), *between, late))
    printed = shown("one")
    assert "  Bash  make  no result\n" in printed
    assert "  result  at last  ok, 7 characters\n" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"file_path": "/home/ada/boat/src/a.py"}, "src/a.py"),
        ({"file_path": "/home/ada/boathouse/a.py"}, "/home/ada/boathouse/a.py"),
        ({"pattern": "TODO", "path": "/home/ada/boat/src"}, "TODO in src"),
        ({"description": "Run tests", "command": "npm\n  test"}, "npm test"),
        ({"depth": 3, "text": "some words"}, "some words"),
        ({"depth": 3}, '{"depth": 3}'),
        ({}, ""),
    ],
)
def test_a_call_is_told_by_its_most_telling_argument(keep, shown, arguments, words):
    context = {"workspace": {"path": "/home/ada/boat"}}
    keep(conversation("one", message("a", call("t1", "Tool", **arguments)), context=context))
    [line] = [line for line in shown("one").splitlines() if line.startswith("  Tool")]
    assert line == "  ".join(filter(None, ["  Tool", words, "no result"]))


def test_pictures_files_code_and_the_unknown_are_a_line_each(keep, shown):
    blocks = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}},
        {"type": "image", "source": {"type": "url", "data": "https://example.org/a.png"}, "alt_text": "a hull"},
        {"type": "file", "name": "log.txt", "media_type": "text/plain", "text": "one\ntwo"},
        {"type": "code", "code": "a = 1\n\tb", "language": "python", "file_path": "a.py", "line_range": {"start": 3}},
        {"type": "opaque", "kind": "widget", "raw": {"dial": 4}},
        {"type": "text", "text": "cited", "citations": [{"url": "https://example.org/b"}]},
    ]
    keep(conversation("one", message("a", *blocks)))
    printed = shown("one")
    for line in (
        "  image  image/png, 5 bytes",
        "  image  https://example.org/a.png, a hull",
        "  file  log.txt, text/plain, 2 lines",
        "  code  a.py:3  python\n    a = 1\n    \tb",
        '  widget  {"dial": 4}',
        "  cited\n  1 citation",
    ):
        assert f"{line}\n" in printed
    unfolded = shown("one", "--all")
    assert "    one\n    two\n" in unfolded
    assert '      "dial": 4\n' in unfolded
    assert '    {"url": "https://example.org/b"}\n' in unfolded


def test_tokens_of_each_message(archive, shown):
    keep_folder(CLAUDE_CODE / "plain_session", archive)
    assert " cache read" not in shown("latest").partition("\n\n")[2]
    assert " cache read" in shown("latest", "--tokens").partition("\n\n")[2]


def test_compaction_is_marked(archive, shown):
    keep_folder(CLAUDE_CODE / "compact_boundary", archive)
    printed = shown("latest")
    assert "  context compacted here  " in printed
    assert "  summary of the conversation so far  " in printed
    assert "\n  summary   This session is being continued" in printed


def test_a_time_that_was_inferred_says_so(keep, shown):
    keep(conversation("one", message("a", "x", metadata={"timestamp_inferred": True})))
    assert "\nmodel  ~" in shown("one")


# -- branches ---------------------------------------------------------------------------------------------------------


def test_branches_that_were_left_are_counted_where_they_were(archive, shown):
    keep_folder(CLAUDE_CODE / "rewind_branches", archive)
    head, _, talk = shown("latest").partition("\n\n")
    assert "  branches  1 other branch, 4 messages: --branch all" in head
    before, _, after = talk.partition("\n1 other branch, 4 messages: --branch all\n")
    assert "Dry the hull first" in before
    assert "On second thought" in after
    assert "cotton" not in talk.casefold()


def test_all_branches(archive, shown):
    keep_folder(CLAUDE_CODE / "rewind_branches", archive)
    talk = shown("latest", "--branch", "all").partition("\n\n")[2]
    assert talk.count("  other branch  ") == 4
    assert talk.index("caulk it with cotton") < talk.index("On second thought")
    assert "69b78323-b6a7-4cf7-b47e-6a91995e2581" in talk


def test_the_way_to_one_message(archive, shown, run):
    keep_folder(CLAUDE_CODE / "rewind_branches", archive)
    talk = shown("latest", "--branch", "8516f44f").partition("\n\n")[2]
    assert [line for line in talk.splitlines() if line.startswith("  ")] == [
        "  The dinghy leaks at the second plank from the keel. Where do I begin?",
        "  Dry the hull first, then look whether the seam or the plank itself lets the water in.",
        "  It is the seam. Shall I caulk it with cotton or with hemp?",
        "  Cotton for a seam that narrow; roll it in rather than hammer it.",
    ]
    refused = run("show", "latest", "--branch", "bees")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "928ea0bc has no message 'bees'" in refused.stderr


def test_a_circle_of_parents_has_an_end(keep, shown, run):
    keep(conversation("one", message("a1", "x", parent="a2"), message("a2", "y", parent="a1")))
    assert shown("one", "--branch", "a1", "--raw").count("\n") == 2
    refused = run("show", "one", "--branch", "a")
    assert refused.exit_code == 2
    assert "'a' matches several messages: a1, a2. Type more of the id" in refused.stderr


def test_branches_of_a_tree(archive, shown):
    keep_folder(FIXTURES / "chatgpt" / "branches", archive)
    printed = shown("latest")
    assert "  branches  3 other branches, 4 messages: --branch all" in printed
    assert "\n2 other branches, 2 messages: --branch all" in printed


# -- agents -----------------------------------------------------------------------------------------------------------


def test_agents_are_named_where_they_were_started(archive, shown):
    keep_folder(CLAUDE_CODE / "subagents_folder", archive)
    lines = shown("75cd0b95").splitlines()
    place = lines.index("  Agent  Nights without light  ok, 5 lines")
    assert lines[place + 1].startswith("    agent aab7a330  Go through log/1903.txt")
    assert lines[place + 1].endswith("  4 messages")
    assert lines[-2] == "Also began in this conversation:"
    assert lines[-1].startswith("    agent abaa5d")
    assert "return only the number" not in "\n".join(lines)


def test_agents_are_shown_inside(archive, shown):
    keep_folder(CLAUDE_CODE / "subagents_folder", archive)
    lines = shown("75cd0b95", "--agents").splitlines()
    assert any(line.startswith("  │   │   Fog is named 31 times") for line in lines), "an agent of an agent"
    assert any(line.startswith("  │   Segment four has lost") for line in lines)
    assert not any(line != line.rstrip() for line in lines)


def test_an_agent_that_started_itself_is_shown_once(keep, shown):
    session = {"is_sidechain": True, "parent_conversation_id": "one"}
    keep(conversation("one", message("a", "just once"), session=session))
    assert shown("one", "--agents").count("  just once") == 1


def test_what_goes_on_elsewhere_is_named(keep, shown):
    fork = {"parent_conversation_id": "one", "fork_point": "a"}
    keep(conversation("one", message("a", "x")), conversation("another", message("b", "y"), session=fork))
    assert "  x\n    goes on in another  A talk  1 message\n" in shown("one")
    assert "  goes on   one  A talk\n" in shown("another")


# -- places -----------------------------------------------------------------------------------------------------------


def test_one_message_among_its_neighbours(keep, shown, run):
    keep(conversation("one", *(message(f"m{number}", f"word {number}", second=60 * number) for number in range(1, 31))))
    printed = shown("one:12")
    assert [line for line in printed.splitlines() if line.startswith("  word")] == [f"  word {n}" for n in range(7, 18)]
    assert "6 messages before\n" in printed
    assert printed.endswith("\n13 messages more\n")
    assert [line for line in printed.splitlines() if line.startswith("▶")] == ["▶ model  10:12  :12"]
    assert shown("one", "--around", "12", "-C", "0") == shown("one:m12", "--context", "0")
    assert shown("one:12", "-C", "0").count("  word ") == 1
    assert shown("one:1", "-C", "1").count("  word ") == 2
    assert json.loads(shown("one:12", "--raw", "-C", "0"))["message_id"] == "m12"
    assert "there is no message 31" in run("show", "one:31").stderr
    for words in (["one", "-C", "2"], ["one:3", "--around", "4"], ["one:3", "--tail", "4"], ["one:3", "-n", "4"]):
        assert run("show", *words).exit_code == 2, words


def test_a_message_is_marked_wherever_it_is_shown(keep, shown):
    keep(
        conversation(
            "one",
            message("a", "asked", role="user", kind="human"),
            message("b", "first", call("t1", command="make")),
            message("c", result("t1"), role="user", kind="tool"),
            message("d", "second"),
            message("e", "", role="user", kind="harness", metadata={"hidden": True}),
        )
    )

    def marked(place):
        return [line for line in shown(place).splitlines() if line.startswith("▶")]

    assert marked("one:2") == ["▶ model  10:00  :2"]
    assert marked("one:3") == ["▶ model  10:00  :2"], "the result is shown with its call"
    assert marked("one:4") == ["▶ model  10:00  :4"]
    assert marked("one:5") == ["▶ harness  10:00  :5  (empty)"]


def test_a_message_on_another_branch(archive, shown):
    keep_folder(CLAUDE_CODE / "rewind_branches", archive)
    printed = shown("latest:8516f44f", "-C", "1")
    assert "  Cotton for a seam that narrow; roll it in rather than hammer it.\n" in printed
    assert "On second thought" not in printed


@pytest.mark.parametrize("width", [60, 80, 120])
def test_numbers_are_at_the_right_edge(keep, shown, terminal, width):
    keep(
        conversation(
            "one",
            message("a", "asked " * 30, role="user", kind="human"),
            message("b", "first", call("t1", command="make")),
            message("c", result("t1"), role="user", kind="tool"),
            message("d", call("t2", command="make")),
            message("e", "reminded " * 30, role="user", kind="harness"),
        )
    )
    terminal(width)
    lines = shown("one").partition("\n\n")[2].splitlines()
    numbered = {line.split()[0]: line.rpartition(" ")[2] for line in lines if cell_len(line) == width}
    assert numbered == {"human": ":1", "model": ":2", "Bash": ":4", "harness": ":5"}
    assert max(map(cell_len, lines)) <= width


def test_markdown_of_models_is_rendered_in_colour(keep, run, monkeypatch):
    keep(
        conversation(
            "one",
            message("a", "Why is `__init__` **there**?", role="user", kind="human"),
            message("b", "# Because\n\n- of **this**"),
        )
    )
    assert "# Because\n\n  - of **this**\n" in run("show", "one").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    printed = run("show", "one", color=True).stdout
    assert "`__init__` **there**" in printed
    assert "\x1b[1;4mBecause\x1b[0m" in printed
    assert "of \x1b[1mthis\x1b[0m" in printed
    assert "# Because\n\n  - of **this**\n" in run("show", "one", "--plain", color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "# Because\n\n  - of **this**\n" in run("show", "one").stdout


def test_a_session_that_can_be_resumed_says_how(run, home, case):
    folder = home / ".claude" / "projects" / "-home-ada-garden"
    folder.mkdir(parents=True)
    [session] = case("plain_session").rglob("*.jsonl")
    kept_session = folder / session.name
    kept_session.write_bytes(session.read_bytes())
    assert run("scan").exit_code == 0
    [line] = [line for line in run("show", "latest").stdout.splitlines() if line.startswith("  resume")]
    assert line == f"  resume    cd /home/ada/garden && claude --resume {session.stem}"
    assert json.loads(run("show", "latest", "--json").stdout)["reopen"] == line[12:]
    kept_session.unlink()
    assert "claude --resume" not in run("show", "latest").stdout
    assert json.loads(run("show", "latest", "--json").stdout)["reopen"] is None


def test_a_session_elsewhere_cannot_be_resumed(archive, shown):
    keep_folder(CLAUDE_CODE / "plain_session", archive)
    assert "claude --resume" not in shown("latest")


@pytest.mark.parametrize(
    ("platform", "address"), [("chatgpt", "https://chatgpt.com/c/"), ("claude_ai", "https://claude.ai/chat/")]
)
def test_a_chat_on_the_web_says_where(keep, shown, platform, address):
    name = "1d1ad1ae-12ab-4f00-9c1e-0123456789ab"
    made_here = "1d1ad1ae-12ab-5f00-9c1e-0123456789ab"
    for chat in (name, made_here, "a-name"):
        keep(conversation(chat, message("a", "x"), platform={"name": platform}))
    assert f"\n  web       {address}{name}\n" in shown(name)
    assert "  web  " not in shown(made_here)
    assert "  web  " not in shown("a-name")


# -- copies and versions ----------------------------------------------------------------------------------------------


def test_usage_that_is_counted_elsewhere_says_where(archive, shown, run):
    keep_folder(CLAUDE_CODE / "forked_pair", archive)
    first, copy = shown("9dc85ec8"), shown("fa4c8852")
    assert "counted in" not in first
    assert "the tokens of 1 message are counted in 9dc85ec8" in copy
    assert "  counted in 9dc85ec8\n  The roster covers seven days" in copy
    answer = json.loads(run("show", "fa4c8852", "--json").stdout)
    [there] = answer["counted_elsewhere"]
    assert (there["conversation_id"][:8], there["messages"]) == ("9dc85ec8", 1)
    assert [entry["kind"] for entry in answer["copies"]] == ["content", "usage"]


@pytest.mark.parametrize(("second", "is_repeated"), [(4, True), (5, True), (6, False)])
def test_the_same_within_five_seconds_repeats_the_first(keep, shown, second, is_repeated):
    keep(conversation("one", message("a", "hello"), message("b", "hello", second=second)))
    assert ("  repeats message a\n" in shown("one")) is is_repeated


def test_the_window_can_be_set(keep, shown, kept):
    keep(conversation("one", message("a", "hello"), message("b", "hello", second=8)))
    assert "repeats" not in shown("one")
    (kept / "config.toml").write_text("[duplicates]\nwindow_ms = 9000\n", "utf-8")
    assert "  repeats message a\n" in shown("one")


def test_the_same_at_the_same_time_elsewhere_is_a_copy_of_the_first(keep, shown):
    keep(
        conversation("one", message("a", "hello"), message("b", "then", second=1)),
        conversation("two", message("c", "hello"), message("d", "then", second=2)),
    )
    assert "copy of" not in shown("one")
    assert shown("two").count("  copy of one\n") == 1


def test_other_versions_of_a_message(keep, shown, run):
    older = message("a", "before", metadata={"update_time": "2026-01-01T10:00:00.000Z"})
    newer = message("a", "after", metadata={"update_time": "2026-01-01T11:00:00.000Z"})
    keep(conversation("one", older), conversation("one", newer))
    printed = shown("one")
    assert "  versions  1 message with another version: --revisions" in printed
    assert "before" not in printed
    talk = shown("one", "--revisions").partition("\n\n")[2]
    assert talk.index("after") < talk.index("another version, ") < talk.index("    before\n")
    raw = [json.loads(line) for line in shown("one", "--raw", "--revisions").splitlines()]
    assert raw == [newer, older]
    assert json.loads(run("show", "one", "--json").stdout)["revisions"] == [older]


# -- a part of it, and forms for programs -----------------------------------------------------------------------------


def test_the_first_and_the_last_messages(keep, shown, run):
    keep(conversation("one", *(message(f"m{number}", f"word {number}") for number in range(10))))
    beginning, end = shown("one", "--limit", 3), shown("one", "--tail", 3)
    assert "word 2" in beginning
    assert "word 3" not in beginning
    assert beginning.endswith("\n7 messages more\n")
    assert "word 6" not in end
    assert "\n7 messages before\n" in end
    assert len(shown("one", "--raw", "--tail", 3).splitlines()) == 3
    assert "more" not in shown("one", "--limit", 10)
    refused = run("show", "one", "--limit", 3, "--tail", 3)
    assert refused.exit_code == 2


def test_raw_messages_are_those_of_the_document(archive, shown):
    keep_folder(CLAUDE_CODE / "rewind_branches", archive)
    [document] = map(json.loads, exported(archive))
    assert [json.loads(line) for line in shown("latest", "--raw").splitlines()] == document["messages"]
    one_branch = shown("latest", "--raw", "--branch", "8516f44f").splitlines()
    assert [json.loads(line) for line in one_branch] == document["messages"][:4]


def test_the_whole_as_json(archive, run):
    keep_folder(CLAUDE_CODE / "rewind_branches", archive)
    [document] = map(json.loads, exported(archive))
    answer = json.loads(run("show", "latest", "--json", "--limit", 1).stdout)
    assert answer["conversation"] == document
    assert (answer["branches"], answer["messages_off_path"], answer["cost"]) == (1, 4, None)
    assert answer["tokens"]["output"] == 155
    assert run("show", "latest", "--json", "--raw").exit_code == 2


def test_a_conversation_in_fragments_is_one_document(keep, run, monkeypatch):
    document = conversation("one", *(message(f"m{number}", "word " * 50) for number in range(9)))
    document["summaries"] = [
        {"summary_id": "s", "type": "system", "text": "words", "timestamp": "2026-01-01T10:00:00.000Z"}
    ]
    keep(document)
    whole = json.loads(run("show", "one", "--json").stdout)["conversation"]
    monkeypatch.setattr("palaver.archive.documents.FRAGMENT_BYTES", 100)
    assert json.loads(run("show", "one", "--json").stdout)["conversation"] == whole
    assert len(whole["messages"]) == whole["metrics"]["total_messages"] == 9


# -- words, widths and what comes from outside ------------------------------------------------------------------------


def test_a_word_that_means_nothing_or_too_much(archive, run):
    keep_folder(FIXTURES / "chatgpt", archive)
    for word, reason in (("nothing", "no conversation matches 'nothing'"), ("0000", "matches several conversations")):
        refused = run("show", word)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert reason in refused.stderr


def test_no_archive_says_how_to_make_one(run):
    refused = run("show", "latest")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "palaver scan" in refused.stderr


def test_text_is_wrapped_and_code_is_not(keep, shown, terminal):
    code = "x" * 100
    text = f"{'some words ' * 10}\n\n- {'a point with words ' * 6}\n\n```\n{code}\n```\n"
    keep(conversation("one", message("a", text)))
    terminal(60)
    lines = shown("one").splitlines()
    assert f"  {code}" in lines
    assert max(cell_len(line) for line in lines if code not in line) <= 60
    place = next(number for number, line in enumerate(lines) if line.startswith("  - a point"))
    assert lines[place + 1].startswith("    ")


FLAGS = [[], ["--all", "--branch", "all", "--agents", "--tokens", "--cost", "--revisions"], ["--json"], ["--raw"]]


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: "".join(flags[:1]) or "plain")
def test_every_fixture_can_be_shown(archive, run, flags):
    keep_fixtures(archive)
    with closing(open_to_read(archive)) as connection:
        names = connection.execute("select platform || ':' || conversation_id from conversation").fetchall()
    for (name,) in names:
        printed = run("show", name, *flags)
        assert printed.exit_code == 0, (name, printed.stderr)
        assert printed.stdout or flags == ["--raw"], name
        assert not {"\x1b", "\x9b", "\x00", "\u202e"} & set(printed.stdout), name


@pytest.mark.parametrize("width", [80, 120])
def test_folded_lines_fit_a_terminal(archive, run, terminal, width):
    keep_folder(CLAUDE_CODE, archive)
    terminal(width)
    with closing(open_to_read(archive)) as connection:
        names = connection.execute("select platform || ':' || conversation_id from conversation").fetchall()
    for (name,) in names:
        lines = run("show", name, "--tokens").stdout.splitlines()
        assert max(map(cell_len, lines)) <= width, (name, max(lines, key=cell_len))


BAD = "\x1b[2J\x9b1m\u202eabc\x07\r\x08"


@pytest.mark.parametrize("flags", [*FLAGS, ["--tools", "--thinking"]], ids=lambda flags: "".join(flags[:1]) or "plain")
def test_what_could_steer_a_terminal_is_shown_and_not_obeyed(keep, run, terminal, flags):
    hurt = [
        f"said {BAD}",
        {"type": "thinking", "thinking": BAD},
        call(f"t{BAD}", f"tool{BAD}", **{f"key{BAD}": BAD, "lines": f"{BAD}\n{BAD}"}),
        {"type": "image", "source": {"type": "url", "media_type": BAD, "data": BAD}, "alt_text": BAD},
        {"type": "file", "name": BAD, "text": BAD},
        {"type": "code", "code": BAD, "language": BAD, "file_path": BAD},
        {"type": "opaque", "kind": f"k{BAD}", "raw": {BAD: BAD}},
        {"type": "text", "text": "cited", "citations": [{BAD: BAD}]},
    ]
    metadata = {"model_override": f"model{BAD}", "api_message_id": BAD}
    tokens = {"input_tokens": 1}
    document = conversation(
        f"id{BAD}",
        message(f"m{BAD}", *hurt, metadata=metadata, tokens=tokens),
        message("r", result(f"t{BAD}", BAD), role="user", kind="tool"),
        message("h", BAD, role="user", kind="harness"),
        title=BAD,
        tags=[BAD],
        context={"workspace": {"path": f"/home/{BAD}", "git_branch": BAD}},
        session={"parent_conversation_id": BAD},
        summaries=[{"summary_id": BAD, "type": "system", "text": BAD, "timestamp": "2026-01-01T10:00:00.000Z"}],
    )
    document["platform"] |= {"version": BAD, "model": BAD}
    agent = {"is_sidechain": True, "parent_conversation_id": f"id{BAD}"}
    copy = message(f"c{BAD}", BAD, metadata=metadata, tokens=tokens, second=9)
    keep(document, conversation(f"id{BAD}:agent", copy, session=agent, title=BAD))
    for width in (None, 80):
        if width:
            terminal(width)
        printed = run("show", "latest", *flags)
        assert printed.exit_code == 0
        assert not {"\x1b", "\x9b", "\u202e", "\x07", "\r", "\x08"} & set(printed.stdout)
        assert "\\x1b[2J" in printed.stdout or "\\u001b[2J" in printed.stdout
