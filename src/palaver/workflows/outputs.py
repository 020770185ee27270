"""Outputs for documents other than the archive: a JSON Lines file, standard output, or none.

A file appears complete or not at all: it is written under a temporary name next to its target, and renamed at the end.
"""

import os
import re
import shutil
import sys
from base64 import b64encode
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import orjson

from palaver.errors import SourceError
from palaver.sources.discovery import Unit
from palaver.sources.run import Quarantined

CHUNK_BYTES = 1 << 20
BUFFER_BYTES = 1 << 16
"""Larger pieces are written directly; copying them into a larger buffer would cost more than it saves."""


class Output(Protocol):
    def begin(self, unit: Unit) -> BinaryIO:
        """Return the stream for one unit's documents."""
        ...

    def end(self, unit: Unit) -> None: ...
    def adopt(self, unit: Unit, part: Path) -> None:
        """Append the documents of one unit from a file that another process wrote, and delete the file."""
        ...

    def quarantine(self, quarantined: Quarantined) -> None: ...
    @property
    def keeps_usage(self) -> bool:
        """Whether usage records are written; otherwise they are only counted."""
        ...

    def used(self, record: dict[str, Any]) -> None:
        """Write a usage record."""
        ...

    def adopt_usage(self, part: Path) -> None:
        """Append the usage records of one unit from a file that another process wrote, and delete the file."""
        ...

    def close(self, *, keep: bool) -> None:
        """Finish; without `keep`, discard everything that was written to files."""
        ...


