import hashlib
import io
import json
import pickle
import stat
import struct
import zipfile
import zlib
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from palaver.errors import OptionError, PalaverError, SourceError
from palaver.sources.discovery import Unclaimed, discover
from palaver.sources.source import Source
from palaver.sources.zip import directory, inflate, limits
from palaver.sources.zip import folder as zips
from palaver.sources.zip.directory import read_directory
from palaver.sources.zip.folder import ZipFolder
from palaver.sources.zip.limits import Limits

WORDS = b"".join(b'{"n":%d,"text":"%08x"}\n' % (number, number * 2654435761 % 2**32) for number in range(400))
MEMBERS = {"a.jsonl": WORDS, "empty": b"", "dir/b.jsonl": b"{}\n", "dir/deep/c.json": WORDS[:3000] * 3, "z": b"P"}
METHODS = {
    "stored": zipfile.ZIP_STORED,
    "deflated": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}


class Pipe:
    """A file that can only be written on: sizes then stand behind the members."""

    def __init__(self) -> None:
        self.written = bytearray()

    def write(self, piece):
        self.written += piece
        return len(piece)

    def flush(self):
        pass


def zipped(members=MEMBERS, method=zipfile.ZIP_DEFLATED, *, is_streamed=False, is_large=False) -> bytes:
    target = Pipe() if is_streamed else io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, data in dict(members).items():
            with archive.open(name, "w", force_zip64=is_large) as member:
                member.write(data)
    return bytes(target.written) if is_streamed else target.getvalue()


MAKINGS = {
    f"{method}{' streamed' * is_streamed}{' ZIP64' * is_large}": (method, is_streamed, is_large)
    for method in METHODS
    for is_streamed in (False, True)
    for is_large in (False, True)
}


@cache
def made(making: str) -> bytes:
    method, is_streamed, is_large = MAKINGS[making]
    return zipped(method=METHODS[method], is_streamed=is_streamed, is_large=is_large)


def directory_start(data: bytes) -> int:
    return data.index(b"PK\x01\x02")


def put(tmp_path: Path, data: bytes) -> ZipFolder:
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    return ZipFolder(path)


def handed_out(folder: ZipFolder, name: str, size: int = 1 << 20) -> tuple[bytes, str]:
    """All that comes out of a member, and the error at its end."""
    pieces = []
    problem = ""
    try:
        with folder.open(name) as stream:
            while piece := stream.read(size):
                pieces.append(piece)
            assert stream.read(size) == b""
    except SourceError as error:
        problem = str(error)
    assert "\n" not in problem
    return b"".join(pieces), problem


def told(folder: ZipFolder) -> list[tuple[str, str]]:
    remarks = folder.remarks()
    assert all(message and "\n" not in message for _, _, message in remarks)
    return [(kind.code, where) for kind, where, _ in remarks]


# A ZIP as a folder


@pytest.mark.parametrize("making", MAKINGS)
def test_every_member_is_read_whole_however_the_zip_was_made(tmp_path, making):
    folder = put(tmp_path, made(making))
    assert folder.names() == sorted(MEMBERS)
    assert {name: handed_out(folder, name, 777) for name in folder.names()} == {
        name: (data, "") for name, data in MEMBERS.items()
    }
    assert folder.size_bytes("a.jsonl") == len(WORDS)
    assert told(folder) == []


def test_a_folder_in_a_zip_is_a_folder_of_its_own(tmp_path):
    folder = put(tmp_path, zipped({**MEMBERS, "dir0": b"", "dir/void/": b""}))
    below = folder.subfolder("dir")
    deep = below.subfolder("deep/")
    assert (below.label, deep.label) == (f"{folder.label}!dir", f"{folder.label}!dir/deep")
    assert below.label_of("b.jsonl") == folder.label_of("dir/b.jsonl")
    assert (below.names(), below.names("deep"), deep.names()) == (
        ["b.jsonl", "deep/c.json"],
        ["deep/c.json"],
        ["c.json"],
    )
    assert handed_out(deep, "c.json") == (MEMBERS["dir/deep/c.json"], "")
    assert (below.has("b.jsonl"), below.has("a.jsonl"), folder.has("dir")) == (True, False, False)
    assert below.size_bytes("b.jsonl") == 3
    assert (below.path_of("b.jsonl"), below.modified_at("b.jsonl")) == (None, folder.path.stat().st_mtime)
    assert folder.subfolder("") is folder
    assert folder.subfolder("missing").names() == []


