"""Another archive as a source: all that it knows arrives, and the file itself is left as it is."""

import gzip
import json
import os
import shutil
import sqlite3
import zipfile
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archiving import exported, facts, keep_documents, keep_fixtures, keep_folder
from importing import cases, import_folder
from palaver.archive import foreign_archive, migrations
from palaver.archive.connection import open_to_write
from palaver.importers import match_importers
from palaver.sources.source import Source
from palaver.workflows.plan import Planner

LAW = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
EARLY, LATE = "2026-04-01T10:00:00.000Z", "2026-04-02T10:00:00.000Z"


def a_message(name: str = "m1", text: str = "a word", **fields) -> dict:
    content = [{"type": "text", "text": text}]
    return {"message_id": name, "role": "user", "timestamp": EARLY, "content": content} | fields


def a_document(*messages: dict, **fields) -> dict:
    document = {"schema_version": "1.0.0", "conversation_id": "one", "platform": {"name": "chatgpt"}}
    return document | {"created_at": EARLY, "messages": list(messages)} | fields


@pytest.fixture
def other(tmp_path):
    """The archive of another machine."""
    (tmp_path / "other").mkdir()
    return keep_documents(tmp_path / "other" / "archive.db", a_document(a_message()))


def merged(path, *sources):
    for source in sources:
        report = keep_folder(source, path)
        assert report.exit_code == 0
    return path


# -- what arrives ---------------------------------------------------------------------------------------------------


def test_all_fixtures_arrive_with_everything_that_is_known_of_them(tmp_path):
    keep_fixtures(tmp_path / "a.db")
    merged(tmp_path / "b.db", tmp_path / "a.db")
    assert facts(tmp_path / "b.db") == facts(tmp_path / "a.db")
    assert facts(tmp_path / "a.db")["revision"]


def test_large_conversations_arrive_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(foreign_archive, "_PART_BYTES", 500)
    keep_fixtures(tmp_path / "a.db")
    report = keep_folder(tmp_path / "a.db", tmp_path / "b.db")
    assert report.totals()["conversations"] == len(facts(tmp_path / "a.db")["conversation"])
    assert facts(tmp_path / "b.db") == facts(tmp_path / "a.db")


NAMES = st.sampled_from(["m1", "m2", "m3", "m4"])
TIMES = st.sampled_from([f"2026-04-0{day}T10:00:00.000Z" for day in range(1, 6)])
WORDS = st.sampled_from(["beans", "peas", "corn"])
MESSAGES = st.builds(
    lambda name, text, timestamp, parent, metadata, tokens: a_message(
        name,
        text,
        timestamp=timestamp,
        **({"parent_message_id": parent} if parent else {}),
        **({"metadata": metadata} if metadata else {}),
        **({"tokens": tokens} if tokens else {}),
    ),
    NAMES,
    WORDS,
    TIMES,
    st.none() | NAMES,
    st.fixed_dictionaries(
        {},
        optional={
            "update_time": TIMES,
            "api_message_id": st.sampled_from(["msg_1", "msg_2", "msg_3", ""]),
            "known_from": st.sampled_from(["request", "history"]),
        },
    ),
    st.none() | st.fixed_dictionaries({"input_tokens": st.integers(0, 9), "output_tokens": st.integers(0, 9)}),
)
SUMMARIES = st.builds(
    lambda name, text, timestamp: {"summary_id": name, "type": "automatic", "text": text, "timestamp": timestamp},
    NAMES,
    WORDS,
    TIMES,
)
FIELDS = st.fixed_dictionaries(
    {"created_at": TIMES, "conversation_id": st.sampled_from(["one", "two"])},
    optional={
        "title": st.none() | WORDS,
        "updated_at": TIMES,
        "status": st.sampled_from(["active", "completed"]),
        "context": st.fixed_dictionaries({"custom": st.dictionaries(NAMES, WORDS, max_size=2)}),
        "tags": st.lists(WORDS, max_size=2, unique=True),
        "summaries": st.lists(SUMMARIES, max_size=3, unique_by=lambda summary: summary["summary_id"]),
        "metrics": st.fixed_dictionaries({"duration_ms": st.integers(0, 3)}),
        "fragment": st.builds(
            lambda sequence, start: {"sequence": sequence, "final": False, "start": start},
            st.integers(0, 3),
            st.integers(0, 5),
        ),
    },
)
DOCUMENTS = st.builds(
    lambda messages, fields: a_document(*messages, **fields),
    st.lists(MESSAGES, max_size=4, unique_by=lambda message: message["message_id"]),
    FIELDS,
)