def json_line(document: dict[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE)


def quarantine_line(entry: Quarantined) -> bytes:
    """Encode a line of a quarantine file; bytes that are not UTF-8 are written in base64."""
    try:
        raw = {"raw": entry.raw.decode()}
    except UnicodeDecodeError:
        raw = {"raw_base64": b64encode(entry.raw).decode()}
    fields = {"source": entry.source, "where": entry.where, "code": entry.code, "message": entry.message}
    # A file name that is not UTF-8 holds lone surrogates, which JSON text cannot.
    texts = {name: text.encode(errors="surrogateescape").decode(errors="replace") for name, text in fields.items()}
    return orjson.dumps({**texts, **raw}, option=orjson.OPT_APPEND_NEWLINE)


def is_replaceable(path: Path) -> bool:
    """Return whether a path is a regular file, or free for one.

    A device, a pipe and what the shell has opened are written to, never replaced.
    """
    return not _is_open_stream(path) and (path.is_file() or not path.exists())


def _is_open_stream(path: Path) -> bool:
    """Return whether a path names a stream of this process; one that the shell redirects may be a regular file."""
    name = os.path.abspath(path)  # noqa: PTH100 - `resolve` would follow the links to the end
    for _ in range(_MAX_LINKS):
        if _OPEN_STREAM.fullmatch(name):
            return True
        try:
            name = os.path.normpath(os.path.join(os.path.dirname(name), os.readlink(name)))  # noqa: PTH115, PTH118, PTH120
        except OSError:
            return False
    return False


_OPEN_STREAM = re.compile(r"/dev/(?:stdin|stdout|stderr|fd/[0-9]+)|/proc/[^/]+/fd/[0-9]+")
_MAX_LINKS = 40
"""As many as Linux follows."""


def quarantine_path(output: Path) -> Path | None:
    """Return the file for refused records beside an output file; None beside a device or a pipe."""
    return output.with_name(f"{output.name}.quarantine.jsonl") if is_replaceable(output) else None


class JsonLinesFile:
    """Writes all documents to one file, in the order of the units."""

    def __init__(self, path: Path, quarantine: Path | None = None, usage: Path | None = None) -> None:
        self.path = path
        self._partial = AtomicFile(path)
        quarantine = quarantine or quarantine_path(path)
        self._quarantine = _LazyFile(quarantine) if quarantine else None
        self.stream = self._partial.open()
        self._usage = _UsageFile(usage)

    def begin(self, unit: Unit) -> BinaryIO:
        _ = unit
        return self.stream

    def end(self, unit: Unit) -> None:
        pass

    def adopt(self, unit: Unit, part: Path) -> None:
        _ = unit
        with part.open("rb") as stream:
            shutil.copyfileobj(stream, self.stream, CHUNK_BYTES)
        part.unlink()

    def quarantine(self, quarantined: Quarantined) -> None:
        if self._quarantine:
            self._quarantine.write(quarantine_line(quarantined))

    @property
    def keeps_usage(self) -> bool:
        return self._usage.is_wanted

    def used(self, record: dict[str, Any]) -> None:
        self._usage.write(record)

    def adopt_usage(self, part: Path) -> None:
        self._usage.adopt(part)

    def close(self, *, keep: bool) -> None:
        self._partial.close(keep=keep)
        if self._quarantine:
            self._quarantine.close(keep=keep)
        self._usage.close(keep=keep)


class StandardOutput:
    """Writes all documents to standard output, and quarantined records only to a file that the user named."""

    def __init__(self, quarantine: Path | None = None, usage: Path | None = None) -> None:
        self._quarantine = _LazyFile(quarantine) if quarantine else None
        self._usage = _UsageFile(usage)

    def begin(self, unit: Unit) -> BinaryIO:
        _ = unit
        return sys.stdout.buffer

    def end(self, unit: Unit) -> None:
        _ = unit
        sys.stdout.buffer.flush()

    def adopt(self, unit: Unit, part: Path) -> None:
        _ = unit
        with part.open("rb") as stream:
            shutil.copyfileobj(stream, sys.stdout.buffer, CHUNK_BYTES)
        part.unlink()

    def quarantine(self, quarantined: Quarantined) -> None:
        if self._quarantine:
            self._quarantine.write(quarantine_line(quarantined))

    @property
    def keeps_usage(self) -> bool:
        return self._usage.is_wanted

    def used(self, record: dict[str, Any]) -> None:
        self._usage.write(record)

    def adopt_usage(self, part: Path) -> None:
        self._usage.adopt(part)

    def close(self, *, keep: bool) -> None:
        if self._quarantine:
            self._quarantine.close(keep=keep)
        self._usage.close(keep=keep)


class NullOutput:
    """Discards everything, for a run that only reads and checks."""

    def __init__(self) -> None:
        self._stream = Path(os.devnull).open("wb")  # noqa: SIM115 - closed in `close`

    def begin(self, unit: Unit) -> BinaryIO:
        _ = unit
        return self._stream

    def end(self, unit: Unit) -> None:
        pass

    def adopt(self, unit: Unit, part: Path) -> None:
        _ = unit
        part.unlink()

    def quarantine(self, quarantined: Quarantined) -> None:
        pass

    keeps_usage = False

    def used(self, record: dict[str, Any]) -> None:
        pass

    def adopt_usage(self, part: Path) -> None:
        pass

    def close(self, *, keep: bool) -> None:
        _ = keep
        self._stream.close()


@contextmanager
def open_atomically(path: Path) -> Generator[BinaryIO]:
    """Open a file that appears complete at the end of the block, or not at all if an exception is raised in it."""
    file = AtomicFile(path)
    stream = file.open()
    try:
        yield stream
    except BaseException:
        file.close(keep=False)
        raise
    file.close(keep=True)


class AtomicFile:
    """A file that appears complete when it is closed with `keep`, and not at all otherwise."""

    def __init__(self, path: Path) -> None:
        self._is_replaced = is_replaceable(path)  # a symbolic link stays one
        self.path = Path(os.path.realpath(path)) if self._is_replaced else path
        self._partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        self._stream: BinaryIO | None = None

    def open(self) -> BinaryIO:
        _make_folder(self.path.parent)
        try:
            path, mode = (self._partial, "wb") if self._is_replaced else (self.path, "ab")
            self._stream = path.open(mode, buffering=BUFFER_BYTES)
        except OSError as error:
            raise self._cannot_write(error) from error
        return self._stream

    def close(self, *, keep: bool, keep_empty: bool = True) -> None:
        if self._stream is None:
            return
        try:
            self._stream.close()
            if keep and self._is_replaced and (keep_empty or self._partial.stat().st_size):
                self._partial.replace(self.path)
        except OSError as error:
            if keep and not isinstance(error, BrokenPipeError):
                raise self._cannot_write(error) from error
        finally:
            self._stream = None
            if self._is_replaced:
                self._partial.unlink(missing_ok=True)

    def _cannot_write(self, error: OSError) -> SourceError:
        return SourceError(f"cannot write {self.path}: {error.strerror or error}")


class _UsageFile:
    """The file of usage records, if the user named one; it is created even if there are no records."""

    def __init__(self, path: Path | None) -> None:
        self.is_wanted = path is not None
        self._file = AtomicFile(path) if path else None
        self._stream = self._file.open() if self._file else None

    def write(self, record: dict[str, Any]) -> None:
        if self._stream:
            self._stream.write(json_line(record))

    def adopt(self, part: Path) -> None:
        if self._stream:
            with part.open("rb") as stream:
                shutil.copyfileobj(stream, self._stream, CHUNK_BYTES)
        part.unlink()

    def close(self, *, keep: bool) -> None:
        if self._file:
            self._file.close(keep=keep)


class _LazyFile:
    """A file that is created only when something is written to it."""

    def __init__(self, path: Path) -> None:
        self._file = AtomicFile(path)
        self._stream: BinaryIO | None = None

    def write(self, line: bytes) -> None:
        if self._stream is None:
            self._stream = self._file.open()
        self._stream.write(line)

    def close(self, *, keep: bool) -> None:
        self._file.close(keep=keep)


def _make_folder(folder: Path, mode: int = 0o777) -> None:
    try:
        folder.mkdir(mode, parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"cannot create the folder {folder}: {error.strerror or error}") from error
