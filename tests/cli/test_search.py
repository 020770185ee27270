"""`palaver search` as people use it."""

import json
from contextlib import closing

import pytest

from palaver.archive.connection import open_to_write
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.model import build

WHEN = "2026-01-31T12:00:00.000Z"


@pytest.fixture
def keep(kept):
    """Put messages into the archive, as one conversation each time."""

    def keep(*texts, title="A title", name="0123456789abcdef"):
        messages = [
            build.message(
                message_id=f"{name}-{number}",
                role="user",
                timestamp=WHEN,
                content=[build.text(text)] if isinstance(text, str) else text,
                metadata={"author_kind": "human"},
            )
            for number, text in enumerate(texts)
        ]
        document = build.conversation(
            conversation_id=name,
            title=title,
            platform={"name": "toy"},
            context={"workspace": {"path": "/home/ada/garden"}},
            created_at=WHEN,
            messages=messages,
        )
        with closing(open_to_write(kept / "archive.db")) as connection:
            Ingest(connection).add([(conversation_rows(document), None)])

    return keep


def test_hits_stand_below_their_conversation_one_a_line(run, keep):
    keep("an apple\n\n  and a pear", "another apple")
    result = run("search", "apple")
    header, *lines = result.stdout.splitlines()
    assert header == "01234567  A title  toy · garden · 2026-01-31"
    assert [line.split(maxsplit=3) for line in lines] == [
        ["01234567:2", lines[0].split()[1], "human", "another apple"],
        ["01234567:1", lines[0].split()[1], "human", "an apple ⏎ and a pear"],
    ]
    assert "2 of 2 messages, newest first" in result.stderr
    assert result.exit_code == 0


@pytest.mark.parametrize(
    "words",
    [("apple", "-pear"), ("apple -pear",), ("--limit", "5", "-pear", "apple"), ("apple", "-hear", "-pear", "-nice")],
)
def test_a_word_is_taken_away_with_a_dash(run, keep, words):
    keep("an apple and a pear", "an apple")
    result = run("search", *words)
    assert result.exit_code == 0
    assert "pear" not in result.stdout


def test_short_options_are_still_options(run, keep):
    keep("an apple", "one apple")
    assert "1 of 2 messages" in run("search", "apple", "-n", "1").stderr
    assert run("search", "apple", "-p", "chatgpt").exit_code == 1
    assert "Exit codes" in run("search", "-h").stdout
    assert run("search", "apple", "--nope").exit_code == 2
    assert run("search").exit_code == 2


def test_after_two_dashes_everything_is_a_word(run, keep):
    keep("an apple", "apple limit")
    result = run("search", "apple", "--", "--limit")
    assert "apple limit" in result.stdout
    assert "1 of 1 message," in result.stderr


@pytest.mark.parametrize("words", [("apple",), ("apple", "--json"), ("apple", "--in", "title")])
@pytest.mark.parametrize("is_coloured", [True, False])
def test_control_characters_are_shown_not_obeyed(run, keep, monkeypatch, words, is_coloured):
    if is_coloured:
        monkeypatch.setenv("FORCE_COLOR", "1")
    steering = "apple \x1b]0;owned\x07 \x9b2J \u202e \x08 end"
    keep(steering, title=steering)
    result = run("search", *words, color=True)
    assert result.exit_code == 0
    shown = result.stdout
    for sign in ("\x1b]", "\x07", "\x9b", "\u202e", "\x08"):
        assert sign not in shown, repr(sign)
    if "--json" in words:
        assert json.loads(shown)["messages"][0]["passage"]["text"] == steering
    else:
        assert "\\x1b]0;owned\\x07" in shown


