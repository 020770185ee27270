"""What holds for every importer, shown on every fixture folder: nothing here names a platform."""

import copy
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from importing import (
    FIXTURES,
    LONG,
    Case,
    Imported,
    Usage,
    cases,
    check,
    difference,
    files_of,
    golden,
    import_folder,
    import_units,
    lost_blocks,
    lost_texts,
    named,
    read_golden,
    records_of,
    reference_validator,
    set_time,
    strings,
    texts_of,
    validator,
    write_golden,
)
from palaver.importers import importer, match_importers, platforms, winner
from palaver.workflows.find_units import find_units
from palaver.workflows.validate import ValidationSettings

CASES = cases()
LAW = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
IN_PLACE_OF_CREDENTIALS = "REDACTED-BY-FIXTURE"
"""Stands in fixtures where a real file has credentials."""

every_case = pytest.mark.parametrize("case", CASES, ids=str)
every_platform = pytest.mark.parametrize("platform", platforms())


# -- fixtures -------------------------------------------------------------------------------------------------------


@every_platform
def test_a_platform_has_fixtures(platform):
    assert [case for case in CASES if case.platform == platform]


def test_a_fixture_folder_has_a_platform():
    # Rules and traces have fixtures of their own kind.
    assert {folder.name for folder in FIXTURES.iterdir() if folder.is_dir()} <= {*platforms(), "rules", "traces"}


@every_case
def test_a_case_says_what_it_shows(case):
    assert case.source.is_dir()
    assert len((case.folder / "NOTE.md").read_text("utf-8").split()) >= 10


# -- recognition ----------------------------------------------------------------------------------------------------


@every_case
def test_exactly_one_importer_recognizes_each_unit(case, tmp_path):
    root = case.lay_out(tmp_path)
    alone = import_folder(root)
    asked = import_folder(root, case.platform)
    assert [unit.source.label for unit in alone.units] == [unit.source.label for unit in asked.units]
    assert alone.found.refused == asked.found.refused == []
    for unit in alone.units:
        judgements = match_importers(unit.source)
        won = winner(judgements, unit.source.label)
        assert won is not None
        assert won.platform == case.platform == unit.platform
        assert len([match for match in judgements.values() if match.verdict == won.match.verdict]) == 1
        assert won.match.reason


@every_case
def test_a_case_is_read(case, tmp_path):
    imported = import_folder(case.lay_out(tmp_path), case.platform)
    assert imported.units or all(not raw for raw in case.files().values())


# -- golden ---------------------------------------------------------------------------------------------------------


@every_case
def test_golden(case, tmp_path, update_golden):
    entries = golden(import_folder(case.lay_out(tmp_path), case.platform))
    assert str(tmp_path) not in json.dumps(entries)
    if update_golden:
        write_golden(case.expected, entries)
    assert case.expected.is_file(), f"{case.expected} is missing: run pytest --update-golden and read what it wrote"
    expected = read_golden(case.expected)
    assert entries == expected, difference(entries, expected)


@every_case
def test_importing_twice_gives_the_same(case, tmp_path):
    first = import_folder(case.lay_out(tmp_path / "here"), case.platform)
    second = import_folder(case.lay_out(tmp_path / "there"), case.platform)
    again = import_units(first.root, first.units)
    assert first.lines == again.lines
    assert golden(first) == golden(second)


# -- what always holds ----------------------------------------------------------------------------------------------


@every_case
def test_ledger_adds_up_and_nothing_fails(case, tmp_path):
    check(import_folder(case.lay_out(tmp_path), case.platform))


@every_case
def test_both_validators_accept_every_document(case, tmp_path):
    for document in import_folder(case.lay_out(tmp_path), case.platform).documents:
        assert validator().is_valid(document)
        assert not [error.message for error in reference_validator().iter_errors(document)]


@every_case
def test_no_document_of_an_importer_is_an_error_by_the_rules(case, tmp_path):
    """Documents that others wrote are handed on with their faults."""
    judge = ValidationSettings().new_judge()
    said = [judge.judge(document) for document in import_folder(case.lay_out(tmp_path), case.platform).documents]
    said += [[verdict] for _, verdict in judge.close()]
    errors = [verdict for verdicts in said for verdict in verdicts if verdict.severity == "error"]
    assert not errors or case.platform == "ucs"


@every_case
def test_content_survives(case, tmp_path):
    imported = import_folder(case.lay_out(tmp_path), case.platform)
    assert not lost_texts(imported, case.files())
    assert not lost_blocks(imported, case.files())


@every_case
def test_tokens_are_the_greatest_stated_in_whatever_order(case, tmp_path):
    """The lines of one answer repeat its usage; which of them comes last must not matter."""
    root = case.lay_out(tmp_path)
    for path in [root / name for name in case.files() if name.endswith(".jsonl")]:
        lines = path.read_bytes().split(b"\n")
        records = [_loaded(line) for line in lines if line]
        if all(isinstance(record, dict) and record.get("type") != "stream_event" for record in records):
            path.write_bytes(b"\n".join(reversed(lines)))
            set_time(path)
    for imported in (import_folder(case.lay_out(tmp_path / "as_it_was")), import_folder(root)):
        check(imported)
        stated, told = Usage(), Usage()
        told.add_told(imported.documents)
        told.add_used(imported.used)
        for unit in imported.units:
            for raw in files_of(unit).values():
                stated.add_stated(raw)
        assert stated.best == {api_id: told.best.get(api_id, Counter()) for api_id in stated.best}


