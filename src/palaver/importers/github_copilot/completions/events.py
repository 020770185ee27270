"""Telemetry events, unwrapped from their records and without private fields."""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple, cast

from palaver.importers.github_copilot.completions.properties import FILES
from palaver.importers.github_copilot.raw_records import MAX_DEPTH, is_deep, is_private_field, parse_or_text
from palaver.model.build import JsonObject
from palaver.model.timestamps import is_canonical, timestamp_or_empty
from palaver.redact.policy import mask_url

FLAT = "completion"
"""The kind of an event that describes a whole completion."""
_KIND_PREFIXES = frozenset({"ghostText", "solution", "completion"})
_ENGINE_KINDS = frozenset({"engine.prompt", "engine.completion"})
_PROPERTIES = ("properties", "customDimensions")
_MEASUREMENTS = ("measurements", "customMeasurements")
_NAMES = ("name", "event", "eventName", "event_name")
_TIMES = ("timestamp", "time", "eventTime", "created_at")
_FLAT_FIELDS = frozenset({"promptContext", "completionIndex", "accepted", "extensionVersion"})
_FLAT_FIELDS_WHEN_SURE = 3
_USER_FIELDS = (
    "client_sessionid",
    "common_vscodesessionid",
    "client_machineid",
    "common_vscodemachineid",
    "copilot_trackingId",
)
_ENVELOPE_FIELDS = frozenset({"data", "name", "tags", "ver", "iKey", "sampleRate"})
"""Fields of an envelope that describe only itself."""
_SCALAR_TYPES = frozenset({str, int, float, bool, type(None)})


@dataclass(slots=True)
class Event:
    kind: str
    time: str
    """Empty if missing or unreadable."""
    fields: JsonObject
    user_digest: str
    """Irreversible hash that separates one user's window from another's."""
    unique_id: str
    """The event's own id, shared only by copies of it."""
    size_bytes: int = 0
    """Approximate length of all its texts."""


def is_flat(record: JsonObject) -> bool:
    """Return whether a record describes a whole completion by itself: its text, and where it was suggested."""
    if not isinstance(record.get("completion"), str):
        return False
    return bool(_first_text(record, ("promptContext", *FILES))) or len(_FLAT_FIELDS & record.keys()) > 1


def is_surely_flat(record: JsonObject) -> bool:
    return (
        is_flat(record)
        and len(_FLAT_FIELDS & record.keys()) >= _FLAT_FIELDS_WHEN_SURE
        and isinstance(record.get("file"), str)
    )


def is_probably_flat(record: JsonObject) -> bool:
    """Return whether a record is unlikely to be of another product.

    The least that makes a completion is a time, the text and the path of a file.
    """
    if not is_flat(record):
        return False
    is_minimum = isinstance(record.get("file"), str) and bool(_first_present(record, _TIMES))
    return is_minimum or "promptContext" in record or len(_FLAT_FIELDS & record.keys()) > 1


def missing_field(record: JsonObject) -> str:
    """Return what a record lacks to be an event, in words."""
    if isinstance(record.get("completion"), str):
        if name := next((name for name in ("promptContext", *FILES) if record.get(name) is not None), ""):
            return f"its `{name}` is not a text"
        return "it has a `completion`, but neither a `file` nor a `promptContext`"
    if "completion" in record:
        return "its `completion` is not a text"
    return "it has neither the `name` of an event nor a `completion`"


def plain_event(record: JsonObject) -> Event | None:
    """Return the completion event of a record in the plain layout; None for any other record, which stays unchanged.

    In the plain layout, a record has exactly a name, a time, an object of texts and an object of numbers, as nearly all
    do. The event reuses the record's properties and removes the private ones in place.
    """
    layout = _plain_layout(tuple(record))
    if layout is None:
        return None
    name_key, time_key, properties_key, measurements_key = layout
    name, time = record[name_key], record[time_key]
    fields, measurements = record[properties_key], record[measurements_key]
    if not isinstance(name, str) or not isinstance(fields, dict) or not isinstance(measurements, dict):
        return None
    try:
        size_bytes = len("".join(fields.values()))
        sum(measurements.values())
    except (TypeError, OverflowError):  # a property is not a text, or a measurement not a number
        return None
    kind, names = _completion_kind(name), _plain_names(tuple(fields), tuple(measurements))
    if not isinstance(time, str) or not is_canonical(time):
        time = timestamp_or_empty(time)
    if not time or names is None or not kind:
        return None
    user_digest, unique_id = _user_digest(fields, names) if names.users else "", fields.get("unique_id", "")
    for secret in names.secret:
        del fields[secret]
    fields |= measurements
    return Event(kind, time, fields, user_digest, unique_id, size_bytes)


