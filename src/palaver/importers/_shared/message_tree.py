"""The tree of messages that name their parents, as chat services store them: each retry starts a branch.

The order in which a source lists the messages does not matter, and time orders only the branches of one message.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Parents = dict[str, str | None]


@dataclass(slots=True)
class Tree:
    """Nodes in reading order, with their parents and branches."""

    order: list[str]
    """Every node after its parent; a branch is complete before the next begins."""
    parents: Parents
    """The links as given, except those to a missing parent and those that close a cycle."""
    branches: dict[str, int] = field(default_factory=dict[str, int])
    """The index among its siblings, from 0, of every node that has siblings."""
    fan_out: dict[str | None, int] = field(default_factory=dict[str | None, int])
    """The number of children of every node that has several; the key None counts the roots."""
    dangling: list[str] = field(default_factory=list[str])
    """Nodes whose parent is missing."""
    circular: list[str] = field(default_factory=list[str])
    """Nodes whose parent link was removed, since it closed a cycle."""

    @property
    def is_chain(self) -> bool:
        """Whether each node is the only child of the one before it."""
        return not (self.branches or self.dangling or self.circular)

    def path_to(self, node: str | None) -> set[str]:
        """Return a node and all its ancestors."""
        path: set[str] = set()
        while node is not None:
            path.add(node)
            node = self.parents[node]
        return path

    def branch_metadata(self, node: str, fork_point: str | None) -> dict[str, int | str]:
        """Return the branch metadata of a message, empty without siblings; they fork at message `fork_point`."""
        if node not in self.branches:
            return {}
        metadata: dict[str, int | str] = {
            "branch_index": self.branches[node],
            "branch_count": self.fan_out[self.parents[node]],
        }
        return metadata if fork_point is None else {**metadata, "fork_point": fork_point}

    def newest_leaf(self, time_of: "TimeOf") -> str | None:
        """Return the newest leaf, or None for an empty tree."""
        inner = set(self.parents.values())
        return max(
            (node for node in self.order if node not in inner), key=lambda node: (time_of(node), node), default=None
        )


TimeOf = Callable[[str], str]
"""Returns the time of a node as a sortable text; empty if it has none."""


def build_tree(links: Parents, time_of: TimeOf) -> Tree:
    """Build a tree from the parent of each node; siblings are ordered by time, then by id."""
    if (order := _chain_order(links)) is not None:
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
                siblings.sort(key=lambda node: (time_of(node), node))
                _number_branches(tree, parent, siblings)
    roots = children.get(None, [])
    if dangling:  # not siblings: their parents may have differed
        tree.parents = links | dict.fromkeys(dangling)
        roots = sorted([*roots, *dangling], key=lambda node: (time_of(node), node))
    _append_subtrees(roots, children, tree.order)
    if len(tree.order) < len(links):
        tree.parents = dict(tree.parents)
        _cut_cycles(tree, children, time_of)
    return tree


def _chain_order(links: Parents) -> list[str] | None:
    """Return the order of nodes that form a single chain; None if there are branches, missing parents or cycles."""
    following = dict(zip(links.values(), links, strict=True))
    if len(following) < len(links):
        return None
    order: list[str] = []
    node = following.get(None)
    while node is not None:
        order.append(node)
        node = following.get(node)
    return order if len(order) == len(links) else None


def _number_branches(tree: Tree, parent: str | None, siblings: list[str]) -> None:
    if len(siblings) > 1:
        tree.fan_out[parent] = len(siblings)
        tree.branches.update(zip(siblings, range(len(siblings)), strict=True))
    else:
        tree.fan_out.pop(parent, None)
        for node in siblings:
            tree.branches.pop(node, None)


def _append_subtrees(roots: list[str], children: Mapping[str | None, list[str]], order: list[str]) -> None:
    stack = roots[::-1]
    while stack:
        node = stack.pop()
        order.append(node)
        if node in children:
            below = children[node]
            stack.extend(below if len(below) == 1 else reversed(below))


def _cut_cycles(tree: Tree, children: dict[str | None, list[str]], time_of: TimeOf) -> None:
    """Make the oldest node of each cycle a root, and append the nodes that only cycles lead to."""
    reached = set(tree.order)
    oldest_nodes: set[str] = set()
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
            cycle = nodes[nodes.index(node) :]
            oldest_nodes.add(min(cycle, key=lambda member: (time_of(member), member)))
    for node in sorted(oldest_nodes, key=lambda oldest: (time_of(oldest), oldest)):
        parent = tree.parents[node]
        tree.parents[node] = None
        children[parent].remove(node)
        tree.branches.pop(node, None)
        _number_branches(tree, parent, children[parent])
        tree.circular.append(node)
        _append_subtrees([node], children, tree.order)
