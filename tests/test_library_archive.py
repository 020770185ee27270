"""`palaver.Archive`: the same answers as the commands, as Python objects; errors that say what to do."""

import json
import sqlite3
import threading
from contextlib import closing
from dataclasses import asdict
from datetime import date, datetime
from decimal import Decimal

import pytest
from typer.testing import CliRunner

import palaver
from archiving import keep_documents, keep_fixtures
from palaver.api import results
from palaver.cli import app
from palaver.errors import ArchiveError, OptionError, PalaverError, UnrecognizedError

WHEN = "2026-01-01T10:00:00.000Z"


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    """The folder of an archive of all fixtures."""
    folder = tmp_path_factory.mktemp("everything")
    keep_fixtures(folder / "archive.db")
    return folder


@pytest.fixture
def archive(everything, monkeypatch):
    monkeypatch.setenv("PALAVER_HOME", str(everything))
    with palaver.Archive() as opened:
        yield opened


def answer(*words):
    """The answer of a command with --json."""
    result = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    assert result.exit_code in {0, 1}, result.stderr
    return json.loads(result.stdout)


def option_words(filters):
    """Keyword arguments as options of the command line."""
    words = []
    for name, value in filters.items():
        for one in value if isinstance(value, list) else [value]:
            words += [f"--{name}"] if one is True else [f"--{name}", str(one)]
    return words


FILTERS = [
    {},
    {"platform": "Claude Code"},
    {"platform": ["chatgpt", "CONTINUE"]},
    {"project": "lighthouse"},
    {"model": ["opus", "gpt-5"]},
    {"since": "2026-02", "until": "2026-03-10"},
    {"since": "30y", "until": "today"},
    {"has": ["tool", "error"]},
    {"has": "agent", "platform": "claude_code"},
    {"tool": "bash"},
]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_a_list_is_that_of_the_command(archive, filters):
    found = archive.list(**filters)
    expected = answer("list", "--all", *option_words(filters))
    assert len(found) == found.total == expected["total"] == len(list(found))
    assert found.hidden_agents == expected["hidden_agents"]
    assert found
    for row, listed in zip(found, expected["conversations"], strict=True):
        shown = asdict(row)
        assert shown == {name: listed[name] for name in shown}


@pytest.mark.parametrize("sort", ["updated", "created", "messages", "tokens"])
def test_a_list_has_the_order_and_the_limit_of_the_command(archive, sort):
    found = archive.list(sort=sort, limit=7, agents=True)
    expected = answer("list", "--sort", sort, "--limit", "7", "--agents")
    assert [row.conversation_id for row in found] == [row["conversation_id"] for row in expected["conversations"]]
    assert (len(found), found.total, found.hidden_agents) == (7, expected["total"], 0)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
@pytest.mark.parametrize("query", ["the", "tide OR bees", '"high water"', "git commit -m"])
def test_a_search_finds_what_the_command_finds(archive, query, filters):
    found = archive.search(query, limit=9, **filters)
    expected = answer("search", "--limit", "9", *option_words(filters), query)
    assert [(hit.platform, hit.conversation_id, hit.message_id, hit.number) for hit in found] == [
        (hit["conversation"]["platform"], hit["conversation"]["conversation_id"], hit["message_id"], hit["number"])
        for hit in expected["messages"]
    ]
    assert [hit.text for hit in found] == [(hit["passage"] or {"text": ""})["text"] for hit in expected["messages"]]
    assert [hit.copies for hit in found] == [hit["others_total"] for hit in expected["messages"]]
    assert (found.total, found.is_total_exact) == (expected["total"], expected["is_total_exact"])
    assert [hit.short_id for hit in found.titles] == [hit["conversation"]["short_id"] for hit in expected["titles"]]
    assert found.titles_total == expected["titles_total"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"role": "user", "by": "human"}, ["--role", "user", "--by", "human"]),
        ({"where": ["tool", "thinking"]}, ["--in", "tool", "--in", "thinking"]),
        ({"where": "title"}, ["--in", "title"]),
        ({"errors": True}, ["--errors"]),
        ({"ranked": True, "limit": 5, "offset": 5}, ["--ranked", "--limit", "5", "--offset", "5"]),
    ],
)
def test_a_search_has_the_options_of_the_command(archive, arguments, words):
    found = archive.search("the", **arguments)
    expected = answer("search", *words, "the")
    assert [hit.message_id for hit in found] == [hit["message_id"] for hit in expected["messages"]]
    assert [hit.score for hit in found] == [hit["score"] for hit in expected["messages"]]
    assert [hit.title for hit in found.titles] == [hit["conversation"]["title"] for hit in expected["titles"]]
    assert found or found.titles


