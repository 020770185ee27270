"""Anthropic's `provider_data`: fields saved beside a part of an exchange on reading, and restored on writing.

`provider_data["anthropic"]` of a part holds every field of the payload that writing the part would not reproduce, under
its own name. Two names in it are ours: `_absent` lists the fields that a writer adds and the payload lacked, `_form`
says which of two spellings the payload used. A saved field is restored only while it agrees with the part, so that an
edited part is not overruled by its original.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire import _unwritten
from palaver.wire._contract import Losses
from palaver.wire._places import escape_key

NAME = "anthropic"
ABSENT = "_absent"
FORM = "_form"


def own_data(part: JsonObject) -> JsonObject | None:
    """Return the data saved with a part that came from this format; None for any other part."""
    saved = _data(part).get(NAME)
    return cast("JsonObject", saved) if isinstance(saved, dict) else None


def is_foreign(part: JsonObject) -> bool:
    """Return whether a part has provider data, all of it from other formats."""
    data = _data(part)
    return bool(data) and NAME not in data


def store_own_data(part: JsonObject, saved: JsonObject) -> None:
    part["provider_data"] = {NAME: saved}


def difference(raw: JsonObject, made: JsonObject) -> JsonObject:
    """Return the data to save so that `restore` turns what a writer makes back into `raw`."""
    saved = {name: value for name, value in raw.items() if name not in made or not _is_equal_json(value, made[name])}
    if absent := [name for name in made if name not in raw]:
        saved[ABSENT] = absent
    return saved


def restore(
    part: JsonObject,
    made: JsonObject,
    parse: Callable[[JsonObject], JsonObject],
    *,
    pointer: str,
    writer_losses: Losses,
    losses: Losses,
) -> JsonObject:
    """Return a written part with its saved fields, as far as they agree with the part.

    `made` is what the writer made of the part, and `writer_losses` what was lost on the way: these count only where the
    saved fields do not restore the part in full. `parse` reads a written part, without its provider data.
    """
    saved = own_data(part)
    if not saved:
        losses.found += writer_losses.found
        return made
    expected = without_provider_data(part)
    restored = _apply(made, saved)
    if parse(restored) == expected:
        return restored
    losses.found += writer_losses.found
    remaining = {name: saved[name] for name in sorted(saved, key=made.__contains__)}

    def is_harmless(name: str) -> bool:
        return parse(_apply(made, {name: remaining[name]})) in (expected, parse(made))

    while name := next(filter(is_harmless, remaining), ""):
        made = _apply(made, {name: remaining.pop(name)})
    for name in without_fields(remaining, {ABSENT}):
        losses.change(f"{pointer}/provider_data/{NAME}/{escape_key(name)}", "outdated: it differs from the part")
    return made


def without_fields(saved: JsonObject, names: Iterable[str]) -> JsonObject:
    """Return the saved data without some fields."""
    remaining = {name: value for name, value in saved.items() if name not in names}
    if ABSENT in remaining:
        remaining[ABSENT] = [name for name in remaining[ABSENT] if name not in names]
    return remaining


def without_provider_data(part: JsonObject) -> JsonObject:
    return {name: value for name, value in part.items() if name != "provider_data"}


def report_unwritten(
    part: JsonObject, written: Collection[str], pointer: str, losses: Losses, *, carried: Collection[str] = ()
) -> None:
    """Report as losses the fields of a part that no writer handles, and what other formats kept beside them."""
    _unwritten.report_unwritten(part, written, pointer, losses, own=NAME, title="Anthropic", carried=carried)


def _data(part: JsonObject) -> JsonObject:
    data = part.get("provider_data")
    return cast("JsonObject", data) if isinstance(data, dict) else {}


def _is_equal_json(first: Any, second: Any) -> bool:
    """Compare as JSON does, where true is not 1."""
    return first is second or (type(first) is type(second) and first == second)


def _apply(made: JsonObject, saved: JsonObject) -> JsonObject:
    absent = saved.get(ABSENT, ())
    return {name: value for name, value in (made | saved).items() if name not in {ABSENT, *absent}}
