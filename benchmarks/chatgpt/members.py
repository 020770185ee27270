"""The ZIP of an export: the conversations as a stream, a handful of assets, and the small files that lie beside them.

Times and systems in the directory are fixed, so that the archive is the same wherever the same zlib compresses it.
"""

import random
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson

from chatgpt.forms import LEAN, Form, Truth
from chatgpt.messages import Record
from prose import Prose

ASSETS = 8
USER_ID = "user-BenchmarkBenchmarkBenchm"
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Asset:
    id: str
    name: str
    is_present: bool

    @property
    def pointer(self) -> str:
        return f"sediment://{self.id}" if self.id.startswith("file_") else f"file-service://{self.id}"


def new_assets(prose: Prose) -> list[Asset]:
    """Uploads and drawings; the bytes of some are missing, as they are in real exports."""
    assets: list[Asset] = []
    for number in range(ASSETS):
        new = prose.identifier("file-") if number % 2 else f"file_{prose.rng.getrandbits(128):032x}"
        assets.append(Asset(new, f"{prose.word()}.png", is_present=number % 4 != 3))
    return assets


class Members:
    def __init__(self, archive: zipfile.ZipFile, form: Form) -> None:
        self._archive, self.form, self.truth = archive, form, Truth()
        self._shards: list[str] = []
        self._feedback: list[Record] = []
        self._shared: list[Record] = []

    def spelled(self, record: Record, rng: random.Random) -> bytes:
        """One conversation in the form of this export, counted, and kept in mind for the small files."""
        record = self.form.record(record)
        element = self.form.spell(record)
        self.truth.count(record, len(element))
        self._remember(record, rng)
        return element

    def write_shard(self, elements: list[bytes]) -> None:
        self._shards.append(f"conversations-{len(self._shards):03d}.json")
        self.write_array(self._shards[-1], elements)

    def write_array(self, name: str, elements: Iterable[bytes]) -> None:
        # Sizes come before the bytes in a ZIP; without room for large ones the end of a large member is an error.
        with self._archive.open(_described(name), "w", force_zip64=True) as member:
            before = self.form.opening
            for element in elements:
                member.write(before)
                member.write(element)
                before = self.form.separator
            member.write(self.form.closing)

    def write_assets(self, assets: list[Asset], prose: Prose) -> None:
        names: dict[str, str] = {}
        for asset in assets:
            if not asset.is_present:
                continue
            if self.form is LEAN:
                path = f"{asset.id}.dat"
                names[path] = asset.name
            else:
                path = f"{asset.id}-{'sanitized.png' if asset.id.startswith('file_') else asset.name}"
            self._write(path, PNG + prose.rng.randbytes(120))
        if self.form is LEAN:
            self._write("conversation_asset_file_names.json", orjson.dumps(names))

    def write_side_files(self) -> None:
        self._write("message_feedback.json", orjson.dumps(self._feedback))
        self._write("shared_conversations.json", orjson.dumps(self._shared))
        user = {"id": USER_ID, "email": "someone@example.org", "chatgpt_plus_user": True, "phone_number": None}
        self._write("user.json", orjson.dumps(user))
        if self.form is LEAN:
            self._write("export_manifest.json", orjson.dumps(self._manifest(), option=orjson.OPT_INDENT_2))

    def _remember(self, record: Record, rng: random.Random) -> None:
        conversation_id = record["conversation_id"]
        if rng.random() < 0.02:
            rated = {"id": record["current_node"], "conversation_id": conversation_id, "user_id": USER_ID}
            when = datetime.fromtimestamp(record["update_time"], UTC).isoformat().replace("+00:00", "Z")
            rated |= {"rating": rng.choice(["thumbs_up", "thumbs_down"]), "create_time": when}
            self._feedback.append(rated | {"workspace_id": None, "content": "{}"})
        if rng.random() < 0.02:
            share = {"id": f"share-{conversation_id}", "conversation_id": conversation_id}
            self._shared.append(share | {"title": record["title"], "is_anonymous": True})

    def _manifest(self) -> Record:
        members = self._archive.infolist()
        logical: Record = {
            info.filename: {"files": [info.filename], "sharded": False}
            for info in members
            if info.filename.endswith(".dat")
        }
        logical["conversations.json"] = {"files": self._shards, "shard_count": len(self._shards), "sharded": True}
        return {
            "export_files": [{"path": info.filename, "size_bytes": info.file_size} for info in members],
            "logical_files": logical,
            "manifest_file": "export_manifest.json",
            "version": 1,
        }

    def _write(self, name: str, content: bytes) -> None:
        self._archive.writestr(_described(name), content)


def _described(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED  # with the level zlib takes unasked, which is 6
    info.create_system = 3
    return info