def test_matches_are_marked_in_the_text(archive):
    hit = archive.search("tide")[0]
    assert {hit.text[start:end].lower() for start, end in hit.ranges} == {"tide"}


def figures(counts):
    """Counts as the command prints them."""
    return {
        "conversations": counts.conversations,
        "tool_calls": counts.tool_calls,
        "answers": counts.answers,
        "tokens": asdict(counts.tokens),
        "cost": None if counts.cost is None else {"amount": float(counts.cost), "currency": "USD"},
        "stated_costs": [
            {"amount": float(amount), "currency": currency} for currency, amount in counts.stated_costs.items()
        ],
    }


def check_figures(counts, expected):
    assert figures(counts) == {name: expected[name] for name in figures(counts)}
    assert counts.messages == sum(expected["messages"].values())
    assert counts.human_messages == expected["messages"]["human"]


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_statistics_are_those_of_the_command(archive, filters):
    found = archive.stats("day", **filters)
    expected = answer("stats", "--by", "day", *option_words(filters))
    check_figures(found.total, expected["totals"])
    for group, counted in zip(found, expected["groups"], strict=True):
        assert group.group == counted["group"]
        check_figures(group, counted)


@pytest.mark.parametrize("utc", [False, True])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "by", ["day", "week", "month", "block", "project", "model", "platform", "tool", "conversation"]
)
def test_statistics_have_the_groups_of_the_command(archive, by, exact, utc):
    found = archive.stats(by, exact=exact, utc=utc)
    expected = answer("stats", "--by", by, *(["--utc"] if utc else []), *(["--exact"] if exact else []))
    assert [(group.group, group.title) for group in found] == [
        (group["group"], group["title"]) for group in expected["groups"]
    ]
    for group, counted in zip(found, expected["groups"], strict=True):
        check_figures(group, counted)
    assert found.partial_answers == expected["partial_answers"]
    assert found.copied_answers == expected["left_out"]["answers"]
    assert found.unpriced == {model["model"]: model["answers"] for model in expected["unpriced"]}
    assert isinstance(found.total.cost, Decimal)


def test_every_conversation_is_shown_whole(archive):
    rows = archive.list(agents=True)
    for row in rows[::9]:
        document = answer("show", row.short_id)["conversation"]
        shown = archive.show(row.short_id)
        assert json.loads(shown.model_dump_json(exclude_unset=True)) == document
        assert len(shown.messages) == row.messages
    assert archive.show("latest").conversation_id == answer("show", "latest")["conversation"]["conversation_id"]
    first = rows[0]
    assert archive.show(f"{first.platform}:{first.conversation_id}") == archive.show(first.conversation_id)


@pytest.mark.parametrize("filters", FILTERS, ids=str)
def test_an_export_is_that_of_the_command(archive, filters, tmp_path):
    written = archive.export(tmp_path / "out.jsonl", **filters)
    expected = answer("export", "--output", str(tmp_path / "cli.jsonl"), *option_words(filters))
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "cli.jsonl").read_bytes()
    figures = {"conversations": written.conversations, "messages": written.messages, "bytes": written.size_bytes}
    assert figures == {name: expected[name] for name in figures}
    assert (written.format, written.files) == ("jsonl", (tmp_path / "out.jsonl",))


