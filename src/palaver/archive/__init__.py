"""The archive: one SQLite file in which a conversation exists once, whatever the number of its copies.

Every table is documented in `docs/archive.md`; any SQLite tool can read the file.
"""
