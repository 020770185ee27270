"""Where an export goes and in which format, as its output's name and the format say together."""

import os
from contextlib import closing, contextmanager
from dataclasses import dataclass
from gzip import GzipFile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver.errors import OptionError
from palaver.exporters import endings, exporter
from palaver.exporters._contract import IndexedExporter

if TYPE_CHECKING:
    from collections.abc import Generator

DEFAULT_FORMAT = "jsonl"
COMPRESSIONS = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class Target:
    format: str
    path: Path
    is_folder: bool
    """Whether every conversation gets a file of its own."""
    compression: str = ""
    """`.gz`, `.zst`, or empty."""


def export_target(output: str, format_name: str | None, conversations: int) -> Target:
    """Return where conversations go; raise OptionError for an ending that no format has, or that of another format.

    A folder is one that exists, or a name that ends in a slash. Markdown of several conversations also goes into a
    folder if the name has no ending.
    """
    if format_name is not None:
        exporter(format_name)  # raises OptionError for an unknown one
    path = Path(output)
    compression = path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""
    ending = (path.with_suffix("") if compression else path).suffix.lower()
    by_ending = endings().get(ending)
    if path.is_dir() or output.endswith(tuple(filter(None, ("/", os.sep, os.altsep)))):
        return Target(format_name or by_ending or DEFAULT_FORMAT, path, is_folder=True)
    if format_name is None and by_ending is None and (ending or compression):
        raise OptionError(
            f"{output}: palaver writes no files that end in {ending or compression}; name one that ends in "
            f"{_any_of(sorted(endings()))}, which may be followed by {_any_of(COMPRESSIONS)}, or give a format"
        )
    if format_name and by_ending not in {None, format_name}:
        raise OptionError(f"{output} ends like {by_ending}, but the format is {format_name}: change one of them")
    chosen = format_name or by_ending or DEFAULT_FORMAT
    is_named_file = bool(ending or compression) or (path.exists() and not path.is_file())
    is_folder = not is_named_file and conversations > 1 and isinstance(exporter(chosen), IndexedExporter)
    if is_folder and path.exists():
        raise OptionError(
            f"{output} is a file, and {chosen} of {conversations:,} conversations goes into a folder: name a folder, "
            f"or a file that ends in {exporter(chosen).suffix}"
        )
    return Target(chosen, path, is_folder, compression)


def refuse_to_overwrite(archive: Path, target: Path) -> None:
    """Raise OptionError if an export would replace the archive that it reads, or a file beside it."""
    for suffix in ("", "-wal", "-shm"):
        file = archive.with_name(archive.name + suffix)
        if target.is_file() and file.exists() and target.samefile(file):
            raise OptionError(f"{target} is the archive itself: write to another file")


@contextmanager
def compressed(stream: Any, compression: str) -> "Generator[Any]":
    """Compress what is written, without a time stamp: equal exports are equal files."""
    match compression:
        case ".gz":
            with GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
                yield packed
        case ".zst":
            from zstandard import ZstdCompressor

            with closing(ZstdCompressor().stream_writer(stream, closefd=False)) as packed:
                yield packed
        case _:
            yield stream


def _any_of(words: "list[str] | tuple[str, ...]") -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
