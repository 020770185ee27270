"""A higher revision of an importer reaches archives that exist already: its sources are read again, and replaced."""

import json
import multiprocessing
import os
import shutil
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archiving import exported, facts, keep_folder, keep_paths
from importing import FIXTURES
from palaver.archive import connection as connecting
from palaver.archive.connection import open_to_read, open_to_write
from palaver.archive.deletion import forget
from palaver.archive.findings import FindingFilters
from palaver.archive.health import check_contents, check_headers, check_references, check_search_index
from palaver.archive.selection import find_conversation
from palaver.archive.source_records import SourceDescription, ensure_source
from palaver.archive.tags import change_tags, rate
from palaver.errors import ArchiveError
from palaver.importers import importer, platforms
from palaver.model import build
from palaver.workflows import archive_import, reread
from palaver.workflows.plan import Planner
from palaver.workflows.reread_plan import add_rereads
from palaver.workflows.retry_quarantine import retry
from scripted import AT, document, install, message, scripted, write  # noqa: F401 - a fixture

FORKS = "forkserver" in multiprocessing.get_all_start_methods()
CONTEXT = multiprocessing.get_context("forkserver" if FORKS else "spawn")


def reports(archive: Path) -> dict:
    """What the archive knows of its sources, without times and numbers."""
    with closing(open_to_read(archive)) as connection:
        return {
            name: sorted(connection.execute(query))
            for name, query in {
                "source": "select platform, label, conversations, messages, failure, revision from source",
                "origin": "select label, conversation_id from origin join source on source = source_key "
                "join conversation on conversation = conversation_key",
                "usage": "select label, usage_id from usage_origin join source on source = source_key "
                "join usage_record on usage_record = usage_key",
                "ledger": "select label, disposition, rule, records from ledger join source on source = source_key",
                "finding": "select label, code, findings, places from finding join source on source = source_key",
                "quarantine": "select label, place, code, raw from quarantine join source on source = source_key",
            }.items()
        }


def is_healthy(archive: Path) -> bool:
    with closing(open_to_read(archive)) as connection:
        checks = [check_references(connection)]
        checks += [check(connection, is_full=True) for check in (check_contents, check_headers, check_search_index)]
    return [check for check in checks if check.verdict != "ok"] == []


def assert_as_fresh(archive: Path, fresh: Path) -> None:
    assert exported(archive) == exported(fresh)
    assert facts(archive) == facts(fresh)
    assert reports(archive) == reports(fresh)
    assert is_healthy(archive)


# -- the law --------------------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "c"])
texts = st.sampled_from(["When do I sow the beans?", "After the last frost.", "And the peas?", "Earlier than that."])
metadata = st.fixed_dictionaries(
    {},
    optional={
        "author_kind": st.sampled_from(["human", "harness"]),
        "known_from": st.just("history"),
        "api_message_id": st.sampled_from(["call-1", "call-2"]),
        "update_time": st.sampled_from([AT.format(5), AT.format(6)]),
        "mood": st.sampled_from(["calm", "cross"]),
    },
)
messages = st.builds(
    message,
    st.sampled_from(["m1", "m2", "m3"]),
    texts,
    st.integers(1, 4),
    role=st.sampled_from(["user", "assistant"]),
    metadata=metadata,
    tokens=st.none() | st.builds(lambda count: {"output_tokens": count}, st.integers(0, 9)),
)
summaries = st.builds(
    lambda name, text: {
        "summary_id": name, "type": "automatic", "text": text, "timestamp": AT.format(9), "covers_messages": []
    },
    st.sampled_from(["s1", "s2"]),
    texts,
)  # fmt: skip
documents = st.builds(
    lambda name, held, **fields: document(name, *held, **fields),
    names,
    st.lists(messages, min_size=1, max_size=3, unique_by=lambda made: made["message_id"]),
    title=st.none() | texts,
    status=st.none() | st.sampled_from(["active", "completed"]),
    updated_at=st.none() | st.sampled_from([AT.format(7), AT.format(8)]),
    tags=st.none() | st.lists(st.sampled_from(["red", "blue"]), max_size=2),
    summaries=st.none() | st.lists(summaries, max_size=2),
    platform=st.fixed_dictionaries({}, optional={"model": st.sampled_from(["one", "two"])}),
)
usage = st.builds(
    lambda name, count: build.usage(
        usage_id=name,
        platform={"name": "scripted"},
        kind="request",
        started_at=AT.format(1),
        tokens={"output_tokens": count},
    ),
    st.sampled_from(["u1", "u2"]),
    st.integers(0, 9),
)
readings = st.fixed_dictionaries(
    {
        "documents": st.lists(documents, max_size=3),
        "usage": st.lists(usage, max_size=2),
        "quarantined": st.lists(st.sampled_from(["torn", "odd"]), max_size=2),
    }
)
scripts = st.lists(st.tuples(readings, readings), min_size=1, max_size=3)


