"""The command `palaver`, also as `python -m palaver`.

Worker processes import this module too, whichever way it was started: they need none of the command line.
"""

import sys


def main() -> None:
    match sys.argv[1:]:
        case ["statusline"]:
            # It runs at every prompt: without the command line, which takes several times as long to import.
            from palaver.workflows.statusline import read_input, statusline, write_line

            write_line(statusline(read_input()))
        case ["complete-values", *arguments]:
            # A shell waits for it at every Tab.
            from palaver.archive.completion_values import main as complete_values

            sys.exit(complete_values(arguments))
        case _:
            from palaver.cli import main as command

            command()


if __name__ == "__main__":
    main()
