import json
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.importers import description
from palaver.model.blocks import OpenModel
from palaver.model.conversation import CacheCreation, Conversation, Fragment, Summary
from palaver.validation.coverage import OTHERS, CoverageTally, schema_fields

FIXTURES = Path(__file__).parents[2] / "fixtures"
LIMIT = 2_000
LOOKED_AT_AS_ONE = {Summary, CacheCreation}
OPEN = {"platform.metadata", "context.custom"}
COUNTED_APART = {"fragment", "messages", "messages[].content"}


def expected_documents():
    """Every document that an importer's fixtures lead to, by platform."""
    documents = defaultdict(list)
    for path in sorted(FIXTURES.glob("*/*/expected.jsonl")):
        for line in path.read_bytes().splitlines():
            if document := json.loads(line).get("document"):
                document["conversation_id"] += f" of {path.parent.name}"  # two cases may tell of the same conversation
                documents[document["platform"]["name"]].append(document)
    return documents


DOCUMENTS = expected_documents()


# -- the same count, written plainly --------------------------------------------------------------------------------


def fields_of(model, above=""):
    """Fields by their full names, from the typed models: those that hold a value, and those that hold others."""
    leaves, parts = [], []
    for name, field in model.model_fields.items():
        inner = next((one for one in models_in(field.annotation) if one not in LOOKED_AT_AS_ONE), None)
        if inner is Fragment or above + name == "messages[].content":
            continue
        if inner is None:
            leaves.append(above + name)
            continue
        parts.append(above + name)
        below = fields_of(inner, f"{above}{name}[]." if name == "messages" else f"{above}{name}.")
        leaves += below[0]
        parts += below[1]
    return leaves, parts


def models_in(annotation):
    if isinstance(annotation, type) and issubclass(annotation, OpenModel):
        return [annotation]
    return [model for one in get_args(annotation) for model in models_in(one)]


LEAVES, PARTS = fields_of(Conversation)


def filled(value, above=""):
    for name, inner in value.items():
        full = above + name
        if inner is not None and full not in COUNTED_APART:
            yield full
            if isinstance(inner, dict) and full in {*PARTS, *OPEN}:
                yield from filled(inner, f"{full}.")


def plain_count(documents, own_names=()):
    fields, occurrences, versions = defaultdict(set), Counter(), defaultdict(set)
    holders = defaultdict(set)
    for document in documents:
        name = document["conversation_id"] if document.get("fragment") else id(document)
        versions[name] |= {document["platform"].get("version")} - {None, ""}
        messages = [full for message in document["messages"] for full in filled(message, "messages[].")]
        for full in [*filled(document), *messages]:
            if full in LEAVES:
                fields[full].add(name)
            elif full not in PARTS and full.split(".")[-1] not in own_names:
                occurrences[full] += 1
                holders[full].add(name)
    return {
        "conversations": len(versions),
        "messages": sum(len(document["messages"]) for document in documents),
        "roles": Counter(message["role"] for document in documents for message in document["messages"]),
        "blocks": Counter(
            block["type"] for document in documents for message in document["messages"] for block in message["content"]
        ),
        "versions": Counter(version for stated in versions.values() for version in stated),
        "fields": {full: len(names) for full, names in fields.items()},
        "unmapped": {full: (len(holders[full]), count) for full, count in occurrences.items()},
    }


def counted(tally):
    return {
        "conversations": tally.conversations,
        "messages": tally.messages,
        "roles": tally.roles,
        "blocks": tally.blocks,
        "versions": tally.versions,
        "fields": dict(tally.fields),
        "unmapped": {name: (one.conversations, one.count) for name, one in tally.unmapped.items()},
    }


def tally_of(documents, own_names=frozenset()):
    tally = CoverageTally(own_names)
    for document in documents:
        tally.add(document)
    tally.close()
    return tally


# -- laws -----------------------------------------------------------------------------------------------------------


def test_the_fields_are_those_of_the_models_in_their_order():
    assert list(schema_fields()) == LEAVES


@pytest.mark.parametrize("platform", sorted(DOCUMENTS))
def test_counts_are_those_of_a_plain_count(platform):
    documents = DOCUMENTS[platform]
    assert counted(tally_of(documents)) == plain_count(documents)
    own_names = description(platform).own_names
    assert counted(tally_of(documents, own_names)) == plain_count(documents, own_names)


@pytest.mark.parametrize("platform", sorted(DOCUMENTS))
def test_an_importer_names_whole_words(platform):
    assert [name for name in description(platform).own_names if len(name) < 2] == []


def test_what_holds_opaque_blocks_is_told():
    said = [CoverageTally().add(document) for documents in DOCUMENTS.values() for document in documents]
    assert said == [
        any(block["type"] == "opaque" for message in document["messages"] for block in message["content"])
        for documents in DOCUMENTS.values()
        for document in documents
    ]
    assert set(said) == {True, False}


@given(st.sampled_from(DOCUMENTS["claude_code"]), st.lists(st.integers(0, 9), max_size=4), st.booleans())
def test_law_a_conversation_in_fragments_counts_once(document, borders, is_finished):
    ends = [0, *sorted(borders), len(document["messages"])]
    pieces = [
        {**document, "messages": document["messages"][start:end], "fragment": {"sequence": number, "final": False}}
        for number, (start, end) in enumerate(pairwise(ends))
    ]
    pieces[-1]["fragment"]["final"] = is_finished
    other = {**document, "conversation_id": "another", "fragment": {"sequence": 0, "final": True}}
    whole = counted(tally_of([{**document, "fragment": None}, other]))
    cut = counted(tally_of([pieces[0], other, *pieces[1:]]))
    # How often a field of the header was kept depends on how often the header was written.
    for told in (whole, cut):
        told["unmapped"] = {name: conversations for name, (conversations, _) in told["unmapped"].items()}
    assert cut == whole


@given(st.data())
def test_law_merging_tallies_is_adding_all(data):
    documents = DOCUMENTS[data.draw(st.sampled_from(sorted(DOCUMENTS)))]
    # A conversation in fragments is read by one process.
    whole = [{**document, "fragment": None} for document in documents]
    parts = data.draw(st.lists(st.integers(0, 2), min_size=len(whole), max_size=len(whole)))
    merged = CoverageTally()
    for part in range(3):
        merged.merge(tally_of([document for document, of in zip(whole, parts, strict=True) if of == part]))
    assert counted(merged) == counted(tally_of(whole))


def with_names(names):
    message = {"message_id": "m", "role": "user", "timestamp": "2025-01-01T00:00:00.000Z", "content": []}
    metadata = dict.fromkeys(names, 1)
    return {"conversation_id": "c", "platform": {"name": "x"}, "messages": [{**message, "metadata": metadata}]}


def test_names_past_the_limit_are_counted_together():
    tally = tally_of([with_names(f"a{number}" for number in range(LIMIT + 500)), with_names(["a0", "b"])])
    assert len(tally.unmapped) == LIMIT + 1
    assert counted(tally)["unmapped"]["messages[].metadata.a0"] == (2, 2)
    assert tally.unmapped[OTHERS].count == 501
    assert tally.unmapped[OTHERS].conversations == 2


def test_names_past_the_limit_are_counted_together_when_tallies_are_merged():
    merged = tally_of([with_names(f"a{number}" for number in range(1_500))])
    merged.merge(tally_of([with_names(f"b{number}" for number in range(1_500))]))
    assert len(merged.unmapped) == LIMIT + 1
    assert sum(one.count for one in merged.unmapped.values()) == 3_000
    assert merged.unmapped[OTHERS].count == 1_000
