"""Every error palaver raises on purpose.

    PalaverError
    ├── SourceError          a source cannot be read: it is missing, forbidden, vanished, not a ZIP after all
    ├── UnrecognizedError    no importer reads this path, or two of them claim it
    ├── OptionError          there is no such option, or a setting cannot have this value
    ├── ArchiveError         the archive cannot be opened, is damaged, or holds no such thing
    ├── VersionError         a document states a schema version that this palaver does not know
    └── ContentError         message content of a shape that cannot be normalised

What happens inside a source (damage, oddities) is a finding on the run, not an exception.
"""


class PalaverError(Exception):
    """A foreseen failure: its message says what, where and what next, on one line."""


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
