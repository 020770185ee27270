"""Judging documents: stage one is the published schema, stage two the rules; fragments are one conversation."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from typing import Literal, NamedTuple

from palaver.errors import OptionError, VersionError
from palaver.model.build import JsonObject
from palaver.model.facts import Facts, Thread
from palaver.model.finding import Severity
from palaver.model.publish import published
from palaver.model.rules import Fault, Path, Rule
from palaver.model.timestamps import normalize_timestamp
from palaver.model.upgrade import upgrade
from palaver.validation.coercion import coerced
from palaver.validation.levels import Level
from palaver.validation.naming import named
from palaver.validation.rules import RULES, cooked, exchange
from palaver.validation.schema import is_valid, schema_errors
from palaver.validation.tidying import speaks_of, tidied

Kind = Literal["conversation", "exchange", "cooked", "usage"]
_OTHER_RULES: dict[str, tuple[Rule, ...]] = {"exchange": exchange.RULES, "cooked": cooked.RULES}

COERCED = Rule("coerced", "note", "A value was converted before the schema was asked; at `lenient` only.", "schema")


class Verdict(NamedTuple):
    """One thing that is not as it should be, and where in which document."""

    code: str
    severity: Severity
    stage: Literal["schema", "rule"]
    path: Path
    message: str
    place: str | None = None
    """Where its document is, if that is not the one at hand."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Which rules are asked."""

    only: frozenset[str] = frozenset()
    """Empty: all of them."""
    without: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        return name not in self.without and (not self.only or name in self.only)

    def check(self, known: Iterable[str]) -> "Asked":
        """Itself, or an error that names what nobody knows."""
        names = sorted(known)
        for name in sorted(self.only | self.without):
            if name not in names:
                raise OptionError(f"there is no rule {name!r}; there are: {', '.join(names)}")
        return self


@dataclass(slots=True)
class _Checks:
    """The rules of one platform, by when they are asked."""

    document: list[Rule] = field(default_factory=list[Rule])
    conversation: list[Rule] = field(default_factory=list[Rule])


