"""`palaver completion` in real shells, and the values that it asks the archive for."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from palaver.archive import completion_values
from palaver.cli import app
from palaver.cli._completion import SHELLS, script
from palaver.cli._completion.command_line import command_line
from palaver.cli._reference import commands
from shells import Fish, Terminal

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
SESSION = "5e1bd177-1e25-4f05-8820-4b8e55392b42"
PARENT = "75cd0b95-f638-428d-9684-0dadeba1f47f"
CHAT = "00000901-aaaa-4000-8000-000000000901"


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A folder with some files and an archive, and an environment in which `palaver` is a command."""
    folder = tmp_path_factory.mktemp("completion")
    for name in ("home", "bin", "notes", "old notes"):
        (folder / name).mkdir()
    (folder / "notes" / "chat.jsonl").touch()
    own = ("PALAVER", "XDG", "BASH", "ZSH", "ZDOTDIR", "PYTEST", "SHELL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    environment |= {
        "HOME": str(folder / "home"),
        "PALAVER_HOME": str(folder / "data"),
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
    }
    command = folder / "bin" / "palaver"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m palaver "$@"\n', "utf-8")
    command.chmod(0o755)
    sources = ("claude_code/plain_session", "claude_code/subagents_folder", "chatgpt/branches")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALAVER_HOME", environment["PALAVER_HOME"])
        for words in (
            ["import", *(str(FIXTURES / source / "source") for source in sources)],
            ["tag", SESSION, "winter", "winter garden", "work"],
        ):
            assert CliRunner().invoke(app, words).exit_code == 0
    return folder, environment


@pytest.fixture(scope="module", params=SHELLS)
def shell(request, filled):
    if os.name != "posix":
        pytest.skip("these shells run on POSIX systems")
    folder, environment = filled
    own = folder / request.param
    shutil.copytree(folder, own, ignore=shutil.ignore_patterns(*SHELLS, "data", "bin"))
    file = own / "home" / "completion"
    file.write_text(script(request.param), "utf-8")
    opened = (
        Fish(file, own, environment) if request.param == "fish" else Terminal(request.param, file, own, environment)
    )
    yield opened
    opened.close()


OFFERED = {
    "palaver sc": {"scan", "schema"},
    "palaver quarantine ": {"list", "show", "retry"},
    "palaver search --by ": {"human", "model", "tool", "harness"},
    "palaver search --in t": {"text", "thinking", "tool", "title"},
    "palaver search --role ": {"user", "assistant", "system", "tool", "function"},
    "palaver list --sort ": {"updated", "created", "messages", "tokens"},
    "palaver list --has ta": {"tag"},
    "palaver list --limit 5 --has ra": {"rating"},
    "palaver list --json --so": {"--sort"},
    "palaver list --json --sort messages --has ra": {"rating"},
    "palaver list --platform=chatgpt --has ra": {"rating"},
    "palaver list --has=ra": {"rating"},
    "palaver export -p chatgpt -f mar": {"markdown"},
    "palaver list --platform ": {"chatgpt", "claude_code"},
    "palaver list -p cl": {"claude_code"},
    "palaver list --platform=ch": {"chatgpt"},
    "palaver list --project ": {"lighthouse", "garden"},
    "palaver list --project gar": {"garden"},
    "palaver list --project /home/ada/l": {"/home/ada/lighthouse"},
    "palaver stats --model claude-opus-4": {"claude-opus-4-6"},
    "palaver list --tool Re": {"Read"},
    "palaver list --tag wo": {"work"},
    "palaver show 5e": {SESSION},
    "palaver show --tokens --limit 3 5e": {SESSION},
    "palaver show -- 5e": {SESSION},
    f"palaver export {CHAT} 5e": {SESSION},
    "palaver rate lat": {"latest"},
    f"palaver rate {SESSION} ": {"0", "1", "2", "3", "4", "5"},
    f"palaver tag {SESSION} wo": {"work"},
    "palaver show claude_code:5e": {f"claude_code:{SESSION}"},
    "palaver schema conv": {"conversation"},
    "palaver completion f": {"fish"},
    "palaver list --since yes": {"yesterday"},
    "palaver identify not": {"notes/"},
    "palaver import ol": {"old notes/"},
    "palaver import chatgpt notes/": {"notes/chat.jsonl"},
    "palaver import --output not": {"notes/"},
    "palaver export --output=not": {"notes/"},
}
"""What is offered for a line, among other things that only describe it."""


