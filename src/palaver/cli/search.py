"""`palaver search`: find messages and conversations."""

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from palaver.archive.filters import Filters
from palaver.archive.hits import SearchRequest
from palaver.archive.query import ScratchIndex, parse, parse_as_typed
from palaver.archive.search import Hit, HitConversation, Neighbour, SearchResult, search_titles
from palaver.archive.search import search as search_messages
from palaver.cli._archive import open_for_reading
from palaver.cli._arguments import AsJson, NoPager
from palaver.cli._commands import Command
from palaver.cli._filters import takes_filters
from palaver.cli._terminal import output
from palaver.cli._terminal.search_hits import reading, result_pieces, snippet_length, summary
from palaver.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    FUNCTION = "function"


class Author(StrEnum):
    HUMAN = "human"
    MODEL = "model"
    TOOL = "tool"
    HARNESS = "harness"


class Where(StrEnum):
    TEXT = "text"
    THINKING = "thinking"
    TOOL = "tool"
    TITLE = "title"


_MAX_CONTEXT = 100
_ROLES = f"Only messages with this role: {', '.join(Role)}."
_AUTHORS = f"Only messages by this author: {', '.join(Author)}."
_COLUMNS = f"Only in: {', '.join(Where)}."


class SearchCommand(Command):
    """A command line in which `-word` excludes a word, unless it is an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        takes_value = {
            name: not getattr(parameter, "is_flag", False)
            for parameter in self.get_params(ctx)
            if parameter.param_type_name == "option"
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        options: list[str] = []
        words: list[str] = []
        remaining = iter(args)
        for word in remaining:
            if word == "--":
                words += remaining
            elif word in takes_value:
                options.append(word)
                if takes_value[word]:
                    options += [value for value in (next(remaining, None),) if value is not None]
            elif word.startswith("--"):
                options.append(word)
            else:
                words.append(word)
        return super().parse_args(ctx, [*options, "--", *words])


COMMAND = SearchCommand
"""The class that `_commands` makes this command of, in place of `Command`."""


@takes_filters
def search(
    words: Annotated[list[str], typer.Argument(metavar="WORD", hidden=True)],
    *,
    filters: Filters,
    roles: Annotated[list[Role] | None, typer.Option("--role", metavar="ROLE", help=_ROLES)] = None,
    authors: Annotated[list[Author] | None, typer.Option("--by", metavar="WHO", help=_AUTHORS)] = None,
    where: Annotated[list[Where] | None, typer.Option("--in", metavar="WHERE", help=_COLUMNS)] = None,
    errors: Annotated[bool, typer.Option("--errors", help="Only failed results of tools.")] = False,
    ranked: Annotated[
        bool, typer.Option("--ranked", help="The best of the newest 2,000 first, not the newest.")
    ] = False,
    context: Annotated[
        int,
        typer.Option(
            "--context", "-C", min=0, max=_MAX_CONTEXT, metavar="N", help="Also N messages before and after each hit."
        ),
    ] = 0,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, metavar="N", help="At most N messages.")] = 20,
    page: Annotated[int | None, typer.Option("--page", min=1, metavar="N", help="The Nth page.")] = None,
    offset: Annotated[int | None, typer.Option("--offset", min=0, metavar="N", help="Skip N messages.")] = None,
    no_pager: NoPager = False,
    as_json: AsJson = False,
) -> None:
    """Find messages, and conversations by their titles.

    All words must occur (AND is optional). "A phrase" in quotes is consecutive words (in a shell: '"a phrase"'),
    compil* is a prefix, -word or NOT word excludes, this OR that is either. A pasted command line such as
    `git commit -m` is searched as typed if it occurs anywhere. Case and accents do not matter. Chinese and Japanese
    match anywhere in a text, other languages by whole words. Symbols such as C++ or an emoji are matched as typed,
    which takes longer in a large archive.

    The newest comes first, and identical matches are shown once. Each hit begins with ID:N, the Nth message of a
    conversation: `palaver show ID:N` shows it in its place. Dates filter messages; --has, --tool and --tag filter
    conversations.

    Exit codes: 0 something was found, 1 nothing was found, 2 the search failed.
    """
    if page is not None and offset is not None:
        raise OptionError("--page and --offset cannot be combined")
    offset = offset if offset is not None else ((page or 1) - 1) * limit
    query = " ".join(words)
    scratch = ScratchIndex()
    as_typed = parse_as_typed(query, scratch)
    columns = tuple(column.value for column in where or () if column is not Where.TITLE)
    request = SearchRequest(
        as_typed or parse(query, scratch),
        filters,
        columns or (("tool",) if errors else ()),
        tuple(roles or ()),
        tuple(authors or ()),
        errors,
    )
    in_titles = where is not None and Where.TITLE in where
    if in_titles and request.has_message_filters:
        raise OptionError("--in title searches conversations: leave out --role, --by, --errors and any other --in")

    def find(request: SearchRequest) -> SearchResult:
        if in_titles:
            return search_titles(connection, request, limit=limit, offset=offset)
        return search_messages(
            connection,
            request,
            limit=limit,
            offset=offset,
            is_ranked=ranked,
            snippet_length=snippet_length(),
            context=context,
        )

    with open_for_reading() as connection:
        found = find(request)
        if as_typed and not found.total and not found.titles_total:
            request = replace(request, query=parse(query, scratch))
            found = find(request)
    if as_json:
        output.answer_json(_answer(found, query, is_ranked=ranked, offset=offset, limit=limit))
    else:
        with output.paged(is_wanted=not no_pager and bool(found.hits or found.titles)):
            output.answer_all(result_pieces(found))
        if output.is_terminal() and (found.hits or found.titles):
            output.notify("")
        has_filters = request.has_message_filters or filters.where()[0] != "true"
        output.notify(*reading(request.query, is_as_typed=request.query is as_typed))
        output.notify(*summary(found, offset, limit, is_ranked=ranked, has_filters=has_filters))
    if not found.hits and not found.titles:
        raise typer.Exit(1)


def _answer(found: SearchResult, query: str, *, is_ranked: bool, offset: int, limit: int) -> dict[str, Any]:
    return {
        "query": query,
        "order": "ranked" if is_ranked else "newest",
        "offset": offset,
        "limit": limit,
        "messages": [_message(hit) for hit in found.hits],
        "total": found.total,
        "is_total_exact": found.is_total_exact,
        "titles": [
            {"conversation": _conversation(title.conversation), "ranges": _ranges(title.ranges)}
            for title in found.titles
        ],
        "titles_total": found.titles_total,
        "is_titles_total_exact": found.is_titles_total_exact,
    }


def _message(hit: Hit) -> dict[str, Any]:
    passage = hit.snippet and {
        "text": hit.snippet.text,
        "ranges": _ranges(hit.snippet.ranges),
        "is_cut_before": hit.snippet.is_cut_before,
        "is_cut_after": hit.snippet.is_cut_after,
        "column": hit.snippet.piece.column,
        "block": hit.snippet.piece.block,
        "tool": hit.tool,
    }
    return {
        "conversation": _conversation(hit.conversation),
        "message_id": hit.message_id,
        "number": hit.number,
        "role": hit.role,
        "author_kind": hit.author_kind,
        "model": hit.model,
        "timestamp": hit.timestamp,
        "passage": passage,
        "score": hit.score,
        "others": [other._asdict() for other in hit.others],
        "others_total": hit.others_total,
        "before": [_neighbour(neighbour) for neighbour in hit.before],
        "after": [_neighbour(neighbour) for neighbour in hit.after],
    }


def _neighbour(neighbour: Neighbour) -> dict[str, Any]:
    return neighbour._asdict() | {"text": " ".join(neighbour.text.split())}


def _conversation(conversation: HitConversation) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(conversation)


def _ranges(ranges: "Iterable[tuple[int, int]]") -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in ranges]
