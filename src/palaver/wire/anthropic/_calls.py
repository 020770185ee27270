"""Calls of tools and their results: ids where the payload has none, and arguments that are no object."""

import json
from dataclasses import dataclass, field
from typing import Any, cast

from palaver.model.build import JsonObject


@dataclass(slots=True)
class Names:
    """Ids of the calls of one payload; missing ones are made up in order, and results without one paired in order."""

    waiting: list[str] = field(default_factory=list[str])
    seen: set[str] = field(default_factory=set[str])
    count: int = 0

    def call(self, stated: Any) -> str:
        self.count += 1
        name = stated if isinstance(stated, str) else self._made_up()
        self.seen.add(name)
        self.waiting.append(name)
        return name

    def result(self, stated: Any) -> str:
        if isinstance(stated, str):
            if stated in self.waiting:
                self.waiting.remove(stated)
            return stated
        return self.waiting.pop(0) if self.waiting else self._made_up()

    def _made_up(self) -> str:
        number = self.count
        while (name := f"call_{number}") in self.seen:
            number += 1
        return name


def input_of(raw: Any) -> JsonObject:
    """Arguments as an object; those that are none stand under `raw`."""
    if isinstance(raw, dict):
        return cast("JsonObject", raw)
    if raw is None or raw == "":  # a call without arguments, as streams leave it
        return {}
    if isinstance(raw, str):
        try:
            parsed = json.loads(raw)
        except (ValueError, RecursionError):
            return {"raw": raw}
        if isinstance(parsed, dict):
            return cast("JsonObject", parsed)
        return {"raw": raw}
    return {"raw": json.dumps(raw, ensure_ascii=False)}
