"""Context items sent along with a message: files, selections, search results, each from a context provider."""

import re
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.importers.continue_dev.fields import text_of
from palaver.model import build
from palaver.model.build import JsonObject

CODEBASE = "codebase"

_FENCED = re.compile(r"```(?P<info>[^\n`]*)\n(?P<code>.*)\n```\s*", re.DOTALL)
_LINES = re.compile(r"\(([0-9]{1,9})-([0-9]{1,9})\)")


def attachment(item: Any) -> build.Block:
    """Return a context item as a block: selected code as `code`, everything else as `file`."""
    match item:
        case {"content": str(content), **rest}:
            block = _code(content, rest) or build.file(
                source=_source(rest.get("uri")), name=text_of(rest, "name") or None, text=content
            )
        case _:
            return build.opaque(kind="context_item", raw=item)
    mapped = {"uri"} if "source" in block else set[str]()
    mapped |= {"name"} if "name" in block else set()
    if fields := {name: value for name, value in rest.items() if name not in mapped}:
        block.setdefault("source_fields", {}).update(fields)
    return block


def _source(uri: Any) -> JsonObject | None:
    match uri:
        case {"type": "file" | "url" as kind, "value": str(value), **rest} if value and not rest:
            return build.source(kind, value)
        case _:
            return None


def _code(content: str, item: JsonObject) -> build.Block | None:
    """Return the block of a selection, whose fence holds its location; None for other items."""
    if provider_of(item) != "code" or not (fenced := _FENCED.fullmatch(content)):
        return None
    info = fenced["info"].split(None, 1)
    if len(info) < 2:
        return None
    path, first, last = _parse_location(info[1].rstrip())
    block = build.code(
        fenced["code"],
        language=info[0],
        file_path=path,
        line_range={"start": first, "end": last} if first and last else None,
    )
    block["source_fields"] = {"fence": fenced["info"]}
    return block


def _parse_location(location: str) -> tuple[str, int, int]:
    """Split `path (12-40)` into path, first and last line; the lines are 0 if missing."""
    *path, last_word = location.rsplit(None, 1)
    lines = _LINES.fullmatch(last_word)
    return (path[0], int(lines[1]), int(lines[2])) if lines and path else (location, 0, 0)


def provider_of(item: Any) -> str:
    match item:
        case {"id": {"providerTitle": str(title)}}:
            return title
        case _:
            return ""


class Mention(NamedTuple):
    """A mention in the prompt that asks a context provider for something."""

    provider: str
    query: str
    names: tuple[str, ...]
    """Names by which the resulting context item may be recognized."""


def mentions(nodes: list[JsonObject]) -> Iterator[Mention]:
    """Yield the mentions among the nodes of an editor's document."""
    for node in nodes:
        match node:
            case {"type": "mention", "attrs": dict(attrs)}:
                kind, name, query = (text_of(attrs, field) for field in ("itemType", "id", "query"))
                provider = name if kind == "contextProvider" else kind or name
                if provider:
                    yield Mention(provider, query, (query, name, text_of(attrs, "label")))
            case {
                "type": "codeBlock" | "code-block",
                "attrs": {"item": {"id": {"providerTitle": str(provider)}} as item},
            }:
                yield Mention(provider, _item_query(item), tuple(_item_names(item)))
            case _:
                pass


class Providers:
    """Context providers asked in a conversation, with their queries, in order."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], None] = {}
        self.codebase: list[JsonObject] = []

    def add(self, items: list[Any], asked: list[Mention]) -> None:
        pending = _PendingMentions(asked)
        for item in items:
            if not (provider := provider_of(item)):
                continue
            mention = pending.take_match(item, provider)
            self._asked[provider, (mention.query if mention else "") or _item_query(item)] = None
            if provider == CODEBASE:
                self.codebase.append({name: item[name] for name in ("name", "description", "uri") if name in item})
        for mention in pending.unanswered():
            self._asked[mention.provider, mention.query] = None

    def entries(self) -> list[JsonObject]:
        return [{"name": name, "query": query} for name, query in self._asked]


class _PendingMentions:
    """Mentions of a prompt that await their context items; one codebase mention matches any number of items."""

    def __init__(self, asked: list[Mention]) -> None:
        self._asked = dict(enumerate(asked))
        self._positions: dict[tuple[str, str], deque[int]] = {}
        for position, mention in self._asked.items():
            keys = {("", name) for name in mention.names if name}
            keys |= {(mention.provider, "")} if mention.provider != "file" else set()
            for key in keys:
                self._positions.setdefault(key, deque()).append(position)

    def take_match(self, item: JsonObject, provider: str) -> Mention | None:
        """Take the first mention that an item may answer, by provider or by name; files match by name only."""
        keys = [(provider, ""), *(("", name) for name in _item_names(item))]
        found = [position for key in keys for position in self._first(key)]
        if not found:
            return None
        mention = self._asked[position := min(found)]
        if mention.provider != CODEBASE:
            del self._asked[position]
        return mention

    def unanswered(self) -> list[Mention]:
        return [mention for mention in self._asked.values() if mention.provider != CODEBASE]

    def _first(self, key: tuple[str, str]) -> list[int]:
        positions = self._positions.get(key, deque[int]())
        while positions and positions[0] not in self._asked:
            positions.popleft()
        return [positions[0]] if positions else []


def _item_names(item: JsonObject) -> set[str]:
    uri = item.get("uri")
    names = (item.get("name"), item.get("description"), uri.get("value") if isinstance(uri, dict) else None)
    return {name for name in names if isinstance(name, str) and name}


def _item_query(item: JsonObject) -> str:
    match item:
        case {"uri": {"value": str(value)}} if value:
            return value
        case {"id": {"itemId": str(item_id)}}:
            return item_id
        case _:
            return ""
