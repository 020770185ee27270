"""`palaver list`, over archives of fixtures."""

import io
import json
from contextlib import closing

import orjson
import pytest
from rich.cells import cell_len

from archiving import keep_fixtures, keep_folder
from importing import CHECKOUT
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.conversation_list import UNTITLED
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.archive.selection import find_conversation
from palaver.archive.short_ids import MAX_LENGTH
from palaver.cli._terminal.layout import stars
from palaver.model import build

FIXTURES = CHECKOUT / "fixtures"


@pytest.fixture
def archive(kept):
    return kept / "archive.db"


@pytest.fixture
def keep(archive):
    """Documents into the archive."""

    def kept_documents(*documents):
        with closing(open_to_write(archive)) as connection:
            connection.execute("begin")
            Ingest(connection).add([(conversation_rows(document), None) for document in documents])
            connection.execute("commit")

    return kept_documents


def conversation(name, *texts, title=None, **fields):
    messages = [
        build.message(
            message_id=f"{name}-{number}",
            role="user",
            timestamp=f"2026-01-01T10:00:{number:02}.000Z",
            content=[build.text(text)],
            metadata={"author_kind": "human"},
        )
        for number, text in enumerate(texts)
    ]
    return {
        **build.conversation(
            conversation_id=name,
            platform={"name": "chatgpt"},
            created_at="2026-01-01T10:00:00.000Z",
            messages=messages,
        ),
        **({} if title is None else {"title": title}),
        **fields,
    }


@pytest.fixture
def listed(run):
    def answered(*words):
        return json.loads(run("list", "--json", *words).stdout)

    return answered


def titles(answer):
    return [conversation["title"] for conversation in answer["conversations"]]


def test_the_latest_come_first(keep, listed):
    keep(
        conversation("one", "x", title="first", updated_at="2026-01-03T00:00:00.000Z"),
        conversation("two", "x", title="second", created_at="2026-01-02T00:00:00.000Z"),
        conversation("three", "x", "y", title="third", updated_at="2026-01-04T00:00:00.000Z"),
    )
    assert titles(listed()) == ["third", "first", "second"]
    assert titles(listed("--sort", "created")) == ["second", "third", "first"]
    assert titles(listed("--sort", "messages"))[0] == "third"


def test_a_page_of_them(keep, listed, run):
    keep(*(conversation(f"name-{number:03}", "x", title=f"t{number}") for number in range(40)))
    answer = listed()
    assert (len(answer["conversations"]), answer["shown"], answer["total"]) == (30, 30, 40)
    assert len(listed("--limit", 3)["conversations"]) == 3
    assert len(listed("--all")["conversations"]) == 40
    result = run("list", "--limit", 3)
    assert len(result.stdout.splitlines()) == 1 + 3
    assert "3 of 40 conversations" in result.stderr


def test_agents_are_counted_behind_the_conversation_that_started_them(archive, listed, run):
    keep_folder(FIXTURES / "claude_code" / "subagents_folder", archive)
    answer = listed()
    [session] = answer["conversations"]
    assert (session["agents"], answer["hidden_agents"], session["is_sidechain"]) == (3, 3, False)
    assert "+3 agents" in run("list").stdout
    answer = listed("--agents")
    assert (answer["total"], answer["hidden_agents"]) == (4, 0)
    agents = [row for row in answer["conversations"] if row["is_sidechain"]]
    [of_an_agent] = [row for row in agents if row["parent"] != session["conversation_id"]]
    assert of_an_agent["parent"] in {row["conversation_id"] for row in agents}
    assert all(len(row["short_id"]) <= MAX_LENGTH for row in agents)


def test_an_agent_whose_conversation_is_gone_is_hidden_too(keep, listed, run):
    session = {"is_sidechain": True, "parent_conversation_id": "gone"}
    keep(conversation("gone:agent-1", "x", title="orphan", session=session), conversation("two", "x", title="other"))
    assert titles(listed()) == ["other"]
    assert run("list").stderr.splitlines() == ["", "1 agent: --agents shows it"]
    assert titles(listed("--agents")) == ["orphan", "other"]