def test_a_listing_names_the_files_and_the_folders_directly_in_it(tmp_path):
    folder = put(tmp_path, zipped({**MEMBERS, "dir/void/": b"", "x/y/z/deepest": b""}))
    assert folder.listing() == (["a.jsonl", "empty", "z"], ["dir", "x"])
    assert folder.subfolder("dir").listing() == (["b.jsonl"], ["deep", "void"])
    assert folder.subfolder("dir/void").listing() == ([], [])
    assert folder.subfolder("x").listing() == ([], ["y"])
    assert folder.subfolder("x/y/z").listing() == (["deepest"], [])
    assert folder.subfolder("missing").listing() == ([], [])


@given(st.sets(st.lists(st.sampled_from("ab0. -"), min_size=1, max_size=4).map("/".join), max_size=8))
def test_walking_the_listings_finds_every_name(tmp_path_factory, names):
    folder = put(tmp_path_factory.getbasetemp(), zipped(dict.fromkeys(names, b"")))

    def walk(folder):
        files, folders = folder.listing()
        return files + [f"{below}/{name}" for below in folders for name in walk(folder.subfolder(below))]

    assert sorted(walk(folder)) == folder.names()
    for below in folder.listing()[1]:
        assert folder.names(below) == [name for name in folder.names() if name.startswith(f"{below}/")]


def test_the_folders_of_a_zip_share_what_was_opened(tmp_path):
    folder = put(tmp_path, zipped())
    below = folder.subfolder("dir")
    assert folder.names()
    folder.path.unlink()
    assert below.names() == ["b.jsonl", "deep/c.json"]


def test_a_folder_in_a_zip_survives_pickling(tmp_path, monkeypatch):
    below = put(tmp_path, zipped()).subfolder("dir")
    assert below.names()
    opened = []
    monkeypatch.setattr(zips, "read_directory", lambda *about: opened.append(about) or read_directory(*about))
    for _ in range(3):
        again = pickle.loads(pickle.dumps(below))  # noqa: S301 - our own bytes
        assert (again.label, again.names()) == (below.label, below.names())
        assert handed_out(again, "b.jsonl") == (b"{}\n", "")
    assert len(opened) == 1, "another process reads the directory once, not once a member"


def test_two_members_are_read_at_once(tmp_path):
    folder = put(tmp_path, zipped())
    with folder.open("a.jsonl") as one, folder.open("a.jsonl") as two, folder.open("dir/deep/c.json") as three:
        pieces = [(one.read(100), two.read(100), three.read(100)) for _ in range(20)]
    assert b"".join(piece for piece, _, _ in pieces) == b"".join(piece for _, piece, _ in pieces) == WORDS[:2000]
    assert b"".join(piece for _, _, piece in pieces) == MEMBERS["dir/deep/c.json"][:2000]


# Inflating


@pytest.fixture(params=["isal", "zlib"])
def inflater(request, monkeypatch):
    if request.param == "zlib":
        monkeypatch.setattr(inflate, "fast_zlib", zlib)
    return request.param


CONTENT = st.one_of(
    st.binary(max_size=3000),
    st.tuples(st.binary(min_size=1, max_size=40), st.integers(0, 3000)).map(lambda pair: pair[0] * pair[1]),
)


