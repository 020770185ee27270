"""The archive, opened for reading by a program."""

import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import date
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Self

from palaver.api.results import (
    ConversationList,
    ConversationRow,
    Counts,
    ExportResult,
    SearchHit,
    SearchHits,
    Statistics,
    TitleHit,
    Tokens,
)
from palaver.archive.connection import FILE_NAME, archive_errors, open_to_read, user_archive
from palaver.archive.conversation_list import ListedConversation, Sort, find_conversations, list_conversations
from palaver.archive.documents import whole_document
from palaver.archive.filters import Filters
from palaver.archive.migrations import APPLICATION_ID
from palaver.archive.search import Hit
from palaver.archive.search import TitleHit as FoundTitle
from palaver.archive.selection import find_conversation, select_keys
from palaver.archive.statistics import conversation_titles, statistics
from palaver.archive.statistics_order import in_order
from palaver.archive.tally import GROUPINGS, GroupBy, Tally
from palaver.archive.usage import Scope
from palaver.config import config_path, load_config
from palaver.errors import ArchiveError, OptionError
from palaver.model.conversation import Conversation
from palaver.prices import Prices
from palaver.workflows.parse_filters import parse_filters
from palaver.workflows.search_archive import SearchWords, search_archive

Words = str | Sequence[str] | None
"""One value of a filter or several; any of them may match."""
When = str | date | None
"""A time: "2w", "last week", "2026-01-31", a date or a datetime; without a time zone, this machine's."""