@pytest.mark.usefixtures("scripted")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scripts)
def test_after_one_import_the_archive_equals_a_fresh_one(tmp_path_factory, pairs):
    folder = tmp_path_factory.mktemp("law")
    for number, pair in enumerate(pairs):
        write(folder / "sources" / f"{number}.script", *pair)
    install(1)
    keep_folder(folder / "sources", folder / "archive.db")
    install(2)
    keep_folder(folder / "sources", folder / "archive.db")
    keep_folder(folder / "sources", folder / "fresh.db")
    assert_as_fresh(folder / "archive.db", folder / "fresh.db")


# -- what is replaced, and what is kept -----------------------------------------------------------------------------


def texts_of(archive: Path) -> dict[str, list[str]]:
    """The texts of each conversation, by platform and id."""
    with closing(open_to_read(archive)) as connection:
        found: dict[str, list[str]] = {}
        query = (
            "select platform || ':' || conversation_id, content ->> '$[0].text' from message "
            "join conversation on conversation = conversation_key join body on body = body_key "
            "order by 1, position, message_id"
        )
        for name, text in connection.execute(query):
            found.setdefault(name, []).append(text)
        return found


def reading(*made: dict, **others) -> dict:
    return {"documents": list(made), **others}


@pytest.fixture
def sources(tmp_path, scripted):  # noqa: ARG001, F811 - the importer must be there
    return tmp_path / "sources"


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "archive.db"


def test_what_an_importer_no_longer_yields_leaves(sources, archive):
    before = reading(
        document("kept", message("m1", "typed"), message("m2", "noise")), document("gone", message("m1", "x"))
    )
    write(sources / "one.script", before, reading(document("kept", message("m1", "typed"))))
    keep_folder(sources, archive)
    install(2)
    report = keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:kept": ["typed"]}
    assert report.archive == {"added": 0, "updated": 1, "unchanged": 0, "forgotten": 0, "removed": 1}
    assert len(keep_folder(sources, archive).sources) == 0, "once is enough"


def test_a_record_refused_now_is_kept_beside_one_that_is_no_longer(sources, archive):
    """SQLite gives the number of the removed record to the new one; both sources come in one transaction."""
    made = document("a", message("m1", "one")), document("b", message("m1", "two"))
    write(sources / "one.script", reading(made[0], quarantined=["torn"]), reading(made[0]))
    write(sources / "two.script", reading(made[1]), reading(made[1], quarantined=["odd"]))
    keep_folder(sources, archive)
    install(2)
    keep_folder(sources, archive)
    assert [Path(row[0]).name for row in reports(archive)["quarantine"]] == ["two.script"]


def test_a_path_that_no_importer_reads_any_more_is_released_and_refused(sources, archive):
    path = write(sources / "x.left.script", reading(document("b", message("m1", "b"))))
    keep_folder(sources, archive)
    install(2)
    report = keep_paths([path], archive)
    assert report.exit_code == 2
    assert texts_of(archive) == {}


def test_a_source_that_yields_the_same_changes_nothing(sources, archive):
    write(sources / "one.script", reading(document("a", message("m1", "typed"))))
    keep_folder(sources, archive)
    install(2)
    assert keep_folder(sources, archive).archive["unchanged"] == 1


def test_what_only_a_vanished_source_contributed_is_kept(sources, archive):
    shared = [message("m1", "misread", metadata={"author_kind": "harness", "long": "x" * 50})]
    write(sources / "gone.script", reading(document("a", *shared, message("m2", "only there", 2))))
    write(
        sources / "there.script",
        reading(document("a", *shared, title="wrong")),
        reading(document("a", message("m1", "misread", metadata={"author_kind": "human"}), title="right")),
    )
    keep_folder(sources, archive)
    (sources / "gone.script").unlink()
    install(2)
    keep_folder(sources, archive)
    (made,) = map(json.loads, exported(archive))
    assert [shown["message_id"] for shown in made["messages"]] == ["m1", "m2"]
    assert made["messages"][0]["metadata"] == {"author_kind": "human"}, "the better reading stands"
    assert made["title"] == "right"
    assert is_healthy(archive)


