"""The laws of trees: every node once, each after its parent, the active path exactly the one to the current node."""

from hypothesis import given
from hypothesis import strategies as st

from palaver.importers._shared.message_tree import build_tree
from palaver.importers.chatgpt.assets import Assets
from palaver.importers.chatgpt.conversation import ExportContext, Feedback, document
from palaver.sources.run import Run

NAMES = st.sampled_from([*"abcdefghij", "", "client-created-root"])


@st.composite
def mappings(draw):
    """Nodes with parents of any kind: sound, missing, or circular."""
    keys = draw(st.lists(NAMES, unique=True, max_size=10))
    mapping = {}
    for key in keys:
        node = {"parent": draw(st.none() | NAMES)}
        if draw(st.booleans() | st.just(True)):
            author = {"role": draw(st.sampled_from(["user", "assistant", "system", "tool"]))}
            node["message"] = {
                "id": key,
                "author": author,
                "create_time": draw(st.none() | st.floats(0, 2e9)),
                "content": {"content_type": "text", "parts": [f"words of {key!r}"]},
            }
        mapping[key] = node
    return mapping


def read(mapping, current):
    run = Run("a test")
    context = ExportContext(Assets(None, [], run), Feedback(), {}, lambda: "2026-01-01T00:00:00.000Z")
    return document({"id": "c", "mapping": mapping, "current_node": current}, context, run, "element 0")


def key_of(message):
    return "" if message["message_id"] == "(no key)" else message["message_id"]


@given(mappings(), st.none() | NAMES)
def test_every_node_with_a_message_appears_once_and_after_its_parent(mapping, current):
    wanted = [key for key, node in mapping.items() if node.get("message") is not None]
    messages = read(mapping, current)["messages"]
    assert sorted(key_of(message) for message in messages) == sorted(wanted)
    seen = {None}
    for message in messages:
        assert message.get("parent_message_id") in seen
        seen.add(message["message_id"])


@given(mappings(), st.none() | NAMES)
def test_each_parent_is_an_ancestor(mapping, current):
    """Messages hang on the nearest ancestor with a message; what stands between them has none."""
    for message in read(mapping, current)["messages"]:
        parent = message.get("parent_message_id")
        if parent is None:
            continue
        node = mapping[key_of(message)]["parent"]
        while "message" not in mapping[node]:
            node = mapping[node]["parent"]
        assert (node or "(no key)") == parent


@given(mappings(), NAMES)
def test_the_active_path_is_the_path_from_the_current_node(mapping, current):
    if current not in mapping:
        return
    messages = {key_of(message): message for message in read(mapping, current)["messages"]}
    active = {key for key, message in messages.items() if message["metadata"]["on_active_path"]}
    path = set()
    at = current
    while at in mapping and at not in path:  # a circle is cut somewhere: what follows is on the path at most once
        path.add(at)
        at = mapping[at]["parent"]
    assert active <= path
    if at not in path:
        assert active == path & messages.keys()
    else:
        assert current in active or current not in messages


@given(mappings())
def test_branches_are_numbered_where_there_are_several(mapping):
    links = {key: node.get("parent") for key, node in mapping.items()}
    tree = build_tree(links, lambda _: "")
    siblings = {}
    for node in tree.order:
        if node not in tree.dangling:
            siblings.setdefault(tree.parents[node], []).append(node)
    assert not tree.branches.keys() & set(tree.dangling)
    for parent, nodes in siblings.items():
        if len(nodes) == 1:
            assert nodes[0] not in tree.branches or nodes[0] in tree.circular
        elif not tree.circular:
            assert [tree.branches[node] for node in nodes] == list(range(len(nodes)))
            assert tree.fan_out[parent] == len(nodes)


@given(st.permutations(list("abcdefg")), st.data())
def test_the_order_of_the_source_means_nothing(order, data):
    parents = {"a": None, **{key: data.draw(st.sampled_from("abcdefg"[:at])) for at, key in enumerate("bcdefg", 1)}}
    ages = {key: data.draw(st.sampled_from(["", "1", "2"])) for key in parents}
    once = build_tree(dict(sorted(parents.items())), ages.__getitem__)
    again = build_tree({key: parents[key] for key in order}, ages.__getitem__)
    assert (once.order, once.branches) == (again.order, again.branches)


def test_a_deep_chain_needs_no_recursion():
    mapping = {str(number): {"parent": str(number - 1) if number else None} for number in range(50_000)}
    mapping["49999"]["message"] = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["deep"]}}
    reversed_mapping = dict(reversed(mapping.items()))
    assert [message["message_id"] for message in read(reversed_mapping, "49999")["messages"]] == ["49999"]
