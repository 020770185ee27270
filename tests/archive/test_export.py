"""What leaves the archive is all of it, and comes back the same: as documents, and from the samples in any order."""

import csv
import io
import json
import os
from contextlib import closing
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from archiving import exported, facts, keep_documents, keep_fixtures, keep_folder, keep_paths
from importing import CHECKOUT, cases
from palaver.archive import documents
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.filters import Filters
from palaver.archive.selection import estimate_bytes, select_keys
from palaver.config import Config
from palaver.workflows import archive_import
from palaver.workflows.export import Export, message_cost
from palaver.workflows.export_file_names import FileNames, slug
from palaver.workflows.plan import Planner

SAMPLES = Path(os.environ.get("PALAVER_SAMPLES") or CHECKOUT.parent / "shared" / "samples")
EARLY = "2026-04-01T10:00:00.000Z"


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> Path:
    """All fixtures in one archive."""
    archive = tmp_path_factory.mktemp("everything") / "archive.db"
    keep_fixtures(archive)
    return archive


def written(archive: Path, name: str = "jsonl", **options) -> bytes:
    with closing(open_to_read(archive)) as connection:
        return b"".join(Export(connection, name, **options).pieces(select_keys(connection, Filters())))


def came_back(lines: bytes, folder: Path) -> Path:
    """A new archive, made of an export."""
    folder.mkdir()
    (folder / "out.jsonl").write_bytes(lines)
    assert keep_folder(folder / "out.jsonl", folder / "archive.db").exit_code == 0
    return folder / "archive.db"


# -- laws -----------------------------------------------------------------------------------------------------------


def test_what_is_exported_and_imported_is_exported_the_same(everything, tmp_path):
    first = written(everything)
    assert sorted(first.splitlines()) == sorted(exported(everything))
    assert written(came_back(first, tmp_path / "back")) == first


def test_costs_do_not_come_back(everything, tmp_path):
    with_costs = written(everything, cost=message_cost(Config()))
    assert b'"computed_cost"' in with_costs
    assert written(came_back(with_costs, tmp_path / "back")) == written(everything)


def test_long_conversations_come_back_from_their_fragments(everything, tmp_path, monkeypatch):
    whole = written(everything)
    rows = written(everything, "csv")
    monkeypatch.setattr(documents, "FRAGMENT_BYTES", 2_000)
    cut = written(everything)
    assert len(cut.splitlines()) > len(whole.splitlines())
    assert written(everything, "csv") == rows
    back = came_back(cut, tmp_path / "back")
    assert written(back) == cut
    monkeypatch.undo()
    assert written(back) == whole


def test_a_part_of_a_conversation_comes_back_as_one(tmp_path):
    case = next(case for case in cases() if str(case) == "ucs/fragment_alone")
    keep_folder(case.source, tmp_path / "a.db")
    first = written(tmp_path / "a.db")
    assert "fragment" in json.loads(first)
    assert written(came_back(first, tmp_path / "back")) == first


def test_marks_by_hand_come_back(tmp_path):
    document = {"schema_version": "1.0.0", "conversation_id": "one", "platform": {"name": "chatgpt"}}
    document |= {"created_at": EARLY, "status": "active", "messages": [], "tags": ["garden", "beans"]}
    a = keep_documents(tmp_path / "a.db", document)
    with closing(open_to_write(a)) as connection:
        connection.execute("insert into tag values ('chatgpt', 'one', 'garden', 1, ?)", (EARLY,))
        connection.execute("insert into tag values ('chatgpt', 'one', 'peas', 0, ?)", (EARLY,))
        connection.execute("insert into rating values ('chatgpt', 'one', 4.5, null, ?)", (EARLY,))
    first = written(a)
    assert json.loads(first)["tags"] == ["beans", "peas"]
    assert json.loads(first)["rating"] == {"score": 4.5, "rated_at": EARLY}
    assert written(came_back(first, tmp_path / "back")) == first