def test_a_version_that_shows_more_stands_even_if_its_source_vanished(sources, archive):
    old = message("m1", "first draft", metadata={"update_time": AT.format(3)})
    new = message("m1", "second draft", metadata={"update_time": AT.format(4)})
    write(sources / "gone.script", reading(document("a", new)))
    write(sources / "there.script", reading(document("a", old)))
    keep_folder(sources, archive)
    (sources / "gone.script").unlink()
    install(2)
    keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:a": ["second draft"]}
    assert is_healthy(archive)


def test_what_a_source_has_lost_since_it_was_read_is_kept(sources, archive):
    write(
        sources / "one.script",
        reading(document("a", message("m1", "one"), message("m2", "two")), document("b", message("m1", "b"))),
    )
    keep_folder(sources, archive)
    write(sources / "one.script", reading(document("a", message("m1", "one"))))
    os.utime(sources / "one.script", (1, 1))
    install(2)
    keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:a": ["one", "two"], "scripted:b": ["b"]}


def test_what_a_source_had_lost_before_it_was_last_read_is_kept(sources, archive):
    write(sources / "one.script", reading(document("a", message("m1", "one")), document("b", message("m1", "b"))))
    keep_folder(sources, archive)
    write(sources / "one.script", reading(document("a", message("m1", "one"))))
    keep_folder(sources, archive)
    install(2)
    keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:a": ["one"], "scripted:b": ["b"]}


def test_a_source_that_cannot_be_read_to_its_end_takes_nothing_away(sources, archive):
    write(
        sources / "one.script",
        reading(document("a", message("m1", "one"), message("m2", "two")), document("b", message("m1", "b"))),
        reading(document("a", message("m1", "one")), failure="the disk is tired"),
    )
    keep_folder(sources, archive)
    install(2)
    keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:a": ["one", "two"], "scripted:b": ["b"]}


@pytest.mark.parametrize("is_changed", [False, True])
def test_what_an_earlier_revision_was_killed_over_is_replaced(sources, archive, is_changed):
    """How the file was then is not known: only if it is older than the reading, all that was read is still there."""
    path = write(
        sources / "one.script",
        reading(document("a", message("m1", "old"), message("m2", "noise")), document("b", message("m1", "b"))),
        reading(document("a", message("m1", "new"))),
    )
    os.utime(path, (1, 1))
    keep_folder(sources, archive)
    with closing(open_to_write(archive)) as connection:
        connection.execute("update source set imported_at = '', conversations = 0, messages = 0, revision = 1")
        for table in ("source_file", "cursor", "ledger", "finding"):
            connection.execute(f"delete from {table}")
    if is_changed:
        path.touch()
    install(2)
    keep_folder(sources, archive)
    left = {"scripted:a": ["new", "noise"], "scripted:b": ["b"]} if is_changed else {"scripted:a": ["new"]}
    assert texts_of(archive) == left
    assert len(keep_folder(sources, archive).sources) == 0


def test_what_this_revision_was_killed_over_is_joined(sources, archive):
    write(sources / "one.script", reading(document("a", message("m1", "one"))))
    install(2)
    description = SourceDescription("scripted", str(sources / "one.script"), revision=2)
    with closing(open_to_write(archive)) as connection:
        ensure_source(connection, description)
    planner = Planner(archive, {})
    plan = planner.plan([sources])
    assert len(plan.tasks) == 1
    assert not plan.rereads()


def test_tags_and_ratings_stay_and_what_was_forgotten_does_not_come_back(sources, archive):
    write(
        sources / "one.script",
        reading(*(document(name, message("m1", f"{name} before")) for name in "abc")),
        reading(*(document(name, message("m1", f"{name} after")) for name in "ab")),
    )
    keep_folder(sources, archive)
    mark(archive, "a", "mine")
    mark(archive, "c", "mine as well")
    with closing(open_to_write(archive)) as connection:
        forget(connection, [find_conversation(connection, "b")])
    install(2)
    keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:a": ["a after"], "scripted:c": ["c before"]}, "somebody cares about c"
    assert [(made["tags"], made["rating"]["score"]) for made in map(json.loads, exported(archive))] == [
        (["mine"], 4.0),
        (["mine as well"], 4.0),
    ]


