import pytest

from palaver.cli import _words


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (0, "line", "0 lines"),
        (1, "line", "1 line"),
        (1234, "line", "1,234 lines"),
        (2, "node with a message", "2 nodes with a message"),
        (2, "entry", "2 entries"),
        (2, "day", "2 days"),
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
    assert _words.place(home / ".claude") == "~/.claude"
    assert _words.place(home) == "~"
    assert _words.place(f"{home}less/x") == f"{home}less/x"
    assert _words.place("relative/x") == "relative/x"


def test_what_could_steer_a_terminal_is_made_visible():
    assert _words.plain("a\x1b[31m\nb\x9bc") == "a\\x1b[31m\\x0ab\\x9bc"