def test_two_archives_merged_are_what_both_sources_make_in_any_order(tmp_path):
    halves = [[case.source for case in cases()[start::2]] for start in (0, 1)]
    both = keep_all(tmp_path / "both.db", *halves)
    for name, order in (("ab", halves), ("ba", halves[::-1])):
        one, other = (keep_all(tmp_path / f"{name}{number}.db", half) for number, half in enumerate(order))
        assert keep_folder(one, other).exit_code == 0
        assert written(other) == written(both)
        assert facts(other) == facts(both)
        assert written(keep_all(tmp_path / f"{name}.db", *order)) == written(both)


def keep_all(archive: Path, *rounds: list[Path]) -> Path:
    for paths in rounds:
        keep_paths(paths, archive)
    return archive


@pytest.mark.skipif(not SAMPLES.is_dir(), reason=f"there are no samples at {SAMPLES}")
def test_all_samples_in_any_order_and_by_any_number_of_processes_are_exported_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(archive_import, "_PARALLEL_THRESHOLD_BYTES", 0)

    def kept(name: str, jobs: int, *, is_reversed: bool, rounds: int = 1) -> Path:
        archive = tmp_path / f"{name}.db"
        for _ in range(rounds):
            plan = Planner(archive, {}, is_again=True).plan([SAMPLES])
            tasks = plan.tasks[::-1] if is_reversed else plan.tasks
            archive_import.import_into_archive(tasks, plan.report, archive, jobs=jobs)
            assert not [source for source in plan.report.sources if source.failure]
        return archive

    first = written(kept("once", 1, is_reversed=False))
    assert len(first.splitlines()) > 200
    assert written(kept("twice", 1, is_reversed=True, rounds=2)) == first
    assert written(kept("at_once", 3, is_reversed=False)) == first
    assert written(came_back(first, tmp_path / "back")) == first
    keep_folder(tmp_path / "once.db", tmp_path / "moved.db")
    assert facts(tmp_path / "moved.db") == facts(tmp_path / "once.db")


# -- other formats --------------------------------------------------------------------------------------------------


def test_the_table_of_a_whole_archive_has_a_row_for_each_message(everything):
    rows = list(csv.reader(io.StringIO(written(everything, "csv").decode(), newline=""), strict=True))
    messages = sum(len(json.loads(line)["messages"]) for line in exported(everything))
    assert len(rows) == 1 + messages
    assert {len(row) for row in rows} == {len(rows[0])}


def test_the_markdown_of_a_whole_archive_has_a_heading_for_each_conversation(everything):
    tokens = MarkdownIt().parse(written(everything, "markdown").decode())
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    assert headings.count("h1") == len(exported(everything))


# -- one of many ----------------------------------------------------------------------------------------------------


def test_what_is_counted_is_what_is_written(everything):
    with closing(open_to_read(everything)) as connection:
        keys = select_keys(connection, Filters())
        told: list[int] = []
        export = Export(connection, "jsonl", advance=told.append)
        size = sum(map(len, export.pieces(keys)))
        assert export.size_bytes == size == sum(told)
        assert (export.conversations, export.messages) == connection.execute(
            "select (select count(*) from conversation), (select count(*) from message)"
        ).fetchone()
        assert 0.5 < estimate_bytes(connection, keys) / size < 2


def a_conversation(name: str, **fields) -> dict:
    document = {"schema_version": "1.0.0", "conversation_id": name, "platform": {"name": "chatgpt"}}
    return document | {"created_at": EARLY, "messages": []} | fields


def agent(name: str, parent: str) -> dict:
    return a_conversation(name, session={"parent_conversation_id": parent, "is_sidechain": True})


@pytest.mark.parametrize(
    ("words", "with_agents", "expected"),
    [
        ((), True, ["main", "main:agent-a", "main:agent-b", "other"]),
        ((), False, ["main", "other"]),
        (("main",), True, ["main", "main:agent-a", "main:agent-b"]),
        (("main",), False, ["main"]),
        (("main:agent-a",), True, ["main:agent-a", "main:agent-b"]),
        (("main:agent-a",), False, ["main:agent-a"]),
        (("other", "main:agent-b"), False, ["main:agent-b", "other"]),
    ],
)
def test_words_mean_conversations_and_the_agents_of_their_agents(tmp_path, words, with_agents, expected):
    archive = keep_documents(
        tmp_path / "a.db",
        a_conversation("other"),
        a_conversation("main"),
        agent("main:agent-a", "main"),
        agent("main:agent-b", "main:agent-a"),
    )
    with closing(open_to_read(archive)) as connection:
        keys = select_keys(connection, Filters(), words, with_agents=with_agents)
    assert [json.loads(line)["conversation_id"] for line in exported(archive, keys)] == expected


