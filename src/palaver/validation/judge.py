"""The judge: checks documents against the published schema, then by the rules.

Fragments of one conversation are checked together. Values that the schema refused get stand-ins, so that rules can
check the rest of a document: messages keep their positions, and no rule reports a stand-in.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from itertools import chain
from typing import Any, Literal, NamedTuple

from palaver.errors import OptionError, VersionError
from palaver.model.build import JsonObject
from palaver.model.facts import Facts, Thread
from palaver.model.finding import Severity
from palaver.model.rules import Fault, Path, Rule
from palaver.model.schemas import published_schema
from palaver.model.timestamps import normalize_timestamp
from palaver.model.upgrade import upgrade
from palaver.validation.coercion import coerce_document
from palaver.validation.rules import RULES, cooked, exchange
from palaver.validation.schema import describe_error, is_valid, schema_errors

_STAND_IN_TIME = "2020-01-01T00:00:00.000Z"
_STAND_IN_BLOCK: JsonObject = {"type": "opaque", "kind": "invalid", "raw": None}
_REFUSED = object()


def replace_refused_values(document: JsonObject, refused: Iterable[Path]) -> JsonObject:
    """Return a copy without the refused values, with stand-ins where rules need a value."""
    paths = [_removable_path(path) for path in refused]
    reduced: JsonObject = _without(document, paths)
    reduced["platform"] = {"name": "", **(reduced.get("platform") or {})}
    reduced.setdefault("created_at", reduced.get("updated_at") or _STAND_IN_TIME)
    messages: list[Any] = reduced.get("messages") or []
    reduced["messages"] = completed = list[JsonObject]()
    time = reduced["created_at"]
    for index, message in enumerate(messages):
        completed.append(_complete(message or {}, index, time))
        time = completed[-1]["timestamp"]
    if any(path[:1] == ("messages",) for path in paths):
        reduced.pop("metrics", None)  # totals no longer match without the refused values
    if ("fragment",) in {path[:1] for path in paths}:
        reduced["fragment"] = {"sequence": 0, "final": True}  # links may refer to other documents
    return reduced


def is_about_refused_value(path: Path, refused: Iterable[Path]) -> bool:
    """Return whether a rule reports a value that the schema refused already."""
    return any(
        path == ("messages",) if other == ("messages",) else other[:1] == path[:1] != ("messages",) for other in refused
    )


def _removable_path(path: Path) -> Path:
    """Return the path of the whole tokens or cost for a path inside: a part of them would not add up."""
    match path:
        case ("messages", int(), "tokens" | "cost", *_):
            return path[:3]
        case _:
            return path


def _without(value: Any, paths: list[Path], name: str | int = "") -> Any:
    """Return a copy without the values at some paths; the rest is shared."""
    if () in paths:
        return _REFUSED
    if not paths:
        return value
    below: dict[str | int, list[Path]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(tuple(rest))
    match value:
        case dict():
            parts = {key: _without(inner, below.get(key, []), key) for key, inner in value.items()}
            return {key: inner for key, inner in parts.items() if inner is not _REFUSED}
        case list():
            items = [_without(inner, below.get(index, [])) for index, inner in enumerate(value)]
            if name in {"messages", "content"}:  # the remaining items keep their positions
                return [None if inner is _REFUSED else inner for inner in items]
            return [inner for inner in items if inner is not _REFUSED]
        case _:
            return value


def _complete(message: JsonObject, index: int, time: str) -> JsonObject:
    content: Any = message.get("content")
    return {
        **message,
        "message_id": message.get("message_id") or f"\0{index}",
        "role": message.get("role") or "user",
        "timestamp": message.get("timestamp") or time,
        "content": list(map(_block_or_stand_in, content))
        if isinstance(content, list) and content
        else [_STAND_IN_BLOCK],
        "metadata": message.get("metadata") or {},
    }


_REQUIRED_FIELDS = {"text": "text", "tool_use": "id", "tool_result": "tool_use_id"}


def _block_or_stand_in(block: Any) -> JsonObject:
    match block:
        case {"type": str(kind)} if isinstance(block.get(_REQUIRED_FIELDS.get(kind, "type")), str):
            return block
        case _:
            return _STAND_IN_BLOCK


class Level(StrEnum):
    """How strict a judgement is."""

    STRICT = "strict"
    """Errors and warnings fail, and so does an unknown key at the top of a document."""
    STANDARD = "standard"
    """Errors fail."""
    LENIENT = "lenient"
    """Errors of the schema fail, after all safe conversions; no rules run."""

    def fails(self, severity: Severity) -> bool:
        return severity == "error" or (self is Level.STRICT and severity == "warning")


Kind = Literal["conversation", "exchange", "cooked", "usage"]
_OTHER_RULES: dict[str, tuple[Rule, ...]] = {"exchange": exchange.RULES, "cooked": cooked.RULES}

COERCED = Rule("coerced", "note", "A value was converted before checking the schema; at `lenient` only.", "schema")


class Verdict(NamedTuple):
    """A problem, and its path in the document."""

    code: str
    severity: Severity
    stage: Literal["schema", "rule"]
    path: Path
    message: str
    location: str | None = None
    """The document, if it is another than the one being judged."""


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """The rules to run."""

    only: frozenset[str] = frozenset()
    """If empty, all rules."""
    without: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        return name not in self.without and (not self.only or name in self.only)

    def check(self, known: Iterable[str]) -> "RuleSelection":
        """Return self; raise OptionError if a selected rule is unknown."""
        names = sorted(known)
        for name in sorted(self.only | self.without):
            if name not in names:
                raise OptionError(f"unknown rule {name!r}; choose from {', '.join(names)}")
        return self


@dataclass(slots=True)
class _Checks:
    """The rules of one platform, by scope."""

    document: list[Rule] = field(default_factory=list[Rule])
    conversation: list[Rule] = field(default_factory=list[Rule])


class Judge:
    """Judges documents one after the other; `close` judges conversations whose last fragment never came."""

    def __init__(
        self,
        level: Level = Level.STANDARD,
        selection: RuleSelection = RuleSelection(),  # noqa: B008 - frozen
        platform_rules: Callable[[str], Collection[Rule]] = lambda _: (),
    ) -> None:
        self.level = level
        self.selection = selection
        self._platform_rules = platform_rules
        self._now = normalize_timestamp(datetime.now(UTC))
        self._checks: dict[str, _Checks] = {}
        self._open: dict[tuple[str, str], Thread] = {}
        self.judged_document: JsonObject = {}
        """The last document, upgraded and, at `lenient`, converted."""

    def judge(self, document: JsonObject, location: str = "", *, is_sound: bool = False) -> list[Verdict]:
        """Return the problems of a conversation document that are known so far.

        Some rules run only after the last fragment. A document known to be valid (`is_sound`) skips the schema stage.
        """
        if is_sound:
            return [] if self.level is Level.LENIENT else self._run_rules(document, location)
        verdicts: list[Verdict] = []
        if self.level is Level.LENIENT:
            document, changed = coerce_document(document)
            verdicts = [Verdict("coerced", "note", "schema", fault.path, fault.message) for fault in changed]
        if document.get("schema_version") is not None:  # without one, it is judged by the current version
            try:
                document = upgrade(document)
            except VersionError as error:
                return [*verdicts, Verdict("schema-version", "error", "schema", ("schema_version",), str(error))]
        self.judged_document = document
        refused: list[Path] = []
        if not _is_valid(document, "conversation"):
            faults = _schema_verdicts(document)
            verdicts += faults
            refused = [verdict.path for verdict in faults]
            if () in refused:
                return verdicts
            document = replace_refused_values(document, refused)
        if self.level is Level.LENIENT:
            return verdicts
        if self.level is Level.STRICT:
            verdicts += _unknown_keys(document)
        found = self._run_rules(document, location)
        return (
            verdicts + [verdict for verdict in found if not is_about_refused_value(verdict.path, refused)]
            if refused
            else verdicts + found
        )

    def close(self) -> list[tuple[str, Verdict]]:
        """Return the remaining problems of unfinished conversations, each with the conversation's id."""
        verdicts: list[tuple[str, Verdict]] = []
        for (platform, conversation_id), thread in self._open.items():
            thread.has_missing_fragments = thread.is_incomplete = True
            thread.location = ""  # no document is being judged any more
            verdicts += [(conversation_id, verdict) for verdict in self._close_thread(thread, self._rules_of(platform))]
        self._open.clear()
        return verdicts

    def judge_by_kind(self, document: JsonObject, kind: Kind) -> list[Verdict]:
        """Return the problems of an exchange, a cooked file or a usage record."""
        if not _is_valid(document, kind):
            return _schema_verdicts(document, kind)
        if self.level is Level.LENIENT:
            return []
        return [
            verdict
            for rule in _OTHER_RULES.get(kind, ())
            if rule.check and rule.name in self.selection
            for verdict in _verdicts(rule, rule.check(document))
        ]

    def _run_rules(self, document: JsonObject, location: str) -> list[Verdict]:
        checks = self._rules_of(document["platform"]["name"])
        fragment = document.get("fragment")
        identity = document["platform"]["name"], document.get("conversation_id", "")
        if fragment is None:
            thread = Thread(now=self._now)
        else:
            thread = self._open.setdefault(identity, Thread(now=self._now, is_single_document=False))
            # A final fragment without earlier ones: its links may refer to messages that never arrived.
            thread.has_missing_fragments |= fragment["final"] and not thread.messages
            thread.is_incomplete |= thread.has_missing_fragments
            location = location or f"fragment {fragment['sequence']}"
        facts = Facts(document, thread, location)
        verdicts = list(
            chain.from_iterable(_verdicts(rule, rule.check(facts)) for rule in checks.document if rule.check)
        )
        thread.add(facts)
        if fragment is None:
            verdicts += self._close_thread(thread, checks)
        elif fragment["final"]:
            del self._open[identity]
            verdicts += self._close_thread(thread, checks)
        return verdicts

    def _close_thread(self, thread: Thread, checks: _Checks) -> Iterator[Verdict]:
        thread.close()
        for rule in checks.conversation:
            if rule.check:
                yield from _verdicts(rule, rule.check(thread))

    def _rules_of(self, platform: str) -> _Checks:
        checks = self._checks.get(platform)
        if checks is None:
            checks = self._checks[platform] = _Checks()
            for rule in (*RULES, *self._platform_rules(platform)):
                if rule.name in self.selection and rule.scope in {"document", "conversation"}:
                    (checks.document if rule.scope == "document" else checks.conversation).append(rule)
        return checks


def _is_valid(document: JsonObject, kind: Kind) -> bool:
    try:
        return is_valid(document, kind)
    except ValueError:  # nested too deeply, or not Unicode
        return False


def _verdicts(rule: Rule, faults: Iterator[Fault]) -> Iterator[Verdict]:
    for fault in faults:
        yield Verdict(rule.name, fault.severity or rule.severity, "rule", fault.path, fault.message, fault.location)


def _schema_verdicts(document: JsonObject, kind: Kind = "conversation") -> list[Verdict]:
    """Return the errors of the schema; of several with one code at one path, the first."""
    verdicts: dict[tuple[str, Path], Verdict] = {}
    for error in schema_errors(document, kind):
        code, message = describe_error(error, kind)
        path = (*error.path, error.missing) if error.missing else error.path
        verdicts.setdefault((code, path), Verdict(code, "error", "schema", path, message))
    return list(verdicts.values())


def _unknown_keys(document: JsonObject) -> list[Verdict]:
    unknown = document.keys() - _top_keys()
    return [Verdict("unknown-key", "error", "schema", (key,), f"unknown key {key!r:.80}") for key in sorted(unknown)]


@cache
def _top_keys() -> frozenset[str]:
    return frozenset(published_schema("conversation")["properties"])
