"""Tags and ratings: facts by hand, under the conversation's name."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palaver.archive import tags as marks
from palaver.archive.connection import open_to_write
from palaver.archive.conversation_tags import conversation_tags
from palaver.archive.documents import documents
from palaver.archive.filters import Filters
from palaver.archive.ingest import Ingest
from palaver.archive.rows import conversation_rows
from palaver.archive.selection import find_conversation, matching_conversations
from palaver.errors import OptionError
from palaver.model import build
from palaver.validation.schema import is_valid

WHEN = "2025-03-01T10:00:00.000Z"


@pytest.fixture
def archive(tmp_path):
    with closing(open_to_write(tmp_path / "archive.db")) as connection:
        yield connection


def keep(connection, name, tags=(), platform="toy"):
    message = build.message(
        message_id="m", role="user", timestamp=WHEN, content=[build.text("beans")], metadata={"author_kind": "human"}
    )
    document = build.conversation(
        conversation_id=name, platform={"name": platform}, created_at=WHEN, messages=[message], tags=list(tags)
    )
    Ingest(connection).add([(conversation_rows(document), None)])
    return find_conversation(connection, f"{platform}:{name}")


def tags(connection, one):
    return conversation_tags(connection, *one[:3])


def test_tags_are_given_and_taken_away(archive):
    one = keep(archive, "one", ["source's"])
    assert marks.change_tags(archive, one, ["garden", "beans"])
    assert tags(archive, one) == ["beans", "garden", "source's"]
    assert not marks.change_tags(archive, one, ["garden"])
    assert marks.change_tags(archive, one, ["beans", "source's", "never there"], is_removed=True)
    assert tags(archive, one) == ["garden"]


def test_a_new_import_does_not_bring_back_what_was_taken_away(archive):
    one = keep(archive, "one", ["source's"])
    marks.change_tags(archive, one, ["source's"], is_removed=True)
    keep(archive, "one", ["source's"])
    assert tags(archive, one) == []
    marks.change_tags(archive, one, ["source's"])
    assert tags(archive, one) == ["source's"]


def test_tags_in_use_are_counted_whoever_gave_them(archive):
    one, two, _ = keep(archive, "one", ["garden"]), keep(archive, "two"), keep(archive, "three", ["gone"])
    marks.change_tags(archive, two, ["garden", "beans"])
    marks.change_tags(archive, find_conversation(archive, "three"), ["gone"], is_removed=True)
    assert marks.tag_counts(archive) == {"garden": 2, "beans": 1}
    assert marks.tag_counts(archive, [one]) == {"garden": 1}


def test_marks_stand_in_the_document(archive):
    one = keep(archive, "one")
    marks.change_tags(archive, one, ["garden"])
    marks.rate(archive, one, 4.5, "It knew.")
    [document] = documents(archive)
    assert is_valid(document)
    assert document["tags"] == ["garden"]
    assert (document["rating"]["score"], document["rating"]["feedback"]) == (4.5, "It knew.")


def test_a_rating_is_replaced_and_taken_back(archive):
    one = keep(archive, "one")
    assert marks.current_rating(archive, one) is None
    marks.rate(archive, one, 1, "No.")
    marks.rate(archive, one, 5)
    assert marks.current_rating(archive, one)[:2] == (5, None)
    assert marks.clear_rating(archive, one)
    assert not marks.clear_rating(archive, one)


def test_two_platforms_may_have_the_same_id(archive):
    one, other = keep(archive, "one"), keep(archive, "one", platform="chatgpt")
    marks.change_tags(archive, one, ["garden"])
    marks.rate(archive, other, 2)
    assert (tags(archive, one), tags(archive, other)) == (["garden"], [])
    assert marks.current_rating(archive, one) is None
    assert matching_conversations(archive, Filters(platforms=("chatgpt",))) == [other]


@pytest.mark.parametrize("word", ["", "  ", "a\nb", "a\x1b[31m", "a\u202eb", "a\u200bb", "x" * 101, "\udcff"])
def test_what_cannot_be_a_tag(word):
    with pytest.raises(OptionError):
        marks.normalize_tag(word)


@pytest.mark.parametrize("word", ["to read", "größe", "नमस्\u200cते", "👩\u200d🌾", "a:b", "#1"])
def test_what_can_be_a_tag(word):
    assert marks.normalize_tag(f" {word} ") == word


@given(st.text(max_size=120))
def test_a_clean_tag_is_clean(word):
    try:
        tag = marks.normalize_tag(word)
    except OptionError:
        return
    assert marks.normalize_tag(tag) == tag
    assert tag == tag.strip()
    assert tag.splitlines() == [tag]
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in tag)