def test_list_and_stats_count_the_same_conversations(archive, listed, run):
    keep_folder(FIXTURES / "claude_code" / "subagents_folder", archive)
    keep_folder(FIXTURES / "claude_code" / "flat_agent_files", archive)
    answer = listed()
    assert answer["hidden_agents"]
    stats = json.loads(run("stats", "--json").stdout)
    assert f'"conversations": {answer["total"] + answer["hidden_agents"]}' in json.dumps(stats)


def test_agents_that_alone_are_like_that_are_told(archive, run):
    keep_folder(FIXTURES / "claude_code" / "flat_agent_files", archive)
    agents = json.loads(run("list", "--agents", "--json", "--tool", "Read").stdout)["conversations"]
    assert agents
    assert all(row["is_sidechain"] for row in agents)
    result = run("list", "--tool", "Read")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "--agents" in result.stderr


def test_filters_add_up(archive, listed):
    keep_folder(FIXTURES / "claude_code" / "parallel_tool_calls", archive)
    keep_folder(FIXTURES / "chatgpt" / "branches", archive)
    assert {row["platform"] for row in listed()["conversations"]} == {"claude_code", "chatgpt"}
    assert {row["platform"] for row in listed("--platform", "chatgpt")["conversations"]} == {"chatgpt"}
    assert {row["platform"] for row in listed("--has", "tool")["conversations"]} == {"claude_code"}
    assert {row["platform"] for row in listed("--has", "branch")["conversations"]} == {"chatgpt"}
    assert listed("--has", "branch", "--has", "tool")["total"] == 0
    assert listed("--until", "2000-01-01")["total"] == 0


def test_a_title_is_never_empty(keep, listed, run):
    keep(
        conversation("one", "", "  \n", "What   floats?\nSay it."),
        conversation("two", title="  "),
        conversation("three", "x", title="Its title"),
    )
    rows = {row["conversation_id"]: row for row in listed()["conversations"]}
    assert (rows["one"]["title"], rows["one"]["has_title"]) == ("What   floats?\nSay it.", False)
    assert (rows["two"]["title"], rows["two"]["has_title"]) == (UNTITLED, False)
    assert (rows["three"]["title"], rows["three"]["has_title"]) == ("Its title", True)
    assert "What floats? Say it." in run("list").stdout


def test_the_words_of_a_person_are_rather_its_title_than_those_of_the_program(keep, listed):
    document = conversation("one", "Caveat: ignore this.", "How deep is the pond?")
    document["messages"][0]["metadata"]["author_kind"] = "harness"
    keep(document)
    assert titles(listed()) == ["How deep is the pond?"]


def test_an_answer_that_is_kept_twice_is_counted_once(keep, listed):
    def answered(number, output):
        return {
            **build.message(
                message_id=f"m{number}",
                role="assistant",
                timestamp="2026-01-01T10:00:00.000Z",
                content=[build.text(f"part {number}")],
                metadata={"author_kind": "model", "api_message_id": "msg_1"},
            ),
            "tokens": {"input_tokens": 5, "output_tokens": output, "cache_read_input_tokens": 7},
        }

    keep(conversation("one") | {"messages": [answered(1, 20), answered(2, 30)]})
    [row] = listed()["conversations"]
    assert row["tokens"] == {"input": 5, "output": 30, "cache_read": 7, "cache_write": 0, "thinking": 0}
    assert row["messages"] == 2


def test_the_largest_come_first(keep, listed):
    def of_size(name, output):
        answer = build.message(
            message_id="m",
            role="assistant",
            timestamp="2026-01-01T10:00:00.000Z",
            content=[build.text("x")],
            metadata={"author_kind": "model"},
        )
        return conversation(name, title=name) | {"messages": [answer | {"tokens": {"output_tokens": output}}]}

    keep(of_size("small", 5), of_size("large", 500), of_size("middling", 50))
    assert titles(listed("--sort", "tokens")) == ["large", "middling", "small"]


def test_a_platform_that_cannot_be_read_here_keeps_its_own_name(keep, run):
    keep(conversation("one", "x", platform={"name": "notebook_of_mine"}))
    assert "  notebook_of_mine  " in run("list").stdout


