import pytest

from palaver.errors import VersionError
from palaver.model import SCHEMA_VERSION
from palaver.model import upgrade as room
from palaver.model.upgrade import upgrade


def test_a_current_document_passes_unchanged():
    document = {"schema_version": SCHEMA_VERSION, "messages": []}
    assert upgrade(document) is document


def test_an_older_document_takes_every_step_in_order(monkeypatch):
    steps = {
        "0.8.0": ("0.9.0", lambda document: {**document, "steps": [*document["steps"], "to 0.9.0"]}),
        "0.9.0": (SCHEMA_VERSION, lambda document: {**document, "steps": [*document["steps"], "to current"]}),
    }
    monkeypatch.setattr(room, "STEPS", steps)
    oldest = {"schema_version": "0.8.0", "steps": []}
    assert upgrade(oldest) == {"schema_version": SCHEMA_VERSION, "steps": ["to 0.9.0", "to current"]}
    assert upgrade({"schema_version": "0.9.0", "steps": []})["steps"] == ["to current"]
    assert oldest == {"schema_version": "0.8.0", "steps": []}


@pytest.mark.parametrize(
    ("version", "told"),
    [
        (None, "has no schema_version"),
        ("", "'' instead of three numbers"),
        ("1.0", "'1.0' instead of three numbers"),
        ("1.0.0\n", "instead of three numbers"),
        ("v1.0.0", "instead of three numbers"),
        ("1" * 5000, "…"),
        (1, "is 1 instead of three numbers"),
        (["1.0.0"], "of type list instead of three numbers"),
        ("1.0.1", "newer than .* upgrade palaver"),
        ("2.0.0", "newer than .* upgrade palaver"),
        ("10.0.0", "newer than .* upgrade palaver"),
        ("0.9.0", "unknown schema_version '0.9.0' .* import its source again"),
    ],
    ids=lambda value: ascii(value)[:30],
)
def test_other_versions_are_refused_with_what_is_known(version, told):
    with pytest.raises(VersionError, match=told) as raised:
        upgrade({"schema_version": version, "messages": []})
    assert f"this palaver knows {SCHEMA_VERSION}" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_document_without_a_version_is_refused():
    with pytest.raises(VersionError, match="is it a conversation document"):
        upgrade({})


def test_the_table_leads_from_every_version_to_the_current_one():
    for version in room.STEPS:
        seen = [version]
        while seen[-1] != SCHEMA_VERSION:
            seen.append(room.STEPS[seen[-1]][0])
            assert tuple(map(int, seen[-1].split("."))) > tuple(map(int, seen[-2].split(".")))
