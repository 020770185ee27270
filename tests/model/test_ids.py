import uuid

from hypothesis import given
from hypothesis import strategies as st

from palaver.model.ids import NAMESPACE, conversation_uuid, deterministic_uuid


def test_the_check_value_of_the_specification():
    assert str(NAMESPACE) == "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    assert deterministic_uuid("x") == "05b16a01-46c6-56dd-bd6e-c6dfb4a1427a"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_law_equal_to_the_standard_library(text):
    assert deterministic_uuid(text) == str(uuid.uuid5(NAMESPACE, text))


def test_lone_surrogates_have_an_id_too():
    assert deterministic_uuid("\ud800") != deterministic_uuid("\udc00")


def test_a_conversation_is_named_by_platform_time_and_identifier():
    expected = deterministic_uuid("github_copilot-2025-01-02T03:04:05.678Z-main.py")
    assert conversation_uuid("github_copilot", "2025-01-02T03:04:05.678Z", "main.py") == expected