def test_words_are_marked_in_a_terminal(run, keep, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    keep("two apples", title="Of apples")
    result = run("search", "APPLE*", color=True)
    assert result.stdout.count("\x1b[1;31mapples\x1b[0m") == 2


def test_it_says_where_the_words_are(run, keep):
    call = [build.tool_use(id="1", name="Bash\x1b[5m", input={"command": "pick apple"})]
    keep(call, [build.thinking("what of apple")], [build.tool_result(tool_use_id="9", content="apple pie")])
    shown = run("search", "apple").stdout
    for where in ("in Bash\\x1b[5m call: ", "in thinking: ", "in tool result: "):
        assert where in shown


def test_a_call_names_its_tool_once(run, keep):
    call = [build.tool_use(id="1", name="Bash", input={"command": "bash apple.sh"})]
    keep(call, [build.tool_use(id="2", name="Apple", input={})])
    result = run("search", "apple")
    assert "in Bash call: bash apple.sh\n" in result.stdout
    assert "in Apple call: \n" in result.stdout or "in Apple call:\n" in result.stdout


def test_a_hit_leads_to_its_message(run, keep):
    keep("one", "two", "an apple", "four", title="Of fruit")
    keep("an apple too", name="fedcba9876543210", title="Of fruit too")
    for line in run("search", "apple").stdout.splitlines():
        if "apple" in line:
            place = line.split()[0]
            assert "apple" in run("show", place, "-C", "0").stdout.partition("\n\n")[2]
    numbers = [found["number"] for found in json.loads(run("search", "apple", "--json").stdout)["messages"]]
    assert sorted(numbers) == [1, 3]


def test_the_messages_around_a_hit(run, keep):
    keep("one", "two\nlines", "an apple", "four", "five", "six", "another apple")
    result = run("search", "apple", "-C", "2")
    places = [line.split()[0] for line in result.stdout.splitlines()[1:]]
    assert places == [f"01234567:{n}" for n in (5, 6, 7)] + ["--"] + [f"01234567:{n}" for n in range(1, 6)]
    assert "two lines\n" in result.stdout
    found = json.loads(run("search", "apple", "-C", "1", "--json").stdout)["messages"]
    assert [[near["number"] for near in hit["before"] + hit["after"]] for hit in found] == [[6], [2, 4]]
    assert found[1]["before"][0]["text"] == "two lines"


def test_results_fit_narrow_terminals(run, keep, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    keep("an apple " * 30, "more of " * 40, title="About apples and all that can be made of them in a kitchen")
    for width in (60, 80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run("search", "apple", "-C", "1").stdout.splitlines()
        assert max(map(len, lines)) <= width
        assert ("toy · garden" in lines[0]) == (width >= 80)


def test_what_stands_in_several_messages_is_shown_once(run, keep):
    keep("an apple", name="first")
    keep("an apple", "an apple", name="second")
    result = run("search", "apple")
    assert "(also in 2 others)" in result.stdout
    answer = json.loads(run("search", "apple", "--json").stdout)
    [found] = answer["messages"]
    assert found["conversation"]["conversation_id"] == "first"
    assert [other["message_id"] for other in found["others"]] == ["second-0", "second-1"]


def test_ranges_are_those_of_characters(run, keep):
    keep("👍 ein Apfel, zwei Äpfel")
    [found] = json.loads(run("search", "apfel", "--json").stdout)["messages"]
    text, ranges = found["passage"]["text"], found["passage"]["ranges"]
    assert [text[place["start"] : place["end"]] for place in ranges] == ["Apfel", "Äpfel"]


def test_nothing_found_is_exit_code_1_with_a_hint(run, keep):
    keep("an apple")
    result = run("search", "pear")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Nothing found. Try fewer words" in result.stderr
    assert "filter" not in result.stderr
    assert "or fewer filters" in run("search", "apple", "--since", "2027-01-01").stderr


def test_titles_alone_are_found_as_well(run, keep):
    keep("an apple", title="About pears")
    result = run("search", "pears")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["01234567  About pears  toy · garden · 2026-01-31"]
    assert "1 of 1 title" in result.stderr
    assert run("search", "pears", "--in", "title", "--by", "human").exit_code == 2
    assert run("search", "pears", "--by", "human").exit_code == 1


def test_operators_and_how_they_were_read(run, keep):
    keep("quire folios", "quire alone", "folios alone")
    found = {
        typed: (json.loads(run("search", typed, "--json").stdout)["total"], run("search", typed).stderr.splitlines()[0])
        for typed in ("quire AND folios", "quire NOT folios", "quire OR folios", "-quire folios")
    }
    assert found == {
        "quire AND folios": (1, "1 of 1 message, newest first"),
        "quire NOT folios": (1, "Searched for quire, without folios"),
        "quire OR folios": (3, "Searched for quire or folios"),
        "-quire folios": (1, "Searched for folios, without quire"),
    }


def test_a_pasted_command_line_is_searched_as_typed_where_it_occurs(run, keep):
    keep("then git commit -m 'x'", "git commit without it", "make mice")
    result = run("search", "git", "commit", "-m")
    assert "commit -m" in result.stdout
    assert "without it" not in result.stdout
    assert result.stderr.splitlines()[0] == (
        'Searched for "git commit -m" as typed (to exclude a word, write NOT word)'
    )
    result = run("search", "git commit -z")
    assert result.stderr.splitlines()[0] == "Searched for git and commit, without z"
    assert "2 of 2 messages" in result.stderr
