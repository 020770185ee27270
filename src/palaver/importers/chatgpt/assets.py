"""Images, sounds and documents of an export: from the pointer in a message to the file beside the conversations."""

import hashlib
import mimetypes
import re
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from palaver.errors import PalaverError
from palaver.importers.chatgpt.formats import PAGE, listed_assets
from palaver.model import build
from palaver.model.build import JsonObject
from palaver.model.finding import finding_kind
from palaver.sources.run import Run
from palaver.sources.source import Source

MISSING_ASSET = finding_kind(
    "missing-asset", "note", "A picture, sound or file that a message shows is not in the export."
)
UNREADABLE_ASSET = finding_kind(
    "unreadable-asset", "error", "A picture, sound or file of the export could not be read, and was not extracted."
)


_ID = re.compile(r"file[-_][A-Za-z0-9]+")
_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
)
_MEANINGLESS_SUFFIXES = {"", ".dat"}


def file_id(text: Any) -> str | None:
    """Return the file id in a pointer or a file name; the rest of both is irrelevant. None without an id."""
    found = _ID.search(text.partition("://")[2] or text) if isinstance(text, str) else None
    return found[0] if found else None


class Assets:
    """The asset files of one export; none is opened before a message shows it."""

    def __init__(self, folder: Source | None, members: list[str], run: Run, extract_folder: Path | None = None) -> None:
        self._folder = folder
        self._run = run
        self._extract_folder = extract_folder
        self._members: dict[str, str] = {}
        self._original_names: dict[str, str] = {}
        self._member_of_name: dict[str, str] = {}
        self._page_assets: dict[str, str] | None = None
        self._sources: dict[str, JsonObject] = {}
        self._library: dict[str, JsonObject] = {}
        for member in members:
            if identifier := _ID.match(member.rpartition("/")[2]):
                self._members.setdefault(identifier[0], member)
        self._asset_members = {member for member in members if _is_asset(member)}

    def contains(self, member: str) -> bool:
        return member in self._asset_members

    def unused(self) -> set[str]:
        """Return the files that no message has shown so far."""
        return self._asset_members - self._sources.keys()

    def add_library_row(self, row: JsonObject) -> bool:
        """Add a row of the file library, which describes some files; return False if the file is not exported."""
        member = self._members.get(file_id(row.get("file_id")) or "")
        if member is None:
            return False
        self._library[member] = row
        if isinstance((name := row.get("file_name")), str) and name:
            self._original_names.setdefault(member, name)
        return True

    def add_original_names(self, names: JsonObject) -> None:
        """Add the export's own list of original names."""
        for member, name in names.items():
            if isinstance(name, str):
                self._original_names[member] = name
                self._member_of_name.setdefault(PurePosixPath(name).name, member)

    def source(self, pointer: Any, attachment: JsonObject | None = None, *, where: str = "") -> JsonObject:
        """Return the source of the bytes behind a pointer; `attachment` is the message's entry for the same file."""
        if not isinstance(pointer, str):
            return build.source("url", "")
        if self._folder is None:
            return build.source(_source_type(pointer), pointer, media_type=_stated_type(attachment))
        member = self._find(pointer, attachment or {})
        if member is None:
            self._run.note(MISSING_ASSET, where, pointer)
            missing = build.source(_source_type(pointer), pointer, media_type=_stated_type(attachment))
            missing["available"] = False
            return missing
        known = self._sources.get(member)
        if known is None:
            known = self._sources[member] = self._describe(member, attachment or self._library.get(member), where)
        return {**known, "asset_pointer": pointer}

    def _find(self, pointer: str, attachment: JsonObject) -> str | None:
        if member := self._members.get(file_id(pointer) or ""):
            return member
        if self._page_assets is None:
            self._page_assets = self._assets_in_page()
        if (listed := self._page_assets.get(pointer)) and self._has(listed):
            return listed
        named = self._member_of_name.get(str(attachment.get("name")))
        return named if named and self._has(named) else None

    def _has(self, member: str) -> bool:
        return self._folder is not None and self._folder.folder.has(member)

    def _assets_in_page(self) -> dict[str, str]:
        """Return the service's own list of pointers and files, the last resort: it is at the end of a large page."""
        page = Source(self._folder.folder, PAGE) if self._folder else None
        return listed_assets(page) if page and page.exists() else {}

    def _describe(self, member: str, attachment: JsonObject | None, where: str) -> JsonObject:
        file = Source(self._folder.folder, member) if self._folder else None
        original = self._original_names.get(member.rpartition("/")[2]) or self._original_names.get(member) or member
        media_type = _stated_type(attachment) or _type_of_name(original)
        if media_type is None and file is not None:
            media_type = _type_of_bytes(file)
        described = build.source("file", member, media_type=media_type)
        if original != member:
            described["name"] = PurePosixPath(original).name
        if self._extract_folder is not None and file is not None:
            try:
                path = _extract(file, self._extract_folder, original, media_type)
            except (PalaverError, OSError) as error:
                self._run.note(UNREADABLE_ASSET, where, f"{member}: {error}", kept=False)
            else:
                described["data"] = path.as_posix()
                described["member"] = member
        return described


def _is_asset(member: str) -> bool:
    return "/" in member or _ID.match(member) is not None


def _source_type(pointer: str) -> build.SourceType:
    """Return `url` for an address, `file` for a bare id."""
    return "url" if "://" in pointer else "file"


def _stated_type(attachment: JsonObject | None) -> str | None:
    stated = (attachment or {}).get("mime_type") or (attachment or {}).get("mimeType")
    return stated if isinstance(stated, str) and stated else None


def _type_of_name(name: str) -> str | None:
    if PurePosixPath(name).suffix.lower() in _MEANINGLESS_SUFFIXES:
        return None
    return _EXTRA_TYPES.get(PurePosixPath(name).suffix.lower()) or mimetypes.guess_type(name)[0]


_EXTRA_TYPES = {".webp": "image/webp", ".wav": "audio/wav", ".m4a": "audio/mp4", ".heic": "image/heic"}
"""Types that the standard library knows on some systems only."""


def _type_of_bytes(file: Source) -> str | None:
    try:
        with file.open() as stream:
            head = stream.read(16)
    except (PalaverError, OSError):
        return None
    if head.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12])
    if head[4:8] == b"ftyp":
        return "video/mp4"
    return next((media_type for magic, media_type in _MAGIC if head.startswith(magic)), None)


def _extract(file: Source, extract_folder: Path, original: str, media_type: str | None) -> Path:
    """Copy a file to a name derived from its content, so that equal files are stored once; return the path."""
    extract_folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=extract_folder, prefix=".new-", delete=False) as copy:
        try:
            with file.open() as stream:
                while piece := stream.read(1 << 20):
                    digest.update(piece)
                    copy.write(piece)
        except BaseException:
            copy.close()
            Path(copy.name).unlink()
            raise
    suffix = PurePosixPath(original).suffix.lower()
    if suffix in _MEANINGLESS_SUFFIXES or not re.fullmatch(r"\.[a-z0-9]{1,8}", suffix):
        suffix = (mimetypes.guess_extension(media_type) if media_type else None) or ""
    path = extract_folder / digest.hexdigest()[:2] / f"{digest.hexdigest()}{suffix}"
    path.parent.mkdir(exist_ok=True)
    Path(copy.name).replace(path)
    return path
