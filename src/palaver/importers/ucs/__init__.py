"""Palaver's own documents: conversations imported before, from another machine or a backup.

Where the files are
    Wherever the user saved them: the JSON Lines of `palaver import --output` and `palaver export --format jsonl`, one
    document per line; documents that another program wrote in the same schema, as a single document, several
    pretty-printed ones (`jq .`) or a JSON array; and usage records from `palaver import --usage`, in the same forms.
    Quarantine files (`….quarantine.jsonl`) are recognized and hold no conversations. Also the archive of another
    machine, `archive.db`, with the log beside it (`archive.db-wal`) if it is in use; read-only folders, ZIPs and
    compressed files work too. The archive is only read; one with older tables is upgraded in a copy.

What comes out
    The documents in file order, each upgraded to the current schema version. They keep the platform they name; `ucs`
    is not a platform. Totals in `metrics` that equal the sums over the messages (for a last fragment: over all
    fragments in the file) are computed again; others are kept as stated. Whatever breaks the schema inside a document
    is moved to `invalid_fields` or kept as an `opaque` block, as in every importer.
    In a whole conversation, a parent link to a missing message is kept as `missing_parent`, and cycles of links are
    cut. Links of a fragment may lead to other fragments and are left alone. A message without an id, or with the id of
    another message in the document, gets a new one; the stated id is kept as `metadata.message_id`.
    Conversations of an archive enter another archive with all older versions of messages, so that merging two archives
    gives the same result in either direction; elsewhere (`--output`) only the current version is written. Tags and
    ratings given by hand become those of the document. Usage records, also those of an archive, are unchanged.

What is left out
    `computed_cost` of messages, added by `--with-cost` and computed from prices on demand. Of an
    archive: its list of sources, and deletions, which do not apply here. Records are quarantined if they are not
    conversations, lack an id, a platform or a time, or have an unknown schema version.
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
    revision = 1
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
