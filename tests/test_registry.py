"""Adding a platform is one module and one fixture folder; who wins a source; what a bug of an importer costs."""

import importlib
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from importing import cases, check, golden, import_folder, lost_texts, read_golden, write_golden
from palaver import importers
from palaver.errors import UnrecognizedError
from palaver.importers import importer, match_importers, platforms, winner
from palaver.importers._shared.contract import Match
from palaver.importers._shared.platform_names import resolve_platform
from palaver.sources.source import Source
from palaver.workflows.find_units import find_units
from palaver.workflows.import_files import import_files
from palaver.workflows.outputs import JsonLinesFile

TOY = '''
"""Toy talk, JSON Lines of `role` and `said`. Left out: `silence` (lines in which nobody says anything)."""

from palaver.importers._shared.contract import Match, Options
from palaver.model import build
from palaver.model.timestamps import normalize_timestamp
from palaver.sources.damage import NOT_AN_OBJECT
from palaver.sources.jsonl import JsonLines


class Toy:
    title = "Toy talk"
    platform = "toy"
    revision = 1
    record = "line"
    options = Options

    def locations(self):
        return []

    def recognizes(self, source):
        return Match.yes("a .toy file") if source.suffix == ".toy" else Match.no()

    def read(self, source, run):
        messages = []
        time = normalize_timestamp(source.modified_at())
        with source.open() as stream:
            lines = JsonLines(stream, run)
            for record in lines:
                if type(record) is not dict:
                    run.quarantined(NOT_AN_OBJECT, lines.raw, lines.where())
                elif "said" not in record:
                    run.skipped("silence")
                else:
                    messages.append(build.message(
                        message_id=str(lines.number), role="user", timestamp=time, content=[build.text(record["said"])]
                    ))
                    run.mapped()
        yield build.conversation(
            conversation_id=source.stem, platform={"name": self.platform}, created_at=time, messages=messages
        )


IMPORTER = Toy()
'''

SAID = "This sentence is long enough to be looked for in the document that comes out."
TALK = b'{"role": "user", "said": "' + SAID.encode() + b'"}\n{"role": "user"}\n[]\n'


def toy(*changes: tuple[str, str]) -> str:
    """The toy importer, with some of its words replaced."""
    text = TOY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.fixture
def add_importer(tmp_path, monkeypatch):
    """Put modules beside palaver's own importers, as if they lay in the same folder."""
    folder = tmp_path / "importers"
    folder.mkdir()
    monkeypatch.setattr(importers, "__path__", [*importers.__path__, str(folder)])
    added = []

    def add(name: str, text: str) -> None:
        (folder / f"{name}.py").write_text(text, "utf-8")
        importlib.invalidate_caches()
        added.append(name)

    yield add
    importer.cache_clear()
    for name in added:
        sys.modules.pop(f"palaver.importers.{name}", None)
        vars(importers).pop(name, None)


def write(path: Path, content: bytes = TALK) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# -- one module, one fixture folder ---------------------------------------------------------------------------------


def test_one_module_and_one_fixture_folder_are_a_platform(add_importer, tmp_path):
    fixtures = tmp_path / "fixtures"
    write(fixtures / "toy" / "a_talk" / "source" / "talk.toy")
    write(fixtures / "toy" / "a_talk" / "NOTE.md", b"Two lines and something that is no line.")
    before = platforms()
    add_importer("toy", toy())

    assert platforms() == sorted([*before, "toy"])
    assert importer("toy").title == "Toy talk"

    [case] = [case for case in cases(fixtures) if case.platform == "toy"]
    assert str(case) == "toy/a_talk"
    root = case.lay_out(tmp_path / "laid_out")
    source = Source.at(root / "talk.toy")
    assert winner(match_importers(source), source.label) == ("toy", Match.yes("a .toy file"))

    for imported in (import_folder(root), import_folder(root, "toy")):
        assert [unit.platform for unit in imported.units] == ["toy"]
        check(imported)
        assert not lost_texts(imported, case.files())
        assert imported.report.exit_code == 1  # for the line that is no object

    write_golden(case.expected, golden(imported))
    document, finding, ledger = read_golden(case.expected)
    assert document["document"]["messages"][0]["content"] == [{"type": "text", "text": SAID}]
    assert document["document"]["messages"][0]["timestamp"] == "2026-01-01T00:00:00.000Z"
    assert finding["finding"]["code"] == "not-an-object"
    assert finding["finding"]["source"] == "talk.toy"
    assert ledger == {
        "ledger": {
            "read": 3,
            "mapped": 1,
            "folded": {},
            "skipped": {"silence": 1},
            "quarantined": {"not-an-object": 1},
        },
        "source": "talk.toy",
    }


