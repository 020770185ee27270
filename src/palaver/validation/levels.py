"""How strict a judgement is."""

from enum import StrEnum

from palaver.model.finding import Severity


class Level(StrEnum):
    STRICT = "strict"
    """Errors and warnings fail; no key that the schema does not know at the top of a document."""
    STANDARD = "standard"
    """Errors fail."""
    LENIENT = "lenient"
    """The schema only, after everything that can safely be converted was converted."""

    def fails(self, severity: Severity) -> bool:
        return severity == "error" or (self is Level.STRICT and severity == "warning")
