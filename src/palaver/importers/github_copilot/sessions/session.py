"""A session as it is now, with what only its earlier states hold."""

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(slots=True)
class Request:
    """A request as the source has it; `kept_from` says where one that the session has no more was found."""

    value: Any
    kept_from: str = ""


@dataclass(slots=True)
class Session:
    state: Json
    where: str
    requests: list[Request] = field(default_factory=list[Request])

    def __post_init__(self) -> None:
        match self.state.get("requests"):
            case None:
                pass
            case list() as requests:
                self.requests = [Request(value) for value in requests if value is not None]
            case odd:
                self.requests = [Request(odd)]

    def is_the_same_as(self, other: "Session") -> bool:
        """Whether two files of one name tell of one session; one that does not state its id is not another one."""
        own, others = self.state.get("sessionId"), other.state.get("sessionId")
        return own == others or own is None or others is None

    def named(self) -> dict[str, Any]:
        """The requests by their ids; one without an id, or with that of another one, by its place."""
        found: dict[str, Any] = {}
        for index, request in enumerate(self.requests):
            name = _name(request.value)
            found[f" {index}" if name is None or name in found else name] = request.value
        return found

    def add(self, others: dict[str, Any], order: list[str], kept_from: str) -> bool:
        """Add requests that are not here, each behind the one that it followed; say whether there were any."""
        places = {name: index for index, request in enumerate(self.requests) if (name := _name(request.value))}
        behind: dict[int, list[Request]] = {}
        at = -1
        for name in order:
            if name in places:
                at = places[name]
            elif name in others and not self._holds(others[name]):
                behind.setdefault(at, []).append(Request(others[name], kept_from))
        if behind:
            woven = behind.get(-1, [])
            for index, request in enumerate(self.requests):
                woven.append(request)
                woven += behind.get(index, ())
            self.requests = woven
        return bool(behind)

    def _holds(self, value: Any) -> bool:
        """Whether a request without an id stands here as it is."""
        return _name(value) is None and any(request.value == value for request in self.requests)


def _name(value: Any) -> str | None:
    match value:
        case {"requestId": str(name)}:
            return name
        case _:
            return None