@given(CONTENT, st.sampled_from([1, 7, 100, 1 << 18]), st.lists(st.integers(0, 5000), max_size=6))
@pytest.mark.parametrize("method", METHODS)
def test_inflating_gives_what_was_packed_in_pieces_of_any_size(tmp_path_factory, method, data, packed_piece, sizes):
    folder = put(tmp_path_factory.getbasetemp(), zipped({"a": data}, METHODS[method]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inflate, "_READ_BYTES", packed_piece)
        with folder.open("a") as stream:
            pieces = [stream.read(size) for size in sizes]
            assert [len(piece) for piece in pieces[:-1]] == [
                min(size, max(0, len(data) - sum(sizes[:place]))) for place, size in enumerate(sizes[:-1])
            ]
            assert b"".join([*pieces, stream.read()]) == data
            assert stream.read() == b""


@settings(max_examples=200)
@given(st.integers(0, 2999), st.integers(1, 255), st.sampled_from([1, 1000, 1 << 20]))
def test_of_a_damaged_member_comes_out_all_that_zlib_can_inflate(tmp_path_factory, place, change, size):
    data = bytearray(zipped({"a": WORDS}))
    start = 31
    packed = directory_start(data) - start
    data[start + place % packed] ^= change
    inflater, expected, broke = zlib.decompressobj(-15), bytearray(), False
    piece = bytes(data[start : start + packed])
    while not broke and not inflater.eof:
        try:
            expected += (plain := inflater.decompress(piece, 1))
            piece = inflater.unconsumed_tail
            broke = not plain and not piece
        except zlib.error:
            broke = True
    plain, error = handed_out(put(tmp_path_factory.getbasetemp(), bytes(data)), "a", size)
    assert plain == expected
    assert "is damaged or cut off: " in error


def test_without_isal_all_is_read_as_well(tmp_path, inflater):
    data = bytearray(zipped())
    assert handed_out(put(tmp_path, bytes(data)), "a.jsonl") == (WORDS, ""), inflater
    data[60:90] = b"\xff" * 30
    plain, error = handed_out(put(tmp_path, bytes(data)), "a.jsonl")
    assert WORDS.startswith(plain[:20])
    assert "is damaged or cut off" in error


def test_a_wrong_checksum_is_told_behind_the_last_byte(tmp_path):
    for method in METHODS.values():
        data = bytearray(zipped({"a": WORDS}, method))
        data[directory_start(data) + 16] ^= 1
        plain, error = handed_out(put(tmp_path, bytes(data)), "a", 100)
        assert plain == WORDS
        assert error.endswith("its checksum is wrong")


def test_a_method_nobody_here_knows_says_what_to_do(tmp_path):
    for method, word in ((9, "Deflate64"), (98, "method 98")):
        data = bytearray(zipped({"a": b"x"}))
        data[directory_start(data) + 10] = method
        folder = put(tmp_path, bytes(data))
        assert folder.names() == ["a"]
        with pytest.raises(SourceError, match=f"{word}; unpack the archive with another tool"):
            folder.open("a")


def test_lzma_that_asks_for_too_much_memory_is_refused(tmp_path):
    data = zipped({"a": b"x" * 100}, zipfile.ZIP_LZMA)
    asking = data.replace(struct.pack("<L", 1 << 23), b"\xff" * 4, 1)
    assert asking != data
    assert "too much memory" in handed_out(put(tmp_path, asking), "a")[1]


# What is refused, and what is told


@pytest.mark.parametrize(
    "name",
    [
        *("../x", "a/../../x", "/etc/x", "C:/x", "c:x", "..\\x", "a\\..\\..\\x", "\\x", "\\\\server\\x", "a/.."),
        *("a\0b", "d/" * 256 + "x", "n" * 4097),
    ],
    ids=lambda name: repr(name)[:20],
)
def test_a_name_that_points_out_of_the_archive_is_told_and_left_out(tmp_path, name):
    plain = "?" * len(name)
    data = zipped({plain: b"bad\n", "good": b"good\n"}).replace(plain.encode(), name.encode())
    folder = put(tmp_path, data)
    assert folder.names() == ["good"]
    assert folder.listing() == (["good"], [])
    assert not folder.has(name)
    shown = name.replace("\0", "\\x00")
    assert told(folder) == [("unsafe-member-name", shown)]
    with pytest.raises(SourceError, match="its name is unsafe"):
        folder.open(name)
    assert handed_out(folder, "good") == (b"good\n", "")


def test_harmless_backslashes_and_dots_are_put_right(tmp_path):
    data = zipped({"dir?sub?a.json": b"1", "./b.json": b"2", "x//c.json": b"3", "..d": b"4"}).replace(b"?", b"\\")
    folder = put(tmp_path, data)
    assert folder.names() == ["..d", "b.json", "dir/sub/a.json", "x/c.json"]
    assert [handed_out(folder, name)[0] for name in folder.names()] == [b"4", b"2", b"1", b"3"]
    assert told(folder) == []


def test_a_name_with_a_line_break_stays_on_one_line(tmp_path):
    folder = put(tmp_path, zipped({"a\nb": b"x"})[:34])
    assert folder.names() == ["a\nb"]
    assert "a\\nb" in handed_out(folder, "a\nb")[1]


def test_a_link_is_told_and_left_out(tmp_path):
    link = zipfile.ZipInfo("link")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("a", "x")
    folder = ZipFolder(tmp_path / "a.zip")
    assert (folder.names(), folder.has("link")) == (["a"], False)
    assert told(folder) == [("symlink-member", "link")]


def test_an_encrypted_member_is_told_and_left_out(tmp_path):
    data = bytearray(zipped({"dir/a": b"x", "dir/b": b"y"}))
    data[6] |= 1
    data[directory_start(data) + 8] |= 1
    folder = put(tmp_path, bytes(data))
    assert (folder.names(), folder.has("dir/a")) == (["dir/b"], False)
    assert told(folder) == [("encrypted-member", "dir/a")]
    assert told(folder.subfolder("dir")) == [("encrypted-member", "a")]
    assert told(folder.subfolder("elsewhere")) == []
    with pytest.raises(SourceError, match="unpack it with its password"):
        folder.open("dir/a")
    with pytest.raises(SourceError, match="no such member"):
        folder.open("dir/c")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_of_a_name_that_stands_twice_the_last_is_read(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for text in ("first", "second", "third"):
            archive.writestr("a", text)
    folder = ZipFolder(tmp_path / "a.zip")
    assert folder.names() == ["a"]
    assert handed_out(folder, "a") == (b"third", "")
    assert told(folder) == [("duplicate-member", "a")] * 2


def test_a_zip_within_is_told(tmp_path):
    inner = zipped()
    folder = put(tmp_path, zipped({"x/in.ZIP": inner, "fake.zip": b"hello", "report.docx": inner, "void.zip": b""}))
    assert told(folder) == [("nested-zip", "x/in.ZIP")]
    assert told(folder.subfolder("x")) == [("nested-zip", "in.ZIP")]
    assert "unpack the outer one" in folder.remarks()[0][2]


# Bombs


def test_a_member_is_read_up_to_the_limit(tmp_path, monkeypatch):
    for limit, error_end in ((len(WORDS), ""), (len(WORDS) - 1, "if you trust it, raise PALAVER_ZIP_MAX_BYTES")):
        monkeypatch.setenv("PALAVER_ZIP_MAX_BYTES", str(limit))
        for method in METHODS.values():
            folder = put(tmp_path, zipped({"a": WORDS, "b": b"x"}, method))
            for size in (1000, 1 << 20):
                plain, error = handed_out(folder, "a", size)
                assert (plain, bool(error)) == (WORDS[:limit], bool(error_end))
                assert error.endswith(error_end)
            assert told(folder) == ([("oversized-member", "a")] if error_end else [])
            assert handed_out(folder, "b") == (b"x", "")


def test_a_declared_size_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setenv("PALAVER_ZIP_MAX_BYTES", "5000")
    data = zipped({"a": WORDS}).replace(struct.pack("<L", len(WORDS)), struct.pack("<L", 10))
    folder = put(tmp_path, data)
    assert told(folder) == []
    plain, error = handed_out(folder, "a")
    assert plain == WORDS[:5000]
    assert "is larger than 5000 bytes" in error


def test_all_members_together_are_limited_and_reading_again_counts_once(tmp_path, monkeypatch):
    monkeypatch.setenv("PALAVER_ZIP_MAX_BYTES", "1000")
    folder = put(tmp_path, zipped({f"{number}": b"x" * 900 for number in range(6)}))
    for _ in range(3):
        assert [handed_out(folder, name)[1] for name in "0123"] == [""] * 4
    assert "brings its archive past 4000 bytes" in handed_out(folder, "4")[1]
    assert handed_out(folder, "5")[0] == b""
    assert handed_out(ZipFolder(folder.path), "5") == (b"x" * 900, "")


def test_a_member_that_inflates_too_much_is_stopped(tmp_path, monkeypatch):
    folder = put(tmp_path, zipped({"a": bytes(3_000_000)}))
    assert handed_out(folder, "a") == (bytes(3_000_000), "")
    monkeypatch.setattr(limits, "RATIO_FLOOR_BYTES", 1_000_000)
    folder = ZipFolder(folder.path)
    assert told(folder) == [("oversized-member", "a")]
    plain, error = handed_out(folder, "a", 100_000)
    assert plain == bytes(1_100_000)
    assert "inflates to more than 200 times its size" in error
    monkeypatch.setenv("PALAVER_ZIP_MAX_RATIO", "2000")
    assert handed_out(ZipFolder(folder.path), "a") == (bytes(3_000_000), "")


def test_members_that_share_their_bytes_are_a_bomb_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "RATIO_FLOOR_BYTES", 1_000_000)
    data = zipped({"a": bytes(900_000)})
    start = directory_start(data)
    entry = data[start : data.index(b"PK\x05\x06")]
    entries = b"".join(entry[:46] + b"%c" % name + entry[47:] for name in b"abcdef")
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 6, 6, len(entries), start, 0)
    folder = put(tmp_path, data[:start] + entries + end)
    assert folder.names() == list("abcdef")
    assert handed_out(folder, "a") == (bytes(900_000), "")
    assert "brings its archive past 200 times the archive's size" in handed_out(folder, "b")[1]