def mark(archive: Path, name: str, tag: str) -> None:
    with closing(open_to_write(archive)) as connection:
        found = find_conversation(connection, name)
        change_tags(connection, found, [tag])
        rate(connection, found, 4.0)


def test_sources_imported_one_by_one_end_up_as_fresh(sources, archive, tmp_path):
    for name in ("one", "two"):
        old, new = (
            document("a", message(f"m-{name}", f"{word} {name}"), message("m0", word)) for word in ("old", "new")
        )
        write(sources / f"{name}.script", reading(old), reading(new))
    keep_folder(sources, archive)
    install(2)
    for name in ("one", "two"):
        keep_paths([sources / f"{name}.script"], archive)
    keep_folder(sources, tmp_path / "fresh.db")
    assert_as_fresh(archive, tmp_path / "fresh.db")


def test_reading_everything_again_and_retrying_the_quarantine_replace_as_well(sources, archive, tmp_path):
    for name in ("one", "two"):
        old, new = (document(name, message(f"m-{word}", word)) for word in ("old", "new"))
        write(sources / f"{name}.script", reading(old, quarantined=["torn"]), reading(new))
    keep_folder(sources, archive)
    install(2)
    retry(archive, FindingFilters(sources=("one.script",)))
    keep_folder(sources, archive, is_again=True)
    keep_folder(sources, tmp_path / "fresh.db")
    assert_as_fresh(archive, tmp_path / "fresh.db")


def test_a_new_source_that_tells_of_a_replaced_conversation_is_joined(sources, archive, tmp_path):
    write(
        sources / "one.script",
        reading(document("a", message("m1", "old"))),
        reading(document("a", message("m2", "new"))),
    )
    keep_folder(sources, archive)
    write(sources / "two.script", reading(document("a", message("m3", "added"))))
    install(2)
    keep_folder(sources, archive)
    keep_folder(sources, tmp_path / "fresh.db")
    assert_as_fresh(archive, tmp_path / "fresh.db")


def test_a_session_that_grew_since_is_replaced(tmp_path, archive, monkeypatch):
    """Its cursor shows that everything is still there."""
    sources = tmp_path / "sources"
    shutil.copytree(FIXTURES / "claude_code" / "plain_session" / "source", sources)
    claude_code = type(importer("claude_code"))
    read = claude_code.read

    def misread(self, source, run):
        for made in read(self, source, run):
            yield {**made, "title": "Wrong", "messages": [message("noise", "misread"), *made["messages"]]}

    monkeypatch.setattr(claude_code, "read", misread)
    keep_folder(sources, archive)
    monkeypatch.undo()
    (session,) = sources.rglob("*.jsonl")
    line = session.read_bytes().splitlines()[-1]
    with session.open("ab") as stream:
        stream.write(line.replace(b'"uuid":"', b'"uuid":"later-') + b"\n")
    monkeypatch.setattr(claude_code, "revision", claude_code.revision + 1)
    keep_folder(sources, archive)
    keep_folder(sources, tmp_path / "fresh.db")
    assert exported(archive) == exported(tmp_path / "fresh.db")
    assert b"misread" not in b"".join(exported(archive))


# -- sources that change hands --------------------------------------------------------------------------------------


def test_a_source_that_no_importer_claims_leaves_its_platform(sources, archive, tmp_path):
    write(sources / "plain.script", reading(document("a", message("m1", "a"))))
    write(
        sources / "x.left.script",
        reading(document("b", message("m1", "b")), document("c", message("m1", "c")), quarantined=["torn"]),
    )
    keep_folder(sources, archive)
    install(2)
    report = keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:a": ["a"]}
    assert report.archive["removed"] == 2
    keep_folder(sources, tmp_path / "fresh.db")
    assert_as_fresh(archive, tmp_path / "fresh.db")
    assert len(keep_folder(sources, archive).sources) == 0


