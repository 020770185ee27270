"""What the methods of `palaver.Archive` return: small immutable objects, and sequences of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import overload

_PAGE = 100
_SHOWN_TITLE_CHARACTERS = 50


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts, with an answer that occurs several times counted once."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    thinking: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class ConversationRow:
    """A conversation as `palaver list` shows it, without its messages. Times are UTC, as in documents."""

    conversation_id: str
    short_id: str
    """The shortest id that `Archive.show` and `palaver show` accept."""
    platform: str
    title: str
    """The title, or the opening words of a conversation without one."""
    has_title: bool
    project: str | None
    model: str | None
    created_at: str
    updated_at: str | None
    is_undated: bool
    """Whether no message states a time, so that the times are guesses."""
    status: str | None
    messages: int
    """Number of messages, with all branches."""
    human_messages: int
    tokens: Tokens | None
    """None if the source states no usage."""
    tags: list[str]
    rating: Mapping[str, object] | None
    """The user's rating: score, feedback and rated_at."""
    is_sidechain: bool
    """Whether it is the conversation of an agent."""
    parent: str | None
    """Id of the conversation that it was started, forked or resumed from."""
    agents: int
    """Number of agents that it started."""
    sources: list[str]

    def __repr__(self) -> str:
        when = (self.updated_at or self.created_at)[:10]
        amount = _counted(self.messages, "message")
        return f"<ConversationRow {self.short_id} {self.platform} {when} {_shown(self.title)} {amount}>"


class ConversationList(Sequence[ConversationRow]):
    """Conversations that match a filter, in order; each page of rows is read from the archive when it is needed."""

    def __init__(
        self,
        keys: Sequence[int],
        read_rows: Callable[[Sequence[int]], Sequence[ConversationRow]],
        *,
        total: int,
        hidden_agents: int,
        hidden_recordings: int,
    ) -> None:
        self._keys = keys
        self._read_rows = read_rows
        self._pages: dict[int, Sequence[ConversationRow]] = {}
        self.total = total
        """Number of conversations that match, whatever the limit."""
        self.hidden_agents = hidden_agents
        """Number of agents that match but are listed only with `agents=True`."""
        self.hidden_recordings = hidden_recordings
        """Number of recorded conversations that match but are listed only with `recorded=True`."""

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, index: int) -> ConversationRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ConversationRow]: ...
    def __getitem__(self, index: int | slice) -> ConversationRow | Sequence[ConversationRow]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        number, place = divmod(range(len(self))[index], _PAGE)
        if number not in self._pages:
            self._pages[number] = self._read_rows(self._keys[number * _PAGE : (number + 1) * _PAGE])
        return self._pages[number][place]

    def __iter__(self) -> Iterator[ConversationRow]:
        """Yield all rows without keeping them."""
        for start in range(0, len(self), _PAGE):
            number = start // _PAGE
            yield from self._pages.get(number) or self._read_rows(self._keys[start : start + _PAGE])

    def __repr__(self) -> str:
        return f"<ConversationList: {_of_total(len(self), self.total, 'conversation')}>"


@dataclass(frozen=True, slots=True, repr=False)
class SearchHit:
    """A message that was found, with the passage that matches."""

    conversation_id: str
    short_id: str
    platform: str
    title: str
    project: str | None
    message_id: str
    number: int
    """The number of the message in its conversation: `palaver show ID:N` shows it in its place."""
    role: str
    author_kind: str | None
    model: str | None
    timestamp: str
    text: str
    """The passage; empty if the message is too long to find it."""
    ranges: tuple[tuple[int, int], ...]
    """Where the matches are in `text`: start and end."""
    tool: str | None
    """The tool whose call or result was found."""
    score: float | None
    """With `ranked`: the lower, the better."""
    copies: int
    """Number of other messages with the same content."""

    def __repr__(self) -> str:
        author = self.author_kind or self.role
        return f"<SearchHit {self.short_id} {self.timestamp[:10]} {author} {_shown(self.text)}>"


@dataclass(frozen=True, slots=True, repr=False)
class TitleHit:
    """A conversation whose title was found."""

    conversation_id: str
    short_id: str
    platform: str
    title: str
    ranges: tuple[tuple[int, int], ...]

    def __repr__(self) -> str:
        return f"<TitleHit {self.short_id} {self.platform} {_shown(self.title)}>"