def test_credentials_reach_neither_documents_nor_findings_nor_the_quarantine(tmp_path):
    marker = IN_PLACE_OF_CREDENTIALS.encode()
    marked = [case for case in CASES if any(marker in raw for raw in case.files().values())]
    assert marked
    for case in marked:
        imported = import_folder(case.lay_out(tmp_path / case.platform / case.folder.name), case.platform)
        assert IN_PLACE_OF_CREDENTIALS not in json.dumps(golden(imported))
        assert not [entry for entry in imported.quarantined if marker in entry.raw]


@every_platform
def test_the_oracle_of_content_sees_texts(platform):
    """Without this, a platform whose records the oracle cannot read would pass unseen."""
    seen = [
        text
        for case in CASES
        if case.platform == platform
        for raw in case.files().values()
        for text in texts_of(raw, (), platform)
    ]
    assert seen


@every_platform
def test_every_rule_that_skips_is_documented(platform, tmp_path):
    documentation = sys.modules[type(importer(platform)).__module__].__doc__
    rules = {
        rule
        for case in CASES
        if case.platform == platform
        for rule in import_folder(case.lay_out(tmp_path / case.folder.name), platform).skipped_rules()
    }
    assert {rule for rule in rules if f"`{rule}`" not in documentation} == set()


# -- laws -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mutated:
    """The bytes of a file after one change; shown as the change alone."""

    raw: bytes
    change: str

    def __repr__(self) -> str:
        return self.change


