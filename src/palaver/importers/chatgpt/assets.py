"""Pictures, sound and documents of an export: from the pointer in a message to the file beside the conversations."""

import hashlib
import mimetypes
import re
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from palaver.errors import PalaverError
from palaver.importers.chatgpt.page import PAGE, assets_in
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
_SUFFIX_OF_NOTHING = {"", ".dat"}


def file_id(text: Any) -> str | None:
    """The id in a pointer or a file's name: the rest of both is decoration."""
    found = _ID.search(text.partition("://")[2] or text) if isinstance(text, str) else None
    return found[0] if found else None


class Assets:
    """The files of one export that are no conversations; none of them is opened before a message shows it."""

    def __init__(self, folder: Source | None, members: list[str], run: Run, into: Path | None = None) -> None:
        self._folder = folder
        self._run = run
        self._into = into
        self._members: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._named: dict[str, str] = {}
        self._in_page: dict[str, str] | None = None
        self._sources: dict[str, JsonObject] = {}
        self._library: dict[str, JsonObject] = {}
        for member in members:
            if identifier := _ID.match(member.rpartition("/")[2]):
                self._members.setdefault(identifier[0], member)
        self._all = {member for member in members if _is_asset(member)}

    def knows(self, member: str) -> bool:
        return member in self._all

    def unused(self) -> set[str]:
        """Files that no message has shown so far."""
        return self._all - self._sources.keys()

    def describe(self, row: JsonObject) -> bool:
        """Take a row of the file library, which says more of some files than messages do; False for files elsewhere."""
        member = self._members.get(file_id(row.get("file_id")) or "")
        if member is None:
            return False
        self._library[member] = row
        if isinstance((name := row.get("file_name")), str) and name:
            self._names.setdefault(member, name)
        return True

    def name_files(self, names: JsonObject) -> None:
        """Take the export's own list of original names."""
        for member, name in names.items():
            if isinstance(name, str):
                self._names[member] = name
                self._named.setdefault(PurePosixPath(name).name, member)

    def source(self, pointer: Any, attachment: JsonObject | None = None, *, where: str = "") -> JsonObject:
        """Where the bytes behind a pointer are; `attachment` is what the message says of the same file."""
        if not isinstance(pointer, str):
            return build.source("url", "")
        if self._folder is None:
            return build.source(_kind(pointer), pointer, media_type=_stated_type(attachment))
        member = self._find(pointer, attachment or {})
        if member is None:
            self._run.note(MISSING_ASSET, where, pointer)
            missing = build.source(_kind(pointer), pointer, media_type=_stated_type(attachment))
            missing["available"] = False
            return missing
        known = self._sources.get(member)
        if known is None:
            known = self._sources[member] = self._described(member, attachment or self._library.get(member), where)
        return {**known, "asset_pointer": pointer}

    def _find(self, pointer: str, attachment: JsonObject) -> str | None:
        if member := self._members.get(file_id(pointer) or ""):
            return member
        if self._in_page is None:
            self._in_page = self._listed_in_page()
        if (listed := self._in_page.get(pointer)) and self._has(listed):
            return listed
        named = self._named.get(str(attachment.get("name")))
        return named if named and self._has(named) else None

    def _has(self, member: str) -> bool:
        return self._folder is not None and self._folder.folder.has(member)

    def _listed_in_page(self) -> dict[str, str]:
        """The service's own list of pointers and files: it stands behind all else in a large page, the last resort."""
        page = Source(self._folder.folder, PAGE) if self._folder else None
        return assets_in(page) if page and page.exists() else {}

    def _described(self, member: str, attachment: JsonObject | None, where: str) -> JsonObject:
        file = Source(self._folder.folder, member) if self._folder else None
        original = self._names.get(member.rpartition("/")[2]) or self._names.get(member) or member
        media_type = _stated_type(attachment) or _type_of_name(original)
        if media_type is None and file is not None:
            media_type = _type_of_bytes(file)
        described = build.source("file", member, media_type=media_type)
        if original != member:
            described["name"] = PurePosixPath(original).name
        if self._into is not None and file is not None:
            try:
                path = _extract(file, self._into, original, media_type)
            except (PalaverError, OSError) as error:
                self._run.note(UNREADABLE_ASSET, where, f"{member}: {error}", kept=False)
            else:
                described["data"] = path.as_posix()
                described["member"] = member
        return described


def _is_asset(member: str) -> bool:
    return "/" in member or _ID.match(member) is not None


def _kind(pointer: str) -> build.SourceType:
    """An address, or a mere id."""
    return "url" if "://" in pointer else "file"


def _stated_type(attachment: JsonObject | None) -> str | None:
    stated = (attachment or {}).get("mime_type") or (attachment or {}).get("mimeType")
    return stated if isinstance(stated, str) and stated else None


def _type_of_name(name: str) -> str | None:
    if PurePosixPath(name).suffix.lower() in _SUFFIX_OF_NOTHING:
        return None
    return _OWN_TYPES.get(PurePosixPath(name).suffix.lower()) or mimetypes.guess_type(name)[0]


_OWN_TYPES = {".webp": "image/webp", ".wav": "audio/wav", ".m4a": "audio/mp4", ".heic": "image/heic"}
"""Those that the standard library knows on some systems only."""


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


def _extract(file: Source, into: Path, original: str, media_type: str | None) -> Path:
    """Copy a file to a name made of its content, so that the same bytes are kept once, whoever shows them."""
    into.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with tempfile.NamedTemporaryFile(dir=into, prefix=".new-", delete=False) as copy:
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
    if suffix in _SUFFIX_OF_NOTHING or not re.fullmatch(r"\.[a-z0-9]{1,8}", suffix):
        suffix = (mimetypes.guess_extension(media_type) if media_type else None) or ""
    path = into / digest.hexdigest()[:2] / f"{digest.hexdigest()}{suffix}"
    path.parent.mkdir(exist_ok=True)
    Path(copy.name).replace(path)
    return path
