"""Events: one record of telemetry in whatever wrapping, without what may not be kept."""

from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, cast

from palaver.importers.github_copilot.completions.inner import loaded
from palaver.importers.github_copilot.completions.secrets import is_secret
from palaver.model.timestamps import readable_timestamp
from palaver.redact import masked_url

Json = dict[str, Any]

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
_DEEPEST = 8


class Event(NamedTuple):
    kind: str
    time: str
    """Empty where none is stated, or none that can be read."""
    facts: Json
    who: str
    """What tells one user's window from another's, beyond recognition."""
    number: str
    """The event's own id; only copies of it have the same."""


def is_flat(record: Json) -> bool:
    """Whether a record tells of a whole completion by itself."""
    return type(record.get("completion")) is str and len(_OF_FLAT & record.keys()) > 1


def is_surely_flat(record: Json) -> bool:
    return is_flat(record) and len(_OF_FLAT & record.keys()) >= _SURE_OF_FLAT and type(record.get("file")) is str


def event_of(record: Json) -> Event | None:
    """The event that a record is; None for one that is no event at all."""
    inner, around = _unwrapped(record)
    named = _first(inner, _NAMES, str)
    if named:
        kind = kind_of(inner[named])
    elif is_flat(inner):
        kind = FLAT
    else:
        return None
    of_properties, properties = _inside(inner, _PROPERTIES)
    of_measurements, measurements = _inside(inner, _MEASUREMENTS)
    timed = next((name for name in _TIMES if inner.get(name) is not None), "")
    time = readable_timestamp(inner[timed] if timed else around.pop("time", None))
    facts = _kept(properties)
    _join(facts, measurements, "measurements")
    if len(inner) > bool(named) + bool(time) + bool(of_properties) + bool(of_measurements):
        known = {named, timed if time else "", of_properties, of_measurements}
        _join(facts, {name: value for name, value in inner.items() if name not in known}, "event")
    if around:
        _join(facts, around, "envelope")
    who = next((who for name in _WHO if type(who := properties.get(name, inner.get(name))) is str), "")
    number = properties.get("unique_id")
    return Event(kind, time, facts, _digest(who), number if type(number) is str else "")


def _unwrapped(record: Json) -> tuple[Json, Json]:
    """The event in an envelope of Application Insights, and what the envelope says."""
    match record.get("data"):
        case {"baseData": dict(base)}:
            around = {name: value for name, value in record.items() if name not in _ENVELOPE}
            tags = record.get("tags")
            inner = {name: value for name, value in cast("Json", base).items() if name != "ver"}
            return inner, around | cast("Json", tags) if type(tags) is dict else around
        case _:
            return record, {}


def _join(facts: Json, more: Json, whose: str) -> None:
    """Add what may be kept; what has the name of something else gets another."""
    for name, value in _kept(more).items():
        if name not in facts:
            facts[name] = value
        elif facts[name] != value:
            facts[f"{whose}.{name}"] = value


def _first(record: Json, names: tuple[str, ...], kind: type) -> str:
    """The first of some names under which something of this kind stands; empty if there is none."""
    return next((name for name in names if type(record.get(name)) is kind), "")


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


def _inside(record: Json, names: tuple[str, ...]) -> tuple[str, Json]:
    """An object in a record, which tables have as text, and its name."""
    for name in names:
        value = record.get(name)
        if type(value) is str and value.startswith("{"):
            value = loaded(value)
        if type(value) is dict:
            return name, cast("Json", value)
    return "", {}


def _kept(some: Json, depth: int = 0) -> Json:
    """What may be kept, under its own names."""
    names, addresses = _names_kept(tuple(some))
    kept = {name: some[name] for name in names}
    for name in addresses:
        if type(kept[name]) is str and "//" in kept[name]:
            kept[name] = masked_url(kept[name])
    if dict in set(map(type, kept.values())) and depth < _DEEPEST:
        for name, value in kept.items():
            if type(value) is dict:
                kept[name] = _kept(cast("Json", value), depth + 1)
    return kept


@lru_cache(1 << 12)
def _names_kept(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Of the names in an object, those that are kept, and among them those of addresses."""
    kept = [name for name in names if not is_secret(name)]
    return kept, [name for name in kept if name.endswith(("url", "Url"))]


@lru_cache(1 << 8)
def _digest(who: str) -> str:
    return blake2b(who.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if who else ""
