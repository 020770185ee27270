"""Forgetting: what was only a conversation's own is gone from every byte, and nothing else is."""

import json
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from archiving import exported, keep_folder
from palaver.archive import deletion, source_records
from palaver.archive.connection import open_to_write
from palaver.archive.documents import documents
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.archive.selection import find_conversation
from palaver.archive.source_records import SourceDescription, ensure_source
from palaver.errors import ArchiveError
from palaver.model import build

SECRET = "quixotryzzle"  # noqa: S105 - what a test looks for


@pytest.fixture
def archive(tmp_path):
    return tmp_path / "kept" / "archive.db"


@pytest.fixture
def sessions(tmp_path):
    """Two sessions that share a prompt; one tells a secret in every way there is, and is still going on."""
    folder = tmp_path / "projects" / "garden"
    folder.mkdir(parents=True)
    secret = [
        line("u1", "user", "When do I sow the beans?"),
        line("u2", "user", f"The password is {SECRET}."),
        answer("a1", [{"type": "text", "text": f"I keep {SECRET} to myself."}], stop=None),
    ]
    agent = {**line("g1", "user", "Look for the spade."), "isSidechain": True, "agentId": "77"}
    write(folder / "5ec2e7.jsonl", [*secret, {"type": "custom-title", "customTitle": f"About {SECRET}"}])
    (folder / "5ec2e7" / "subagents").mkdir(parents=True)
    write(folder / "5ec2e7" / "subagents" / "agent-77.jsonl", [agent])
    other = [line("u1", "user", "When do I sow the beans?"), line("u9", "user", "And the peas?")]
    write(folder / "0bea45.jsonl", [{**entry, "sessionId": "0bea45"} for entry in other])
    with (folder / "5ec2e7.jsonl").open("a") as stream:
        stream.write(f"no JSON {SECRET}\n")
    return folder.parent


def line(uuid, role, text):
    return {
        "type": role,
        "uuid": uuid,
        "sessionId": "5ec2e7",
        "timestamp": "2025-03-01T10:00:00.000Z",
        "message": {"role": role, "content": text},
    }


def answer(uuid, content, stop):
    message = {"role": "assistant", "id": f"msg_{uuid}", "model": "claude", "content": content, "stop_reason": stop}
    usage = {"input_tokens": 3, "output_tokens": 1}
    return {**line(uuid, "assistant", ""), "message": {**message, "usage": usage}}


def write(path, lines):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in lines), "utf-8")


def forget(archive, *words, with_agents=False, reason=None):
    with closing(open_to_write(archive)) as connection:
        connection.execute("begin immediate")
        going = [find_conversation(connection, word) for word in words]
        if with_agents:
            going += [agent for one in going for agent in deletion.agent_conversations(connection, one)]
        deletion.forget(connection, going, reason)
        connection.execute("commit")
        assert deletion.rewrite_file(connection)


def undo(archive, word):
    with closing(open_to_write(archive)) as connection:
        connection.execute("begin immediate")
        undone = deletion.undo_forget(connection, word)
        connection.execute("commit")
    return undone


def ask(archive, query, *values):
    with closing(open_to_write(archive)) as connection:
        return connection.execute(query, values).fetchall()


def vocabulary(archive):
    """Every word of the index with how many bodies and how often."""
    with closing(open_to_write(archive)) as connection:
        connection.execute("create virtual table temp.vocabulary using fts5vocab (main, search, col)")
        return connection.execute("select * from temp.vocabulary order by 1, 2").fetchall()


def test_no_byte_of_the_files_tells_what_was_forgotten(sessions, archive):
    keep_folder(sessions, archive)
    held = b"".join(file.read_bytes() for file in archive.parent.iterdir())
    assert SECRET.encode() in held
    assert ask(archive, "select count(*) from cursor where instr(state, ?)", SECRET) == [(1,)]
    assert ask(archive, "select count(*) from quarantine") == [(1,)]
    forget(archive, "5ec2e7", with_agents=True)
    assert keep_folder(sessions, archive, is_again=True).archive["forgotten"] == 2
    names = {file.name for file in archive.parent.iterdir()}
    assert "archive.db" in names
    for file in archive.parent.iterdir():
        assert SECRET.encode() not in file.read_bytes().lower(), file.name
    assert not any(SECRET in word for word, *_ in vocabulary(archive))


