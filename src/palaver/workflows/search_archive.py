"""Search the archive as people type it: a pasted command line as typed if it occurs anywhere, else as a query."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

from palaver.archive.filters import Filters
from palaver.archive.hits import SearchRequest
from palaver.archive.query import ScratchIndex, parse, parse_as_typed
from palaver.archive.search import SearchResult, search, search_titles
from palaver.errors import OptionError

ROLES = ("user", "assistant", "system", "tool", "function")
AUTHORS = ("human", "model", "tool", "harness")
PLACES = ("text", "thinking", "tool", "title")
_SNIPPET_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class SearchWords:
    """A query as typed, with the authors and the parts of messages that are searched."""

    query: str
    roles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    errors: bool = False
    ranked: bool = False


class SearchAnswer(NamedTuple):
    result: SearchResult
    request: SearchRequest
    is_as_typed: bool
    """Whether the query was searched as typed instead of as words with operators."""


def search_archive(
    connection: sqlite3.Connection,
    words: SearchWords,
    filters: Filters,
    *,
    limit: int = 20,
    offset: int = 0,
    snippet_length: int = _SNIPPET_CHARACTERS,
    context: int = 0,
) -> SearchAnswer:
    """Return a page of results, each with `context` messages around it, and the request that found them."""
    for name, values, known in (
        ("role", words.roles, ROLES),
        ("author", words.authors, AUTHORS),
        ("place", words.where, PLACES),
    ):
        if unknown := [value for value in values if value not in known]:
            raise OptionError(f"there is no {name} {unknown[0]!r}: choose from {', '.join(known)}")
    in_titles = "title" in words.where
    columns = tuple(place for place in words.where if place != "title") or (("tool",) if words.errors else ())
    with closing(ScratchIndex()) as scratch:
        as_typed = parse_as_typed(words.query, scratch)
        query = as_typed or parse(words.query, scratch)
    request = SearchRequest(query, filters, columns, words.roles, words.authors, words.errors)
    if in_titles and request.has_message_filters:
        raise OptionError("titles belong to conversations: leave out roles, authors, errors and other places")

    def find(request: SearchRequest) -> SearchResult:
        if in_titles:
            return search_titles(connection, request, limit=limit, offset=offset)
        return search(
            connection,
            request,
            limit=limit,
            offset=offset,
            is_ranked=words.ranked,
            snippet_length=snippet_length,
            context=context,
        )

    found = find(request)
    if as_typed and not found.total and not found.titles_total:
        with closing(ScratchIndex()) as scratch:
            request = replace(request, query=parse(words.query, scratch))
        return SearchAnswer(find(request), request, is_as_typed=False)
    return SearchAnswer(found, request, is_as_typed=as_typed is not None)