@LAW
@given(mine=st.lists(DOCUMENTS, min_size=1, max_size=4), yours=st.lists(DOCUMENTS, min_size=1, max_size=4))
def test_two_archives_merged_either_way_are_what_all_their_sources_make(tmp_path_factory, mine, yours):
    folder = tmp_path_factory.mktemp("merged")
    a = keep_documents(folder / "a.db", *mine)
    b = keep_documents(folder / "b.db", *yours)
    both = facts(keep_documents(folder / "both.db", *mine, *yours))
    assert facts(merged(folder / "ab.db", a, b)) == both
    assert facts(merged(folder / "ba.db", b, a)) == both
    assert facts(merged(a, b)) == both
    assert facts(merged(a, b)) == both


def test_older_versions_of_messages_arrive_from_both(tmp_path):
    first, second, third = (
        a_document(a_message(text=text, metadata={"update_time": f"2026-04-0{day}T10:00:00.000Z"}))
        for day, text in enumerate(("beans", "beans and peas", "beans, peas and corn"), 1)
    )
    a = keep_documents(tmp_path / "a.db", first, third)
    b = keep_documents(tmp_path / "b.db", second)
    after = facts(merged(b, a))
    assert len(after["revision"]) == 2
    [document] = exported(b)
    assert json.loads(document)["messages"][0]["content"][0]["text"] == "beans, peas and corn"


def test_tags_and_ratings_that_were_given_by_hand_arrive_and_tombstones_do_not(tmp_path, other):
    with closing(open_to_write(other)) as connection:
        connection.execute("insert into tag values ('chatgpt', 'one', 'garden', 0, ?)", (LATE,))
        connection.execute("insert into rating values ('chatgpt', 'one', 4, 'good', ?)", (LATE,))
        connection.execute("insert into tombstone values ('chatgpt', 'two', ?, null)", (LATE,))
    b = keep_documents(tmp_path / "b.db", a_document(a_message(), conversation_id="two"))
    merged(b, other)
    one, two = map(json.loads, exported(b))
    assert (one["tags"], one["rating"]) == (["garden"], {"score": 4, "feedback": "good", "rated_at": LATE})
    assert two["conversation_id"] == "two"
    assert exported(merged(tmp_path / "c.db", other)) == exported(other)


def test_every_conversation_is_a_record(tmp_path):
    keep_documents(tmp_path / "a.db", a_document(a_message(), title="x"), a_document(conversation_id="two"))
    keep_documents(tmp_path / "a.db", a_document(a_message(text="another")))
    report = keep_folder(tmp_path / "a.db", tmp_path / "b.db")
    assert report.totals()["records"] == {"read": 2, "mapped": 2, "folded": 0, "skipped": {}, "quarantined": {}}
    assert report.totals()["conversations"] == 2


def test_elsewhere_than_in_an_archive_the_conversations_are_as_they_are_now(tmp_path):
    keep_fixtures(tmp_path / "a.db")
    imported = import_folder(tmp_path / "a.db")
    assert [line.rstrip(b"\n") for lines in imported.lines for line in lines] == exported(tmp_path / "a.db")


# -- the file -------------------------------------------------------------------------------------------------------