def test_lost_content_is_seen(add_importer, tmp_path):
    """The oracle of content must be able to fail."""
    add_importer("toy", toy(('build.text(record["said"])', 'build.text("words of its own")')))
    imported = import_folder(write(tmp_path / "talks" / "talk.toy").parent)
    assert lost_texts(imported, {"talk.toy": TALK}) == [SAID]


def test_names_alone_make_the_list(add_importer):
    add_importer("broken", "raise RuntimeError('imported')")
    add_importer("_not_an_importer", "")
    assert "broken" in platforms()
    assert "_not_an_importer" not in platforms()
    with pytest.raises(UnrecognizedError, match="_not_an_importer"):
        importer("_not_an_importer")


def test_an_unknown_platform_is_told_with_the_known_ones():
    with pytest.raises(UnrecognizedError, match=rf"'abacus'.*{platforms()[0]}"):
        importer("abacus")


@pytest.mark.parametrize(
    ("typed", "platform"),
    [
        ("chatgpt", "chatgpt"),
        ("ChatGPT", "chatgpt"),
        ("chat-gpt", "chatgpt"),
        ("Claude.ai", "claude_ai"),
        ("claude code", "claude_code"),
        ("Continue", "continue_dev"),
        ("API traces", "api_trace"),
    ],
)
def test_a_platform_is_found_by_its_id_or_title_however_it_is_typed(typed, platform):
    assert resolve_platform(typed) == platform


@pytest.mark.parametrize(
    ("typed", "advice"),
    [
        ("chatgtp", "did you mean chatgpt?"),
        ("claude", "did you mean claude_ai or claude_code?"),
        ("copilot", "did you mean github_copilot?"),
        ("abacus", "choose one of api_trace, "),
    ],
)
def test_an_unknown_platform_comes_with_those_that_may_be_meant(typed, advice):
    with pytest.raises(UnrecognizedError, match=re.escape(f"unknown platform {typed!r}: {advice}")):
        resolve_platform(typed)


def test_a_platform_without_an_importer_is_resolved_where_the_caller_knows_it():
    assert resolve_platform("Some Assistant", ["some_assistant"]) == "some_assistant"


# -- packages from elsewhere ----------------------------------------------------------------------------------------


@dataclass
class EntryPoint:
    name: str
    loaded: Any

    def load(self) -> Any:
        return self.loaded


@pytest.mark.parametrize("is_module", [True, False], ids=["a module", "the importer itself"])
def test_other_packages_join_through_entry_points(is_module, monkeypatch, tmp_path):
    room: dict[str, Any] = {}
    exec(toy(('platform = "toy"', 'platform = "elsewhere"')), room)  # noqa: S102 - a package that is not installed
    loaded = type("Module", (), {"IMPORTER": room["IMPORTER"]}) if is_module else room["IMPORTER"]
    points = {"palaver.importers": [EntryPoint("elsewhere", loaded)]}
    monkeypatch.setattr(importers, "_external_importers", lambda: points.get(importers.ENTRY_POINTS, []))
    importer.cache_clear()
    try:
        assert "elsewhere" in platforms()
        assert importer("elsewhere") is room["IMPORTER"]
        imported = import_folder(write(tmp_path / "talks" / "talk.toy").parent)
        assert [document["platform"]["name"] for document in imported.documents] == ["elsewhere"]
    finally:
        importer.cache_clear()


