"""`python -m palaver`."""

# Worker processes import this module under another name: they need none of the command line.
if __name__ == "__main__":
    from palaver.cli import main

    main()
