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


def names_folder(output: str) -> bool:
    """Return whether a name ends in a slash, which a `Path` does not keep."""
    return output.endswith(tuple(filter(None, ("/", os.sep, os.altsep))))


def export_target(path: Path, format_name: str | None, *, conversations: int, is_folder: bool = False) -> Target:
    """Return where conversations go; raise OptionError for an ending that no format has, or that of another format.

    Besides `is_folder`, an existing folder is one, and so is a name without an ending for Markdown of several
    conversations.
    """
    if format_name is not None:
        exporter(format_name)  # raises OptionError for an unknown one
    compression = path.suffix.lower() if path.suffix.lower() in COMPRESSIONS else ""
    ending = (path.with_suffix("") if compression else path).suffix.lower()
    by_ending = endings().get(ending)
    if is_folder or path.is_dir():
        return Target(format_name or by_ending or DEFAULT_FORMAT, path, is_folder=True)
    if format_name is None and by_ending is None and (ending or compression):
        raise OptionError(
            f"{path}: no export format has the ending {ending or compression}; use {_any_of(sorted(endings()))}, "
            f"optionally followed by {_any_of(COMPRESSIONS)}, or choose a format"
        )
    if format_name and by_ending not in {None, format_name}:
        raise OptionError(f"{path}: the ending {ending} is for {by_ending}, not {format_name}; change one of them")
    chosen = format_name or by_ending or DEFAULT_FORMAT
    is_named_file = bool(ending or compression) or (path.exists() and not path.is_file())
    needs_folder = not is_named_file and conversations > 1 and isinstance(exporter(chosen), IndexedExporter)
    if needs_folder and path.exists():
        raise OptionError(
            f"{path} is a file, and {chosen} of {conversations:,} conversations goes into a folder: name a folder, "
            f"or a file that ends in {exporter(chosen).suffix}"
        )
    return Target(chosen, path, needs_folder, compression)


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
