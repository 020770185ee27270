"""The order of messages that name their parents, as chat services keep them: a tree with a branch for each second try.

Nothing is taken from the order in which a source lists them, and nothing but the branches of one message is ordered by
time.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Parents = dict[str, str | None]


@dataclass(slots=True)
class Tree:
    order: list[str]
    """Every node, each after its parent; one branch is told to its end before the next begins."""
    parents: Parents
    """As given, without the links that lead nowhere or in a circle."""
    branches: dict[str, int] = field(default_factory=dict[str, int])
    """The place among its siblings of every node that has some."""
    fan_out: dict[str | None, int] = field(default_factory=dict[str | None, int])
    """How many nodes hang on a node, None for those without a parent, where it is several."""
    dangling: list[str] = field(default_factory=list[str])
    """Nodes whose parent is not there."""
    circular: list[str] = field(default_factory=list[str])
    """Nodes at which a circle of parents was cut."""

    @property
    def is_chain(self) -> bool:
        """Whether each node hangs on the one that stands before it."""
        return not (self.branches or self.dangling or self.circular)

    def path_to(self, node: str | None) -> set[str]:
        """A node and all above it."""
        path: set[str] = set()
        while node is not None:
            path.add(node)
            node = self.parents[node]
        return path

    def fork(self, node: str, point: str | None) -> dict[str, int | str]:
        """What the metadata of a message say about the branches it is one of; `point` is the message they part at."""
        if node not in self.branches:
            return {}
        marks: dict[str, int | str] = {
            "branch_index": self.branches[node],
            "branch_count": self.fan_out[self.parents[node]],
        }
        return marks if point is None else {**marks, "fork_point": point}

    def newest_leaf(self, age: "Age") -> str | None:
        """Where a conversation ends of which nobody says so."""
        inner = set(self.parents.values())
        return max((node for node in self.order if node not in inner), key=lambda node: (age(node), node), default=None)


Age = Callable[[str], str]
"""The time of a node in a spelling that sorts; empty where it has none."""


def grow(links: Parents, age: Age) -> Tree:
    """The tree of some nodes and their parents; siblings stand in the order of their age, then of their ids."""
    if (order := _one_after_the_other(links)) is not None:
        return Tree(order, links)
    dangling: list[str] = []
    children: dict[str | None, list[str]] = {}
    for node, parent in links.items():
        if parent in children:
            children[parent].append(node)
        elif parent is None or parent in links:
            children[parent] = [node]
        else:
            dangling.append(node)
    tree = Tree([], links, dangling=dangling)
    if len(children) + len(dangling) < len(links):
        for parent, siblings in children.items():
            if len(siblings) > 1:
                siblings.sort(key=lambda node: (age(node), node))
                _number(tree, parent, siblings)
    roots = children.get(None, [])
    if dangling:  # they are no branches of one another: nobody knows what they hung on
        tree.parents = links | dict.fromkeys(dangling)
        roots = sorted([*roots, *dangling], key=lambda node: (age(node), node))
    _walk(roots, children, tree.order)
    if len(tree.order) < len(links):
        tree.parents = dict(tree.parents)
        _cut_circles(tree, children, age)
    return tree


def _one_after_the_other(links: Parents) -> list[str] | None:
    """The order of nodes of which each hangs on one and carries one; None where there are branches or loose ends."""
    following = dict(zip(links.values(), links, strict=True))
    if len(following) < len(links):
        return None
    order: list[str] = []
    node = following.get(None)
    while node is not None:
        order.append(node)
        node = following.get(node)
    return order if len(order) == len(links) else None


def _number(tree: Tree, parent: str | None, siblings: list[str]) -> None:
    if len(siblings) > 1:
        tree.fan_out[parent] = len(siblings)
        tree.branches.update(zip(siblings, range(len(siblings)), strict=True))
    else:
        tree.fan_out.pop(parent, None)
        for node in siblings:
            tree.branches.pop(node, None)


def _walk(roots: list[str], children: Mapping[str | None, list[str]], order: list[str]) -> None:
    stack = roots[::-1]
    while stack:
        node = stack.pop()
        order.append(node)
        if node in children:
            below = children[node]
            stack.extend(below if len(below) == 1 else reversed(below))


def _cut_circles(tree: Tree, children: dict[str | None, list[str]], age: Age) -> None:
    """Nodes that no root leads to hang on circles: the oldest node of each becomes a root."""
    reached = set(tree.order)
    on_circles: set[str] = set()
    seen: set[str] = set()
    for start in tree.parents:
        path: dict[str, None] = {}
        node: str | None = start
        while node is not None and node not in reached and node not in seen:
            path[node] = None
            seen.add(node)
            node = tree.parents[node]
        if node in path:
            nodes = list(path)
            circle = nodes[nodes.index(node) :]
            on_circles.add(min(circle, key=lambda one: (age(one), one)))
    for node in sorted(on_circles, key=lambda one: (age(one), one)):
        parent = tree.parents[node]
        tree.parents[node] = None
        children[parent].remove(node)
        tree.branches.pop(node, None)
        _number(tree, parent, children[parent])
        tree.circular.append(node)
        _walk([node], children, tree.order)