def everything(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_archive_is_known_by_its_first_bytes_whatever_it_is_called(tmp_path, other):
    path = shutil.copy(other, tmp_path / "conversations.jsonl")
    match = match_importers(Source.at(path))["ucs"]
    assert (match.verdict, match.form) == ("yes", "archive")
    assert keep_folder(path, tmp_path / "b.db").totals()["conversations"] == 1


def test_a_file_of_another_program_is_not_claimed(tmp_path):
    with closing(sqlite3.connect(tmp_path / "history.db")) as connection:
        connection.execute("create table conversation (a)")
    assert {match.verdict for match in match_importers(Source.at(tmp_path / "history.db")).values()} == {"no"}
    [source] = keep_folder(tmp_path / "history.db", tmp_path / "b.db", "ucs").sources
    assert source.failure == f"{tmp_path / 'history.db'} is not a palaver archive"


def test_nothing_is_written_beside_the_other_archive_or_into_it(tmp_path, other):
    before = everything(other.parent)
    merged(tmp_path / "b.db", other)
    assert everything(other.parent) == before == {"archive.db": before["archive.db"]}


def test_what_is_only_in_the_log_of_an_archive_in_use_is_read(tmp_path, other):
    with closing(open_to_write(other)) as connection:
        connection.execute("pragma wal_autocheckpoint = 0")
        keep_documents(other, a_document(a_message(), conversation_id="two"))
        assert other.with_name("archive.db-wal").stat().st_size
        before = other.read_bytes()
        report = keep_folder(other.parent, tmp_path / "b.db")
        assert (report.totals()["conversations"], report.unclaimed) == (2, [])
        assert other.read_bytes() == before


@pytest.fixture
def with_log(tmp_path, other):
    """A folder as it is left by a process that was killed: half of the archive is in the log."""
    left = tmp_path / "left"
    with closing(open_to_write(other)) as connection:
        connection.execute("pragma wal_autocheckpoint = 0")
        keep_documents(other, a_document(a_message(), conversation_id="two"))
        left.mkdir()
        for name in ("archive.db", "archive.db-wal"):
            shutil.copy(other.with_name(name), left / name)
    return left


def test_the_log_is_read_where_nothing_may_be_written(tmp_path, with_log, monkeypatch):
    connected = foreign_archive._connect

    def refused(path, how):
        if how == "mode=ro":
            raise sqlite3.OperationalError("unable to open database file")
        return connected(path, how)

    monkeypatch.setattr(foreign_archive, "_connect", refused)
    before = everything(with_log)
    assert keep_folder(with_log, tmp_path / "b.db").totals()["conversations"] == 2
    assert everything(with_log) == before


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden")
def test_a_folder_that_may_not_be_written_to_is_read(tmp_path, with_log):
    with_log.chmod(0o500)
    try:
        assert keep_folder(with_log, tmp_path / "b.db").totals()["conversations"] == 2
    finally:
        with_log.chmod(0o700)


@pytest.mark.parametrize("name", ["archive.db.gz", "backup.zip"])
def test_a_compressed_archive_is_read(tmp_path, with_log, name):
    path = tmp_path / name
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress((with_log / "archive.db").read_bytes()))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in with_log.iterdir():
                packed.write(file, f"palaver/{file.name}")
    report = keep_folder(path, tmp_path / "b.db")
    assert report.totals()["conversations"] == (1 if path.suffix == ".gz" else 2)
    assert not report.unclaimed


def test_older_tables_are_brought_up_to_date_in_a_copy(tmp_path, other, monkeypatch):
    step = migrations.Migration("one more", ("alter table conversation add column colour text",))
    newer = (*migrations.MIGRATIONS, step)
    for module in (migrations, foreign_archive, __import__("palaver.archive.connection", fromlist=["MIGRATIONS"])):
        monkeypatch.setattr(module, "MIGRATIONS", newer)
    before = everything(other.parent)
    assert keep_folder(other, tmp_path / "b.db").totals()["conversations"] == 1
    assert everything(other.parent) == before


def test_newer_tables_are_refused_in_a_sentence(tmp_path, other):
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("pragma user_version = 99")
    [source] = keep_folder(other, tmp_path / "b.db").sources
    assert source.failure == f"{other} was written by a newer palaver (tables 99): upgrade palaver"


def test_an_archive_that_is_written_to_meanwhile_is_to_be_read_again(other):
    with (
        pytest.raises(foreign_archive.ArchiveError, match="import it again"),
        foreign_archive.open_foreign_archive(other),
    ):
        keep_documents(other, a_document(conversation_id="two"))


def test_a_conversation_that_somebody_broke_costs_only_itself(tmp_path, other):
    keep_documents(other, a_document(a_message(text="whole"), conversation_id="two"))
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("update message set rest = 'no JSON' where message_key = 1")
    report = keep_folder(other, tmp_path / "b.db")
    assert report.totals()["records"]["quarantined"] == {"unforeseen": 1}
    assert report.totals()["conversations"] == 1
    assert report.exit_code == 1


def test_a_damaged_archive_is_a_failure_of_that_source(tmp_path, other):
    raw = bytearray(other.read_bytes())
    raw[1 << 14 :] = os.urandom(8) * ((len(raw) - (1 << 14)) // 8)
    other.write_bytes(raw)
    [source] = keep_folder(other, tmp_path / "b.db").sources
    assert "damaged" in source.failure or "malformed" in source.failure


def test_an_archive_is_not_imported_into_itself(other):
    plan = Planner(other, {}).plan([other])
    assert (plan.tasks, len(plan.report.refused)) == ([], 1)
    assert "is this archive" in plan.report.refused[0]
    shutil.copytree(cases()[0].source, other.parent / "sessions")
    plan = Planner(other, {}).plan([other.parent])
    assert plan.tasks
    assert not plan.report.refused
    assert "ucs" not in {task.unit.platform for task in plan.tasks}
