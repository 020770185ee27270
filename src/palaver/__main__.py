"""The command `palaver`, also as `python -m palaver`.

Worker processes import this module too, whichever way it was started: they need none of the command line. Nor do the
entries that run at every prompt or every Tab: the command line takes several times as long to import.
"""

import sys


def main() -> None:
    match sys.argv[1:]:
        case ["statusline"]:
            from palaver.workflows.statusline import read_input, statusline, write_line

            write_line(statusline(read_input()))
        case ["complete-values", *arguments]:
            from palaver.archive.completion_values import write_values

            write_values(arguments)
        case _:
            from palaver.cli import main as command

            command()


if __name__ == "__main__":
    main()
