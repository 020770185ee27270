import gzip
import hashlib
import io
import json
import os
import pickle
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from palaver.errors import SourceError
from palaver.sources import folders, small_files
from palaver.sources.decompress import is_compressed, open_decompressed
from palaver.sources.folders import DiskFolder, StandardInput, files_of, walk_folders
from palaver.sources.jsonl import JsonLines
from palaver.sources.run import Run
from palaver.sources.small_files import json_document
from palaver.sources.source import HEAD_BYTES, Source
from palaver.sources.zip.folder import ZipFolder

RECORDS = [{"n": number, "text": hashlib.blake2b(b"%d" % number, digest_size=15).hexdigest()} for number in range(4000)]
LINES = [json.dumps(record).encode() + b"\n" for record in RECORDS]
DATA = b"".join(LINES)


def in_frames(data: bytes) -> bytes:
    """Several zstd frames one after the other, one of them to be skipped."""
    compressor = zstandard.ZstdCompressor()
    third = len(data) // 3
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip"
    return compressor.compress(data[:third]) + skippable + compressor.compress(data[third:])


def in_members(data: bytes) -> bytes:
    """Several gzip members one after the other."""
    return gzip.compress(data[:1000], mtime=0) + gzip.compress(data[1000:], mtime=0)


WRAPPINGS = {"plain": bytes, "gzip": gzip.compress, "gzip members": in_members, "zstd frames": in_frames}


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def records_of(source: Source) -> tuple[list, dict[str, int]]:
    run = Run(source.label)
    with source.open() as stream:
        values = list(JsonLines(stream, run))
    return values, run.findings.counts


class Dribble(io.RawIOBase):
    """A pipe that hands out a few bytes at a time."""

    def __init__(self, data: bytes, size: int = 3) -> None:
        super().__init__()
        self.data = io.BytesIO(data)
        self.size = size

    def readable(self):
        return True

    def readinto(self, buffer):
        piece = self.data.read(min(self.size, len(buffer)))
        buffer[: len(piece)] = piece
        return len(piece)


# Every way to the same bytes


