"""Transcripts of `/share`, written as the product does and read back."""

import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from importing import FIXED_TIME, FIXTURES, first_error
from palaver.importers.continue_dev.share import is_share, read_share
from palaver.sources.run import Run
from palaver.sources.source import Source

NAME = "20260514T093012_session.md"
TITLE = "### [Continue](https://continue.dev) session transcript\n Exported: "
INFERRED = {"author_kind": "human", "timestamp_inferred": True}


def written(messages, exported="5/14/2026, 9:30:12\u202fAM"):
    """What `toMarkDown` in the product's `core/util/historyUtils.ts` writes, apart from changes to code blocks."""
    text = f"{TITLE}{exported}"
    for role, said in messages:
        if said:
            quoted = re.sub("(?:^|(?<=[\n\r\u2028\u2029]))", "> ", said)
            text += f"\n\n#### {'_User_' if role == 'user' else '_Assistant_'}\n\n{quoted}"
    return text


def read(folder, text, name=NAME):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    os.utime(path, (FIXED_TIME, FIXED_TIME))
    run = Run(name)
    documents = list(read_share(Source.at(path), run))
    ledger = run.ledger
    assert ledger.read == ledger.mapped + sum(ledger.quarantined.values())
    assert not [error for document in documents if (error := first_error(document))]
    return documents, run


def said(documents):
    return [(message["role"], message["content"][0]["text"]) for message in documents[0]["messages"]]


def test_a_transcript_becomes_a_conversation(tmp_path):
    messages = [
        ("user", "Where is\n\nthe key?"),
        ("assistant", "Under the mat."),
        ("tool", "mat: key"),
        ("user", "Thanks"),
    ]
    documents, run = read(tmp_path, written(messages))
    assert said(documents) == [
        ("user", "Where is\n\nthe key?"),
        ("assistant", "Under the mat."),
        ("assistant", "mat: key"),
        ("user", "Thanks"),
    ]
    (document,) = documents
    assert document["platform"] == {"name": "continue_dev"}
    assert document["context"] == {"custom": {"exported": "5/14/2026, 9:30:12\u202fAM"}}
    assert document["created_at"] == "2026-05-14T09:30:12.000Z"
    assert document["messages"][0]["metadata"] == INFERRED
    assert {message["timestamp"] for message in document["messages"]} == {document["created_at"]}
    ids = [message["message_id"] for message in document["messages"]]
    assert [message.get("parent_message_id") for message in document["messages"]] == [None, *ids[:-1]]
    assert run.ledger.mapped == 4
    assert dict(run.findings.counts) == {"inferred-timestamp": 4}


@pytest.mark.parametrize(
    ("name", "exported", "time"),
    [
        (NAME, "whenever", "2026-05-14T09:30:12.000Z"),
        ("copy.md", "5/14/2026, 9:30:12 PM", "2026-05-14T21:30:12.000Z"),
        ("copy.md", "5/14/2026, 9:30:12\u202fPM", "2026-05-14T21:30:12.000Z"),
        ("copy.md", "2026/5/14 21:30:12", "2026-05-14T21:30:12.000Z"),
        ("copy.md", "14/05/2026, 21:30:12", "2026-01-01T00:00:00.000Z"),
        ("copy.md", "04/05/2026, 21:30:12", "2026-01-01T00:00:00.000Z"),
        ("copy.md", "04/05/2026, 9:30:12 pm", "2026-01-01T00:00:00.000Z"),
        ("99999999T999999_session.md", "whenever", "2026-01-01T00:00:00.000Z"),
    ],
)
def test_the_time_is_that_of_the_name_then_that_of_the_export_then_that_of_the_file(tmp_path, name, exported, time):
    documents, _ = read(tmp_path, written([("user", "hi")], exported), name)
    assert documents[0]["created_at"] == time


def test_the_id_tells_transcripts_apart_and_stays_when_the_file_moves(tmp_path):
    def id_of(text, name=NAME, folder=tmp_path):
        documents, _ = read(folder, text, name)
        return documents[0]["conversation_id"]

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    first = id_of(written([("user", "hi")]))
    assert first == id_of(written([("user", "hi")]), folder=elsewhere) == id_of(written([("user", "hi")]), "copy.md")
    assert first != id_of(written([("user", "hello")]))
    assert first != id_of(written([("user", "hi")]), "20260514T093013_session.md")


def test_what_stands_above_the_first_message_is_kept(tmp_path):
    text = written([("user", "hi")]).replace("\n\n#### ", "\n\nMy own note\n\n#### ", 1)
    documents, _ = read(tmp_path, text)
    assert documents[0]["context"]["custom"]["preface"] == "My own note"


def test_a_transcript_of_nothing_has_nothing_in_it(tmp_path):
    documents, run = read(tmp_path, written([]))
    assert documents == []
    assert run.ledger.read == 0
    assert dict(run.findings.counts) == {"no-sections": 1}


def test_a_text_without_messages_is_set_aside(tmp_path):
    documents, run = read(tmp_path, written([]) + "\n\n#### User\n\nhi")
    assert documents == []
    assert run.ledger.quarantined == {"no-sections": 1}


@pytest.mark.parametrize(
    ("head", "verdict"),
    [
        (written([("user", "hi")]).encode(), True),
        (b"\xef\xbb\xbf" + written([]).encode(), True),
        (b"### Continue\n", False),
        (b"", False),
    ],
)
def test_a_transcript_is_told_by_its_first_line(head, verdict):
    assert is_share(head) is verdict


def test_the_fixtures_are_transcripts():
    heads = [path.read_bytes() for path in (FIXTURES / "continue_dev").glob("share_*/source/*.md")]
    assert len(heads) >= 2
    assert all(map(is_share, heads))


texts = st.text(st.sampled_from("ab> #_\n\r\u2028\u2029") | st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), texts | st.just("#### _User_")), min_size=1))
def test_whatever_was_said_is_read(tmp_path_factory, messages):
    documents, _ = read(tmp_path_factory.mktemp("share"), written(messages))
    assert said(documents) == messages


@given(
    st.binary()
    | st.builds(lambda text, cut: text.encode()[:cut], st.just(written([("user", "a\nb")] * 3)), st.integers(0, 200))
)
def test_any_bytes_are_read(tmp_path_factory, raw):
    read(tmp_path_factory.mktemp("share"), raw)
