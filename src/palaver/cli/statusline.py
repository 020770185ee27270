"""`palaver statusline`: one line for the status bar of Claude Code, a shell or tmux.

`palaver.__main__` runs the command without this module when it is called without options, which is much faster.
"""

from palaver.workflows.statusline import read_input, write_line
from palaver.workflows.statusline import statusline as status_text


def statusline() -> None:
    """Print one line about the current session, for a status bar.

    It shows the model, the tokens (without cache reads) and the cost of the session, the cost of today, and how long
    the current five-hour block of Claude Code lasts. Claude Code passes the session on standard input: put
    "statusLine": {"type": "command", "command": "palaver statusline"} into its settings.json. Without input, it shows
    the newest session of the archive, of the current folder if there is one. Lines that Claude Code has written since
    the last scan are read from the transcript; other programs' usage is as of the last scan.

    Exit codes: 0 always, so that no prompt breaks.
    """
    write_line(status_text(read_input()))
