"""Parents that are reached through nodes without a message."""

import pytest

from palaver.importers.deepseek.shapes import INVALID_ID, add_tree, find_chat


def mapping(**parents):
    """Nodes by their parents; those with a capital letter have a message."""
    return {
        name: {"parent": parent, "message": {"content": name} if name.isupper() else None}
        for name, parent in parents.items()
    }


@pytest.mark.parametrize(
    ("nodes", "parent"),
    [
        (mapping(A="root", root=None), None),
        (mapping(A="b", b="c", c="D", D=None), "D"),
        (mapping(A="b", b="gone"), "gone"),
        (mapping(A="b", b="c", c="b"), INVALID_ID),
        (mapping(A="a", a="a"), INVALID_ID),
        (mapping(A=""), None),
        (mapping(A=["D"], D=None), INVALID_ID),
        (mapping(A=True), INVALID_ID),
        (mapping(A=1 << 70), INVALID_ID),
        (mapping(A="A"), "A"),
    ],
)
def test_the_nearest_message_above(nodes, parent):
    chat = find_chat({"mapping": nodes})
    assert chat is not None
    assert chat.parent_of("A") == parent


def test_a_broken_node_still_ties_its_children_to_those_above():
    nodes = mapping(A="b", b="C", C=None)
    nodes["b"]["message"] = "a text"
    chat = find_chat({"mapping": nodes})
    assert chat is not None
    assert chat.parent_of("A") == "C"
    assert [place for place, _ in chat.malformed] == ["node 'b'"]


def test_a_deep_tree_is_taken_in_without_recursion():
    root = leaf = {"id": 0, "type": "user", "content": ""}
    for number in range(1, 5_000):
        child = {"id": number, "type": "user", "content": ""}
        leaf["children"] = [child]
        leaf = child
    chat = find_chat({"mapping": {}})
    assert chat is not None
    assert add_tree(chat, root) == 5_000
    assert chat.parent_of("4999") == "4998"


def test_wrapped_fields_do_not_replace_the_conversations_own():
    chat = find_chat({"title": "outer", "chat": {"title": "inner", "mapping": {}}})
    assert chat is not None
    assert chat.fields == {"title": "inner", "title-2": "outer"}
