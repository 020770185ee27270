"""What a prompt looked like in the editor: a document of nodes, a text for the command line."""

from collections.abc import Iterator
from typing import Any

from palaver.importers.continue_dev.heard import Heard
from palaver.model.build import JsonObject

_KNOWN = frozenset(
    {"doc", "paragraph", "text", "mention", "codeBlock", "code-block", "hardBreak", "image"}
    | {"slashcommand", "slash-command", "prompt-block", "promptBlock"}
)


def nodes_of(state: Any) -> list[JsonObject]:
    """All nodes of an editor's document, in the order of reading."""
    found: list[JsonObject] = []
    stack: list[Any] = [state]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            found.append(node)
            if isinstance((inner := node.get("content")), list):
                stack.extend(reversed(inner))
    return found


def says_more(state: Any, nodes: list[JsonObject], said: list[str]) -> bool:
    """Whether the editor's document has something that the message does not say."""
    if isinstance(state, str):
        return bool(state) and not any(state in text for text in said)
    if not nodes:
        return state is not None
    heard: Heard | None = None
    for node in nodes:
        kind = node.get("type")
        if not isinstance(kind, str) or kind not in _KNOWN or not node.keys() <= {"type", "content", "attrs", "text"}:
            return True
        inner = node.get("content", [])
        if not isinstance(inner, list) or not isinstance(node.get("text", ""), str):
            return True
        if any(not isinstance(one, dict) for one in inner):
            return True
        for text in _texts(node):
            if any(text in one for one in said):
                continue
            if heard is None:
                heard = Heard()
                heard.add_all(said)
            if heard.has_news(text) and heard.unheard(text):
                return True
    return False


def _texts(node: JsonObject) -> Iterator[str]:
    """What a node shows; where a mention leads is told by the context providers."""
    if text := node.get("text"):
        yield text.strip()
    match node.get("attrs"):
        case {"item": {"content": str(content)}}:
            yield content.strip()
        case {"src": str(source)}:
            yield source.partition(",")[2] or source
        case _:
            pass