def test_absurd_numbers_of_tokens_do_not_stop_a_list(keep, run):
    messages = [
        {
            **build.message(
                message_id=f"m{number}",
                role="assistant",
                timestamp="2026-01-01T10:00:00.000Z",
                content=[build.text("x")],
                metadata={"author_kind": "model"},
            ),
            "tokens": {"input_tokens": 2**63 - 1},
        }
        for number in range(3)
    ]
    keep(conversation("one") | {"messages": messages})
    assert run("list", "--sort", "tokens").exit_code == 0


def test_every_short_id_is_understood(archive, listed):
    keep_fixtures(archive)
    rows = listed("--agents", "--all")["conversations"]
    assert len(rows) > 100
    with closing(open_to_read(archive)) as connection:
        for row in rows:
            found = find_conversation(connection, row["short_id"])
            assert (found.platform, found.conversation_id) == (row["platform"], row["conversation_id"])
            assert len(row["short_id"]) <= MAX_LENGTH


@pytest.fixture
def terminal(monkeypatch):
    def of_width(width):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")

    return of_width


def test_it_fits_a_terminal(archive, run, terminal):
    keep_fixtures(archive)
    for width in (60, 80, 120, 200):
        terminal(width)
        lines = run("list", "--all", "--agents").stdout.splitlines()
        assert max(map(cell_len, lines)) == width
        head = lines[0]
        assert width - head.index("title") >= 30
        assert ("platform" in head, "project" in head) == (width >= 80, width >= 120)


def test_columns_are_dropped_before_titles_are_cut(keep, run, terminal):
    title = "A title of thirty characters ."
    answer = {
        **build.message(
            message_id="m",
            role="assistant",
            timestamp="2026-01-01T10:00:00.000Z",
            content=[build.text("x")],
            metadata={"author_kind": "model"},
        ),
        "tokens": {"input_tokens": 5},
    }
    document = conversation("one", title=title) | {"messages": [answer]}
    keep({**document, "context": {"workspace": {"path": "/home/ada/boat"}}})
    heads = []
    for width in (80, 79, 71, 62, 52):
        terminal(width)
        head, line = run("list").stdout.splitlines()
        assert line.endswith(title)
        heads.append(head.split())
    assert heads == [
        ["id", "when", "platform", "msgs", "tokens", "project", "title"],
        ["id", "when", "platform", "msgs", "project", "title"],
        ["id", "when", "platform", "msgs", "title"],
        ["id", "when", "msgs", "title"],
        ["id", "when", "title"],
    ]


def test_guessed_times_are_marked_and_come_last(keep, listed, run):
    guessed = conversation("one", "x", title="guessed", created_at="2026-03-01T00:00:00.000Z")
    guessed["messages"][0]["metadata"]["timestamp_inferred"] = True
    keep(guessed, conversation("two", "x", title="dated"))
    assert titles(listed()) == ["dated", "guessed"]
    assert [row["is_undated"] for row in listed()["conversations"]] == [False, True]
    assert [line.split()[1] for line in run("list").stdout.splitlines()[1:]] == ["2026-01-01", "~2026-03-01"]
    assert titles(listed("--limit", 1)) == ["dated"]


def test_stars_are_numbers_where_they_cannot_be_encoded(monkeypatch):
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "latin-1"))
    assert stars(4) == "4 of 5"


def test_ratings_are_stars(archive, keep, run):
    keep(conversation("one", "x", title="rated"), conversation("two", "x", title="rated twice"))
    with closing(open_to_write(archive)) as connection:
        rows = [("chatgpt", "one", 5, None, "2026"), ("chatgpt", "two", 3.5, None, "2026")]
        connection.executemany("insert into rating values (?, ?, ?, ?, ?)", rows)
    printed = run("list").stdout
    assert "rated  ★★★★★\n" in printed
    assert "rated twice  ★★★½\n" in printed