def test_agents_come_with_a_conversation_that_a_filter_lets_through(tmp_path):
    tagged = a_conversation("main", tags=["garden"])
    archive = keep_documents(tmp_path / "a.db", tagged, agent("x", "main"), agent("y", "none"), a_conversation("other"))
    with closing(open_to_read(archive)) as connection:
        keys = select_keys(connection, Filters(tags=("garden",)))
        assert len(keys) == 2
        assert select_keys(connection, Filters(tags=("garden",)), ("other",)) == []


# -- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("When do I sow the beans?", "2026-04-01-When-do-I-sow-the-beans-0b5e1234.md"),
        ("What's  new\tin C:\\temp/../x?", "2026-04-01-Whats-new-in-C-temp-x-0b5e1234.md"),
        ("Wann säe ich Böhnchen", "2026-04-01-Wann-säe-ich-Böhnchen-0b5e1234.md"),
        ("豆はいつ蒔けばいいですか", "2026-04-01-豆はいつ蒔けばいいですか-0b5e1234.md"),
        ("हिन्दी में", "2026-04-01-हिन्दी-में-0b5e1234.md"),
        ("\x1b[2J\u202e🌱 …", "2026-04-01-2J-0b5e1234.md"),
        (None, "2026-04-01-0b5e1234.md"),
        ("CON", "2026-04-01-CON-0b5e1234.md"),
    ],
)
def test_names_of_files_say_what_is_in_them(title, name):
    assert FileNames(".md").name_of(a_conversation("0b5e1234-aaaa", title=title)) == name


def test_a_conversation_without_a_title_is_called_by_its_first_words():
    said = [
        {"role": "system", "content": [{"type": "text", "text": "Be kind."}]},
        {"role": "user", "content": [{"type": "text", "text": "<reminder>"}], "metadata": {"author_kind": "harness"}},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "My beans"}]},
    ]
    assert FileNames(".csv").name_of(a_conversation("0b5e", messages=said)) == "2026-04-01-My-beans-0b5e.csv"


def test_names_of_files_are_unique_whatever_the_system_thinks_of_case():
    names = FileNames(".md")
    ids = ["0b5e1234-a", "0B5E1234-b", "0b5e1234-c", "s:agent-0b5e1234", "豆"]
    made = [names.name_of(a_conversation(name, title="Beans")) for name in ids]
    assert len({name.casefold() for name in made}) == len(ids)
    assert made[3:] == ["2026-04-01-Beans-agent-0b5e1234.md", "2026-04-01-Beans.md"]
    again = FileNames(".md")
    assert [again.name_of(a_conversation(name, title="Beans")) for name in ids] == made


@pytest.mark.parametrize("text", ["word " * 100, "x" * 1000, "豆" * 1000, "👩‍🌾 " * 100])
def test_names_of_files_are_short_enough_for_every_system(text):
    assert len(slug(text).encode()) <= 120
    assert not slug(text).endswith("-")


def test_a_folder_holds_the_same_as_a_file(everything, tmp_path):
    with closing(open_to_read(everything)) as connection:
        keys = select_keys(connection, Filters())
        export = Export(connection, "jsonl")
        export.into_folder(keys, tmp_path / "folder")
    lines = [line for path in (tmp_path / "folder").iterdir() for line in path.read_bytes().splitlines()]
    assert sorted(lines) == sorted(exported(everything))
    assert len(export.files) == len(keys) == len(list((tmp_path / "folder").iterdir()))
    assert {(file.path.stat().st_size, file.conversations) for file in export.files} == {
        (file.size_bytes, 1) for file in export.files
    }
