"""A session as it is now, with what only its earlier states hold."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from palaver.model.build import JsonObject


@dataclass(slots=True)
class Request:
    """A request as the source has it; `kept_from` says where one that the session has no more was found."""

    value: Any
    kept_from: str = ""


@dataclass(slots=True, eq=False)
class Session:
    """Its requests are taken out of the state: they are let go one by one while they are told."""

    state: JsonObject
    where: str
    size_bytes: int
    """How much was read of it."""
    requests: list[Request] = field(default_factory=list[Request])

    def __post_init__(self) -> None:
        match self.state.pop("requests", None):
            case None:
                pass
            case list() as requests:
                self.requests = [Request(value) for value in requests if value is not None]
            case odd:
                self.requests = [Request(odd)]

    @property
    def name(self) -> str | None:
        return name if isinstance((name := self.state.get("sessionId")), str) else None

    def named(self) -> dict[str, Any]:
        """The requests by their ids; one without an id, or with that of another one, by its place."""
        found: dict[str, Any] = {}
        for index, request in enumerate(self.requests):
            name = _name(request.value)
            found[f" {index}" if name is None or name in found else name] = request.value
        return found

    def add(self, others: dict[str, Any], order: list[str], kept_from: str) -> bool:
        """Add requests that are not here, each behind the one that it followed; say whether there were any."""
        names = [_name(request.value) for request in self.requests]
        places = {name: index for index, name in enumerate(names) if name}
        nameless = {fingerprint(one.value) for one, name in zip(self.requests, names, strict=True) if name is None}
        behind: dict[int, list[Request]] = {}
        at = -1
        for name in order:
            if name in places:
                at = places[name]
            elif name in others and (_name(others[name]) is not None or fingerprint(others[name]) not in nameless):
                behind.setdefault(at, []).append(Request(others[name], kept_from))
        if behind:
            woven = behind.get(-1, [])
            for index, request in enumerate(self.requests):
                woven.append(request)
                woven += behind.get(index, ())
            self.requests = woven
        return bool(behind)


def _name(value: Any) -> str | None:
    match value:
        case {"requestId": str(name)}:
            return name
        case _:
            return None


def fingerprint(value: Any) -> str:
    """What a request without an id is known by: all that it says."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
