"""Filters as people write them."""

import sqlite3
from contextlib import closing

import pytest

from palaver.archive.filter_values import resolve_filters
from palaver.archive.filters import Filters
from palaver.archive.ingest import Ingest
from palaver.archive.migrations import migrate
from palaver.archive.rows import conversation_rows
from palaver.errors import OptionError
from palaver.model import build

WHEN = "2026-01-01T10:00:00.000Z"
PROJECTS = ["/srv/my_app", "/srv/my-app", "/srv/my_app2", "D:\\srv\\my_app", "/srv/not_my_app", "/home/ÉTÉ/spotter-dov"]


def document(name, project, model):
    call = build.tool_use(id="t", name="Read", input={})
    message = build.message(message_id=f"{name}-1", role="assistant", timestamp=WHEN, content=[call])
    return build.conversation(
        conversation_id=name,
        messages=[message],
        platform={"name": "toy", "model": model},
        created_at=WHEN,
        context={"workspace": {"path": project}},
        tags=["Garden"],
    )


@pytest.fixture(scope="module")
def archive():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, "memory")
        models = ["claude-sonnet-4-5-20250929", "claude-sonnet-4.5", "gpt-5", "o3", "gpt_x", "gpt-4o"]
        documents = [document(project, project, model) for project, model in zip(PROJECTS, models, strict=True)]
        Ingest(connection).add([(conversation_rows(one), None) for one in documents])
        yield connection


def chosen(archive, **filters):
    condition, values = resolve_filters(archive, Filters(**filters)).where()
    rows = archive.execute(f"select conversation_id from conversation c where {condition}", values)
    return {row[0] for row in rows}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/srv/my_app", {"/srv/my_app"}),
        ("/srv/my_app/", {"/srv/my_app"}),
        ("my_app", {"/srv/my_app", "D:\\srv\\my_app"}),
        ("srv/my_app", {"/srv/my_app", "D:\\srv\\my_app"}),
        ("MY_APP", {"/srv/my_app", "D:\\srv\\my_app"}),
        ("/srv", {"/srv/my_app", "/srv/my-app", "/srv/my_app2", "/srv/not_my_app"}),
        ("spotter", {"/home/ÉTÉ/spotter-dov"}),
        ("Y_APP", {"/srv/my_app", "/srv/my_app2", "D:\\srv\\my_app", "/srv/not_my_app"}),
        ("été", {"/home/ÉTÉ/spotter-dov"}),
    ],
)
def test_a_project_is_a_folder_or_else_any_part_of_a_path(archive, name, expected):
    assert chosen(archive, projects=(name,)) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sonnet", {"/srv/my_app", "/srv/my-app"}),
        ("Sonnet 4.5", {"/srv/my_app", "/srv/my-app"}),
        ("sonnet-4-5-2025", {"/srv/my_app"}),
        ("GPT", {"/srv/my_app2", "/srv/not_my_app", "/home/ÉTÉ/spotter-dov"}),
        ("t_x", {"/srv/not_my_app"}),
    ],
)
def test_a_model_is_any_part_of_its_name(archive, name, expected):
    assert chosen(archive, models=(name,)) == expected


def test_tags_and_tools_are_found_in_any_case(archive):
    assert chosen(archive, tags=("garden",)) == chosen(archive, tools=("READ",)) == set(PROJECTS)


@pytest.mark.parametrize(
    ("filters", "sentence"),
    [
        ({"projects": ("spoter-dov",)}, "no project matches 'spoter-dov': did you mean spotter-dov?"),
        (
            {"projects": ("my_app", "zzz")},
            "no project matches 'zzz': the archive has spotter-dov, my-app, my_app, my_app2 and not_my_app",
        ),
        (
            {"models": ("sonet",)},
            "no model matches 'sonet': did you mean claude-sonnet-4-5-20250929 or claude-sonnet-4.5?",
        ),
        ({"models": ("gpt-6",)}, "no model matches 'gpt-6': did you mean gpt-4o, gpt-5 or gpt_x?"),
        ({"tags": ("gardn",)}, "no tag matches 'gardn': did you mean Garden?"),
        ({"tools": ("Bash",)}, "no tool matches 'Bash': the archive has Read"),
    ],
)
def test_a_value_that_nothing_has_is_an_error_with_what_there_is(archive, filters, sentence):
    with pytest.raises(OptionError) as error:
        resolve_filters(archive, Filters(**filters))
    assert str(error.value) == sentence


def test_an_archive_without_values_says_so():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, "memory")
        with pytest.raises(OptionError, match="no tag matches 'x': the archive has no tags"):
            resolve_filters(connection, Filters(tags=("x",)))