@pytest.mark.parametrize("name", ["x.moved.script", "x.later.script"])
@pytest.mark.parametrize("new_id", ["b", "another"])
def test_a_source_that_moves_takes_tags_and_ratings_along(sources, archive, name, new_id):
    write(
        sources / name,
        reading(document("b", message("m1", "misread"))),
        *[reading(document(new_id, message("m1", "read well")))] * 2,
    )
    keep_folder(sources, archive)
    mark(archive, "b", "mine")
    install(2)
    keep_folder(sources, archive)
    if "later" in name:
        assert texts_of(archive) == {"scripted:b": ["misread"]}, "it is tagged, and stays until somebody takes it over"
        install(3)
        keep_folder(sources, archive)
    assert texts_of(archive) == {f"successor:{new_id}": ["read well"]}
    (made,) = map(json.loads, exported(archive))
    assert (made["tags"], made["rating"]["score"]) == (["mine"], 4.0)
    with closing(open_to_read(archive)) as connection:
        assert connection.execute("select platform from source").fetchall() == [("successor",)]


def test_a_conversation_that_gets_another_id_keeps_tags_and_ratings(sources, archive):
    write(
        sources / "one.script",
        reading(document("b", message("m1", "misread"))),
        reading(document("another", message("m1", "read well"))),
    )
    keep_folder(sources, archive)
    mark(archive, "b", "mine")
    install(2)
    keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:another": ["read well"]}
    (made,) = map(json.loads, exported(archive))
    assert (made["tags"], made["rating"]["score"]) == (["mine"], 4.0)


@pytest.mark.parametrize("name", ["one.script", "x.moved.script"])
def test_tags_stay_with_a_conversation_that_another_source_still_has(sources, archive, name):
    told = reading(document("b", message("m1", "b")))
    write(sources / name, told, reading(document("another", message("m1", "read well"))))
    write(sources / "two.script", told)
    keep_folder(sources, archive)
    mark(archive, "b", "mine")
    install(2)
    keep_folder(sources, archive)
    tags = {made["conversation_id"]: made.get("tags") for made in map(json.loads, exported(archive))}
    assert tags == {"b": ["mine"], "another": None}


def test_a_forgotten_conversation_does_not_come_back_in_parts_or_by_another_id(sources, archive):
    write(
        sources / "one.script",
        reading(document("a", message("m1", "secret"), message("m2", "as well"))),
        reading(document("a1", message("m1", "secret")), document("a2", message("m2", "as well"))),
    )
    keep_folder(sources, archive)
    with closing(open_to_write(archive)) as connection:
        forget(connection, [find_conversation(connection, "a")])
    install(2)
    keep_folder(sources, archive)
    assert texts_of(archive) == {}


@pytest.mark.parametrize("name", ["x.moved.script", "x.later.script"])
def test_a_forgotten_conversation_does_not_come_back_under_another_platform(sources, archive, name):
    write(
        sources / name,
        reading(document("b", message("m1", "secret"))),
        *[reading(document("b2", message("m1", "secret")))] * 2,
    )
    keep_folder(sources, archive)
    with closing(open_to_write(archive)) as connection:
        forget(connection, [find_conversation(connection, "b")])
    for revision in (2, 3):
        install(revision)
        keep_folder(sources, archive)
    assert texts_of(archive) == {}


def test_a_source_that_cannot_be_looked_at_is_not_released(sources, archive, monkeypatch):
    write(sources / "x.left.script", reading(document("b", message("m1", "b"))))
    keep_folder(sources, archive)
    install(2)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("scripted.Scripted.recognizes", lambda _, source: source.head() and refuse())
    monkeypatch.setattr("palaver.sources.source.Source.head", refuse)
    keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:b": ["b"]}


def test_without_room_for_what_is_read_again_nothing_changes(sources, archive, monkeypatch):
    write(
        sources / "one.script",
        reading(document("a", message("m1", "old"))),
        reading(document("a", message("m1", "new " * 50_000))),
    )
    keep_folder(sources, archive)
    install(2)
    prepare = reread._HeldEvents.__init__

    def prepare_small(self):
        prepare(self)
        self._database.execute("pragma max_page_count = 20")

    monkeypatch.setattr(reread._HeldEvents, "__init__", prepare_small)
    with pytest.raises(ArchiveError, match=r"temporary file.*is full.*TMPDIR"):
        keep_folder(sources, archive)
    assert texts_of(archive) == {"scripted:a": ["old"]}
    monkeypatch.undo()
    assert keep_folder(sources, archive).archive["updated"] == 1


# -- killed, together, in any order ---------------------------------------------------------------------------------