@pytest.mark.parametrize("line", OFFERED)
def test_values_are_offered(shell, line):
    assert OFFERED[line] <= whole_words(shell, line)


def whole_words(shell, line):
    """What is offered in place of the last word: bash replaces what follows `:` or `=`, fish also what is before."""
    before, colon, _ = line.rpartition(" ")[2].rpartition(":")
    offered = shell.complete(line).offered
    if isinstance(shell, Fish) and "=" in line.rpartition(" ")[2]:
        offered = [value.partition("=")[2] for value in offered]
    if shell.name == "zsh":
        before, colon = max((before, colon), line.rpartition(" ")[2].rpartition("/")[:2], key=lambda cut: len(cut[0]))
    wholes = {value if value.startswith(before) else before + colon + value for value in offered}
    wholes = {whole.replace("\\", "") for whole in wholes}
    return wholes | {f"{whole}/" for whole in wholes if "/" not in whole}


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("palaver show --limit ", SESSION),
        ("palaver list --", SESSION),
        ("palaver list -- --lim", "--limit"),
        ("palaver show -- --to", "--tokens"),
        ("palaver list --limit ", "notes/"),
        ("palaver show ", f"{PARENT}:agent-adac6318fe711a494"),
        ("palaver search ", "notes/"),
    ],
)
def test_what_does_not_belong_there_is_not_offered(shell, line, word):
    assert word not in whole_words(shell, line)


AGENT = f"{PARENT}:agent-adac6318fe711a494"


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("palaver show 5e1", f"palaver show {SESSION} "),
        (f"palaver show {PARENT}:agent-ad", f"palaver show {AGENT} "),
        ("palaver show agent-ad", "palaver show agent-adac6318fe711a494 "),
        ("palaver show claude_code:5", f"palaver show claude_code:{SESSION} "),
        ("palaver list --tag=wo", "palaver list --tag=work "),
        ("palaver list --project=/home/ada/g", "palaver list --project=/home/ada/garden "),
        ("palaver list --tag winter\\ g", "palaver list --tag winter\\ garden "),
        ("palaver list --tag 'winter g", "palaver list --tag 'winter garden' "),
        ('palaver list --tag "winter g', 'palaver list --tag "winter garden" '),
        ("palaver identify ol", "palaver identify old\\ notes/"),
        ("palaver import --output=ol", "palaver import --output=old\\ notes/"),
        ("palaver quar", "palaver quarantine "),
        ("palaver quarantine re", "palaver quarantine retry "),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh"], indirect=True)
def test_the_line_is_completed(shell, line, completed):
    assert shell.complete(line).line == completed


def test_titles_describe_ids(shell):
    offered = " ".join(shell.complete("palaver show 5").offered)
    assert ("Which beds in planting.md" in offered) == (shell.name != "bash")


def test_fixed_words_start_no_process(shell, filled):
    command = filled[0] / "bin" / "palaver"
    text = command.read_text("utf-8")
    command.write_text(f"#!/bin/sh\ntouch '{filled[0] / 'started'}'\n", "utf-8")
    for line in ("palaver ", "palaver list --", "palaver list --sort ", "palaver import cha", "palaver search --in te"):
        assert shell.complete(line).offered
    assert not (filled[0] / "started").exists()
    shell.complete("palaver show ")
    assert (filled[0] / "started").exists(), "otherwise this test could not fail"
    (filled[0] / "started").unlink()
    command.write_text(text, "utf-8")


