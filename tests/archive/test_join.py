"""The archive is a join: neither order nor repetition of what comes in matters."""

import json
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archiving import exported, keep_folder
from archiving import facts as all_facts
from importing import Case, cases, import_folder
from palaver.archive import join as merge
from palaver.archive.connection import open_to_write
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.validation.schema import schema_errors

TIMES = [f"2026-01-0{day}T00:00:00.000Z" for day in range(1, 5)]
times = st.sampled_from(TIMES)
words = st.sampled_from(["", "red", "green", "blue"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | words | st.lists(words, max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
facts = st.dictionaries(st.sampled_from(["title_of", "a", "b"]), values, max_size=3)
counts = st.none() | st.integers(0, 9)
tokens = st.fixed_dictionaries(
    {},
    optional={
        "input_tokens": counts,
        "output_tokens": counts,
        "service_tier": st.sampled_from(["standard", "batch"]),
        "cache_creation": st.fixed_dictionaries({}, optional={"ephemeral_1h_input_tokens": counts}),
    },
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "author_kind": st.sampled_from(["human", "model"]),
        "tokens_partial": st.just(value=True),
        "update_time": times,
        "note": words,
        "api_message_id": st.sampled_from(["msg_1", "msg_2", "msg_3", ""]),
        "known_from": st.sampled_from(["request", "history"]),
        "request_id": st.sampled_from(["req_1", "req_2", "7", ""]),
        "sent": st.fixed_dictionaries({"at": times | st.just("")}, optional={"request": words, "tools": words}),
    },
)
tool_sets = st.fixed_dictionaries(
    {}, optional={"tool_sets": st.dictionaries(st.sampled_from("xyz"), st.just([{"name": "look"}]), max_size=2)}
)
messages = st.fixed_dictionaries(
    {
        "message_id": st.sampled_from(["m1", "m2", "m3", "m4"]),
        "role": st.sampled_from(["user", "assistant"]),
        "timestamp": times,
        "content": st.lists(st.builds(lambda text: {"type": "text", "text": text}, words), min_size=1, max_size=3),
    },
    optional={"parent_message_id": st.sampled_from(["m1", "m2"]), "tokens": tokens, "metadata": metadata},
)
summaries = st.builds(
    lambda name, text, time: {"summary_id": name, "type": "automatic", "text": text, "timestamp": time},
    st.sampled_from("pq"),
    words,
    times,
)
documents = st.fixed_dictionaries(
    {
        "schema_version": st.just("1.0.0"),
        "conversation_id": st.sampled_from(["one", "two"]),
        "platform": st.builds(lambda told, tools: {"name": "claude_code", "metadata": told | tools}, facts, tool_sets),
        "created_at": times,
        "messages": st.lists(messages, max_size=4, unique_by=lambda message: message["message_id"]),
    },
    optional={
        "title": words,
        "updated_at": times,
        "session": st.fixed_dictionaries({}, optional={"parent_conversation_id": words, "fork_point": words}),
        "summaries": st.lists(summaries, max_size=2, unique_by=lambda summary: summary["summary_id"]),
        "tags": st.lists(words.filter(bool), max_size=2, unique=True),
        "rating": st.fixed_dictionaries({"score": st.integers(0, 5)}),
        "fragment": st.builds(
            lambda sequence, start: {"sequence": sequence, "final": True, "start": start},
            st.integers(0, 2),
            st.integers(0, 3),
        ),
    },
)


def kept(batches) -> tuple[list[bytes], dict[str, list[tuple]]]:
    """What an archive holds after some batches: its documents, and all other facts."""
    with TemporaryDirectory() as folder:
        archive = Path(folder) / "archive.db"
        with closing(open_to_write(archive)) as connection:
            ingest = Ingest(connection)
            for batch in batches:
                connection.execute("begin immediate")
                ingest.add([(conversation_rows(orjson.loads(orjson.dumps(document))), None) for document in batch])
                connection.execute("commit")
        return exported(archive), all_facts(archive)


@settings(max_examples=150, deadline=None)
@given(st.lists(documents, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_order_grouping_and_repetition_do_not_matter(made, random):
    for document in made:
        assert not list(schema_errors(document))
    one_by_one = kept([[document] for document in made])
    shuffled = [*made, *random.sample(made, len(made) // 2)]
    random.shuffle(shuffled)
    cut = random.randint(0, len(shuffled))
    assert kept([shuffled[:cut], shuffled[cut:]]) == one_by_one


@settings(max_examples=100, deadline=None)
@given(st.lists(documents, min_size=1, max_size=4))
def test_what_comes_out_goes_in_again_unchanged(made):
    documents_out, _ = kept([made])
    again, after = kept([[json.loads(line) for line in documents_out]])
    assert [without_metrics(line) for line in again] == [without_metrics(line) for line in documents_out]
    assert not after["revision"], "a document in its merged form has no revisions"


def without_metrics(line):
    return {key: value for key, value in json.loads(line).items() if key != "metrics"}


@settings(max_examples=200, deadline=None)
@given(tokens, tokens, tokens)
def test_usage_joins_to_the_greatest_of_each_figure(one, two, three):
    join = merge.join_tokens
    assert join(one, two) == join(two, one)
    assert join(join(one, two), three) == join(one, join(two, three))
    assert join(one, one) == dict(sorted(one.items()))
    for name in ("input_tokens", "output_tokens"):
        known = [count for count in (one.get(name), two.get(name)) if count is not None]
        assert join(one, two).get(name) == max(known, default=None)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_a_document_comes_out_as_it_went_in(case: Case, tmp_path):
    root = case.lay_out(tmp_path)
    made = import_folder(root).documents
    keep_folder(root, tmp_path / "archive.db")
    out = {
        (document["platform"]["name"], document["conversation_id"]): document
        for document in map(json.loads, exported(tmp_path / "archive.db"))
    }
    times_made = [(document["platform"]["name"], document["conversation_id"]) for document in made]
    assert set(out) == set(times_made)
    for document in made:
        identity = document["platform"]["name"], document["conversation_id"]
        if times_made.count(identity) == 1 and "fragment" not in document:
            if "tags" in document:
                document["tags"] = sorted(set(document["tags"]))
            for part in ("summaries", "tags"):
                if document.get(part) == []:
                    del document[part]
            assert out[identity] == document
