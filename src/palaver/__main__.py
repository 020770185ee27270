"""The command `palaver`, also as `python -m palaver`.

Worker processes import this module too, whichever way it was started: they need none of the command line.
"""

import sys

_QUICK_ENTRIES = {"complete-values": "palaver.archive.completion_values"}
"""Modules whose `main(arguments)` answers at once, before anything of the command line is imported."""


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1] in _QUICK_ENTRIES:
        from importlib import import_module

        sys.exit(import_module(_QUICK_ENTRIES[sys.argv[1]]).main(sys.argv[2:]))
    from palaver.cli import main as command

    command()


if __name__ == "__main__":
    main()