@pytest.fixture
def archive(filled, monkeypatch, tmp_path):
    """A copy of the archive, for tests that damage it."""
    shutil.copytree(filled[0] / "data", tmp_path / "copy")
    monkeypatch.setenv("PALAVER_HOME", str(tmp_path / "copy"))
    return tmp_path / "copy" / "archive.db"


def offered_values(kind, prefix=""):
    return [value for value, _ in completion_values.values(kind, prefix)]


def test_the_newest_ids_come_first_and_no_more_than_the_limit(archive):
    with sqlite3.connect(archive) as connection:
        connection.executemany(
            "insert into conversation (platform, conversation_id, title, created_at, is_sidechain, header) "
            "values ('toy', ?, 'A chat', ?, 0, '{}')",
            [(f"b{number:04}", f"2031-01-01T00:00:{number / 10:06.3f}Z") for number in range(500)],
        )
    connection.close()
    for prefix in ("", "b"):
        found = [value for value in offered_values("id", prefix) if value != "latest"]
        assert found[:2] == ["b0499", "b0498"]
        assert len(found) in {completion_values.MAX_VALUES - 1, completion_values.MAX_VALUES}
    assert offered_values("id", "b01")[0] == "b0199"


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(
    ("kind", "prefix", "wanted"),
    [
        ("platform", "", ["chatgpt", "claude_code"]),
        ("platform", "CLAUDE", ["claude_code"]),
        ("model", "opus", ["claude-opus-5", "claude-opus-4-6"]),
        ("project", "~", []),
        ("tag", "win", ["winter", "winter garden"]),
        ("tool", "r", ["Read"]),
        ("id", "nothing", []),
        ("weather", "", None),
    ],
)
def test_values_of_the_archive(kind, prefix, wanted, capfd):
    completion_values.write_values([kind, prefix])
    printed = capfd.readouterr().out.splitlines()
    assert [line.partition("\t")[0] for line in printed] == (wanted or [])


@pytest.mark.usefixtures("archive")
def test_folders_of_the_user_are_completed_after_a_tilde(monkeypatch):
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, "/home/ada")
    assert offered_values("project", "~/gar") == ["~/garden"]


def test_titles_stay_on_one_line_and_names_that_could_steer_a_terminal_are_left_out(archive, capfd):
    with sqlite3.connect(archive) as connection:
        connection.execute("update conversation set title = ? where conversation_id = ?", ("a\nb\x1b[31m\tc", SESSION))
        connection.execute("update conversation set conversation_id = 'x\x1b[31m' where conversation_id = ?", (CHAT,))
    connection.close()
    completion_values.write_values(["id", ""])
    printed = capfd.readouterr().out
    assert f"{SESSION}\ta b [31m c\n" in printed
    assert "\x1b" not in printed


def no_archive(path):
    path.unlink()


def damaged(path):
    path.write_bytes(path.read_bytes()[:1000] + bytes(30_000))


def not_an_archive(path):
    path.write_bytes(b"not a database at all" * 400)


def empty(path):
    path.write_bytes(b"")


def a_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("harm", [no_archive, damaged, not_an_archive, empty, a_folder])
@pytest.mark.parametrize("kind", completion_values.KINDS)
def test_without_a_readable_archive_there_are_no_values_and_no_noise(archive, harm, kind):
    for other in archive.parent.glob("archive.db-*"):
        other.unlink()
    harm(archive)
    before = sorted(archive.parent.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "palaver", "complete-values", kind, ""],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert sorted(archive.parent.iterdir()) == before, "nothing is made"