@pytest.mark.parametrize("variable", ["PALAVER_ZIP_MAX_BYTES", "PALAVER_ZIP_MAX_RATIO"])
@pytest.mark.parametrize("text", ["0", "-1", "1e9", "64 GiB", "many", "9" * 30])
def test_a_limit_that_is_no_number_is_told(tmp_path, monkeypatch, variable, text):
    monkeypatch.setenv(variable, text)
    with pytest.raises(OptionError, match=f"^{variable} is .*: give a whole number above 0, or unset it$"):
        put(tmp_path, zipped()).names()


def test_the_limits_are_those_of_the_environment(monkeypatch):
    assert Limits.from_environment() == Limits(64 << 30, 200)
    monkeypatch.setenv("PALAVER_ZIP_MAX_BYTES", " 12 ")
    monkeypatch.setenv("PALAVER_ZIP_MAX_RATIO", "")
    assert Limits.from_environment() == Limits(12, 200)


# Archives without a directory, or with a wrong one


@cache
def packed_ends(making: str) -> dict[str, int]:
    """Where each member ends in the whole archive, its descriptor included."""
    data = made(making)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        starts = [about.header_offset for about in archive.infolist()]
        return dict(zip(MEMBERS, [*starts[1:], archive.start_dir], strict=True))


@pytest.mark.parametrize("making", MAKINGS)
def test_without_its_directory_every_member_is_found(tmp_path, making):
    data = made(making)
    folder = put(tmp_path, data[: max(packed_ends(making).values())])
    assert folder.names() == sorted(MEMBERS)
    assert {name: handed_out(folder, name) for name in MEMBERS} == {name: (data, "") for name, data in MEMBERS.items()}
    assert told(folder) == [("zip-salvaged", "")]
    assert "5 members were found by their own headers" in folder.remarks()[0][2]


