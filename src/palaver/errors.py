"""All errors that palaver raises on purpose.

    PalaverError
    ├── SourceError          a source is unreadable: missing, forbidden, vanished, or not a ZIP after all
    ├── UnrecognizedError    no importer reads this path, or two importers claim it
    ├── OptionError          an option does not exist, or a setting has an invalid value
    ├── ArchiveError         the archive cannot be opened, is damaged, or lacks the requested item
    ├── VersionError         a document has a schema version that this palaver does not know
    └── ContentError         message content has a shape that cannot be normalised

Damage and oddities inside a source are findings on the run, not exceptions.
"""


class PalaverError(Exception):
    """An expected failure; its message says what happened, where, and what to do next, on one line."""


class SourceError(PalaverError):
    pass


class UnrecognizedError(PalaverError):
    pass


class OptionError(PalaverError):
    pass


class ArchiveError(PalaverError):
    pass


class VersionError(PalaverError):
    pass


class ContentError(PalaverError, ValueError):
    pass