def test_pages_that_were_freed_long_ago_tell_nothing_either(sessions, archive):
    keep_folder(sessions, archive)
    with closing(open_to_write(archive)) as connection:
        connection.execute("pragma secure_delete = off")
        connection.execute("update cursor set state = ?", (f"{SECRET} " * 10_000,))
        connection.execute("delete from cursor")
        connection.execute("pragma wal_checkpoint(truncate)")
    assert archive.read_bytes().count(SECRET.encode()) > 5_000
    forget(archive, "5ec2e7", with_agents=True)
    assert SECRET.encode() not in archive.read_bytes().lower()


def test_what_others_say_as_well_stays(sessions, archive, tmp_path):
    keep_folder(sessions, archive)
    forget(archive, "5ec2e7", with_agents=True)
    alone = tmp_path / "alone" / "archive.db"
    keep_folder(sessions / "garden" / "0bea45.jsonl", alone)
    assert exported(archive) == exported(alone)
    assert vocabulary(archive) == vocabulary(alone)
    for table in ("body", "message", "header_state", "tool_call"):
        query = f"select count(*) from {table}"
        assert ask(archive, query) == ask(alone, query), table
    assert ask(archive, "pragma foreign_key_check") == []
    ask(archive, "insert into search (search) values ('integrity-check')")


def test_a_scan_does_not_bring_it_back_and_one_after_undo_does(sessions, archive):
    keep_folder(sessions, archive)
    before = exported(archive)
    forget(archive, "5ec2e7", reason="too private")
    with (sessions / "garden" / "5ec2e7.jsonl").open("a") as stream:
        stream.write(json.dumps(line("u3", "user", "Are you still there?")) + "\n")
    report = keep_folder(sessions, archive)
    assert report.archive["forgotten"] == 1
    assert len(exported(archive)) == len(before) - 1
    undone = undo(archive, "claude_code:5ec2")
    assert undone.tombstone.reason == "too private"
    assert [Path(label).name for label in undone.sources] == ["5ec2e7.jsonl"]
    keep_folder(sessions, archive)
    assert len(exported(archive)) == len(before)
    assert ask(archive, "select count(*) from withheld") == [(0,)]


def test_a_source_that_is_read_again_leaves_no_text_in_its_cursor(sessions, archive):
    keep_folder(sessions, archive)
    forget(archive, "5ec2e7")
    assert keep_folder(sessions, archive, is_again=True).archive["forgotten"] == 1
    labels = ask(archive, "select label from cursor join source on source = source_key")
    assert not [label for (label,) in labels if label.endswith("5ec2e7.jsonl")]


def test_undo_makes_its_sources_be_read_again(sessions, archive):
    keep_folder(sessions, archive)
    forget(archive, "5ec2e7")
    assert not keep_folder(sessions, archive).sources, "nothing has changed"
    undo(archive, "5ec2e7")
    assert [Path(source.source).name for source in keep_folder(sessions, archive).sources] == ["5ec2e7.jsonl"]


def test_bytes_set_aside_stay_while_anything_of_their_source_does(archive):
    with closing(open_to_write(archive)) as connection:
        key = ensure_source(connection, SourceDescription("toy", "export.zip"))
        ingest = Ingest(connection)
        ingest.add([(conversation_rows(conversation(name, [f"word {name}"])), key) for name in ("one", "two")])
        source_records.add_to_quarantine(
            connection, key, source_records.QuarantinedRecord("line 1", "bad-json", "", b"{")
        )
    forget(archive, "one")
    assert ask(archive, "select raw from quarantine") == [(b"{",)]
    forget(archive, "two")
    assert ask(archive, "select raw from quarantine") == []
    with closing(open_to_write(archive)) as connection:
        source_records.add_to_quarantine(
            connection, key, source_records.QuarantinedRecord("line 1", "bad-json", "", b"{")
        )
    assert ask(archive, "select raw from quarantine") == []


def test_what_was_marked_by_hand_goes_as_well(archive):
    with closing(open_to_write(archive)) as connection:
        Ingest(connection).add([(conversation_rows(conversation("one", ["word"])), None)])
        connection.execute("insert into tag values ('toy', 'one', 'private', 0, '')")
        connection.execute("insert into rating values ('toy', 'one', 1, null, '')")
    forget(archive, "one")
    assert ask(archive, "select (select count(*) from tag) + (select count(*) from rating)") == [(0,)]


