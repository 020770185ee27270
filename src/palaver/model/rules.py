"""Rules: what is asked of a conversation that the schema cannot ask, each a small function with a name.

A rule is declared where its idea is at home: those of every conversation in `palaver.validation.rules`, those of one
platform with its importer. It looks at `Facts` (the messages of one document) or, closing a conversation, at its
`Thread` (what all documents of it hold), and yields a `Fault` for everything that is not as it should be.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from palaver.model.finding import Severity

if TYPE_CHECKING:
    from palaver.model.facts import Facts, Thread

Path = tuple[str | int, ...]


class Fault(NamedTuple):
    """What a rule found, and where in the document."""

    path: Path
    message: str
    severity: Severity | None = None
    """Where it is not the rule's own."""
    place: str | None = None
    """Where its document is, if that is an earlier fragment of the same conversation."""


OnDocument = Callable[["Facts"], Iterator[Fault]]
OnConversation = Callable[["Thread"], Iterator[Fault]]
OnValue = Callable[[dict[str, Any]], Iterator[Fault]]


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    severity: Severity
    meaning: str
    """One sentence: the first of the function's docstring."""
    scope: Literal["schema", "document", "conversation", "exchange", "cooked"]
    """Who asks: the schema, or the function, for each document or when the conversation is whole."""
    check: Callable[..., Iterator[Fault]] | None = None


def on_document(name: str, severity: Severity) -> Callable[[OnDocument], Rule]:
    """Declare a rule that each document is judged by on its own."""
    return lambda check: Rule(name, severity, _meaning(check), "document", check)


def on_conversation(name: str, severity: Severity) -> Callable[[OnConversation], Rule]:
    """Declare a rule that needs the whole conversation."""
    return lambda check: Rule(name, severity, _meaning(check), "conversation", check)


def on_exchange(name: str, severity: Severity) -> Callable[[OnValue], Rule]:
    """Declare a rule that an API exchange is judged by, once it meets the schema."""
    return lambda check: Rule(name, severity, _meaning(check), "exchange", check)


def on_cooked(name: str, severity: Severity) -> Callable[[OnValue], Rule]:
    """Declare a rule that a cooked file is judged by, once it meets the schema."""
    return lambda check: Rule(name, severity, _meaning(check), "cooked", check)


def in_schema(name: str, meaning: str) -> Rule:
    """Declare a name for what the published schema asks itself: an error, always."""
    return Rule(name, "error", meaning, "schema")


def _meaning(check: Callable[..., Iterator[Fault]]) -> str:
    return (check.__doc__ or "").strip().partition("\n")[0]
