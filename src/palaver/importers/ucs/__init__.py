"""Palaver's own documents: conversations that were imported once, and come back from another machine or a backup.

Where the files are
    Where the user saved them: the JSON Lines that `palaver import --output` and `palaver export --format jsonl` write,
    one document a line; also documents that another program wrote in the same schema, one document alone or several
    pretty-printed ones (`jq .`), and a JSON array of documents; usage records, which `palaver import --usage` writes,
    in the same forms. The file that an import sets refused records aside in
    (`….quarantine.jsonl`) is known, and holds no conversation. Or the archive of another machine, `archive.db`: with
    the log beside it (`archive.db-wal`) if it is in use, from a folder that may not be written to, in a ZIP or
    compressed as well. It is only read; one with older tables is brought up to date in a copy.

What comes out
    The documents, one by one, in the order of the file, each brought to the current version of the schema. They keep
    the platform that they name; `ucs` is none. Totals in `metrics` that are what the messages add up to (those of the
    last fragment: of all fragments in the file) are computed anew; others stand as stated. What breaks the schema
    inside a document is moved to `invalid_fields` or kept as an `opaque` block, as everywhere.
    In a whole conversation, a parent link that leads to no message is kept as `missing_parent`, and a circle of links
    is cut. A fragment's links may lead to other fragments, and stay what they are. A message without an id, or with
    that of another one in the same document, gets one of its own; what it stated is kept as `metadata.message_id`.
    The conversations of an archive go into another one with all that is known of them, older versions of messages
    included, so that two archives that are merged, either into the other, hold the same afterwards; elsewhere
    (`--output`) they go as they are now. Tags and ratings that were given by hand arrive as the document's own.
    Usage records, those of an archive as well, come out as they are.

What is left out
    `computed_cost` of messages, which `palaver export --with-cost` adds: it is made of prices again whenever it is
    asked for. Of an archive, what it knows of its sources, and what was forgotten there: that is not forgotten here.
    What is no conversation, lacks an id, a platform or a time of its own, or is of a version that this palaver
    does not know, is set aside.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.importers._shared.contract import Match, no_options

if TYPE_CHECKING:
    from palaver.sources.run import Run
    from palaver.sources.source import Source


class OwnDocuments:
    title = "palaver's own documents"
    platform = "ucs"
    record = "document"
    options = no_options

    def locations(self) -> list[Path]:
        return []

    def recognizes(self, source: "Source") -> Match:
        from palaver.importers.ucs.documents import recognize

        return recognize(source)

    def read(self, source: "Source", run: "Run") -> Iterator[dict[str, Any]]:
        from palaver.importers.ucs.documents import read

        yield from read(source, run)


IMPORTER = OwnDocuments()