@pytest.fixture(params=["disk", "zip", "stdin", "pipe"])
def put(request, tmp_path):
    """Put a file somewhere: on disk, into a ZIP, on standard input, into a slow pipe."""

    def at(name: str, data: bytes) -> Source:
        match request.param:
            case "disk":
                (tmp_path / name).write_bytes(data)
                return Source.at(tmp_path / name)
            case "zip":
                (tmp_path / "all.zip").write_bytes(zipped({f"folder/{name}": data}))
                return Source(Source.at(tmp_path / "all.zip").as_zip(), f"folder/{name}")
            case "stdin":
                return Source(StandardInput(io.BytesIO(data)), "-")
            case _:
                return Source(StandardInput(Dribble(data)), "-")

    return at


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
def test_the_same_bytes_come_out_wherever_they_lie(put, wrap):
    source = put("a.jsonl", wrap(DATA))
    head = source.head()
    assert DATA.startswith(head)
    assert len(head) == HEAD_BYTES or (source.name == "-" and len(head) > HEAD_BYTES // 2)
    assert not source.is_zip()
    assert records_of(source) == (RECORDS, {})
    assert source.head() == head
    assert not source.is_zip()


@pytest.mark.parametrize("wrap", WRAPPINGS.values(), ids=WRAPPINGS)
@pytest.mark.parametrize("data", [b"", b"x"])
def test_small_files_are_files_too(put, wrap, data):
    source = put("a.jsonl", wrap(data))
    assert source.head() == data
    with source.open() as stream:
        assert stream.read() == data
        assert stream.read() == b""


@given(st.binary(max_size=300), st.lists(st.integers(0, 40), max_size=12), st.sampled_from(sorted(WRAPPINGS)))
def test_reading_in_pieces_gives_the_whole(data, sizes, wrapping):
    assume(wrapping != "plain" or not is_compressed(data))
    wrapped = WRAPPINGS[wrapping](data)
    with open_decompressed(io.BytesIO(wrapped), wrapped, "a") as stream:
        pieces = [stream.read(size) for size in sizes]
        assert all(len(piece) <= size for piece, size in zip(pieces, sizes, strict=True))
        assert b"".join([*pieces, stream.read()]) == data


def test_closing_closes_the_file_beneath(tmp_path):
    for wrap in WRAPPINGS.values():
        path = tmp_path / "a"
        path.write_bytes(wrap(DATA))
        beneath = path.open("rb")
        stream = open_decompressed(beneath, path.read_bytes(), "a")
        stream.read(10)
        stream.close()
        assert beneath.closed


# Damage within


@pytest.mark.parametrize("kept", [0.3, 0.7, 0.99])
@pytest.mark.parametrize("wrap", [gzip.compress, in_members, in_frames], ids=["gzip", "gzip members", "zstd frames"])
def test_what_came_before_a_cut_is_kept(put, wrap, kept):
    data = wrap(DATA)
    values, codes = records_of(put("a.jsonl", data[: int(len(data) * kept)]))
    # A zstd block gives all of its 128 KiB or nothing.
    assert len(values) > len(RECORDS) * kept - (1 << 17) / len(LINES[0]) - 2
    assert values == RECORDS[: len(values)]
    assert codes.pop("source-cut-off") == 1
    assert codes.keys() <= {"unfinished-tail"}


@settings(max_examples=60)
@given(st.data())
def test_a_gzip_cut_at_any_byte_gives_all_that_can_be_inflated(chosen):
    data = gzip.compress(DATA[:20_000], mtime=0)
    cut = data[: chosen.draw(st.integers(2, len(data) - 1))]
    stream = open_decompressed(io.BytesIO(cut), cut, "a.gz")
    inflated = zlib.decompressobj(wbits=31).decompress(cut)
    assert b"".join(stream.read(777) for _ in range(0, len(inflated), 777)) == inflated
    with pytest.raises(SourceError, match=r"a\.gz is damaged or cut off: "):
        stream.read(777)


def inflated(stream) -> tuple[bytes, str]:
    pieces = []
    try:
        while piece := stream.read(5000):
            pieces.append(piece)
    except SourceError as error:
        return b"".join(pieces), str(error)
    return b"".join(pieces), ""


@settings(max_examples=100)
@given(st.floats(0, 1), st.binary(max_size=3), st.binary(max_size=30), st.sampled_from([gzip.compress, in_members]))
def test_the_quick_way_through_a_gzip_tells_the_same_as_the_careful_one(share, edit, junk, wrap):
    data = bytearray(wrap(DATA[:50_000]))
    at = 10 + int((len(data) - 10) * share)
    data[at : at + len(edit)] = edit
    data += junk
    quick, quick_problem = inflated(open_decompressed(io.BytesIO(data), bytes(data), "a.gz"))
    careful, careful_problem = inflated(open_decompressed(io.BufferedReader(Dribble(data, 4096)), bytes(data), "a.gz"))
    assert quick_problem == careful_problem
    assert quick.startswith(careful) or careful.startswith(quick)
    assert quick_problem or quick == careful


@settings(max_examples=60)
@given(st.data())
def test_a_cut_zstd_frame_is_never_taken_for_the_end(chosen):
    data = zstandard.ZstdCompressor().compress(DATA[:20_000])
    cut = data[: chosen.draw(st.integers(4, len(data) - 1))]
    with pytest.raises(SourceError, match="a frame has no end"):
        open_decompressed(io.BytesIO(cut), cut, "a.zst").read()


@pytest.mark.parametrize("wrap", [gzip.compress, in_frames], ids=["gzip", "zstd frames"])
def test_what_came_before_overwritten_bytes_is_kept(put, wrap):
    data = bytearray(wrap(DATA))
    middle = len(data) * 3 // 4
    data[middle : middle + 200] = b"\xff" * 200
    values, codes = records_of(put("a.jsonl", bytes(data)))
    assert values[:1000] == RECORDS[:1000]
    assert codes["source-cut-off"] == 1


@pytest.mark.parametrize("wrap", [gzip.compress, in_frames], ids=["gzip", "zstd frames"])
def test_junk_behind_the_compressed_bytes_is_told_and_costs_nothing(put, wrap):
    assert records_of(put("a.jsonl", wrap(DATA) + b"junk that is no frame")) == (RECORDS, {"source-cut-off": 1})


def overwritten_member(tmp_path: Path, method: int) -> Source:
    data = bytearray(zipped({"a.jsonl": DATA}, method))
    middle = len(data) * 3 // 4
    data[middle : middle + 50] = b"\xff" * 50
    path = tmp_path / "damaged.zip"
    path.write_bytes(bytes(data))
    return Source(ZipFolder(path), "a.jsonl")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_what_came_before_damage_in_a_zip_member_is_kept(tmp_path, method):
    values, codes = records_of(overwritten_member(tmp_path, method))
    assert values[:2000] == RECORDS[:2000]
    assert codes["source-cut-off"] == 1


def test_a_wrong_checksum_costs_no_bytes(tmp_path):
    data = zipped({"a.jsonl": b'{"a":1}\n{"a":2}\n{"a":3}\n'}, zipfile.ZIP_STORED).replace(b'"a":2', b'"b":2', 1)
    (tmp_path / "a.zip").write_bytes(data)
    values, codes = records_of(Source(ZipFolder(tmp_path / "a.zip"), "a.jsonl"))
    assert values == [{"a": 1}, {"b": 2}, {"a": 3}]
    assert codes == {"source-cut-off": 1}


# Names and places


def test_a_file_knows_its_names(tmp_path):
    path = tmp_path / "projects" / "a.b.jsonl.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(DATA, mtime=0))
    source = Source.at(path)
    assert (source.name, source.file_name, source.stem, source.suffix) == ("a.b.jsonl.gz", "a.b.jsonl", "a.b", ".jsonl")
    assert source.label == str(path)
    assert source.size_bytes == path.stat().st_size
    assert source.modified_at() == path.stat().st_mtime
    assert source.exists()
    assert source.is_reopenable
    assert not source.is_folder
    assert not source.is_plain_file()


def test_a_plain_file_can_be_continued_in_the_middle(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(DATA)
    source = Source.at(tmp_path / "a.jsonl")
    assert source.is_plain_file()
    with source.open(start=len(LINES[0])) as stream:
        assert stream.read() == DATA[len(LINES[0]) :]


def test_what_lies_beside_and_below(tmp_path):
    for name in ("s.jsonl", "s/b.json", "s/a/x.json", "other.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"{}")
    (tmp_path / "a.zip").write_bytes(zipped({f"top/{name}": b"{}" for name in ("s.jsonl", "s/b.json", "s/a/x.json")}))
    for source, top in (
        (Source.at(tmp_path / "s.jsonl"), ""),
        (Source(ZipFolder(tmp_path / "a.zip"), "top/s.jsonl"), "top/"),
    ):
        assert [side.name for side in source.files_below("s")] == [f"{top}s/a/x.json", f"{top}s/b.json"]
        assert source.files_below("missing") == []
        assert source.sibling("s/b.json").exists()
        assert not source.sibling("missing.json").exists()


@pytest.mark.parametrize("is_zipped", [False, True], ids=["disk", "zip"])
def test_what_lies_around_and_inside(tmp_path, is_zipped):
    names = ["outer/inner/leaf.json", "outer/index.json"]
    if is_zipped:
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            for name in names:
                archive.writestr(name, "{}")
        top = Source(Source.at(tmp_path / "all.zip").as_zip(), "")
    else:
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("{}")
        top = Source.at(tmp_path)
    inner = top.subfolder("outer/inner")
    assert inner.listing() == (["leaf.json"], [])
    assert inner.parent_folder().listing() == (["index.json"], ["inner"])
    assert inner.parent_folder().label == top.subfolder("outer").label
    assert inner.parent_folder().parent_folder().listing() == top.listing()
    leaf = Source(top.folder, "outer/inner/leaf.json")
    assert leaf.parent_folder().label == inner.label
    assert Source(inner.folder, "leaf.json").parent_folder().label == inner.label
    assert inner.subfolder("nothing").listing() == ([], [])
    assert (top.parent_folder() is None) == is_zipped


def test_the_folder_around_the_current_one_is_known(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Source.at(Path()).parent_folder().label == str(tmp_path.parent)
    assert Source(StandardInput(), "-").parent_folder() is None


def test_a_folder_is_a_source_without_a_head(tmp_path):
    source = Source.at(tmp_path)
    assert source.is_folder
    assert source.head() == b""
    assert source.size_bytes == 0
    assert not source.is_zip()


def test_a_zip_is_a_folder_of_its_members(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped({"b.jsonl": DATA, "dir/": b"", "dir/c.jsonl": b"{}\n", "empty": b""}))
    source = Source.at(tmp_path / "a.zip")
    assert source.is_zip()
    folder = source.as_zip()
    assert folder.names() == ["b.jsonl", "dir/c.jsonl", "empty"]
    assert folder.names("dir") == ["dir/c.jsonl"]
    member = Source(folder, "dir/c.jsonl")
    assert member.label == f"{tmp_path / 'a.zip'}!dir/c.jsonl"
    assert (member.stem, member.size_bytes) == ("c", 3)
    assert member.modified_at() == (tmp_path / "a.zip").stat().st_mtime
    assert not member.is_plain_file()


def test_a_zip_within_a_zip_says_what_to_do(tmp_path):
    (tmp_path / "outer.zip").write_bytes(zipped({"inner.zip": zipped({"a.jsonl": DATA})}))
    inner = Source(ZipFolder(tmp_path / "outer.zip"), "inner.zip")
    assert inner.is_zip()
    with pytest.raises(SourceError, match="unpack the outer one first"):
        inner.as_zip()


def test_a_source_in_a_zip_survives_pickling_while_it_is_open(tmp_path):
    (tmp_path / "a.zip").write_bytes(zipped({"a.jsonl": DATA}))
    source = Source(ZipFolder(tmp_path / "a.zip"), "a.jsonl")
    assert source.head()
    again = pickle.loads(pickle.dumps(source))  # noqa: S301 - our own bytes
    assert (again.label, again.head()) == (source.label, source.head())
    assert records_of(again) == records_of(source) == (RECORDS, {})


def test_a_source_that_was_not_looked_at_is_looked_at_by_another_process(tmp_path):
    (tmp_path / "a.json").write_bytes(b'{"a": 1}')
    source = pickle.loads(pickle.dumps(Source.at(tmp_path / "a.json")))  # noqa: S301 - our own
    assert source.parsed_head() == {"a": 1}


def test_a_source_on_disk_survives_pickling(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(DATA)
    again = pickle.loads(pickle.dumps(Source.at(tmp_path / "a.jsonl")))  # noqa: S301 - our own bytes
    assert records_of(again) == (RECORDS, {})


# Standard input


def test_standard_input_is_read_once():
    source = Source(StandardInput(io.BytesIO(DATA)), "-")
    assert (source.label, source.size_bytes, source.modified_at()) == ("-", 0, None)
    assert not source.is_reopenable
    assert not source.is_plain_file()
    assert records_of(source) == (RECORDS, {})
    with pytest.raises(SourceError, match="once only"):
        source.open()


def test_closing_it_leaves_the_stream_of_the_process_open():
    stream = io.BytesIO(DATA)
    with Source(StandardInput(stream), "-").open() as opened:
        opened.read(10)
    assert not stream.closed


def test_the_dash_means_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(DATA)))
    assert records_of(Source.at(Path("-"))) == (RECORDS, {})


def test_a_zip_on_standard_input_is_spooled_and_cleaned_up(monkeypatch, tmp_path):
    cleaning = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("atexit.register", lambda function, **options: cleaning.append((function, options)))
    source = Source(StandardInput(Dribble(zipped({"a.jsonl": DATA}), 1000)), "-")
    assert source.is_zip()
    inside = source.as_zip()
    member = Source(inside, "a.jsonl")
    assert (inside.label, member.label, member.modified_at()) == ("-", "-!a.jsonl", None)
    assert records_of(member) == (RECORDS, {})
    assert len(list(tmp_path.iterdir())) == 1
    for function, options in cleaning:
        function(**options)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_told_when_spooling(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(SourceError, match="temporary file: No space left on device"):
        Source(StandardInput(io.BytesIO(zipped({"a": b""}))), "-").as_zip()


# What cannot be read


def test_a_missing_file_is_a_source_error(tmp_path):
    source = Source.at(tmp_path / "missing.jsonl")
    for act in (source.open, source.head, source.is_zip, source.is_plain_file):
        with pytest.raises(SourceError, match=r"cannot read .*missing\.jsonl: No such file or directory"):
            act()
    assert not source.exists()


def test_a_file_that_vanished_has_no_size_and_no_time(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(DATA)
    (tmp_path / "a.zip").write_bytes(zipped({"a.jsonl": DATA}))
    plain = Source.at(tmp_path / "a.jsonl")
    member = Source(ZipFolder(tmp_path / "a.zip"), "a.jsonl")
    (tmp_path / "a.jsonl").unlink()
    (tmp_path / "a.zip").unlink()
    for source in (plain, member):
        assert source.size_bytes == 0
        assert source.modified_at() is None
        with pytest.raises(SourceError, match="cannot"):
            source.open()


def test_a_forbidden_file_is_a_source_error(tmp_path, monkeypatch):
    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folders, "open", forbidden, raising=False)
    with pytest.raises(SourceError, match="Permission denied"):
        Source.at(tmp_path / "a.jsonl").open()


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_a_name_no_file_can_have_is_a_source_error(tmp_path, name):
    source = Source(DiskFolder(tmp_path), name)
    assert not source.exists()
    with pytest.raises(SourceError, match="cannot read"):
        source.open()


def test_what_is_no_zip_is_a_source_error(tmp_path):
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and nothing else")
    source = Source.at(tmp_path / "a.zip")
    assert source.is_zip()
    with pytest.raises(SourceError, match=r"cannot open .*a\.zip as a ZIP"):
        source.as_zip().names()
    with pytest.raises(SourceError, match="cannot open"):
        Source(ZipFolder(tmp_path / "a.zip"), "a").open()


# Folders


def test_link_loops_end(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "x.jsonl").write_bytes(DATA)
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to("self")
    (tmp_path / "a" / "nowhere").symlink_to("missing")
    assert list(walk_folders(tmp_path)) == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    assert files_of(tmp_path / "a") == []
    assert DiskFolder(tmp_path).names() == ["a/b/x.jsonl"]


def test_names_are_sorted_alike_on_disk_and_in_a_zip(tmp_path):
    names = ["b", "a/z", "a.b", "a/b/c", "A"]
    for name in names:
        (tmp_path / "it" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "it" / name).write_bytes(b"")
    (tmp_path / "a.zip").write_bytes(zipped(dict.fromkeys(names, b"")))
    assert DiskFolder(tmp_path / "it").names() == ZipFolder(tmp_path / "a.zip").names() == sorted(names)


def test_a_folder_that_cannot_be_listed_is_passed_by_and_told(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    scandir = os.scandir

    def forbidding(path):
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr("os.scandir", forbidding)
    assert list(walk_folders(tmp_path)) == [tmp_path, tmp_path / "a", tmp_path / "b"]
    with pytest.raises(SourceError, match=r"cannot list .*a: Permission denied"):
        files_of(tmp_path / "a")


# Small files read whole


def document(data: bytes | None, tmp_path: Path) -> tuple[list[object], Run]:
    run = Run("a.jsonl")
    path = tmp_path / "side.json"
    if data is not None:
        path.write_bytes(data)
    return list(json_document(Source.at(path), run)), run


@pytest.mark.parametrize(
    ("data", "values", "codes"),
    [
        (b'{"a":1}\n', [{"a": 1}], {}),
        (b'{\n  "a": 1\n}', [{"a": 1}], {}),
        (b"null", [None], {}),
        (b"\xef\xbb\xbf[NaN]", [[None]], {"byte-order-mark": 1, "non-finite-number": 1}),
        (b'{"a":18446744073709551616}', [{"a": 18446744073709551616}], {}),
        (gzip.compress(b'{"a":1}', mtime=0), [{"a": 1}], {}),
        (b'{"a":1}}', [{"a": 1}], {"bad-json": 1}),
    ],
    ids=repr,
)
def test_a_json_document_is_one_record(data, values, codes, tmp_path):
    result, run = document(data, tmp_path)
    assert result == values
    assert run.findings.counts == codes
    assert (run.ledger.read, run.ledger.accounted) == (1, 0)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "bad-json"),
        (b"hello", "bad-json"),
        (b'{"a":', "bad-json"),
        (b"{}{}", "bad-json"),
        (b"[" * 10**5, "too-deep"),
    ],
    ids=lambda item: repr(item)[:20],
)
def test_a_document_that_cannot_be_read_is_quarantined(data, code, tmp_path):
    result, run = document(data, tmp_path)
    assert result == []
    assert run.ledger.adds_up
    assert run.ledger.quarantined == {code: 1}


def test_a_side_file_that_cannot_be_opened_or_is_cut_off_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr(small_files, "LARGEST_BYTES", 1000)
    for data in (None, gzip.compress(DATA[:900], mtime=0)[:-5], b"x" * 1001):
        result, run = document(data, tmp_path)
        assert not result
        assert run.ledger.adds_up
        assert run.ledger.skipped == {"unreadable-side-file": 1}
        assert run.findings.counts == {"unreadable-side-file": 1}


def test_a_small_file_is_read_without_asking_for_the_memory_of_a_large_one(tmp_path):
    (tmp_path / "side.json").write_bytes(b'{"a": 1}')
    run = Run("side.json", None)
    list(json_document(Source.at(tmp_path / "side.json"), run))  # what is imported on the way does not count
    tracemalloc.start()
    try:
        assert list(json_document(Source.at(tmp_path / "side.json"), run)) == [{"a": 1}]
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 4 << 20
