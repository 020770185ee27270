"""Comparison of prompt logs and editor states with a conversation's text, so that nothing is kept twice.

The state of a prompt in the editor is a document of nodes, or a text from the command line.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from palaver.model.build import JsonObject

_SEARCHED_LINES = 200
_SEARCHED_CHARACTERS = 1 << 28
"""Limit on all searches together; beyond it, lines without a known hash count as new without a search."""
_IGNORED_LINES = (
    *("", "<system>", "<user>", "<assistant>", "<tool>", "<thinking>", "<think>", "</think>"),
    *("[object Object]", "```", "```tool", "END_ARG"),
)
_KNOWN_NODE_TYPES = frozenset(
    {"doc", "paragraph", "text", "mention", "codeBlock", "code-block", "hardBreak", "image"}
    | {"slashcommand", "slash-command", "prompt-block", "promptBlock"}
)


class KnownText:
    """Lines of a conversation by hash: every prompt repeats the whole conversation before it."""

    def __init__(self) -> None:
        self._lines: set[int] = set(map(hash, _IGNORED_LINES))
        self._texts: list[str] = []
        self._joined: str | None = None
        self._searchable = _SEARCHED_CHARACTERS

    def add(self, text: str) -> None:
        self._lines.update(map(hash, map(str.strip, text.split("\n"))))
        self._texts.append(text)
        self._joined = None

    def add_all(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.add(text)

    def drop_texts(self) -> None:
        """Keep only the hashes, so that messages already handed out need not stay in memory."""
        self._texts.clear()
        self._joined = None

    def has_new_lines(self, text: str) -> bool:
        """Return whether a text has a line that is not known as a whole; a cheap first check."""
        return not self._lines.issuperset(map(hash, map(str.strip, text.split("\n"))))

    def new_lines(self, text: str, shortest: int = 1) -> list[str]:
        """Return the lines that are not known even as part of a text: a prompt that was too long is cut mid-line."""
        known = self._lines
        lines = map(str.strip, text.split("\n"))
        new = [line for line in lines if len(line) >= shortest and hash(line) not in known]
        if not new or len(new) > _SEARCHED_LINES or self._searchable < 0:
            return new
        if self._joined is None:
            self._joined = "\n".join(self._texts)
            self._searchable -= len(self._joined)
        self._searchable -= len(new) * len(self._joined)
        return [line for line in new if line not in self._joined]


def editor_nodes(state: Any) -> list[JsonObject]:
    """Return all nodes of an editor's document, in reading order."""
    found: list[JsonObject] = []
    stack: list[Any] = [state]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            found.append(node)
            if isinstance((inner := node.get("content")), list):
                stack.extend(reversed(inner))
    return found


def has_unmatched_text(state: Any, nodes: list[JsonObject], message_texts: list[str]) -> bool:
    """Return whether the editor's document holds anything that the message lacks."""
    if isinstance(state, str):
        return bool(state) and not any(state in text for text in message_texts)
    if not nodes:
        return state is not None
    known_text: KnownText | None = None
    for node in nodes:
        kind = node.get("type")
        if (
            not isinstance(kind, str)
            or kind not in _KNOWN_NODE_TYPES
            or not node.keys() <= {"type", "content", "attrs", "text"}
        ):
            return True
        inner = node.get("content", [])
        if not isinstance(inner, list) or not isinstance(node.get("text", ""), str):
            return True
        if any(not isinstance(child, dict) for child in inner):
            return True
        for text in _node_texts(node):
            if any(text in message_text for message_text in message_texts):
                continue
            if known_text is None:
                known_text = KnownText()
                known_text.add_all(message_texts)
            if known_text.has_new_lines(text) and known_text.new_lines(text):
                return True
    return False


def _node_texts(node: JsonObject) -> Iterator[str]:
    """Yield the texts of a node; the targets of mentions are covered by the context providers."""
    if text := node.get("text"):
        yield text.strip()
    match node.get("attrs"):
        case {"item": {"content": str(content)}}:
            yield content.strip()
        case {"src": str(source)}:
            yield source.partition(",")[2] or source
        case _:
            pass