@pytest.fixture
def projects(tmp_path, keep):
    """Conversations about the folders of a repository, of one beside it and of one whose name begins alike."""
    for folder in ("boat/.git", "boat/hull/deep", "boathouse", "loose/inner"):
        (tmp_path / folder).mkdir(parents=True)
    keep(
        *(
            conversation(name, "x", title=name) | {"context": {"workspace": {"path": str(tmp_path / name)}}}
            for name in ("boat", "boat/hull", "boathouse", "loose", "loose/inner")
        ),
        conversation("nowhere", "x", title="nowhere"),
    )
    return tmp_path


@pytest.mark.parametrize(
    ("folder", "found"),
    [
        ("boat", ["boat", "boat/hull"]),
        ("boat/hull/deep", ["boat", "boat/hull"]),
        ("boathouse", ["boathouse"]),
        ("loose", ["loose", "loose/inner"]),
        ("loose/inner", ["loose/inner"]),
    ],
)
def test_the_conversations_of_this_folder(projects, listed, monkeypatch, folder, found):
    monkeypatch.chdir(projects / folder)
    monkeypatch.delenv("PWD", raising=False)
    assert sorted(titles(listed("--here"))) == found


def test_the_conversations_of_this_folder_through_a_link_and_with_other_filters(projects, listed, run, monkeypatch):
    (projects / "link").symlink_to(projects / "boat", target_is_directory=True)
    monkeypatch.chdir(projects / "link")
    monkeypatch.setenv("PWD", str(projects / "link"))
    assert sorted(titles(listed("--here"))) == ["boat", "boat/hull"]
    assert titles(listed("--here", "--project", "hull")) == ["boat/hull"]
    monkeypatch.chdir(projects)
    (projects / "boat").rename(projects / "sunk")
    monkeypatch.chdir(projects / "sunk")
    monkeypatch.setenv("PWD", str(projects / "sunk"))
    result = run("list", "--here")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No conversation of " in result.stderr
    assert "or a folder below it" in result.stderr


def test_what_could_steer_a_terminal_is_shown(keep, run):
    document = conversation("i\x1b]0;d", "x", title="\x1b[31mred\u202e\x9b2J", tags=["\x07t"])
    document["context"] = {"workspace": {"path": "/home/\x1bada/\x1b[0mboat"}}
    keep(document)
    for words in ((), ("--json",)):
        printed = run("list", *words).stdout
        assert not {"\x1b", "\u202e", "\x9b", "\x07"} & set(printed)
    assert "\\x1b[31mred\\u202e\\x9b2J" in run("list").stdout


def test_tags_ratings_and_sources(archive, listed, run):
    keep_folder(FIXTURES / "claude_code" / "plain_session", archive)
    [row] = listed()["conversations"]
    with closing(open_to_write(archive)) as connection:
        identity = (row["platform"], row["conversation_id"])
        now = "2026-01-01T00:00:00.000Z"
        connection.execute("insert into tag values (?, ?, 'bees', 0, ?)", (*identity, now))
        connection.execute("insert into rating values (?, ?, 4.5, 'fine', ?)", (*identity, now))
    [row] = listed("--tag", "bees")["conversations"]
    assert row["tags"] == ["bees"]
    assert row["rating"] == {"score": 4.5, "feedback": "fine", "rated_at": now}
    assert row["sources"][0].endswith(".jsonl")
    assert "#bees" in run("list").stdout


def test_an_empty_archive_says_how_to_fill_it(keep, run):
    keep()
    result = run("list")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "palaver scan" in result.stderr


def test_an_unknown_order_is_refused(keep, run):
    keep(conversation("one", "x"))
    result = run("list", "--sort", "beauty")
    assert result.exit_code == 2
    assert "updated, created, messages, tokens" in result.stderr
    assert orjson.loads(run("list", "--json").stdout)["total"] == 1


def test_what_is_left_of_a_deleted_session_is_archived_and_no_agent(run, case):
    assert run("import", case("history_purged")).exit_code == 0
    _, whole, *recovered = run("list").stdout.splitlines()
    assert not whole.endswith("  archived")
    assert len(recovered) == 3
    assert all(line.endswith("  archived") for line in recovered)