class Judge:
    """Judges one document after the other; `close` settles conversations whose last fragment never came."""

    def __init__(
        self,
        level: Level = Level.STANDARD,
        asked: Asked = Asked(),  # noqa: B008 - frozen
        platform_rules: Callable[[str], Collection[Rule]] = lambda _: (),
    ) -> None:
        self.level = level
        self.asked = asked
        self._platform_rules = platform_rules
        self._now = normalize_timestamp(datetime.now(UTC))
        self._checks: dict[str, _Checks] = {}
        self._open: dict[tuple[str, str], Thread] = {}
        self.as_judged: JsonObject = {}
        """The last document, upgraded, and converted where the level allows it."""

    def judge(self, document: JsonObject, place: str = "", *, is_sound: bool = False) -> list[Verdict]:
        """Everything that is wrong with a conversation document, as far as it can be told by now.

        One that is known to meet the schema (`is_sound`) is not checked again.
        """
        if is_sound:
            return [] if self.level is Level.LENIENT else self._by_rules(document, place)
        said: list[Verdict] = []
        if self.level is Level.LENIENT:
            document, changed = coerced(document)
            said = [Verdict("coerced", "note", "schema", fault.path, fault.message) for fault in changed]
        if document.get("schema_version") is not None:  # without any, it is judged as one of today
            try:
                document = upgrade(document)
            except VersionError as error:
                return [*said, Verdict("schema-version", "error", "schema", ("schema_version",), str(error))]
        self.as_judged = document
        refused: list[Path] = []
        if not _is_valid(document, "conversation"):
            faults = _schema_verdicts(document)
            said += faults
            refused = [verdict.path for verdict in faults]
            if () in refused:
                return said
            document = tidied(document, refused)
        if self.level is Level.LENIENT:
            return said
        if self.level is Level.STRICT:
            said += _unknown_keys(document)
        found = self._by_rules(document, place)
        return (
            said + [verdict for verdict in found if not speaks_of(verdict.path, refused)] if refused else said + found
        )

    def close(self) -> list[tuple[str, Verdict]]:
        """What can only be said now of conversations that were never finished, each with its id."""
        said: list[tuple[str, Verdict]] = []
        for (platform, conversation_id), thread in self._open.items():
            thread.is_cut = thread.is_incomplete = True
            thread.place = ""  # no document is at hand any more
            said += [(conversation_id, verdict) for verdict in self._closing(thread, self._rules_of(platform))]
        self._open.clear()
        return said

    def judge_other(self, document: JsonObject, kind: Kind) -> list[Verdict]:
        """The same for an exchange, a cooked file or a usage record."""
        if not _is_valid(document, kind):
            return _schema_verdicts(document, kind)
        if self.level is Level.LENIENT:
            return []
        return [
            verdict
            for rule in _OTHER_RULES.get(kind, ())
            if rule.check and rule.name in self.asked
            for verdict in _verdicts(rule, rule.check(document))
        ]

    def _by_rules(self, document: JsonObject, place: str) -> list[Verdict]:
        checks = self._rules_of(document["platform"]["name"])
        fragment = document.get("fragment")
        identity = document["platform"]["name"], document.get("conversation_id", "")
        if fragment is None:
            thread = Thread(now=self._now)
        else:
            thread = self._open.setdefault(identity, Thread(now=self._now, is_whole=False))
            # One alone that still calls itself a fragment is a part: its links may lead to what never arrived.
            thread.is_cut |= fragment["final"] and not thread.messages
            thread.is_incomplete |= thread.is_cut
            place = place or f"fragment {fragment['sequence']}"
        facts = Facts(document, thread, place)
        said = list(chain.from_iterable(_verdicts(rule, rule.check(facts)) for rule in checks.document if rule.check))
        thread.add(facts)
        if fragment is None:
            said += self._closing(thread, checks)
        elif fragment["final"]:
            del self._open[identity]
            said += self._closing(thread, checks)
        return said

    def _closing(self, thread: Thread, checks: _Checks) -> Iterator[Verdict]:
        thread.close()
        for rule in checks.conversation:
            if rule.check:
                yield from _verdicts(rule, rule.check(thread))

    def _rules_of(self, platform: str) -> _Checks:
        checks = self._checks.get(platform)
        if checks is None:
            checks = self._checks[platform] = _Checks()
            for rule in (*RULES, *self._platform_rules(platform)):
                if rule.name in self.asked and rule.scope in {"document", "conversation"}:
                    (checks.document if rule.scope == "document" else checks.conversation).append(rule)
        return checks


def _is_valid(document: JsonObject, kind: Kind) -> bool:
    try:
        return is_valid(document, kind)
    except ValueError:  # nested too deeply, or no Unicode
        return False


def _verdicts(rule: Rule, faults: Iterator[Fault]) -> Iterator[Verdict]:
    for fault in faults:
        yield Verdict(rule.name, fault.severity or rule.severity, "rule", fault.path, fault.message, fault.place)


def _schema_verdicts(document: JsonObject, kind: Kind = "conversation") -> list[Verdict]:
    """What the schema refuses; of several faults of one value that have one name, the first."""
    said: dict[tuple[str, Path], Verdict] = {}
    for error in schema_errors(document, kind):
        code, message = named(error, kind)
        path = (*error.path, error.missing) if error.missing else error.path
        said.setdefault((code, path), Verdict(code, "error", "schema", path, message))
    return list(said.values())


def _unknown_keys(document: JsonObject) -> list[Verdict]:
    unknown = document.keys() - _top_keys()
    return [
        Verdict("unknown-key", "error", "schema", (key,), f"The schema knows no key {key!r:.80}")
        for key in sorted(unknown)
    ]


@cache
def _top_keys() -> frozenset[str]:
    return frozenset(published("conversation")["properties"])
