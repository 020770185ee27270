"""Rules about a conversation as a whole: its ids, its session, its cost, its summaries."""

from collections.abc import Iterator

from palaver.model.build import JsonObject
from palaver.model.facts import Thread
from palaver.model.rules import Fault, in_schema, on_conversation

MISSING_CONVERSATION_ID = in_schema("missing-conversation-id", "A conversation has no id.")
MISSING_PLATFORM_NAME = in_schema("missing-platform-name", "A conversation does not name its platform.")
SCHEMA_VERSION = in_schema("schema-version", "A document has a schema version unknown to this version of palaver.")
UNKNOWN_KEY = in_schema(
    "unknown-key", "A document has a top-level key unknown to the schema; checked at `strict` only."
)

_HIGH_COST_USD = 100
_SECOND_LENGTH = 19
"""Characters of a timestamp up to its second: some platforms store the time of creation more precisely."""


@on_conversation("no-messages", "error")
def no_messages(thread: Thread) -> Iterator[Fault]:
    """A conversation has no messages; only a note if its metrics say so too, as in an unused chat."""
    if not thread.messages:
        metrics = thread.header.get("metrics")
        is_stated = isinstance(metrics, dict) and metrics.get("total_messages") == 0
        yield Fault(("messages",), "No messages found", "note" if is_stated else None)


@on_conversation("no-user-message", "warning")
def no_user_message(thread: Thread) -> Iterator[Fault]:
    """A conversation has no user message."""
    if thread.messages and not thread.has_user:
        yield Fault(("messages",), "No message has the role user")


@on_conversation("sidechain-without-parent", "error")
def sidechain_without_parent(thread: Thread) -> Iterator[Fault]:
    """An agent's conversation does not name its parent conversation."""
    session = thread.header.get("session") or {}
    if session.get("is_sidechain") and not session.get("parent_conversation_id"):
        yield Fault(("session",), "A sidechain without parent_conversation_id")


@on_conversation("updated-before-created", "warning")
def updated_before_created(thread: Thread) -> Iterator[Fault]:
    """A conversation was updated before it was created, by a second or more."""
    created, updated = thread.header["created_at"], thread.header.get("updated_at")
    if updated is not None and updated[:_SECOND_LENGTH] < created[:_SECOND_LENGTH]:
        yield Fault(("updated_at",), f"Updated at {updated}, before it was created at {created}")


@on_conversation("high-cost", "warning")
def high_cost(thread: Thread) -> Iterator[Fault]:
    """A conversation states a cost of more than 100 US dollars."""
    metrics = thread.header.get("metrics")
    stated: JsonObject | None = metrics.get("total_cost") if isinstance(metrics, dict) else None
    amount: float = stated["amount"] if stated else thread.totals.cost or 0.0
    currency = stated.get("currency") if stated else thread.totals.currency
    if (currency or "USD") == "USD" and amount > _HIGH_COST_USD:
        yield Fault(("metrics", "total_cost"), f"A cost of {_figures(amount)} USD")


def _figures(amount: float) -> str:
    try:
        return f"{amount:,.2f}"
    except OverflowError:  # an integer that no float can hold
        return f"{amount:,}"


@on_conversation("summary-of-nothing", "note")
def summary_of_nothing(thread: Thread) -> Iterator[Fault]:
    """A summary covers a message that is not in the conversation."""
    for covered in thread.missing_covered_messages:
        location = None if covered.location == thread.location else covered.location
        yield Fault(covered.path, f"A summary covers {covered.name!r:.80}, which is missing", location=location)


RULES = (
    MISSING_CONVERSATION_ID,
    MISSING_PLATFORM_NAME,
    SCHEMA_VERSION,
    UNKNOWN_KEY,
    no_messages,
    no_user_message,
    sidechain_without_parent,
    updated_before_created,
    high_cost,
    summary_of_nothing,
)
