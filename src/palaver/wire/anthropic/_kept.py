"""What only Anthropic's format knows of a part of an exchange: kept beside it on reading, put back on writing.

`provider_data["anthropic"]` of a part holds every field of the payload that the part itself does not give back, under
its own name. Two names in it are ours: `_absent` lists fields that a writer adds and the payload did not have, `_form`
says which of two spellings the payload used. What was kept is put back only while it says what the part says: whoever
changes a part is not overruled by its past.
"""

from collections.abc import Callable, Iterable
from typing import Any, cast

from palaver.model.build import JsonObject
from palaver.wire._contract import Losses

NAME = "anthropic"
ABSENT = "_absent"
FORM = "_form"


def own(part: JsonObject) -> JsonObject | None:
    """What was kept of a part that came from this format; None of any other."""
    kept = _data(part).get(NAME)
    return cast("JsonObject", kept) if isinstance(kept, dict) else None


def is_foreign(part: JsonObject) -> bool:
    """Whether a part says that it came from another format."""
    data = _data(part)
    return bool(data) and NAME not in data


def keep(part: JsonObject, kept: JsonObject) -> None:
    part["provider_data"] = {NAME: kept}


def difference(raw: JsonObject, made: JsonObject) -> JsonObject:
    """What must be kept to make `raw` of what a writer makes."""
    kept = {name: value for name, value in raw.items() if name not in made or not _same(value, made[name])}
    if absent := [name for name in made if name not in raw]:
        kept[ABSENT] = absent
    return kept


def settle(
    part: JsonObject,
    made: JsonObject,
    says: Callable[[JsonObject], JsonObject],
    *,
    pointer: str,
    found: Losses,
    losses: Losses,
) -> JsonObject:
    """A part as its writer made it, with what was kept of it; `found` is what the writer lost on the way."""
    kept = own(part)
    if not kept:
        losses.found += found.found
        return made
    meant = plain(part)
    whole = _put_back(made, kept)
    if says(whole) == meant:
        return whole
    losses.found += found.found
    left = {name: kept[name] for name in sorted(kept, key=made.__contains__)}
    while name := next((name for name in left if says(_put_back(made, {name: left[name]})) in (meant, says(made))), ""):
        made = _put_back(made, {name: left.pop(name)})
    if left:
        losses.change(f"{pointer}/provider_data/{NAME}", f"{', '.join(left)}: it no longer says what the part says")
    return made


def without(kept: JsonObject, names: Iterable[str]) -> JsonObject:
    """What was kept, but for some fields that the part states itself."""
    left = {name: value for name, value in kept.items() if name not in names}
    if ABSENT in left:
        left[ABSENT] = [name for name in left[ABSENT] if name not in names]
    return left


def plain(part: JsonObject) -> JsonObject:
    """A part without what a provider alone knows of it."""
    return {name: value for name, value in part.items() if name != "provider_data"}


def report_rest(part: JsonObject, written: Iterable[str], pointer: str, losses: Losses) -> None:
    """The fields of a part that no writer looked at, and what other formats keep of it."""
    for name, value in part.items():
        if name not in written and name != "provider_data" and value is not None:
            losses.drop(f"{pointer}/{_escaped(name)}", "Anthropic's format has no place for it")
    for name, value in _data(part).items():
        if name != NAME and value:
            losses.drop(f"{pointer}/provider_data/{_escaped(name)}", f"only {name} understands it")


def _data(part: JsonObject) -> JsonObject:
    data = part.get("provider_data")
    return cast("JsonObject", data) if isinstance(data, dict) else {}


def _same(one: Any, other: Any) -> bool:
    """JSON tells true from 1."""
    return one is other or (type(one) is type(other) and one == other)


def _put_back(made: JsonObject, kept: JsonObject) -> JsonObject:
    absent = kept.get(ABSENT, ())
    return {name: value for name, value in (made | kept).items() if name not in {ABSENT, *absent}}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