@lru_cache(1 << 10)
def _plain_layout(names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the keys of name, time, properties and measurements, if each occurs once and there are no other keys."""
    found = [[name for name in known if name in names] for known in (_NAMES, _TIMES, _PROPERTIES, _MEASUREMENTS)]
    return tuple(name for (name,) in found) if len(names) == len(found) and all(found) else None


@lru_cache(1 << 12)
def _plain_names(properties: tuple[str, ...], measurements: tuple[str, ...]) -> "_Names | None":
    """Classify the names of an event's properties; None unless they and the measurements can be merged as they are."""
    names = _classified_names(properties)
    is_plain = not names.urls and not _classified_names(measurements).secret
    return names if is_plain and set(names.public).isdisjoint(measurements) else None


def event_of(record: JsonObject) -> Event | None:
    """Return the event of a record in any wrapping, or None if it is not an event.

    An event that does not concern a completion has only its kind.
    """
    inner, envelope = _unwrapped(record) if "data" in record else (record, {})
    name_key = _first_text(inner, _NAMES)
    kind = kind_of(inner[name_key]) if name_key else ""
    if not _is_completion_kind(kind):
        if is_flat(inner):
            kind, name_key = FLAT, ""
        else:
            return Event(kind, "", {}, "", "") if name_key else None
    properties_key, properties = _nested_object(inner, _PROPERTIES)
    measurements_key, measurements = _nested_object(inner, _MEASUREMENTS)
    time_key = _first_present(inner, _TIMES)
    time = timestamp_or_empty(inner[time_key] if time_key else envelope.pop("time", None))
    names = _classified_names(tuple(properties))
    fields = _public_fields(properties, names)
    _merge_fields(fields, measurements, "measurements")
    if len(inner) > bool(name_key) + bool(time) + bool(properties_key) + bool(measurements_key):
        known = {name_key, time_key if time else "", properties_key, measurements_key}
        _merge_fields(fields, {name: value for name, value in inner.items() if name not in known}, "event")
    if envelope:
        _merge_fields(fields, envelope, "envelope")
    unique_id = properties.get("unique_id")
    user_digest = _user_digest(properties, names) or _user_digest(inner, _classified_names(tuple(inner)))
    size_bytes = sum([len(value) for value in fields.values() if isinstance(value, str)])
    return Event(kind, time, fields, user_digest, unique_id if isinstance(unique_id, str) else "", size_bytes)


def _unwrapped(record: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return the event in an envelope of Application Insights, and the fields of the envelope."""
    match record.get("data"):
        case {"baseData": dict(base)}:
            envelope = {name: value for name, value in record.items() if name not in _ENVELOPE_FIELDS}
            tags = record.get("tags")
            inner = {name: value for name, value in cast("JsonObject", base).items() if name != "ver"}
            return inner, envelope | cast("JsonObject", tags) if isinstance(tags, dict) else envelope
        case _:
            return record, {}


def _merge_fields(fields: JsonObject, added: JsonObject, prefix: str) -> None:
    """Add the public fields; one whose name is taken by a different value gets a prefix."""
    for name, value in _public_fields(added, _classified_names(tuple(added))).items():
        if name not in fields:
            fields[name] = value
        elif fields[name] != value:
            fields[f"{prefix}.{name}"] = value


def _first_present(record: JsonObject, names: tuple[str, ...]) -> str:
    """Return the first name with a value; empty if there is none."""
    for name in names:
        if record.get(name) is not None:
            return name
    return ""


def _first_text(record: JsonObject, names: tuple[str, ...]) -> str:
    for name in names:
        if isinstance(record.get(name), str):
            return name
    return ""


def is_completion_event(event: Event) -> bool:
    return _is_completion_kind(event.kind)


@lru_cache(1 << 10)
def _is_completion_kind(kind: str) -> bool:
    return kind == FLAT or kind in _ENGINE_KINDS or (kind.partition(".")[0] in _KIND_PREFIXES and "." in kind)


@lru_cache(1 << 10)
def kind_of(name: str) -> str:
    """Return an event's name without the wrapping its sender added."""
    marker = "wrapped-telemetry-event-name"
    if marker in name:
        name = name.split(marker)[1].strip("-")
    return name.rpartition("/")[2]


@lru_cache(1 << 10)
def _completion_kind(name: str) -> str:
    """Return the kind of an event; empty if it does not concern a completion."""
    kind = kind_of(name)
    return kind if _is_completion_kind(kind) else ""


def _nested_object(record: JsonObject, names: tuple[str, ...]) -> tuple[str, JsonObject]:
    """Return an object in a record, which tables hold as text, with its name."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.startswith("{"):
            value = parse_or_text(value)
            if isinstance(value, dict) and is_deep(value):
                continue
        if isinstance(value, dict):
            return name, cast("JsonObject", value)
    return "", {}


def _public_fields(values: JsonObject, names: "_Names", depth: int = 0) -> JsonObject:
    """Return the fields that are not private, with URLs masked."""
    public = {name: values[name] for name in names.public}
    for name in names.urls:
        if isinstance(public[name], str) and "//" in public[name]:
            public[name] = mask_url(public[name])
    if has_nested(public):
        return {name: _public_value(value, depth + 1) for name, value in public.items()}
    return public


def _public_value(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return _public_fields(cast("JsonObject", value), _classified_names(tuple(value)), depth)
    return [_public_value(item, depth + 1) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def has_nested(fields: JsonObject) -> bool:
    return not _SCALAR_TYPES.issuperset(map(type, fields.values()))


class _Names(NamedTuple):
    """Names in an object: public ones, URLs among them, private ones, and those that identify a user."""

    public: list[str]
    urls: list[str]
    secret: list[str]
    users: list[str]


@lru_cache(1 << 12)
def _classified_names(names: tuple[str, ...]) -> _Names:
    public = [name for name in names if not is_private_field(name)]
    urls = [name for name in public if name.endswith(("url", "Url"))]
    secret = [name for name in names if is_private_field(name)]
    return _Names(public, urls, secret, [name for name in _USER_FIELDS if name in names])


def _user_digest(values: JsonObject, names: _Names) -> str:
    for name in names.users:
        if isinstance(values[name], str):
            return _digest(values[name])
    return ""


@lru_cache(1 << 8)
def _digest(user: str) -> str:
    return blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() if user else ""