class Archive:
    """The user's archive, or the one at `path`: an archive file, or the folder that holds it.

    An archive is opened for reading: no method changes it, and imports may go on meanwhile. Only a file that an earlier
    version of palaver made is upgraded first. Each thread opens an archive of its own. All errors are
    `palaver.errors.PalaverError`.

    The filters of all methods are those of the command line: `platform`, `project`, `model`, `tool` and `tag` take one
    value or several, of which any may match; `has` takes tool, error, branch, agent, tag or rating, all of which must
    be there. All filters must match.
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self.path = user_archive() if path is None else _archive_file(Path(path).expanduser())
        self._open: sqlite3.Connection | None = open_to_read(self.path)
        self._thread = threading.get_ident()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; closing twice does nothing."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def __repr__(self) -> str:
        if self._open is None or self._thread != threading.get_ident():
            return f"<palaver.Archive {str(self.path)!r}{'' if self._open else ', closed'}>"
        with self._connection() as connection:
            [conversations] = connection.execute("select count(*) from conversation").fetchone()
            [messages] = connection.execute("select count(*) from message").fetchone()
        return f"<palaver.Archive {str(self.path)!r}: {conversations:,} conversations, {messages:,} messages>"

    def show(self, conversation: str) -> Conversation:
        """Return a conversation with all its messages: by id, the beginning of one, PLATFORM:ID, title, or `latest`."""
        with self._connection() as connection:
            return Conversation.model_validate(
                whole_document(connection, find_conversation(connection, conversation).key)
            )

    def search(
        self,
        query: str,
        *,
        platform: Words = None,
        project: Words = None,
        model: Words = None,
        since: When = None,
        until: When = None,
        has: Words = None,
        tool: Words = None,
        tag: Words = None,
        role: Words = None,
        by: Words = None,
        where: Words = None,
        errors: bool = False,
        ranked: bool = False,
        limit: int = 20,
        offset: int = 0,
    ) -> SearchHits:
        """Return a page of the messages that match a query, the newest first, and conversations whose titles match.

        The query is written as for `palaver search`: all words must occur, "a phrase" in quotes, compil* is a prefix,
        NOT or - excludes, OR is either. `since` and `until` filter messages. `role` and `by` (human, model, tool,
        harness) choose who wrote them, `where` (text, thinking, tool, title) what is searched, `errors` only results of
        tools that failed. `ranked` puts the best of the newest 2,000 first.
        """
        _check_limit(limit)
        if offset < 0:
            raise OptionError(f"offset is {offset}: use 0 or more")
        words = SearchWords(
            query, roles=_words(role), authors=_words(by), where=_words(where), errors=errors, ranked=ranked
        )
        filters = self._filters(
            platform=platform, project=project, model=model, since=since, until=until, has=has, tool=tool, tag=tag
        )
        with self._connection() as connection:
            found = search_archive(connection, words, filters, limit=limit, offset=offset).result
        return SearchHits(
            tuple(map(_search_hit, found.hits)),
            found.total,
            found.is_total_exact,
            tuple(map(_title_hit, found.titles)),
            found.titles_total,
        )

    def stats(
        self,
        by: GroupBy = "day",
        *,
        platform: Words = None,
        project: Words = None,
        model: Words = None,
        since: When = None,
        until: When = None,
        has: Words = None,
        tool: Words = None,
        tag: Words = None,
        exact: bool = False,
        utc: bool = False,
    ) -> Statistics:
        """Count messages, tokens and cost: all of them, and those of each day, project, model and so on.

        `since` and `until` filter messages, and `model` the model that answered. Without them, everything counts. Days
        are this machine's, or those of UTC. Spellings of one model are one group, unless `exact` is set.
        """
        if by not in GROUPINGS:
            raise OptionError(f"there is no group {by!r}: choose from {', '.join(GROUPINGS)}")
        filters = self._filters(
            platform=platform, project=project, model=model, since=since, until=until, has=has, tool=tool, tag=tag
        )
        prices = Prices(load_config(config_path()))
        with self._connection() as connection:
            found = statistics(connection, Scope(filters, is_utc=utc), by, prices, folds_models=not exact)
            names = conversation_titles(connection, found.groups) if by == "conversation" else {}
        groups = tuple(
            _counts(tally, ":".join(names[key][:2]), names[key][2])
            if key in names
            else _counts(tally, None if key is None else str(key))
            for key, tally in in_order(found, by, names)
        )
        total = _counts(found.total)
        return Statistics(by, total, groups, found.copied_answers, found.partial.total(), dict(found.unpriced))

    def export(
        self,
        output: str | PathLike[str],
        *conversations: str,
        format: str | None = None,  # noqa: A002 - the name of the option
        with_cost: bool = False,
        agents: bool = True,
        platform: Words = None,
        project: Words = None,
        model: Words = None,
        since: When = None,
        until: When = None,
        has: Words = None,
        tool: Words = None,
        tag: Words = None,
    ) -> ExportResult:
        """Write conversations to a file or folder: those with the given ids, or all that match the filters.

        The ending of the file chooses the format, as for `palaver export`; a folder is one that exists, a name that
        ends in a slash, or, for Markdown of several conversations, a name without an ending. Nothing is written if no
        conversation matches.
        """
        from palaver.workflows.export import Export, message_cost
        from palaver.workflows.export_target import export_target, names_folder, refuse_to_overwrite

        path = Path(output).expanduser()
        is_folder = names_folder(fspath(output))
        if not fspath(output):
            raise OptionError("the output has no name: name a file or a folder")
        export_target(path, format, conversations=1, is_folder=is_folder)
        refuse_to_overwrite(self.path, path)
        cost = message_cost(load_config(config_path())) if with_cost else None
        filters = self._filters(
            platform=platform, project=project, model=model, since=since, until=until, has=has, tool=tool, tag=tag
        )
        with self._connection() as connection:
            connection.execute("begin")  # one snapshot, whatever is imported meanwhile
            try:
                keys = select_keys(connection, filters, conversations, with_agents=agents)
                target = export_target(path, format, conversations=len(keys), is_folder=is_folder)
                run = Export(connection, target.format, cost=cost)
                if keys:
                    run.write(keys, target)
            finally:
                connection.execute("rollback")
        files = tuple(file.path for file in run.files)
        return ExportResult(target.format, run.conversations, run.messages, run.size_bytes, files)

    def list(
        self,
        *,
        platform: Words = None,
        project: Words = None,
        model: Words = None,
        since: When = None,
        until: When = None,
        has: Words = None,
        tool: Words = None,
        tag: Words = None,
        agents: bool = False,
        recorded: bool = False,
        sort: str = "updated",
        limit: int | None = None,
    ) -> ConversationList:
        """Return the conversations that match, the latest first, without their messages.

        `sort` is updated, created, messages or tokens, the greatest first. Agents are counted with the conversation
        that started them, unless `agents` is set. Recorded API traffic is left out if an assistant's own record has all
        of its answers, unless `recorded` is set.
        """
        if sort not in set(Sort):
            raise OptionError(f"there is no order {sort!r}: choose from {', '.join(Sort)}")
        if limit is not None:
            _check_limit(limit)
        filters = self._filters(
            platform=platform, project=project, model=model, since=since, until=until, has=has, tool=tool, tag=tag
        )
        with self._connection() as connection:
            found = find_conversations(connection, filters, Sort(sort), with_agents=agents, with_recordings=recorded)
        return ConversationList(
            found.keys[:limit],
            self._rows,
            total=len(found.keys),
            hidden_agents=found.hidden_agents,
            hidden_recordings=found.hidden_recordings,
        )

    def _rows(self, keys: Sequence[int]) -> Sequence[ConversationRow]:
        with self._connection() as connection:
            try:
                return [_conversation_row(row) for row in list_conversations(connection, keys)]
            except KeyError as error:
                raise ArchiveError("a conversation of this list was removed from the archive: list again") from error

    def _filters(
        self,
        *,
        platform: Words,
        project: Words,
        model: Words,
        since: When,
        until: When,
        has: Words,
        tool: Words,
        tag: Words,
    ) -> Filters:
        open_archive: Callable[[], AbstractContextManager[sqlite3.Connection]] = self._connection
        return parse_filters(
            open_archive,
            platforms=_words(platform),
            projects=_words(project),
            models=_words(model),
            since=since,
            until=until,
            has=_words(has),
            tools=_words(tool),
            tags=_words(tag),
        )

    @contextmanager
    def _connection(self) -> Generator[sqlite3.Connection]:
        if self._open is None:
            raise ArchiveError(f"the archive {self.path} is closed: open it again with palaver.Archive()")
        if self._thread != threading.get_ident():
            raise ArchiveError("this archive was opened by another thread: open one in each thread")
        with archive_errors(self.path):
            yield self._open


def _archive_file(path: Path) -> Path:
    """Return the archive at a path; raise ArchiveError if there is another file."""
    file = path / FILE_NAME if path.is_dir() else path
    if not file.exists():
        raise ArchiveError(f"there is no archive at {file}")
    try:
        # Read-only, since opening it as an archive would change the settings of another program's file.
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            [application] = connection.execute("pragma application_id").fetchone()
    except sqlite3.Error:
        application = None
    if application != APPLICATION_ID:
        raise ArchiveError(f"{file} is not an archive of palaver")
    return file


def _words(value: Words) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise OptionError(f"limit is {limit}: use 1 or more")


def _conversation_row(row: ListedConversation) -> ConversationRow:
    tokens = row.totals.tokens()
    return ConversationRow(
        conversation_id=row.conversation_id,
        short_id=row.short_id,
        platform=row.platform,
        title=row.title,
        has_title=row.has_title,
        project=row.project,
        model=row.model,
        created_at=row.created_at,
        updated_at=row.updated_at,
        is_undated=row.is_undated,
        status=row.status,
        messages=row.totals.messages,
        human_messages=row.totals.human_messages,
        tokens=None if tokens is None else Tokens(**tokens),
        tags=row.tags,
        rating=row.rating,
        is_sidechain=row.is_sidechain,
        parent=row.parent,
        agents=row.agents,
        sources=row.sources,
    )


def _search_hit(hit: Hit) -> SearchHit:
    conversation, passage = hit.conversation, hit.snippet
    return SearchHit(
        conversation_id=conversation.conversation_id,
        short_id=conversation.short_id,
        platform=conversation.platform,
        title=conversation.title,
        project=conversation.project,
        message_id=hit.message_id,
        number=hit.number,
        role=hit.role,
        author_kind=hit.author_kind,
        model=hit.model,
        timestamp=hit.timestamp,
        text=passage.text if passage else "",
        ranges=passage.ranges if passage else (),
        tool=hit.tool,
        score=hit.score,
        copies=hit.others_total,
    )


def _title_hit(found: FoundTitle) -> TitleHit:
    named = found.conversation
    return TitleHit(named.conversation_id, named.short_id, named.platform, named.title, tuple(found.ranges))


def _counts(tally: Tally, group: str | None = None, title: str | None = None) -> Counts:
    tokens = tally.tokens
    return Counts(
        group=group,
        title=title,
        conversations=len(tally.conversations),
        messages=tally.messages.total(),
        human_messages=tally.messages["human"],
        tool_calls=tally.tool_calls,
        answers=tally.answers,
        tokens=Tokens(tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, tokens.thinking),
        cost=tally.cost,
        stated_costs=dict(sorted(tally.stated.items())),
    )