class Bench:
    """A fixture laid out on disk, of which one file at a time is changed."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.platform = case.platform
        self.files = case.files()
        self.root = case.lay_out(folder)
        self.units = import_folder(self.root, case.platform).units
        self.names = sorted(name for name, raw in self.files.items() if raw)

    def holds_with(self, name: str, raw: bytes) -> Imported:
        """Import with other bytes in one file, found anew and as the same units as before."""
        self._write(name, raw)
        try:
            _, found = find_units([self.root], self.platform)
            imported = import_units(self.root, named(self.units), found)
        finally:
            self._write(name, self.files[name])
        assert not imported.found.refused
        check(imported)
        files = {**self.files, name: raw}
        lost = [*lost_texts(imported, files), *lost_blocks(imported, files)]
        assert not lost, lost
        return imported

    def _write(self, name: str, raw: bytes) -> None:
        path = self.root / name
        path.write_bytes(raw)
        set_time(path)


@pytest.fixture
def bench(case, tmp_path):
    return Bench(case, tmp_path)


def holds_for_any(
    bench: Bench,
    mutation: Callable[[bytes], st.SearchStrategy[Mutated]],
    and_also: Callable[[str, Imported], None] = lambda _name, _imported: None,
) -> None:
    """Try a law on the files of a case, one changed at a time."""
    if not bench.names:
        return

    @LAW
    @given(st.data())
    def law(data):
        name = data.draw(st.sampled_from(bench.names), label="file")
        change = data.draw(mutation(bench.files[name]), label="change")
        and_also(name, bench.holds_with(name, change.raw))

    law()


@every_case
def test_truncated_at_any_byte(bench):
    """A live file ends anywhere: what is not finished is pending, and nothing more is set aside than in the whole."""
    set_aside = len(import_units(bench.root, bench.units).quarantined)

    def is_not_refused(name: str, imported: Imported) -> None:
        if name.endswith(".jsonl"):
            assert len(imported.quarantined) <= set_aside, imported.quarantined

    holds_for_any(bench, truncated, is_not_refused)


@every_case
def test_any_bytes_edited(bench):
    holds_for_any(bench, edited)


@every_case
def test_any_line_replaced_doubled_or_moved(bench):
    holds_for_any(bench, with_other_lines)


@every_case
def test_any_value_of_any_record_replaced_or_deleted(bench):
    holds_for_any(bench, with_other_values)


@st.composite
def truncated(draw, raw: bytes) -> Mutated:
    cut = draw(st.integers(0, len(raw)))
    return Mutated(raw[:cut], f"cut at byte {cut} of {len(raw)}")


@st.composite
def edited(draw, raw: bytes) -> Mutated:
    start = draw(st.integers(0, len(raw)))
    size = draw(st.integers(0, 8))
    new = draw(st.binary(max_size=8) | st.sampled_from(_ODD_BYTES))
    changed = raw[:start] + new + raw[start + size :]
    assume(not changed.startswith(_COMPRESSED))
    return Mutated(changed, f"at byte {start}: {raw[start : start + size]!r} became {new!r}")


_COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK")
"""How gzip, Zstandard and ZIP begin: a file that claims to be one of them is no text any more."""


_ODD_BYTES = [
    *(b"\n", b"\r\n", b"\0" * 16, b"{", b"}", b"[", b"]", b'"', b"\\"),
    *(b"\xff", b"\xef\xbb\xbf", b"{\n", b"[\n", b"\n}\n", b"\n]\n"),
]


@st.composite
def with_other_lines(draw, raw: bytes) -> Mutated:
    lines = raw.split(b"\n")
    at = draw(st.integers(0, len(lines) - 1))
    other = draw(st.integers(0, len(lines) - 1))
    new = draw(json_values.map(_dumped) | st.binary(max_size=40))
    match draw(st.sampled_from(["replaced", "doubled", "swapped", "gone"])):
        case "replaced":
            lines[at] = new
            change = f"line {at + 1} became {new!r}"
        case "doubled":
            lines.insert(other, lines[at])
            change = f"line {at + 1} stands once more before line {other + 1}"
        case "swapped":
            lines[at], lines[other] = lines[other], lines[at]
            change = f"lines {at + 1} and {other + 1} changed places"
        case _:
            del lines[at]
            change = f"line {at + 1} is gone"
    assume(not lines[0:1] or not lines[0].startswith(_COMPRESSED))
    return Mutated(b"\n".join(lines), change)


@st.composite
def with_other_values(draw, raw: bytes) -> Mutated:
    """One value, at any depth of any record, replaced, deleted or added."""
    documents, join = _parsed(raw)
    if not documents:
        return Mutated(raw, "nothing changed: no record can be read")
    at = draw(st.sampled_from(sorted(documents)))
    record = copy.deepcopy(documents[at])
    pointer, holder, key = draw(st.sampled_from(_places(record)))
    # Only in the content of a message is a new text one that must be found again: a copy's envelope may be left out.
    texts = [*_short_texts(documents), "x" * LONG] if "/content/" in pointer else _short_texts(documents)
    value = draw(json_values | st.sampled_from(texts))
    match draw(st.sampled_from(["replaced", "deleted", "added"])):
        case "replaced":
            change = f"{pointer}/{key} became {value!r}"
            holder[key] = value
        case "deleted":
            change = f"{pointer}/{key} is gone"
            del holder[key]
        case _ if isinstance(holder, dict):
            key = draw(st.sampled_from(_keys(documents)))
            change = f"{pointer}/{key} added or replaced: {value!r}"
            holder[key] = value
        case _:
            change = f"{pointer}/{key} inserted: {value!r}"
            holder.insert(key, value)
    return Mutated(join({**documents, at: record}), f"line {at + 1}: {change}")


def _parsed(raw: bytes) -> tuple[dict[int, Any], Callable[[dict[int, Any]], bytes]]:
    """The containers in a file by their lines, and how to write it with others in their places."""
    if isinstance(whole := _loaded(raw), dict | list) and whole:
        return {0: whole}, lambda changed: _dumped(changed[0])
    lines = raw.split(b"\n")
    found = {number: value for number, line in enumerate(lines) if isinstance(value := _loaded(line), dict | list)}
    if found := {number: value for number, value in found.items() if value}:
        return found, lambda changed: b"\n".join(
            _dumped(changed[number]) if number in changed else line for number, line in enumerate(lines)
        )
    spread = dict(enumerate(records_of(raw)))
    return spread, lambda changed: b"\n".join(json.dumps(record, indent=2).encode() for record in changed.values())


def _loaded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def _places(value: Any) -> list[tuple[str, Any, Any]]:
    """Every place in a JSON value: the pointer to the container, the container, the key in it."""
    found: list[tuple[str, Any, Any]] = []
    stack: list[tuple[str, Any]] = [("", value)]
    while stack:
        pointer, holder = stack.pop()
        for key, item in holder.items() if isinstance(holder, dict) else enumerate(holder):
            found.append((pointer, holder, key))
            if isinstance(item, dict | list):
                stack.append((f"{pointer}/{key}", item))
    return found


def _short_texts(documents: dict[int, Any]) -> list[str]:
    """Values that mean something elsewhere in the file: ids of other records, types, times."""
    return sorted({text for text in strings(list(documents.values())) if len(text) < 80}) or [""]


def _keys(documents: dict[int, Any]) -> list[str]:
    own = {key for document in documents.values() for _, holder, key in _places(document) if isinstance(holder, dict)}
    return sorted(own | _OUR_KEYS)


_OUR_KEYS = {
    *("author_kind", "api_message_id", "source_ids", "request_id", "other_request_ids", "stop_reason", "hidden"),
    *("model_override", "tokens_partial", "revisions", "queued", "timestamp_inferred", "invalid_fields", "metadata"),
    *("completed_at", "continues", "parent_inferred", "missing_parent", "user_type", "session_id", "duration_ms"),
    *("tool_use_result", "command_name", "interrupted", "is_compact_summary", "toolUseResult", "truncated"),
}
"""Names under which importers put things of their own: a source may use the same ones for anything."""


def _dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats()
    | st.text(st.characters(), max_size=12)
    | st.sampled_from(["", " ", "\0", "\ud83d", "user", "text", "2026-13-45T99:99:99Z"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "id", "content", "text", "message", "uuid", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)
