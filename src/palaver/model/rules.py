"""Rules: checks of a document that a JSON Schema cannot express, each a small named function.

Rules that apply to every conversation are in `palaver.validation.rules`, those of one platform with its importer. A
rule looks at `Facts` (the messages of one document) or, once a conversation is complete, at its `Thread` (what all its
documents hold together), and yields a `Fault` for each problem.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from palaver.model.finding import Severity

if TYPE_CHECKING:
    from palaver.model.facts import Facts, Thread

Path = tuple[str | int, ...]


class Fault(NamedTuple):
    """A problem that a rule found, and its path in the document."""

    path: Path
    message: str
    severity: Severity | None = None
    """Overrides the severity of the rule."""
    location: str | None = None
    """The document, if it is an earlier fragment of the same conversation."""


OnDocument = Callable[["Facts"], Iterator[Fault]]
OnConversation = Callable[["Thread"], Iterator[Fault]]
OnValue = Callable[[dict[str, Any]], Iterator[Fault]]


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    severity: Severity
    meaning: str
    """The first line of the function's docstring."""
    scope: Literal["schema", "document", "conversation", "exchange", "cooked"]
    """What is checked, and when: `schema` rules by the published schema, the others by their function."""
    check: Callable[..., Iterator[Fault]] | None = None


def on_document(name: str, severity: Severity) -> Callable[[OnDocument], Rule]:
    """Declare a rule that checks each document on its own."""
    return lambda check: Rule(name, severity, _meaning(check), "document", check)


def on_conversation(name: str, severity: Severity) -> Callable[[OnConversation], Rule]:
    """Declare a rule that checks a complete conversation."""
    return lambda check: Rule(name, severity, _meaning(check), "conversation", check)


def on_exchange(name: str, severity: Severity) -> Callable[[OnValue], Rule]:
    """Declare a rule that checks an API exchange which is valid against the schema."""
    return lambda check: Rule(name, severity, _meaning(check), "exchange", check)


def on_cooked(name: str, severity: Severity) -> Callable[[OnValue], Rule]:
    """Declare a rule that checks a cooked file which is valid against the schema."""
    return lambda check: Rule(name, severity, _meaning(check), "cooked", check)


def in_schema(name: str, meaning: str) -> Rule:
    """Declare a name for something that the published schema checks: always an error."""
    return Rule(name, "error", meaning, "schema")


def _meaning(check: Callable[..., Iterator[Fault]]) -> str:
    return (check.__doc__ or "").strip().partition("\n")[0]