def test_a_locked_archive_is_not_waited_for(archive):
    with sqlite3.connect(archive, isolation_level=None) as connection:
        connection.execute("pragma locking_mode = exclusive")
        connection.execute("begin exclusive")
        assert offered_values("tag") == []
        connection.execute("rollback")
    connection.close()
    assert offered_values("tag") == ["winter", "winter garden", "work"]


def test_values_are_looked_up_without_the_command_line():
    program = (
        "import sys; sys.argv = ['palaver', 'complete-values', 'id', '']\n"
        "from palaver.__main__ import main\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PALAVER_HOME": os.devnull}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    imported = set(done.stderr.split())
    assert "sqlite3" in imported
    assert not imported & {"typer", "click", "pydantic", "rich", "orjson", "palaver.cli", "palaver.importers"}


def test_every_command_and_option_is_in_every_script():
    texts = {shell: script(shell) for shell in SHELLS}
    for command in commands():
        for shell, text in texts.items():
            assert command.name.split()[-1] in text, (shell, command.name)
            for option in command.options:
                for name in (word for part in option.words.split(", ") for word in part.split()[0].split(" / ")):
                    written = f"-l {name[2:]}" if shell == "fish" and name.startswith("--") else name
                    written = f"-s {name[1:]}" if shell == "fish" and not name.startswith("--") else written
                    assert written in text, (shell, command.name, name)


def choices():
    for node in command_line().walk():
        for option in node.options:
            if option.values and option.values.choices:
                yield pytest.param(node.path, option, id=f"{'-'.join(node.path)}{option.names[0]}")


REQUIRED = {
    "search": ["bean"],
    "convert": [str(FIXTURES / "traces" / "request.json")],
    "show": ["latest"],
    "cook": ["--dry-run"],
    "tag": ["--dry-run", "some"],
    "forget": ["--dry-run"],
    "export": ["--dry-run"],
    "scan": ["--dry-run"],
}
OTHERS = {"--from": ["--to", "exchange"], "--to": ["--from", "openai-chat"]}
OTHERS["--dialect"] = [*OTHERS["--to"], "--to", "openai-responses"]


@pytest.mark.usefixtures("archive")
@pytest.mark.parametrize(("path", "option"), list(choices()))
def test_every_fixed_choice_is_accepted_and_others_are_not(run, path, option):
    """What the command line accepts, it may also complete; a value that it refuses must not be offered."""
    name = option.names[0]
    words = [*path, *REQUIRED.get(path[0], []), *OTHERS.get(name, [])]
    if (*path, name) == ("cook", "--format"):
        words += [str(FIXTURES / "traces" / "bakery.jsonl")]
    together = [[value for choice in option.values.choices for value in (name, choice)]]
    for chosen in together if "rule" in name else ([name, choice] for choice in option.values.choices):
        more = ["--usage"] if path == ("stats",) and "subject" in chosen else []
        told = run(*words, *chosen, *more)
        # Not every payload can be read as every format; what matters is that the format is known.
        assert told.exit_code in {0, 1} or (name == "--from" and "--from" not in told.stderr), (chosen, told.stderr)
    assert run(*words, name, "no-such-choice").exit_code == 2 or name == "--severity"


@pytest.mark.parametrize("shell_name", SHELLS)
def test_the_shell_is_found_in_the_environment(run, monkeypatch, shell_name):
    monkeypatch.setenv("SHELL", f"/usr/local/bin/{shell_name}")
    assert run("completion").stdout == script(shell_name) == run("completion", shell_name.upper()).stdout


@pytest.mark.parametrize("words", [[], ["tcsh"]])
def test_another_shell_has_no_completion(run, monkeypatch, words):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    told = run("completion", *words)
    assert (told.exit_code, told.stdout) == (2, "")
    assert "bash, zsh, fish" in told.stderr


def test_the_help_says_where_the_script_belongs(run):
    shown = run("completion", "--help").stdout
    for place in ("~/.bashrc", "bash-completion/completions/palaver", "$fpath", "~/.config/fish/completions"):
        assert place in shown
