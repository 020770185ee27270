"""What a file is that no importer reads: a picture, a web page, a database, plain text.

Only the beginning of the file is looked at, decompressed.
"""

import re
from dataclasses import dataclass

from palaver.sources.source import Source
from palaver.sources.sqlite_tables import is_sqlite

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "PNG picture"),
    (0, b"\xff\xd8\xff", "JPEG picture"),
    (0, b"GIF8", "GIF picture"),
    (8, b"WEBP", "WebP picture"),
    (0, b"II*\0", "TIFF picture"),
    (0, b"MM\0*", "TIFF picture"),
    (4, b"ftyphei", "HEIC picture"),
    (4, b"ftypavif", "AVIF picture"),
    (4, b"ftypM4A", "M4A sound file"),
    (4, b"ftyp", "MP4 video"),
    (0, b"\x1a\x45\xdf\xa3", "Matroska or WebM video"),
    (8, b"WAVE", "WAV sound file"),
    (8, b"AVI ", "AVI video"),
    (0, b"ID3", "MP3 sound file"),
    (0, b"OggS", "Ogg sound file"),
    (0, b"fLaC", "FLAC sound file"),
    (0, b"%PDF-", "PDF document"),
    (0, b"{\\rtf", "RTF document"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office document"),
    (0, b"bplist00", "macOS property list"),
    (0, b"\0\0\0\1Bud1", "macOS folder view (.DS_Store)"),
    (0, b"PAR1", "Parquet file"),
    (0, b"\x7fELF", "program"),
    (0, b"MZ\x90", "Windows program"),
    (0, b"\xcf\xfa\xed\xfe", "macOS program"),
)
_ARCHIVES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (0, b"Rar!\x1a\x07", "RAR archive"),
    (257, b"ustar", "tar archive"),
    (0, b"\xfd7zXZ\0", "xz archive"),
    (0, b"BZh", "bzip2 archive"),
)
_WEB_PAGE = re.compile(rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b", re.DOTALL | re.IGNORECASE)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_LONGEST_CHARACTER = 4
_MOST_OTHERS = 0.2
"""The share of characters beyond ASCII in a text in an older encoding, such as Latin-1."""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file; `is_foreign` means that no importer can make anything of it."""

    name: str
    is_foreign: bool = False
    is_archive: bool = False


EMPTY = FileKind("empty file", is_foreign=True)
EMPTY_COMPRESSED = FileKind("compressed file that is empty or damaged", is_foreign=True)
SQLITE = FileKind("SQLite database")
WEB_PAGE = FileKind("web page")
JSON = FileKind("JSON file")
JSON_LINES = FileKind("JSON Lines file")
UTF16 = FileKind("text file in UTF-16")
XML = FileKind("XML file")
TEXT = FileKind("text file")
BINARY = FileKind("binary file")


def file_kind(source: Source) -> FileKind:
    """Return what a file is, by its first bytes."""
    head = source.head()
    if not head:
        return EMPTY if source.size_bytes == 0 else EMPTY_COMPRESSED
    for offset, magic, name in _MAGIC:
        if head.startswith(magic, offset):
            return FileKind(name, is_foreign=True)
    for offset, magic, name in _ARCHIVES:
        if head.startswith(magic, offset):
            return FileKind(name, is_foreign=True, is_archive=True)
    if is_sqlite(head):
        return SQLITE
    if head.startswith(_UTF16_MARKS):
        return UTF16
    return _text_kind(source, head.removeprefix(_BOM))


def _text_kind(source: Source, text: bytes) -> FileKind:
    if not _is_text(text):
        return BINARY
    if _WEB_PAGE.match(text):
        return WEB_PAGE
    if text.startswith(b"<?xml"):
        return XML
    if source.parsed_head() is None:
        return TEXT
    lines = [line for line in text.split(b"\n", 2)[:2] if line.strip()]
    return JSON_LINES if len(lines) > 1 and all(line.startswith(b"{") for line in lines) else JSON


def _is_text(head: bytes) -> bool:
    """Return whether bytes are text: UTF-8, of which the last character may be cut off, or mostly ASCII."""
    if _CONTROL.search(head):
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        is_cut = len(head) - error.start < _LONGEST_CHARACTER
        return is_cut or len(_NOT_ASCII.findall(head)) < len(head) * _MOST_OTHERS
    return True