@settings(max_examples=400)
@given(st.sampled_from(sorted(MAKINGS)), st.floats(0, 1), st.sampled_from([100, 1 << 20]))
def test_a_zip_cut_at_any_byte_gives_what_stands_before_the_cut(tmp_path_factory, making, share, size):
    cut = int(len(made(making)) * share)
    folder = put(tmp_path_factory.getbasetemp(), made(making)[:cut])
    whole = {name for name, end in packed_ends(making).items() if end <= cut}
    try:
        names = folder.names()
    except SourceError as error:
        assert "as a ZIP" in str(error)  # noqa: PT017 - the archive may be whole, or nothing may be left of it
        names = []
    assert whole <= set(names) <= MEMBERS.keys()
    for name in names:
        plain, error = handed_out(folder, name, size)
        if name in whole:
            assert (plain, error) == (MEMBERS[name], "")
        assert MEMBERS[name].startswith(plain)
        assert not error or "is damaged or cut off" in error
        assert error or plain == MEMBERS[name]


def test_of_a_member_that_is_cut_all_comes_out_that_is_there(tmp_path):
    for making in ("stored", "stored streamed", "deflated", "deflated streamed"):
        data = made(making)[:3000]
        plain, error = handed_out(put(tmp_path, data), "a.jsonl")
        packed = data[30 + len("a.jsonl") :]
        expected = packed if "stored" in making else zlib.decompressobj(-15).decompress(packed)
        assert plain == expected
        assert "its end is missing" in error


EDITS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 40), st.binary(max_size=4)), min_size=1, max_size=4)


@settings(max_examples=400)
@given(st.sampled_from(sorted(MAKINGS)), EDITS)
def test_a_zip_with_any_bytes_edited_gives_bytes_or_a_source_error(tmp_path_factory, making, edits):
    data = made(making)
    for share, removed, added in edits:
        at = int(len(data) * share)
        data = data[:at] + added + data[at + removed :]
    folder = put(tmp_path_factory.getbasetemp(), data)
    try:
        names = folder.names()
        told(folder)
    except SourceError as error:
        assert "\n" not in str(error)  # noqa: PT017 - any part may be the broken one, or none
        return
    for name in names:
        assert folder.size_bytes(name) >= 0
        handed_out(folder, name)