def test_a_plan_names_agents_sources_and_where_else_its_messages_stand(sessions, archive):
    keep_folder(sessions, archive)
    with closing(open_to_write(archive)) as connection:
        [plan] = deletion.plan_deletion(connection, [find_conversation(connection, "5ec2e7")])
        both = [find_conversation(connection, word) for word in ("5ec2e7", "0bea45")]
        together = deletion.plan_deletion(connection, both)
    assert [agent.conversation_id for agent in plan.agents] == ["5ec2e7:agent-77"]
    assert [Path(label).name for label in plan.sources] == ["5ec2e7.jsonl"]
    assert (plan.shared_messages, plan.shared_with) == (1, ["0bea45"])
    assert plan.remaining_quarantine == 1, "it may be the agent's"
    assert [plan.shared_messages for plan in together] == [0, 0]


def test_agents_that_call_each_other_in_a_ring_are_found_once(archive):
    with closing(open_to_write(archive)) as connection:
        for name, parent in (("one", "two"), ("two", "one")):
            document = conversation(name, ["word"])
            document["session"] = {"parent_conversation_id": parent, "is_sidechain": True}
            Ingest(connection).add([(conversation_rows(document), None)])
        found = deletion.agent_conversations(connection, find_conversation(connection, "one"))
    assert [agent.conversation_id for agent in found] == ["two"]


def test_tombstones_are_found_as_conversations_are(archive):
    with closing(open_to_write(archive)) as connection:
        for platform, name in (("toy", "abc-1"), ("toy", "abc-2"), ("claude_code", "abc-1")):
            document = conversation(name, ["word"])
            document["platform"]["name"] = platform
            Ingest(connection).add([(conversation_rows(document), None)])
            deletion.forget(connection, [find_conversation(connection, name)])
        for word, told in (("abc", "several"), ("abc-1", "several"), ("", "no forgotten"), ("x", "no forgotten")):
            with pytest.raises(ArchiveError, match=told):
                deletion.undo_forget(connection, word)
        assert deletion.undo_forget(connection, "toy:abc-1").tombstone.platform == "toy"
        assert deletion.undo_forget(connection, "toy:abc").tombstone.conversation_id == "abc-2"
        assert [stone.platform for stone in deletion.tombstones(connection)] == ["claude_code"]


def conversation(name, texts, created_at="2025-03-01T10:00:00.000Z"):
    return build.conversation(
        conversation_id=name,
        platform={"name": "toy"},
        created_at=created_at,
        messages=[
            build.message(
                message_id=f"m{number}", role="user", timestamp=created_at, content=[build.text(text)], metadata={}
            )
            for number, text in enumerate(texts)
        ],
    )


TEXTS = st.sampled_from(["the beans", "the peas", "Bohnen säen", "a b c", "", "x" * 600, "日本語の 文章"])
CONVERSATIONS = st.dictionaries(st.sampled_from("abcdef"), st.lists(TEXTS, min_size=1, max_size=4), min_size=1)


def stored(connection):
    connection.execute("drop table if exists temp.vocabulary")
    connection.execute("create virtual table temp.vocabulary using fts5vocab (main, search, col)")
    return (
        [orjson.dumps(document) for document in documents(connection)],
        connection.execute("select * from temp.vocabulary order by 1, 2").fetchall(),
        sorted(connection.execute("select hash from body")),
    )


def added(connection, held, source=None):
    # The text of a body may have come in with either of two conversations: both are said at the same time.
    Ingest(connection).add([(conversation_rows(conversation(name, texts)), source) for name, texts in held.items()])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(held=CONVERSATIONS, chosen=st.sets(st.sampled_from("abcdef")))
def test_forgotten_and_imported_again_is_as_if_it_had_never_been(tmp_path_factory, held, chosen):
    folder = tmp_path_factory.mktemp("law")
    gone = chosen & held.keys()
    with (
        closing(open_to_write(folder / "one.db")) as connection,
        closing(open_to_write(folder / "without.db")) as without,
        closing(open_to_write(folder / "all.db")) as never,
    ):
        added(connection, held)
        added(without, {name: texts for name, texts in held.items() if name not in gone})
        added(never, held)
        deletion.forget(connection, [find_conversation(connection, name) for name in sorted(gone)])
        assert stored(connection) == stored(without)
        added(connection, held)
        assert stored(connection) == stored(without)
        for name in gone:
            deletion.undo_forget(connection, name)
        added(connection, held)
        assert stored(connection) == stored(never)
        connection.execute("insert into search (search) values ('integrity-check')")
