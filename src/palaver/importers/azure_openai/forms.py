"""The forms in which a log is kept, told by the first bytes of a file."""

import re
from io import StringIO
from typing import Any, Literal

from palaver.importers.azure_openai.cells import first_cells, is_header
from palaver.sources.damage import BOM, SPACE
from palaver.sources.parse import parses
from palaver.sources.source import Source

Form = Literal["lines", "records", "tables", "array", "cells", "messages", "avro"]

AVRO = b"Obj\x01"
_BLANK = BOM + SPACE + b"\0"
_MESSAGE = re.compile(
    rb"^(?:request|response):[^\s{}\"]{1,100}\r?\n(?:[A-Z]{3,10} \S+ HTTP/|HTTP/[0-9.]+ )", re.MULTILINE
)
_OBJECT = re.compile(rb'^[ \t]*[\[{]\s*["{]', re.MULTILINE)


def form_of(source: Source) -> Form:
    """How to read a file that somebody says is a log, whatever it looks like."""
    head = source.head()
    if head.startswith(AVRO):
        return "avro"
    begun = head.lstrip(_BLANK)
    if begun.startswith(b"["):
        first, _, rest = begun.partition(b"\n")
        return "lines" if rest.strip(_BLANK) and parses(first) else "array"
    if begun.startswith(b"{"):
        return _form_of_object(source.glimpse())
    if begun.startswith(b'"') and parses(begun.partition(b"\n")[0].rstrip()):
        return "lines"
    if _MESSAGE.search(head):
        return "messages"
    text = head.removeprefix(BOM).decode("utf-8", "replace")
    if is_header(first_cells(StringIO(text, newline=""))):
        return "cells"
    return "lines" if _OBJECT.search(head) or not begun or b"," not in begun else "cells"


def _form_of_object(value: Any) -> Form:
    match value:
        case {"records": list()}:
            return "records"
        case {"tables": list()}:
            return "tables"
        case _:
            return "lines"
