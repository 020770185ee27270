"""What was sent along with a message: files, selections, search results, by the context provider that gave it."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from palaver.importers.continue_dev.fields import text_of
from palaver.model import build

Json = dict[str, Any]

CODEBASE = "codebase"

_FENCED = re.compile(r"```(?P<info>[^\n`]*)\n(?P<code>.*)\n```\s*", re.DOTALL)
_INFO = re.compile(r"(?P<language>\S+)\s+(?P<path>.+?)(?:\s+\((?P<first>[0-9]{1,9})-(?P<last>[0-9]{1,9})\))?")


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


def _source(uri: Any) -> Json | None:
    match uri:
        case {"type": "file" | "url" as kind, "value": str(value), **rest} if value and not rest:
            return build.source(kind, value)
        case _:
            return None


def _code(content: str, item: Json) -> build.Block | None:
    """A selection, whose fence tells where it was taken from."""
    if provider_of(item) != "code" or not (fenced := _FENCED.fullmatch(content)):
        return None
    info = _INFO.fullmatch(fenced["info"].strip())
    if info is None:
        return None
    first, last = (int(info[name] or 0) for name in ("first", "last"))
    block = build.code(
        fenced["code"],
        language=info["language"],
        file_path=info["path"],
        line_range={"start": first, "end": last} if first and last else None,
    )
    block["source_fields"] = {"fence": fenced["info"]}
    return block


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


def mentions(nodes: list[Json]) -> Iterator[Mention]:
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
        self.codebase: list[Json] = []

    def add(self, items: list[Any], asked: list[Mention]) -> None:
        left = list(asked)
        for item in items:
            if not (provider := provider_of(item)):
                continue
            mention = next((one for one in left if _answers(item, provider, one)), None)
            if mention is not None and mention.provider != CODEBASE:
                left.remove(mention)
            self._asked[provider, (mention.query if mention else "") or _own_query(item)] = None
            if provider == CODEBASE:
                self.codebase.append({name: item[name] for name in ("name", "description", "uri") if name in item})
        for mention in left:
            if mention.provider != CODEBASE:
                self._asked[mention.provider, mention.query] = None

    def found(self) -> list[Json]:
        return [{"name": name, "query": query} for name, query in self._asked]


def _answers(item: Json, provider: str, mention: Mention) -> bool:
    if mention.provider == provider:
        return provider != "file" or _names(item).isdisjoint(mention.names) is False
    return not _names(item).isdisjoint(mention.names)


def _names(item: Json) -> set[str]:
    uri = item.get("uri")
    stated = (item.get("name"), item.get("description"), uri.get("value") if type(uri) is dict else None)
    return {name for name in stated if type(name) is str and name}


def _own_query(item: Json) -> str:
    match item:
        case {"uri": {"value": str(value)}} if value:
            return value
        case {"id": {"itemId": str(item_id)}}:
            return item_id
        case _:
            return ""
