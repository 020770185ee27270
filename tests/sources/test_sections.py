"""Texts cut at their headings: every byte of them is in a section or before the first, and every section is counted."""

import io
import re

from hypothesis import given
from hypothesis import strategies as st

from palaver.errors import SourceError
from palaver.sources import sections as sections_module
from palaver.sources.run import Run
from palaver.sources.sections import Sections

HEADING = re.compile(rb"^# (\w+)$", re.MULTILINE)


def read(raw):
    run = Run("text")
    sections = Sections(io.BytesIO(raw), run, HEADING)
    return sections, list(sections), run


def codes(run):
    return dict(run.findings.counts)


def test_sections_with_their_places():
    run = Run("text")
    sections = Sections(io.BytesIO("über\n# one\na\n\n# two\n".encode()), run, HEADING)
    assert sections.preface == "über\n"
    seen = [(name, text, sections.number, sections.offset, sections.raw) for name, text in sections]
    assert seen == [("one", "\na\n\n", 1, 6, b"# one\na\n\n"), ("two", "\n", 2, 15, b"# two\n")]
    assert run.ledger.read == 2
    assert sections.where() == "section 2, byte 15"


def test_a_text_without_headings_is_all_preface_and_can_be_set_aside():
    kept = []
    run = Run("text", quarantine=kept.append)
    sections = Sections(io.BytesIO(b"# one two\n"), run, HEADING)
    assert sections.preface == "# one two\n"
    assert list(sections) == []
    assert run.ledger.read == 0
    sections.quarantine_all()
    assert run.ledger.read == 1
    assert [entry.raw for entry in kept] == [b"# one two\n"]


def test_a_byte_order_mark_nul_bytes_and_carriage_returns_are_no_text():
    _, found, run = read(b"\xef\xbb\xbf# one\r\na\0\0b\r\n")
    assert found == [("one", "\nab\n")]
    assert codes(run) == {"byte-order-mark": 1, "nul-bytes": 1, "carriage-returns": 1}


def test_carriage_returns_of_some_lines_are_text():
    _, found, run = read(b"# one\na\r\nb\n")
    assert found == [("one", "\na\r\nb\n")]
    assert codes(run) == {}


def test_bytes_that_are_no_utf8_are_replaced():
    _, found, run = read(b"\xff\n# one\n\xfe\n")
    assert found == [("one", "\n\ufffd\n")]
    assert codes(run) == {"invalid-utf8": 2}


class Broken(io.BytesIO):
    def read(self, size=-1):
        return super().read(min(size, 8)) or self.fail()

    def fail(self):
        raise SourceError("the rest is damaged")


def test_what_came_before_damage_is_kept():
    run = Run("text")
    assert list(Sections(Broken(b"# one\nab\ncd"), run, HEADING)) == [("one", "\nab\ncd")]
    assert codes(run) == {"source-cut-off": 1}


def test_what_comes_behind_the_limit_is_not_read(monkeypatch):
    monkeypatch.setattr(sections_module, "MAX_BYTES", 20)
    monkeypatch.setattr(sections_module, "CHUNK_BYTES", 8)
    _, found, run = read(b"# one\nabcdefghijklmnopqrstuvwxyz\n")
    assert found == [("one", "\nabcdefghij")]
    assert codes(run) == {"source-cut-off": 1}


@given(st.lists(st.sampled_from([b"# one\n", b"# two", b"\n", b"a", "ü".encode(), b"\r\n"])).map(b"".join))
def test_every_byte_is_in_a_section_or_before_the_first(raw):
    run = Run("text")
    sections = Sections(io.BytesIO(raw), run, HEADING)
    pieces = [sections.raw for _ in sections]
    assert sections.preface.encode() + b"".join(pieces) in {raw, raw.replace(b"\r\n", b"\n")}
    assert run.ledger.read == len(pieces)
