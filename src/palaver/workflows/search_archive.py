"""Search the archive as people type it: a pasted command line as typed if it occurs anywhere, else as a query."""

import sqlite3
from dataclasses import dataclass, replace

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
    """A query as it was typed, and who wrote what is searched, and where it stands."""

    query: str
    roles: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    errors: bool = False
    ranked: bool = False


def search_archive(
    connection: sqlite3.Connection,
    words: SearchWords,
    filters: Filters,
    *,
    limit: int = 20,
    offset: int = 0,
    snippet_length: int = _SNIPPET_CHARACTERS,
) -> tuple[SearchResult, SearchRequest]:
    """Return a page of results, and the request that found them."""
    for name, values, known in (
        ("role", words.roles, ROLES),
        ("author", words.authors, AUTHORS),
        ("place", words.where, PLACES),
    ):
        if unknown := [value for value in values if value not in known]:
            raise OptionError(f"there is no {name} {unknown[0]!r}: choose from {', '.join(known)}")
    scratch = ScratchIndex()
    as_typed = parse_as_typed(words.query, scratch)
    columns = tuple(place for place in words.where if place != "title") or (("tool",) if words.errors else ())
    request = SearchRequest(
        as_typed or parse(words.query, scratch), filters, columns, words.roles, words.authors, words.errors
    )
    in_titles = "title" in words.where
    if in_titles and request.has_message_filters:
        raise OptionError("titles belong to conversations: leave out roles, authors, errors and any other place")

    def find(request: SearchRequest) -> SearchResult:
        if in_titles:
            return search_titles(connection, request, limit=limit, offset=offset)
        return search(
            connection, request, limit=limit, offset=offset, is_ranked=words.ranked, snippet_length=snippet_length
        )

    found = find(request)
    if as_typed and not found.total and not found.titles_total:
        request = replace(request, query=parse(words.query, scratch))
        found = find(request)
    return found, request
