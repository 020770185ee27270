"""Real shells for tests: one line at a time is completed in each, and what the shell offers is recorded.

bash and zsh run on a pseudo-terminal and get the line and the Tab key as from a keyboard; fish is asked with its own
`complete -C`. `make shells` installs them where it can.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

_DEADLINE_SECONDS = 60
_BASH = r"""
source "$SCRIPT"
recorded() { _palaver "$@"; printf '%s\n' "${COMPREPLY[@]}" > "$OFFERED"; }
complete -o default -F recorded palaver
finish() { printf '%s' "$READLINE_LINE" > "$DONE.part"; mv "$DONE.part" "$DONE"; READLINE_LINE=; }
bind 'set completion-query-items 0' 'set page-completions off' 'set bell-style none'
bind -x '"\C-x\C-g": finish'
"""
_ZSH = r"""
autoload -Uz compinit && compinit -u -d "$DONE.dump"
source "$SCRIPT"
unsetopt auto_menu list_beep beep
compadd() {
    local -a hits described
    local array=${@[$((${@[(i)-d]} + 1))]}
    if (( ${@[(I)-[OAD]]} == 0 )); then
        builtin compadd -A hits "$@"
        [[ -n $array ]] && described=("${(@P)array}")
        print -rl -- $hits $described >> "$OFFERED"
    fi
    builtin compadd "$@"
}
finish() { print -rn -- "$BUFFER" > "$DONE.part"; mv "$DONE.part" "$DONE"; BUFFER= }
zle -N finish
bindkey -e
bindkey '^I' complete-word
bindkey '^X^G' finish
"""


class Completed(NamedTuple):
    offered: list[str]
    """Values, and in zsh and fish also what describes them."""
    line: str
    """The line after the Tab key; empty in fish."""


def find_shell(name: str) -> str:
    """Return the path of a shell; on Linux, where tests can install it, a missing one is a failure."""
    if path := shutil.which(name):
        return path
    if sys.platform == "linux":
        pytest.fail(f"{name} is not installed: run `make shells`, or install it")
    pytest.skip(f"{name} is not installed on this machine")


class Terminal:
    """bash or zsh on a pseudo-terminal, with the completion script loaded."""

    def __init__(self, name: str, script: Path, folder: Path, environment: dict[str, str]) -> None:
        import pty

        self.name = name
        self._offered, self._done = folder / "offered", folder / "done"
        setup = folder / "setup"
        setup.write_text({"bash": _BASH, "zsh": _ZSH}[name], "utf-8")
        variables = {"SCRIPT": str(script), "OFFERED": str(self._offered), "DONE": str(self._done), "PS1": "$ "}
        options = ["--norc", "--noprofile", "-i"] if name == "bash" else ["-f", "-i"]
        self._keyboard, terminal = pty.openpty()
        self._process = subprocess.Popen(
            [find_shell(name), *options],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            cwd=folder,
            env={**environment, **variables, "TERM": "xterm", "INPUTRC": os.devnull, "HISTFILE": os.devnull},
            start_new_session=True,
        )
        os.close(terminal)
        os.set_blocking(self._keyboard, False)
        self._screen = b""
        self._press(f"source '{setup}'; echo loa''ded\r")
        self._wait_for(lambda: b"loaded\r\n" in self._screen)

    def complete(self, line: str) -> Completed:
        for file in (self._offered, self._done):
            file.unlink(missing_ok=True)
        self._press(f"{line}\t\x18\x07")
        self._wait_for(self._done.exists)
        offered = self._offered.read_text("utf-8").splitlines() if self._offered.exists() else []
        return Completed([value for value in offered if value], self._done.read_text("utf-8"))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._keyboard)

    def _press(self, keys: str) -> None:
        os.write(self._keyboard, keys.encode())

    def _wait_for(self, condition) -> None:
        deadline = time.monotonic() + _DEADLINE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, self._screen.decode(errors="replace")
            try:
                self._screen += os.read(self._keyboard, 1 << 16)
            except BlockingIOError:
                time.sleep(0.005)


class Fish:
    name = "fish"

    def __init__(self, script: Path, folder: Path, environment: dict[str, str]) -> None:
        self._command = [find_shell("fish"), "--no-config", "-c", f"source '{script}'; complete -C $argv[1]"]
        self._settings = {"cwd": folder, "env": environment}

    def complete(self, line: str) -> Completed:
        done = subprocess.run([*self._command, line], capture_output=True, text=True, check=True, **self._settings)
        assert done.stderr == ""
        return Completed([part for line in done.stdout.splitlines() for part in line.split("\t") if part], "")

    def close(self) -> None:
        pass
