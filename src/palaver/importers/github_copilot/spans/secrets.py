"""What attributes of spans may not leave behind: headers, keys, and addresses that let somebody in."""

import re
from typing import Any, cast

from palaver.importers.github_copilot.spans.names import CONTENT
from palaver.model.build import JsonObject
from palaver.model.finding import FindingKind
from palaver.redact import MASK, kept_headers, masked_url
from palaver.sources.run import Run

_SECRET = re.compile(
    r"(?:^|[._-])(?:(?:proxy[._-]?)?authorization|(?:set[._-]?)?cookies?|(?:api|access|private|client)[._-]?(?:key|secret)|"
    r"(?:access|auth|bearer|id|refresh|session|github|copilot)[._-]?token|token|secret|passw(?:or)?d|credentials?)$",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://[^\s\"'<>)\\]+")
_PAIR = re.compile(
    r'("[^"]{0,80}(?:authorization|cookie|api[_-]?key|secret|password|token|credential)s?"\s*'
    r'(?::|,\s*"value"\s*:\s*\{\s*"[a-zA-Z]+"\s*:)\s*")[^"]*',
    re.IGNORECASE,
)
_DEEPEST = 8


def discreet(attributes: JsonObject) -> JsonObject:
    """The same attributes, with masks; what was said stays as it is."""
    return {name: value if name in CONTENT else masked(name, value) for name, value in attributes.items()}


def masked(name: str, value: Any, depth: int = 0) -> Any:
    match value:
        case str() if _SECRET.search(name):
            return MASK
        case str():
            told = _ADDRESS.sub(lambda found: masked_url(found[0]), value) if "://" in value else value
            return told if kept_headers({"user-agent": told}) or not told else MASK
        case list() | dict() if depth > _DEEPEST:
            return MASK
        case list():
            return [masked(name, one, depth + 1) for one in cast("list[Any]", value)]
        case dict():
            return {key: masked(key, one, depth + 1) for key, one in cast("JsonObject", value).items()}
        case _:
            return value


class DiscreetRun(Run):
    """The same run, for readers that set bytes aside as they are."""

    def __init__(self, run: Run) -> None:
        vars(self).update(vars(run))

    def set_aside(self, kind: FindingKind, raw: bytes, where: str, message: str = "") -> None:
        text = raw.decode("utf-8", "surrogateescape")
        told = _ADDRESS.sub(lambda found: masked_url(found[0]), _PAIR.sub(rf"\g<1>{MASK}", text))
        super().set_aside(kind, told.encode("utf-8", "surrogateescape") if told != text else raw, where, message)
