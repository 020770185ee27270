"""What was sent along with a message: files, selections, search results, by the context provider that gave it."""

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
    """A context item as a block: code that was selected as `code`, all else as `file`."""
    match item:
        case {"content": str(content), **rest}:
            block = _code(content, rest) or build.file(
                source=_source(rest.get("uri")), name=text_of(rest, "name") or None, text=content
            )
        case _:
            return build.opaque(kind="context_item", raw=item)
    own = {"uri"} if "source" in block else set[str]()
    own |= {"name"} if "name" in block else set()
    if fields := {name: value for name, value in rest.items() if name not in own}:
        block.setdefault("source_fields", {}).update(fields)
    return block


def _source(uri: Any) -> JsonObject | None:
    match uri:
        case {"type": "file" | "url" as kind, "value": str(value), **rest} if value and not rest:
            return build.source(kind, value)
        case _:
            return None


def _code(content: str, item: JsonObject) -> build.Block | None:
    """A selection, whose fence tells where it was taken from."""
    if provider_of(item) != "code" or not (fenced := _FENCED.fullmatch(content)):
        return None
    words = fenced["info"].split(None, 1)
    if len(words) < 2:
        return None
    path, first, last = _place(words[1].rstrip())
    block = build.code(
        fenced["code"],
        language=words[0],
        file_path=path,
        line_range={"start": first, "end": last} if first and last else None,
    )
    block["source_fields"] = {"fence": fenced["info"]}
    return block


def _place(stated: str) -> tuple[str, int, int]:
    """The file and the lines in `path (12-40)`; no lines where there are none."""
    *path, last_word = stated.rsplit(None, 1)
    lines = _LINES.fullmatch(last_word)
    return (path[0], int(lines[1]), int(lines[2])) if lines and path else (stated, 0, 0)


def provider_of(item: Any) -> str:
    match item:
        case {"id": {"providerTitle": str(title)}}:
            return title
        case _:
            return ""


class Mention(NamedTuple):
    """A place in the prompt at which a context provider was asked for something."""

    provider: str
    query: str
    names: tuple[str, ...]
    """By what its answer may be known."""


def mentions(nodes: list[JsonObject]) -> Iterator[Mention]:
    """The mentions among the nodes of an editor's document."""
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
                yield Mention(provider, _own_query(item), tuple(_names(item)))
            case _:
                pass


class Providers:
    """Who was asked for context in a conversation, and for what, in the order in which it happened."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], None] = {}
        self.codebase: list[JsonObject] = []

    def add(self, items: list[Any], asked: list[Mention]) -> None:
        waiting = _Waiting(asked)
        for item in items:
            if not (provider := provider_of(item)):
                continue
            mention = waiting.answered_by(item, provider)
            self._asked[provider, (mention.query if mention else "") or _own_query(item)] = None
            if provider == CODEBASE:
                self.codebase.append({name: item[name] for name in ("name", "description", "uri") if name in item})
        for mention in waiting.left():
            self._asked[mention.provider, mention.query] = None

    def found(self) -> list[JsonObject]:
        return [{"name": name, "query": query} for name, query in self._asked]


class _Waiting:
    """The mentions of a prompt that wait for what they asked for; all that is found in the codebase answers one."""

    def __init__(self, asked: list[Mention]) -> None:
        self._asked = dict(enumerate(asked))
        self._places: dict[tuple[str, str], deque[int]] = {}
        for place, mention in self._asked.items():
            keys = {("", name) for name in mention.names if name}
            keys |= {(mention.provider, "")} if mention.provider != "file" else set()
            for key in keys:
                self._places.setdefault(key, deque()).append(place)

    def answered_by(self, item: JsonObject, provider: str) -> Mention | None:
        """The first mention that an item may answer: of the same provider, or of its name; a file is known by name."""
        keys = [(provider, ""), *(("", name) for name in _names(item))]
        found = [place for key in keys for place in self._first(key)]
        if not found:
            return None
        mention = self._asked[place := min(found)]
        if mention.provider != CODEBASE:
            del self._asked[place]
        return mention

    def left(self) -> list[Mention]:
        return [mention for mention in self._asked.values() if mention.provider != CODEBASE]

    def _first(self, key: tuple[str, str]) -> list[int]:
        places = self._places.get(key, deque[int]())
        while places and places[0] not in self._asked:
            places.popleft()
        return [places[0]] if places else []


def _names(item: JsonObject) -> set[str]:
    uri = item.get("uri")
    stated = (item.get("name"), item.get("description"), uri.get("value") if isinstance(uri, dict) else None)
    return {name for name in stated if isinstance(name, str) and name}


def _own_query(item: JsonObject) -> str:
    match item:
        case {"uri": {"value": str(value)}} if value:
            return value
        case {"id": {"itemId": str(item_id)}}:
            return item_id
        case _:
            return ""
