"""The answer of `palaver scan`: that of an import of everything which was found."""

from palaver.model.answers.import_ import ImportAnswer


class ScanAnswer(ImportAnswer):
    """What a scan found on this machine and imported, source by source, and in total."""


ANSWER = ScanAnswer