@pytest.mark.parametrize("making", ["stored", "deflated", "deflated streamed", "deflated streamed ZIP64"])
def test_bytes_lost_from_one_member_cost_no_other(tmp_path, making):
    data = made(making)
    folder = put(tmp_path, data[:1000] + data[1100:])
    assert set(folder.names()) >= MEMBERS.keys() - {"a.jsonl"}
    for name in MEMBERS.keys() - {"a.jsonl"}:
        assert handed_out(folder, name) == (MEMBERS[name], "")
    assert handed_out(folder, "a.jsonl")[1]
    assert ("zip-salvaged", "") in told(folder)


def test_a_member_that_is_not_where_the_directory_says_is_looked_for(tmp_path):
    data = bytearray(zipped({"a": b"1", "b": b"2", "c": b"3"}))
    second = data.index(b"PK\x01\x02", directory_start(data) + 4)
    data[second + 42 : second + 46] = struct.pack("<L", 7)
    folder = put(tmp_path, bytes(data))
    assert [handed_out(folder, name) for name in "abc"] == [(b"1", ""), (b"2", ""), (b"3", "")]
    data[data.index(b"PK\x03\x04", 4)] = 0
    with pytest.raises(SourceError, match="not where the directory of the archive says"):
        put(tmp_path, bytes(data)).open("b")


def test_a_name_that_is_no_utf8_costs_no_other(tmp_path):
    data = zipped({"a€": b"1", "b": b"2"}).replace("€".encode(), b"\xff\xff\xff")
    folder = put(tmp_path, data)
    assert folder.names() == ["a���", "b"]
    assert handed_out(folder, "b") == (b"2", "")
    assert ("zip-salvaged", "") in told(folder)


@pytest.mark.parametrize(("before", "after"), [(b"#!/bin/sh\nexit\n", b""), (b"", b"junk" * 50), (b"x" * 9, b"PK")])
def test_bytes_before_and_behind_a_zip_are_passed_by(tmp_path, before, after):
    folder = put(tmp_path, before + zipped() + after)
    assert {name: handed_out(folder, name)[0] for name in folder.names()} == MEMBERS
    assert told(folder) == []


def test_a_zip_with_more_behind_it_than_a_comment_holds_is_salvaged(tmp_path):
    folder = put(tmp_path, zipped() + bytes(70_000))
    assert {name: handed_out(folder, name)[0] for name in folder.names()} == MEMBERS
    assert told(folder) == [("zip-salvaged", "")]


def test_an_empty_zip_is_an_empty_folder(tmp_path):
    folder = put(tmp_path, zipped({}))
    assert (folder.names(), folder.listing(), told(folder)) == ([], ([], []), [])
    assert Source.at(folder.path).is_zip()
    assert [type(found) for found in discover(folder.path, lambda _: None)] == [Unclaimed]


def test_an_empty_file_is_no_zip(tmp_path):
    with pytest.raises(SourceError, match=r"cannot open .* as a ZIP"):
        put(tmp_path, b"").names()


def test_a_spanned_mark_before_a_whole_zip_changes_nothing(tmp_path):
    for mark in (b"PK\x07\x08", b"PK00"):
        folder = put(tmp_path, mark + zipped())
        assert {name: handed_out(folder, name)[0] for name in folder.names()} == MEMBERS
        assert told(folder) == []


def test_a_part_of_a_split_zip_says_so(tmp_path):
    data = zipped()
    first = put(tmp_path, b"PK\x07\x08" + data[:3000])
    assert first.names() == ["a.jsonl"]
    assert "part of a split archive (join the parts first)" in first.remarks()[0][2]
    last = bytearray(data[3000:])
    end = last.index(b"PK\x05\x06")
    last[end + 4 : end + 6] = b"\x02\x00"
    folder = put(tmp_path, bytes(last))
    assert set(folder.names()) < MEMBERS.keys()
    assert "part of a split archive (join the parts first)" in folder.remarks()[0][2]
    with pytest.raises(SourceError, match="part of a split archive"):
        put(tmp_path, bytes(last[end - 30 :])).names()


