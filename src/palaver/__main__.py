"""The command `palaver`, also as `python -m palaver`.

Worker processes import this module too, whichever way it was started: they need none of the command line.
"""


def main() -> None:
    from palaver.cli import main as command

    command()


if __name__ == "__main__":
    main()
