"""`palaver completion`: the script that completes palaver's command line in a shell."""

import os
from typing import Annotated

import typer

from palaver.cli._terminal import output
from palaver.errors import OptionError


def completion(shell: Annotated[str | None, typer.Argument(metavar="SHELL", hidden=True)] = None) -> None:
    """Print a script that completes commands, options and ids in your shell.

    SHELL is bash, zsh or fish; without it, the one that $SHELL names. The script completes platforms, ids, projects,
    models, tools and tags from the archive. Print it again after an update of palaver.

    bash: put `source <(palaver completion bash)` into ~/.bashrc, or write the script to
    ~/.local/share/bash-completion/completions/palaver.

    zsh: write the script to a file _palaver in a folder of $fpath, before `compinit` in ~/.zshrc; or put
    `source <(palaver completion zsh)` after `compinit`.

    fish: write the script to ~/.config/fish/completions/palaver.fish.

    Exit codes: 0 it was printed, 2 there is no completion for this shell.
    """
    from palaver.cli._completion import SHELLS, script

    known = ", ".join(SHELLS)
    if shell is None:
        name = os.environ.get("SHELL", "").replace("\\", "/").rpartition("/")[2]
        if name not in SHELLS:
            raise OptionError(f"$SHELL does not name a shell with completion: name it, one of {known}")
    else:
        name = shell.casefold()
        if name not in SHELLS:
            raise OptionError(f"no completion for {shell!r}: there is one for {known}")
    output.answer_text(script(name).removesuffix("\n"))
