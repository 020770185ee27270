"""Events: one record of telemetry in whatever wrapping, without what may not be kept."""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, cast

from palaver.importers.github_copilot.completions.inner import DEEPEST, is_deep, loaded
from palaver.importers.github_copilot.completions.secrets import is_secret
from palaver.model.build import JsonObject
from palaver.model.timestamps import is_canonical, readable_timestamp
from palaver.redact import masked_url

FLAT = "completion"
"""The kind of an event that tells of a whole completion."""
_FAMILIES = frozenset({"ghostText", "solution", "completion"})
_OF_THE_ENGINE = frozenset({"engine.prompt", "engine.completion"})
_PROPERTIES = ("properties", "customDimensions")
_MEASUREMENTS = ("measurements", "customMeasurements")
_NAMES = ("name", "event", "eventName", "event_name")
_TIMES = ("timestamp", "time", "eventTime", "created_at")
_OF_FLAT = frozenset({"promptContext", "completionIndex", "accepted", "extensionVersion"})
_SURE_OF_FLAT = 3
_WHO = (
    "client_sessionid",
    "common_vscodesessionid",
    "client_machineid",
    "common_vscodemachineid",
    "copilot_trackingId",
)
_ENVELOPE = frozenset({"data", "name", "tags", "ver", "iKey", "sampleRate"})
"""What an envelope says of itself."""
_PLAIN = frozenset({str, int, float, bool, type(None)})


@dataclass(slots=True)
class Event:
    kind: str
    time: str
    """Empty where none is stated, or none that can be read."""
    facts: JsonObject
    who: str
    """What tells one user's window from another's, beyond recognition."""
    number: str
    """The event's own id; only copies of it have the same."""
    size_bytes: int = 0
    """About how long all its texts are."""


def is_flat(record: JsonObject) -> bool:
    """Whether a record tells of a whole completion by itself."""
    return isinstance(record.get("completion"), str) and len(_OF_FLAT & record.keys()) > 1


def is_surely_flat(record: JsonObject) -> bool:
    return is_flat(record) and len(_OF_FLAT & record.keys()) >= _SURE_OF_FLAT and isinstance(record.get("file"), str)


def plain_event(record: JsonObject) -> Event | None:
    """The event of a completion that a record plainly is: named and timed, with texts, with numbers, and nothing else.

    That is how nearly all of them are written. Its facts are those of the record, from which the others are taken away;
    None for any other record, which is as it was.
    """
    form = _form(tuple(record))
    if form is None:
        return None
    named, timed, of_properties, of_measurements = form
    name, facts, measurements, time = record[named], record[of_properties], record[of_measurements], record[timed]
    if not isinstance(name, str) or not isinstance(facts, dict) or not isinstance(measurements, dict):
        return None
    try:
        size_bytes = len("".join(facts.values()))
        sum(measurements.values())
    except (TypeError, OverflowError):  # there is something else than a text, or than a number
        return None
    kind, names = _kind_of_ours(name), _plain_names(tuple(facts), tuple(measurements))
    if not isinstance(time, str) or not is_canonical(time):
        time = readable_timestamp(time)
    if not time or names is None or not kind:
        return None
    who, number = _who(facts, names) if names.of_persons else "", facts.get("unique_id", "")
    for secret in names.secret:
        del facts[secret]
    facts |= measurements
    return Event(kind, time, facts, who, number, size_bytes)


