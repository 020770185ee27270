"""The command `palaver`, also as `python -m palaver`.

Worker processes import this module too, whichever way it was started: they need none of the command line.
"""

import sys


def main() -> None:
    if sys.argv[1:] == ["statusline"]:
        # It runs at every prompt: without the command line, which takes several times as long to import.
        from palaver.workflows.statusline import read_input, statusline, write_line

        write_line(statusline(read_input()))
        return
    from palaver.cli import main as command

    command()


if __name__ == "__main__":
    main()
