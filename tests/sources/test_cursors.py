import io

from hypothesis import example, given
from hypothesis import strategies as st

from palaver.sources.run import HEAD_BYTES, TAIL_BYTES, Cursor, tail_hash

CONTENT = bytes(range(256)) * 1024  # 256 KiB: longer than the head and the tail together


def cursor_at(offset: int, content: bytes = CONTENT) -> Cursor:
    return Cursor(offset, tail_hash(io.BytesIO(content), offset))


def is_valid(cursor: Cursor, content: bytes) -> bool:
    return cursor.is_valid_for(io.BytesIO(content))


def changed(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@given(st.binary(), st.binary(), st.data())
def test_a_cursor_stays_valid_while_the_file_grows(content, more, chosen):
    offset = chosen.draw(st.integers(0, len(content)))
    assert is_valid(cursor_at(offset, content), content + more)


@given(st.integers(0, len(CONTENT)), st.integers(0, len(CONTENT) - 1))
@example(200_000, 0)
@example(200_000, HEAD_BYTES - 1)
@example(200_000, HEAD_BYTES)
@example(200_000, 200_000 - TAIL_BYTES - 1)
@example(200_000, 200_000 - TAIL_BYTES)
@example(200_000, 199_999)
@example(200_000, 200_000)
@example(100, 99)
@example(100, 100)
def test_a_change_in_the_head_or_the_tail_is_noticed(offset, at):
    is_watched = at < offset and (at < HEAD_BYTES or at >= offset - TAIL_BYTES)
    assert is_valid(cursor_at(offset), changed(CONTENT, at)) is not is_watched


@given(st.integers(1, 1000), st.data())
def test_a_file_that_shrank_is_read_whole(offset, chosen):
    size = chosen.draw(st.integers(0, offset - 1))
    assert not is_valid(cursor_at(offset), CONTENT[:size])


def test_a_cursor_behind_the_end_is_never_valid():
    cursor = cursor_at(11, b"0123456789")
    assert not is_valid(cursor, b"0123456789")
    assert not is_valid(cursor, b"0123456789a")
    assert not is_valid(cursor, b"")


def test_a_cursor_at_the_start_is_valid_for_every_file():
    assert is_valid(cursor_at(0), b"anything")
    assert is_valid(cursor_at(0), b"")


def test_checking_a_cursor_reads_no_more_than_the_head_and_the_tail():
    class Counting(io.BytesIO):
        taken = 0

        def read(self, size=-1):
            piece = super().read(size)
            self.taken += len(piece)
            return piece

    stream = Counting(CONTENT)
    assert cursor_at(200_000).is_valid_for(stream)
    assert stream.taken == HEAD_BYTES + TAIL_BYTES