def test_a_whole_zip_stored_in_a_cut_one_is_not_taken_for_it(tmp_path):
    for inner in (zipped({"inner": b"x"}), zipped({})):
        data = zipped({"a": b"1", "in.zip": inner, "b": WORDS}, zipfile.ZIP_STORED)
        folder = put(tmp_path, data[: data.index(WORDS) + 100])
        assert folder.names() == ["a", "b", "in.zip"]
        assert handed_out(folder, "in.zip") == (inner, "")
        assert told(folder) == [("zip-salvaged", ""), ("nested-zip", "in.zip")]


def test_forged_headers_do_not_have_the_same_bytes_inflated_again_and_again(tmp_path, monkeypatch):
    """Each member holds all the headers behind it in blocks that are fine, and the last block is not."""
    header = directory.LOCAL_HEADER.pack(b"PK\x03\x04", 20, 8, 8, 0, 0, 0, 0, 0, 1, 0) + b"a"
    block = struct.pack("<BHH", 0, 100, 100 ^ 0xFFFF) + bytes(100 - len(header))
    data = (header + block) * 300 + header + b"\xff" * 10
    inflated = []

    class Counting:
        def __init__(self, wbits):
            self.inflater = zlib.decompressobj(wbits)

        def __getattr__(self, name):
            return getattr(self.inflater, name)

        def decompress(self, piece, most):
            inflated.append(len(piece))
            return self.inflater.decompress(piece, most)

    monkeypatch.setattr(directory, "zlib", SimpleNamespace(decompressobj=Counting, error=zlib.error))
    monkeypatch.setattr(directory, "_STEP_BYTES", 100)
    monkeypatch.setattr(directory, "_WINDOW_BYTES", 1000)
    folder = put(tmp_path, data)
    assert folder.names() == ["a"]
    assert told(folder).count(("duplicate-member", "a")) == 300
    assert len(data) < sum(inflated) < 4 * len(data)


def test_a_zip_in_a_cut_member_is_not_taken_apart(tmp_path):
    noise = hashlib.shake_256(b"noise").digest(5000)  # deflate leaves it as it is
    inner = zipped({"inner": noise}, zipfile.ZIP_STORED)
    for method, is_streamed in (
        (zipfile.ZIP_STORED, False),
        (zipfile.ZIP_DEFLATED, False),
        (zipfile.ZIP_DEFLATED, True),
    ):
        data = zipped({"a": b"1", "in.zip": inner}, method, is_streamed=is_streamed)
        assert b"inner" in data
        folder = put(tmp_path, data[: data.index(noise[:100]) + 1000])
        assert folder.names() == ["a", "in.zip"]


def test_a_size_that_was_damaged_costs_no_other_member(tmp_path):
    for making, size in (("deflated", struct.pack("<L", 1 << 30)), ("deflated ZIP64", b"\xff" * 8)):
        data = bytearray(made(making)[: max(packed_ends(making).values())])
        at = 18 if len(size) == 4 else 30 + len("a.jsonl") + 12
        data[at : at + len(size)] = size
        folder = put(tmp_path, bytes(data))
        assert {name: handed_out(folder, name)[0] for name in folder.names()} == MEMBERS


def test_no_more_members_are_salvaged_than_memory_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(directory, "MAX_MEMBERS", 2)
    folder = put(tmp_path, made("deflated")[:-30])
    assert folder.names() == ["a.jsonl", "empty"]
    assert "the first 2 members were found by their own headers" in folder.remarks()[0][2]


def test_marks_at_the_edge_of_the_window_are_seen(tmp_path, monkeypatch):
    for window in (64, 65, 66, 67, 100):
        monkeypatch.setattr(directory, "_WINDOW_BYTES", window)
        for making in ("stored streamed", "deflated streamed"):
            folder = put(tmp_path, b"junk" + made(making)[: max(packed_ends(making).values())])
            assert {name: handed_out(folder, name)[0] for name in folder.names()} == MEMBERS


def test_what_discovery_finds_in_a_cut_zip_is_read(tmp_path):
    rows = [json.dumps({"n": number}) for number in range(3)]
    folder = put(tmp_path, zipped({"a.jsonl": "\n".join(rows).encode(), "b": WORDS})[:500])
    seen = []
    list(discover(folder.path, lambda source: seen.append(source.name)))
    assert seen == ["", "a.jsonl", "b"]
    with pytest.raises(PalaverError):
        ZipFolder(tmp_path / "missing.zip").names()
