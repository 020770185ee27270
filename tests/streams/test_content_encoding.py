"""Decoders of content encodings: every cut gives the same bytes, and damage keeps what precedes it."""

import gzip
import zlib

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from palaver.streams.content_encoding import content_decoder

TEXT = b"".join(b'event: delta\ndata: {"n": %d}\n\n' % number for number in range(400))


def raw_deflate(body: bytes) -> bytes:
    made = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return made.compress(body) + made.flush()


def gzipped(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


ENCODERS = {
    "gzip": gzipped,
    "x-gzip": gzipped,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstandard.ZstdCompressor().compress,
    "identity": bytes,
    "": bytes,
    "gzip, br": lambda body: brotli.compress(gzipped(body)),
}


def decoded(encoding: str, chunks: list[bytes]) -> tuple[bytes, bool]:
    decoder = content_decoder(encoding)
    assert decoder is not None
    body = b"".join(piece for chunk in chunks for piece in decoder.feed(chunk))
    return body, decoder.is_damaged


@pytest.mark.parametrize("encoding", ENCODERS)
@given(data=st.data())
def test_cuts_do_not_matter(encoding: str, data: st.DataObject) -> None:
    body = ENCODERS[encoding](TEXT)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=5)))
    chunks = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert decoded(encoding, chunks) == (TEXT, False)


def test_deflate_may_lack_its_header() -> None:
    assert decoded("deflate", [raw_deflate(TEXT)]) == (TEXT, False)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_members_follow_each_other(encoding: str) -> None:
    one = ENCODERS[encoding](TEXT)
    assert decoded(encoding, [one + one[:7], one[7:]]) == (TEXT * 2, False)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_what_precedes_damage_is_kept(encoding: str) -> None:
    pieces = [b"%d" % (number * 7919) for number in range(60_000)]
    whole = b" ".join(pieces)
    body = bytearray(ENCODERS[encoding](whole))
    middle = len(body) // 2
    body[middle : middle + 40] = b"\xff" * 40
    found, is_damaged = decoded(encoding, [bytes(body[:middle]), bytes(body[middle:]), b"more"])
    assert is_damaged
    assert len(found) < len(whole)
    assert whole.startswith(found[:1_000])


def test_expands_in_small_pieces() -> None:
    for encoding in ("gzip", "br"):
        decoder = content_decoder(encoding)
        assert decoder is not None
        pieces = list(decoder.feed(ENCODERS[encoding](bytes(50_000_000))))
        assert sum(map(len, pieces)) == 50_000_000
        assert max(map(len, pieces)) < 2_000_000


def test_unknown_encodings_have_no_decoder() -> None:
    assert content_decoder("aws-chunked") is None
    assert content_decoder("gzip, dictionary") is None