def write_many(sources: Path) -> None:
    """Sources that share conversations in chains, so that groups of every size are replaced."""
    for number in range(12):
        old = [document(f"c{number + step}", message(f"m{number}", f"old {number}")) for step in (0, number % 3)]
        new = [document(f"c{number + step}", message(f"n{number}", f"new {number}")) for step in (0, number % 2)]
        write(sources / f"{number}.script", reading(*old, quarantined=["a", "b"]), reading(*new, quarantined=["b"]))
    write(sources / "x.left.script", reading(document("left", message("m1", "misread"))))


def reread_and_die(folder: str, archive: str, instructions: int) -> None:
    """Import with the second revision, and be killed after so many steps of the database."""
    install(2)
    archive_import.FRAME_BYTES = archive_import.TRANSACTION_BYTES = 1_000
    connect = connecting._connect

    def doomed(path):
        connection = connect(path)
        connection.set_progress_handler(lambda: os._exit(9), instructions)
        return connection

    connecting._connect = doomed
    keep_folder(Path(folder), Path(archive))


def read_again(folder: str, archive: str) -> None:
    install(2)
    archive_import.FRAME_BYTES = archive_import.TRANSACTION_BYTES = 1_000
    keep_folder(Path(folder), Path(archive))


def test_killed_at_any_instant_the_next_run_ends_as_fresh(sources, archive, tmp_path):
    write_many(sources)
    keep_folder(sources, archive)
    before = exported(archive)
    install(2)
    keep_folder(sources, tmp_path / "fresh.db")
    random = Random(3)
    ends = []
    for number in range(10):
        copy = tmp_path / f"{number}.db"
        shutil.copy(archive, copy)
        process = CONTEXT.Process(
            target=reread_and_die, args=(str(sources), str(copy), int(10 ** random.uniform(2.5, 4.6)))
        )
        process.start()
        process.join()
        ends.append(process.exitcode)
        assert len(exported(copy)) >= min(len(before), len(exported(tmp_path / "fresh.db"))), (
            "nothing is missing meanwhile"
        )
        keep_folder(sources, copy)
        assert_as_fresh(copy, tmp_path / "fresh.db")
    assert ends.count(9) >= 3


def test_two_processes_at_once_end_as_fresh(sources, archive, tmp_path):
    write_many(sources)
    keep_folder(sources, archive)
    processes = [CONTEXT.Process(target=read_again, args=(str(sources), str(archive))) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    install(2)
    keep_folder(sources, tmp_path / "fresh.db")
    assert_as_fresh(archive, tmp_path / "fresh.db")


def test_what_another_process_read_meanwhile_is_not_replaced_by_less(sources, archive):
    write(sources / "one.script", reading(document("a", message("m1", "one"))))
    keep_folder(sources, archive)
    install(2)
    planner = Planner(archive, {})
    plan = planner.plan([sources])
    add_rereads(plan, planner)
    write(sources / "one.script", reading(document("a", message("m1", "one"), message("m2", "two"))))
    keep_folder(sources, archive)
    write(sources / "one.script", reading(document("a", message("m1", "one"))))
    archive_import.import_into_archive(plan.tasks, plan.report, archive)
    assert texts_of(archive) == {"scripted:a": ["one", "two"]}


def test_several_processes_read_again_as_one_does(archive, monkeypatch):
    folders = [FIXTURES / "claude_code", FIXTURES / "chatgpt"]
    keep_paths(folders, archive)
    before = facts(archive)
    monkeypatch.setattr(archive_import, "_PARALLEL_THRESHOLD_BYTES", 0)
    monkeypatch.setattr(archive_import, "FRAME_BYTES", 4_000)
    for platform in ("claude_code", "chatgpt"):
        monkeypatch.setattr(type(importer(platform)), "revision", importer(platform).revision + 1)
    planner = Planner(archive, {})
    plan = planner.plan(folders)
    add_rereads(plan, planner)
    assert sum(plan.rereads().values()) == len(plan.tasks) > 50
    archive_import.import_into_archive(plan.tasks, plan.report, archive, jobs=3)
    assert facts(archive) == before
    assert plan.report.archive["updated"] == plan.report.archive["removed"] == 0


def test_every_importer_has_a_revision():
    assert all(type(importer(platform).revision) is int and importer(platform).revision > 0 for platform in platforms())