# -- who wins -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdicts", "won"),
    [
        (["no", "no"], None),
        (["no", "yes", "no"], 1),
        (["maybe", "yes", "maybe"], 1),
        (["no", "maybe"], 1),
    ],
)
def test_a_single_yes_wins_and_without_one_a_single_maybe(verdicts, won):
    judgements = {f"platform{number}": Match(verdict) for number, verdict in enumerate(verdicts)}
    found = winner(judgements, "talk.toy")
    assert (found[0] if found else None) == (None if won is None else f"platform{won}")


@pytest.mark.parametrize("verdicts", [["yes", "yes"], ["maybe", "maybe"], ["maybe", "yes", "yes"]])
def test_two_claims_are_an_error_that_names_the_way_out(verdicts):
    judgements = {f"platform{number}": Match(verdict) for number, verdict in enumerate(verdicts)}
    with pytest.raises(UnrecognizedError, match=r"palaver import PLATFORM talk\.toy") as told:
        winner(judgements, "talk.toy")
    assert "platform1" in str(told.value)


@pytest.mark.parametrize("verdict", ["yes", "maybe"])
def test_a_file_claimed_twice_is_refused_unless_its_platform_is_named(verdict, add_importer, tmp_path):
    add_importer("toy", toy(("Match.yes", f"Match.{verdict}")))
    add_importer("toy_too", toy(("Match.yes", f"Match.{verdict}"), ('platform = "toy"', 'platform = "toy_too"')))
    path = write(tmp_path / "talk.toy")
    units, report = find_units([path])
    assert units == []
    assert report.exit_code == 2
    assert ["palaver import PLATFORM" in problem for problem in report.refused] == [True]
    assert "toy and toy_too" in report.refused[0]
    units, report = find_units([path], "toy_too")
    assert [unit.platform for unit in units] == ["toy_too"]
    assert report.exit_code == 0


# -- bugs of importers ----------------------------------------------------------------------------------------------


def test_an_importer_that_raises_is_told_as_our_bug_and_the_next_source_is_read(add_importer, tmp_path):
    reads = ("yield", "raise ZeroDivisionError('by nothing')\n        yield")
    add_importer("broken", toy(('== ".toy"', '== ".broken"'), reads))
    add_importer("toy", toy())
    write(tmp_path / "talks" / "a.broken")
    write(tmp_path / "talks" / "b.toy")
    units, report = find_units([tmp_path / "talks"])
    output = JsonLinesFile(tmp_path / "out.jsonl")
    import_files(units, report, output, {})
    output.close(keep=True)
    broken, sound = report.sources
    assert "ZeroDivisionError: by nothing" in broken.failure
    assert "bug in palaver" in broken.failure
    assert "ZeroDivisionError" in broken.traceback
    assert "broken.py" in broken.traceback
    assert (sound.failure, sound.traceback, sound.conversations) == ("", "", 1)
    assert [json.loads(line)["conversation_id"] for line in (tmp_path / "out.jsonl").read_bytes().splitlines()] == ["b"]
    assert report.exit_code == 1


def test_an_importer_that_raises_while_it_is_asked_does_not_end_the_run(add_importer, tmp_path):
    asks = ("if source.suffix", 'if not source.is_folder and {"b.toy": 1}[source.name] and source.suffix')
    add_importer("toy", toy(asks))
    write(tmp_path / "talks" / "a.toy")
    write(tmp_path / "talks" / "b.toy")
    units, report = find_units([tmp_path / "talks"])
    assert [unit.source.name for unit in units] == ["b.toy"]
    assert [("KeyError" in problem, "bug in palaver" in problem) for problem in report.refused] == [(True, True)]


def test_a_record_without_a_disposition_is_told_as_our_bug(add_importer, tmp_path):
    add_importer("toy", toy(('run.skipped("silence")', "pass")))
    imported = import_folder(write(tmp_path / "talks" / "talk.toy").parent)
    assert "3 records were read, 2 accounted for" in imported.reports[0].failure
    assert imported.report.exit_code == 1
    with pytest.raises(AssertionError):
        check(imported)
