import json
from datetime import UTC, datetime

import pytest

from palaver.cli._terminal import words as _words


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (0, "line", "0 lines"),
        (1, "line", "1 line"),
        (1234, "line", "1,234 lines"),
        (2, "node with a message", "2 nodes with a message"),
        (2, "entry", "2 entries"),
        (2, "day", "2 days"),
        (2, "branch", "2 branches"),
    ],
)
def test_counted(number, noun, words):
    assert _words.counted(number, noun) == words


@pytest.mark.parametrize(
    ("size_bytes", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (99_400, "99.4 kB"),
        (99_600, "100 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (210_000_000, "210 MB"),
        (1_250_000_000, "1.2 GB"),
        (5_000_000_000_000, "5.0 TB"),
    ],
)
def test_size(size_bytes, words):
    assert _words.size(size_bytes) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.004, "0.00 s"),
        (9.99, "9.99 s"),
        (9.996, "10.0 s"),
        (59.96, "1 min 00 s"),
        (125, "2 min 05 s"),
        (3720, "1 h 02 min"),
    ],
)
def test_duration(seconds, words):
    assert _words.duration(seconds) == words


def test_the_home_folder_is_a_tilde(home):
    assert _words.display_path(home / ".claude") == "~/.claude"
    assert _words.display_path(home) == "~"
    assert _words.display_path(f"{home}less/x") == f"{home}less/x"
    assert _words.display_path("relative/x") == "relative/x"


def test_the_home_folder_is_a_tilde_in_sentences(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("USERPROFILE", "/home/ada")
    sentence = "/home/ada/a.db is kept (no /home/ada/b.toml), and /backup/home/ada/c is not\x1b"
    assert _words.display_paths(sentence) == "~/a.db is kept (no ~/b.toml), and /backup/home/ada/c is not\\x1b"


def test_what_could_steer_a_terminal_is_made_visible():
    assert _words.escaped_line("a\x1b[31m\nb\x9bc") == "a\\x1b[31m\\x0ab\\x9bc"
    assert _words.escaped_line("\u202ename\u2066") == "\\u202ename\\u2066"
    assert _words.escaped_text("a\r\n\tb\rc\x1b[0m\u202e") == "a\n\tb\\x0dc\\x1b[0m\\u202e"
    assert _words.escaped_text("né \U0001f469\u200d\U0001f4bb") == "né \U0001f469\u200d\U0001f4bb"


def test_json_means_the_same_without_what_could_steer_a_terminal():
    told = {"a\x9b": "\x1b\x7f\u202eé\\"}
    text = _words.escaped_json(json.dumps(told, ensure_ascii=False))
    assert json.loads(text) == told
    assert not {"\x9b", "\x7f", "\u202e"} & set(text)


def test_the_gist_of_a_text_is_one_line():
    assert _words.gist("  some\n\twords \x1b[0m") == "some words \\x1b[0m"
    assert _words.gist("abcdef", 4) == "abc…"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (9949, "9.9k"),
        (9950, "10k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (5_640_000_000, "5.6G"),
        (9_000_000_000_000_000, "9,000T"),
    ],
)
def test_amount(number, words):
    assert _words.short_number(number) == words


@pytest.mark.parametrize(
    ("timestamp", "words"),
    [
        ("2026-03-10T12:00:00.000Z", "now"),
        ("2026-03-10T11:01:00.000Z", "59 min ago"),
        ("2026-03-09T13:00:00.000Z", "23 h ago"),
        ("2026-03-09T12:00:00.000Z", "1 day ago"),
        ("2026-03-03T12:00:01.000Z", "6 days ago"),
        ("2026-01-02T12:00:00.000Z", "2026-01-02"),
        ("2026-03-12T12:00:00.000Z", "2026-03-12"),
        ("0000-01-01T00:00:00.000Z", "0000-01-01"),
    ],
)
def test_ago(timestamp, words):
    assert _words.time_ago(timestamp, datetime(2026, 3, 10, 12, tzinfo=UTC)) == words