def test_an_export_goes_into_files_and_folders(archive, tmp_path):
    session = next(row for row in archive.list(has="agent"))
    alone = archive.export(tmp_path / "one.md", session.short_id, agents=False)
    assert (alone.format, alone.conversations) == ("markdown", 1)
    assert archive.export(tmp_path / "one.csv.gz", session.short_id).conversations > 1
    notes = archive.export(tmp_path / "notes", format="markdown", platform="chatgpt")
    assert notes.conversations + 1 == len(notes.files)
    assert notes.files[-1] == tmp_path / "notes" / "index.md"
    folder = archive.export(f"{tmp_path}/folder/", session.short_id)
    assert {file.suffix for file in folder.files} == {".jsonl"}
    nothing = archive.export(tmp_path / "none.jsonl", until="1999")
    assert (nothing.conversations, nothing.files) == (0, ())
    assert not (tmp_path / "none.jsonl").exists()
    costs = (archive.export(tmp_path / f"{flag}.csv", with_cost=flag).size_bytes for flag in (False, True))
    assert next(costs) < next(costs)


@pytest.mark.parametrize(
    ("name", "options"), [("x.html", {}), ("x.md", {"format": "csv"}), ("x", {"format": "pdf"}), ("", {})]
)
def test_an_export_that_cannot_be_meant_is_refused(archive, tmp_path, name, options):
    with pytest.raises(OptionError):
        archive.export(f"{tmp_path}/{name}" if name else "", **options)
    assert not list(tmp_path.iterdir())


def test_an_export_does_not_replace_the_archive(archive, everything):
    with pytest.raises(OptionError, match="is the archive itself"):
        archive.export(everything / "archive.db", format="jsonl")


def test_times_of_python_are_filters(archive):
    expected = [row.conversation_id for row in archive.list(since="2026-02-01", until="2026-03-10T12:00")]
    found = archive.list(since=date(2026, 2, 1), until=datetime(2026, 3, 10, 12))  # noqa: DTZ001 - the local time
    assert [row.conversation_id for row in found] == expected
    assert len(archive.search("the", until=datetime(1999, 1, 1).astimezone())) == 0


def test_rows_are_read_page_by_page(archive, monkeypatch):
    read = []
    rows = archive._rows
    monkeypatch.setattr(archive, "_rows", lambda keys: read.append(len(keys)) or rows(keys))
    monkeypatch.setattr(results, "_PAGE", 10)
    found = archive.list(limit=25)
    assert (len(found), read) == (25, [])
    assert found[0] == found[-25]
    assert read == [10]
    assert found[23:] == [found[23], found[24]]
    assert read == [10, 5]
    assert list(found) == found[:]
    assert read == [10, 5, 10, 10]
    with pytest.raises(IndexError):
        _ = found[25]
    assert found[3] in found


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda archive: archive.list(platform="chatgtp"), UnrecognizedError, "did you mean chatgpt"),
        (lambda archive: archive.list(project="nowhere"), OptionError, "no project matches 'nowhere'"),
        (lambda archive: archive.stats(model="nobody"), OptionError, "no model matches"),
        (lambda archive: archive.search("x", tool="nothing"), OptionError, "no tool matches"),
        (lambda archive: archive.list(since="soon"), OptionError, "'soon' is not a date"),
        (lambda archive: archive.list(has="wings"), OptionError, "choose from tool, error"),
        (lambda archive: archive.list(sort="size"), OptionError, "choose from updated, created"),
        (lambda archive: archive.list(limit=0), OptionError, "limit is 0"),
        (lambda archive: archive.stats("hour"), OptionError, "choose from day, week"),
        (lambda archive: archive.search("x", role="king"), OptionError, "choose from user, assistant"),
        (lambda archive: archive.search("x", by="king"), OptionError, "choose from human, model"),
        (lambda archive: archive.search("x", where="moon"), OptionError, "choose from text, thinking"),
        (lambda archive: archive.search("x", where="title", role="user"), OptionError, "titles belong"),
        (lambda archive: archive.search("x", offset=-1), OptionError, "offset is -1"),
        (lambda archive: archive.show("nobody"), ArchiveError, "'nobody'"),
    ],
)
def test_a_value_that_matches_nothing_is_an_error_of_one_line(archive, call, kind, message):
    with pytest.raises(kind, match=message) as raised:
        call(archive)
    assert isinstance(raised.value, PalaverError)
    assert "\n" not in str(raised.value)