@dataclass(frozen=True, slots=True, repr=False)
class SearchHits(Sequence[SearchHit]):
    """One page of the messages that were found, and the conversations whose titles match."""

    hits: tuple[SearchHit, ...]
    total: int
    is_total_exact: bool
    """False if there may be more than `total`."""
    titles: tuple[TitleHit, ...]
    """The first titles that match; all of the page with `where="title"`."""
    titles_total: int

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> SearchHit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SearchHit]: ...
    def __getitem__(self, index: int | slice) -> SearchHit | Sequence[SearchHit]:
        return self.hits[index]

    def __repr__(self) -> str:
        found = _of_total(len(self.hits), self.total, "message", is_exact=self.is_total_exact)
        return f"<SearchHits: {found}, {_counted(self.titles_total, 'title')}>"


@dataclass(frozen=True, slots=True, repr=False)
class Counts:
    """The counts of one day, project, model and so on, or of everything; an answer with copies counts once."""

    group: str | None
    """The day, the Monday of a week, the month, the start of a block, or a name; a conversation as platform:id.

    None for the total, and for what has no project, model or the like.
    """
    title: str | None
    """The title, if groups are conversations."""
    conversations: int
    messages: int
    human_messages: int
    tool_calls: int
    answers: int
    """Number of answers whose usage was counted."""
    tokens: Tokens
    cost: Decimal | None
    """US dollars by public prices, without models that have no known price; None if no model has one."""
    stated_costs: dict[str, Decimal]
    """What the sources themselves state, by currency; not part of `cost`."""

    def __repr__(self) -> str:
        name = "" if self.group is None else f" {self.group}"
        return f"<Counts{name}: {_counted(self.messages, 'message')}, {_dollars(self.cost)}>"


@dataclass(frozen=True, slots=True, repr=False)
class Statistics(Sequence[Counts]):
    """The totals of a filter, and its groups: times in order, everything else with the greatest first."""

    by: str
    total: Counts
    groups: tuple[Counts, ...]
    copied_answers: int
    """Number of answers that were copied, and whose copies are not counted."""
    partial_answers: int
    """Number of counted answers that were logged before they ended: their output is a lower bound."""
    unpriced: dict[str | None, int] = field(default_factory=dict[str | None, int])
    """Number of answers without a known price, by model."""

    def __len__(self) -> int:
        return len(self.groups)

    @overload
    def __getitem__(self, index: int) -> Counts: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Counts]: ...
    def __getitem__(self, index: int | slice) -> Counts | Sequence[Counts]:
        return self.groups[index]

    def __repr__(self) -> str:
        groups, total = _counted(len(self.groups), "group"), self.total
        figures = f"{_counted(total.conversations, 'conversation')}, {_counted(total.messages, 'message')}"
        return f"<Statistics by {self.by}: {groups}, {figures}, {_dollars(total.cost)}>"


@dataclass(frozen=True, slots=True, repr=False)
class ExportResult:
    """What an export wrote."""

    format: str
    conversations: int
    messages: int
    size_bytes: int
    files: tuple[Path, ...]

    def __repr__(self) -> str:
        amounts = f"{_counted(self.conversations, 'conversation')}, {_counted(self.messages, 'message')}"
        files = _counted(len(self.files), "file")
        return f"<ExportResult {self.format}: {amounts}, {files}, {_counted(self.size_bytes, 'byte')}>"


def _dollars(amount: Decimal | None) -> str:
    return "no known price" if amount is None else f"${amount:,.2f}"


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"


def _of_total(shown: int, total: int, noun: str, *, is_exact: bool = True) -> str:
    counted = _counted(total, noun)
    if not is_exact:
        return f"{shown:,} of at least {counted}"
    return counted if shown == total else f"{shown:,} of {counted}"


def _shown(text: str) -> str:
    line = " ".join(text.split())
    return repr(line if len(line) <= _SHOWN_TITLE_CHARACTERS else f"{line[:_SHOWN_TITLE_CHARACTERS]}…")