@lru_cache(1 << 10)
def _form(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Where an event's name, time, properties and measurements are, if each is there once and nothing beside them."""
    found = [[name for name in known if name in names] for known in (_NAMES, _TIMES, _PROPERTIES, _MEASUREMENTS)]
    return tuple(name for (name,) in found) if len(names) == len(found) and all(found) else None


@lru_cache(1 << 12)
def _plain_names(properties: tuple[str, ...], measurements: tuple[str, ...]) -> "_Names | None":
    """The names of an event's properties, if they need no care, and neither do those of what was measured."""
    names = _names_in(properties)
    is_plain = not names.of_addresses and not _names_in(measurements).secret
    return names if is_plain and set(names.kept).isdisjoint(measurements) else None


def event_of(record: JsonObject) -> Event | None:
    """The event that a record is, however it is wrapped; None for one that is no event at all.

    Of an event that is not about a completion, the kind alone is told.
    """
    inner, around = _unwrapped(record) if "data" in record else (record, {})
    named = _first_text(inner, _NAMES)
    kind = kind_of(inner[named]) if named else ""
    if not _is_ours(kind):
        if is_flat(inner):
            kind, named = FLAT, ""
        else:
            return Event(kind, "", {}, "", "") if named else None
    of_properties, properties = _inside(inner, _PROPERTIES)
    of_measurements, measurements = _inside(inner, _MEASUREMENTS)
    timed = _first(inner, _TIMES)
    time = readable_timestamp(inner[timed] if timed else around.pop("time", None))
    names = _names_in(tuple(properties))
    facts = _kept(properties, names)
    _join(facts, measurements, "measurements")
    if len(inner) > bool(named) + bool(time) + bool(of_properties) + bool(of_measurements):
        known = {named, timed if time else "", of_properties, of_measurements}
        _join(facts, {name: value for name, value in inner.items() if name not in known}, "event")
    if around:
        _join(facts, around, "envelope")
    number = properties.get("unique_id")
    who = _who(properties, names) or _who(inner, _names_in(tuple(inner)))
    size_bytes = sum([len(value) for value in facts.values() if isinstance(value, str)])
    return Event(kind, time, facts, who, number if isinstance(number, str) else "", size_bytes)


def _unwrapped(record: JsonObject) -> tuple[JsonObject, JsonObject]:
    """The event in an envelope of Application Insights, and what the envelope says."""
    match record.get("data"):
        case {"baseData": dict(base)}:
            around = {name: value for name, value in record.items() if name not in _ENVELOPE}
            tags = record.get("tags")
            inner = {name: value for name, value in cast("JsonObject", base).items() if name != "ver"}
            return inner, around | cast("JsonObject", tags) if isinstance(tags, dict) else around
        case _:
            return record, {}


def _join(facts: JsonObject, more: JsonObject, whose: str) -> None:
    """Add what may be kept; what has the name of something else gets another."""
    for name, value in _kept(more, _names_in(tuple(more))).items():
        if name not in facts:
            facts[name] = value
        elif facts[name] != value:
            facts[f"{whose}.{name}"] = value


def _first(record: JsonObject, names: tuple[str, ...]) -> str:
    """The first of some names under which something stands; empty if there is none."""
    for name in names:
        if record.get(name) is not None:
            return name
    return ""


def _first_text(record: JsonObject, names: tuple[str, ...]) -> str:
    for name in names:
        if isinstance(record.get(name), str):
            return name
    return ""


def is_of_a_completion(event: Event) -> bool:
    return _is_ours(event.kind)


@lru_cache(1 << 10)
def _is_ours(kind: str) -> bool:
    return kind == FLAT or kind in _OF_THE_ENGINE or (kind.partition(".")[0] in _FAMILIES and "." in kind)


@lru_cache(1 << 10)
def kind_of(name: str) -> str:
    """An event's name without what its sender put around it."""
    wrapping = "wrapped-telemetry-event-name"
    if wrapping in name:
        name = name.split(wrapping)[1].strip("-")
    return name.rpartition("/")[2]


@lru_cache(1 << 10)
def _kind_of_ours(name: str) -> str:
    """The same; empty for an event that is not about a completion."""
    kind = kind_of(name)
    return kind if _is_ours(kind) else ""


def _inside(record: JsonObject, names: tuple[str, ...]) -> tuple[str, JsonObject]:
    """An object in a record, which tables have as text, and its name."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.startswith("{"):
            value = loaded(value)
            if isinstance(value, dict) and is_deep(value):
                continue
        if isinstance(value, dict):
            return name, cast("JsonObject", value)
    return "", {}


def _kept(some: JsonObject, names: "_Names", depth: int = 0) -> JsonObject:
    """What may be kept, under its own names."""
    kept = {name: some[name] for name in names.kept}
    for name in names.of_addresses:
        if isinstance(kept[name], str) and "//" in kept[name]:
            kept[name] = masked_url(kept[name])
    if has_nested(kept):
        return {name: _kept_within(value, depth + 1) for name, value in kept.items()}
    return kept


def _kept_within(value: Any, depth: int) -> Any:
    if depth > DEEPEST:
        return value
    if isinstance(value, dict):
        return _kept(cast("JsonObject", value), _names_in(tuple(value)), depth)
    return [_kept_within(one, depth + 1) for one in cast("list[Any]", value)] if isinstance(value, list) else value


def has_nested(facts: JsonObject) -> bool:
    return not _PLAIN.issuperset(map(type, facts.values()))


class _Names(NamedTuple):
    """Of the names in an object, those that are kept, among them those of addresses; and of the others, who it was."""

    kept: list[str]
    of_addresses: list[str]
    secret: list[str]
    of_persons: list[str]


@lru_cache(1 << 12)
def _names_in(names: tuple[str, ...]) -> _Names:
    kept = [name for name in names if not is_secret(name)]
    addresses = [name for name in kept if name.endswith(("url", "Url"))]
    secret = [name for name in names if is_secret(name)]
    return _Names(kept, addresses, secret, [name for name in _WHO if name in names])


def _who(some: JsonObject, names: _Names) -> str:
    for name in names.of_persons:
        if isinstance(some[name], str):
            return _digest(some[name])
    return ""


@lru_cache(1 << 8)
def _digest(who: str) -> str:
    return blake2b(who.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if who else ""
