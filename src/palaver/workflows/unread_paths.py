"""Sentences about paths that were given and that nothing can be imported from: what is there, and what to do next."""

import os
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from palaver.importers import importer, match_importers, winner
from palaver.importers._shared.unread_formats import article, format_of_reason, sentences_on_formats, unread_format
from palaver.sources import file_kind
from palaver.sources.discovery import Unit, discover
from palaver.sources.folders import STDIN_NAME
from palaver.sources.source import Source
from palaver.sources.sqlite_tables import open_schema

_LIST = "`palaver sources` lists what palaver reads"
_TABLES_SHOWN = 3
_OFFICE_MEMBER = "[Content_Types].xml"


def file_sentence(source: Source, name: str, reason: str = "") -> str:
    """Say what a file is that no importer reads; `reason` is what an importer said of it."""
    if known := format_of_reason(reason) or unread_format(source):
        return f"{name} {known.sentence()}"
    if reason:
        return f"{name} holds no conversation: it is {reason}"
    kind = file_kind.file_kind(source)
    if source.suffix.lower() == ".zip" and kind != file_kind.EMPTY:
        return f"{name} is not a ZIP, although its name ends in .zip{_content_hint(kind)}: download it again"
    what = f"{name} is {article(kind.name)} {kind.name}"
    match kind:
        case file_kind.EMPTY:
            return f"{name} is empty" + ("" if source.label == STDIN_NAME else ": download or copy it again")
        case file_kind.SQLITE:
            return f"{what} of another program{_tables(source)}: {_LIST}"
        case file_kind.JSON | file_kind.JSON_LINES:
            noun = kind.name.removesuffix(" file")
            return f"{name} is {noun}, but not a conversation format that palaver knows: {_LIST}"
        case file_kind.UTF16:
            return f"{what}: save it again in UTF-8"
        case file_kind.BINARY:
            return f"{what} of a kind that palaver does not know: {_LIST}"
        case _ if kind.is_archive:
            return f"{what}: unpack it, then import the folder"
        case _ if kind.is_foreign:
            return f"{name} looks like {article(kind.name)} {kind.name}, not a conversation: {_LIST}"
        case _:
            return f"{what}, but not in a conversation format that palaver knows: {_LIST}"


def foreign_file_sentence(source: Source, name: str, platform: str) -> str:
    """Say why a file cannot be of the platform that was named; empty if it may be."""
    if other := _claimant(source):
        return f"{name} is {importer(other).title}: leave out `{platform}`"
    if file_kind.file_kind(source).is_foreign or unread_format(source) or source.suffix.lower() == ".zip":
        return file_sentence(source, name)
    return ""


def kind_name(source: Source) -> str:
    """Return what a file is that no importer reads: the name of a known format, or of a kind of file."""
    known = unread_format(source)
    return known.singular if known else file_kind.file_kind(source).name


def zip_sentence(path: Path, unread: Mapping[str, str], platform: str | None) -> str:
    """Say why nothing in a ZIP can be imported, given which of its members are of unread formats."""
    name = path_name(path)
    if str(path) == STDIN_NAME:  # it was read already
        return f"{name} is a ZIP without a conversation that palaver can read: {_LIST}"
    if platform and (others := _platforms_at(path)):
        titles = " and ".join(importer(other).title for other in others)
        return f"{name} is {titles}: leave out `{platform}`"
    members = Source.at(path).as_zip().names()
    if not members:
        return f"{name} is an empty ZIP"
    if _OFFICE_MEMBER in members:
        return f"{name} looks like an Office document, not a conversation: {_LIST}"
    if unread:
        return f"{name}: {'; '.join(sentences_on_formats(unread))}"
    return f"{name} is a ZIP of {_files(len(members))}, {_none_of(len(members))} a conversation: {_LIST}"


def folder_sentence(path: Path, labels: list[str], unread: Mapping[str, str], platform: str | None) -> str:
    """Say why nothing in a folder can be imported, given its files, and which of them are of unread formats."""
    files = {_file_of(label) for label in labels}
    if not files:
        return f"{path} is an empty folder" if _is_empty(path) else f"{path} holds no conversation"
    if platform and (others := _platforms_at(path)):
        if len(files) == 1:
            return f"{path} holds 1 file, which is {importer(next(iter(others))).title}: leave out `{platform}`"
        found = " and ".join(
            f"{number:,} of them {'is' if number == 1 else 'are'} {importer(other).title}"
            for other, number in others.items()
        )
        own = importer(platform).title
        return f"{path} holds {_files(len(files))}, {_none_of(len(files))} {own}; {found}: leave out `{platform}`"
    if not unread:
        what = f"{_files(len(files))}, {_none_of(len(files))} a conversation"
        return f"{path} holds {what}: `palaver identify {path}` says what is there"
    sentences = list(sentences_on_formats(unread))
    if rest := len(files - {_file_of(label) for label in unread}):
        sentences.append(f"{rest:,} other {'file holds' if rest == 1 else 'files hold'} no conversation")
    return f"{path}: {'; '.join(sentences)}"


def path_name(path: Path) -> str:
    """Return a path as sentences name it."""
    return "standard input" if str(path) == STDIN_NAME else str(path)


def _files(number: int) -> str:
    return "1 file" if number == 1 else f"{number:,} files"


def _none_of(number: int) -> str:
    return "but it is not" if number == 1 else "but none is"


def _content_hint(kind: file_kind.FileKind) -> str:
    return "" if kind == file_kind.BINARY else f" (what is there is {article(kind.name)} {kind.name})"


def _tables(source: Source) -> str:
    with closing(open_schema(source)) as database:
        names = sorted(name for name in database.tables() if not name.startswith("sqlite_"))
    if not names:
        return ""
    more = f" and {len(names) - _TABLES_SHOWN:,} more" if len(names) > _TABLES_SHOWN else ""
    return f" (tables {', '.join(names[:_TABLES_SHOWN])}{more})"


def _claimant(source: Source) -> str | None:
    """Return the only platform that is sure to read a source; None without one."""
    matches = match_importers(source)
    sure = [platform for platform, match in matches.items() if match.verdict == "yes"]
    return sure[0] if len(sure) == 1 else None


def _platforms_at(path: Path) -> Counter[str]:
    """Count the sources of each platform at or below a path."""
    units = discover(path, lambda source: winner(match_importers(source), source.label))
    return Counter(unit.platform for unit in units if isinstance(unit, Unit))


def _file_of(label: str) -> str:
    """Return the path of a file, or of the ZIP that contains it."""
    return label if "!" not in label or os.path.lexists(label) else label.partition("!")[0]


def _is_empty(path: Path) -> bool:
    try:
        return not any(path.iterdir())
    except OSError:
        return False
