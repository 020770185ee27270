"""The archive: one SQLite file that stores each conversation once, however many copies its sources hold.

Every table is documented in `docs/archive.md`; any SQLite tool can read the file.
"""