def test_no_archive_names_the_command_that_makes_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path))
    with pytest.raises(ArchiveError, match="palaver scan"):
        palaver.Archive()
    with pytest.raises(ArchiveError, match="there is no archive at"):
        palaver.Archive(tmp_path / "elsewhere")
    assert not list(tmp_path.iterdir())


def test_files_of_other_programs_are_refused_and_not_changed(tmp_path):
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("create table mine (x)")
    (tmp_path / "empty.db").touch()
    (tmp_path / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for path in before:
        with pytest.raises(ArchiveError, match="is not an archive of palaver"):
            palaver.Archive(path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_archive_is_opened_by_its_file_or_its_folder(everything):
    for path in (everything, str(everything), everything / "archive.db"):
        with palaver.Archive(path) as opened:
            assert opened.path == everything / "archive.db"
            assert opened.list()


def test_nothing_is_written(archive, everything):
    before = (everything / "archive.db").read_bytes()
    assert archive.list()
    assert archive.search("the")
    assert archive.stats()
    assert (everything / "archive.db").read_bytes() == before
    with archive._connection() as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("delete from conversation")


def test_imports_go_on_while_an_archive_is_open(tmp_path):
    document = {"schema_version": "1.0.0", "platform": {"name": "chatgpt"}, "created_at": WHEN, "messages": []}
    path = keep_documents(tmp_path / "archive.db", {**document, "conversation_id": "one"})
    with palaver.Archive(path) as opened:
        assert len(opened.list()) == 1
        keep_documents(path, {**document, "conversation_id": "two"})
        assert len(opened.list()) == 2
        listed = opened.list()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma foreign_keys = on")
            connection.execute("delete from conversation where conversation_id = 'two'")
            connection.commit()
        with pytest.raises(ArchiveError, match="list again"):
            list(listed)


def test_an_archive_that_was_closed_says_so(everything):
    opened = palaver.Archive(everything)
    rows = opened.list()
    opened.close()
    opened.close()
    for call in (opened.list, lambda: opened.show("latest"), lambda: rows[0]):
        with pytest.raises(ArchiveError, match="is closed"):
            call()
    assert repr(opened) == f"<palaver.Archive {str(opened.path)!r}, closed>"


def test_another_thread_opens_an_archive_of_its_own(archive, everything):
    said = []

    def read():
        try:
            archive.list()
        except ArchiveError as error:
            said.append(str(error))
        said.append(repr(archive))
        with palaver.Archive(everything) as own:
            said.append(len(own.list()))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert said == [
        "this archive was opened by another thread: open one in each thread",
        f"<palaver.Archive {str(archive.path)!r}>",
        len(archive.list()),
    ]


def test_results_show_what_they_are(archive):
    rows = archive.list(platform="chatgpt")
    shown = [archive, rows, rows[0], archive.search("the"), archive.search("the")[0], archive.search("tide").titles[0]]
    shown += [archive.stats(), archive.stats().total, archive.stats()[0], archive.show("latest")]
    for value in shown:
        assert repr(value).startswith(f"<{'palaver.' if value is archive else ''}{type(value).__name__}")
        assert len(repr(value)) < 200
    assert f"{len(archive.list(agents=True)):,} conversations" in repr(archive)
    assert repr(rows) == f"<ConversationList: {len(rows)} conversations>"
    assert repr(archive.list(limit=1)).startswith("<ConversationList: 1 of ")
