"""What the level `lenient` converts before it asks the schema: spellings that can mean one thing only."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from palaver.errors import ContentError
from palaver.model import SCHEMA_VERSION
from palaver.model.build import JsonObject
from palaver.model.content import normalize_content
from palaver.model.rules import Fault, Path
from palaver.model.timestamps import is_canonical, normalize_timestamp

_ROLES = {
    **dict.fromkeys(("human", "person"), "user"),
    **dict.fromkeys(("ai", "agent", "bot", "model"), "assistant"),
    **dict.fromkeys(("developer",), "system"),
    **dict.fromkeys(("function_call",), "function"),
}
_KNOWN_ROLES = {"user", "assistant", "system", "tool", "function"}
_SHOWN = 40


def coerced(document: JsonObject) -> tuple[JsonObject, list[Fault]]:
    """A copy with everything converted that safely can be, and what was converted."""
    made = dict(document)
    said: list[Fault] = []
    if "schema_version" not in made:
        made["schema_version"] = SCHEMA_VERSION
        said.append(Fault(("schema_version",), f"A missing schema_version became {SCHEMA_VERSION!r}"))
    if isinstance(platform := made.get("platform"), str) and platform:
        made["platform"] = {"name": platform}
        said.append(Fault(("platform",), f"{platform!r:.40} became the name of a platform"))
    _change(made, ("conversation_id",), _text, said)
    for name in ("created_at", "updated_at"):
        _change(made, (name,), _time, said)
    _change(made, ("tags",), _list, said)
    if isinstance(messages := made.get("messages"), list):
        made["messages"] = [_message(message, ("messages", index), said) for index, message in enumerate(messages)]
    return made, said


def _message(message: Any, path: Path, said: list[Fault]) -> Any:
    if not isinstance(message, dict):
        return message
    made = dict(message)
    for name in ("message_id", "parent_message_id"):
        _change(made, (*path, name), _text, said)
    _change(made, (*path, "role"), _role, said)
    _change(made, (*path, "timestamp"), _time, said)
    _change(made, (*path, "content"), _content, said)
    if isinstance(content := made.get("content"), list):
        made["content"] = [_block(block, (*path, "content", number), said) for number, block in enumerate(content)]
    if isinstance(tokens := made.get("tokens"), dict):
        made["tokens"] = dict(tokens)
        for name in tokens:
            if name.endswith("_tokens"):
                _change(made["tokens"], (*path, "tokens", name), _number, said)
    return made


def _block(block: Any, path: Path, said: list[Fault]) -> Any:
    match block:
        case {"type": "tool_result"} if block.get("is_error") is None:
            said.append(Fault((*path, "is_error"), "A missing is_error became false"))
            return {**block, "is_error": False}
        case _:
            return block


def _change(holder: JsonObject, path: Path, convert: Callable[[Any], Iterator[Any]], said: list[Fault]) -> None:
    name = path[-1]
    if isinstance(name, str) and name in holder:
        value = holder[name]
        for converted in convert(value):
            holder[name] = converted
            said.append(Fault(path, f"{_shown(value)} became {_shown(converted)}"))


def _text(value: Any) -> Iterator[str]:
    if isinstance(value, int) and not isinstance(value, bool):
        yield str(value)


def _number(value: Any) -> Iterator[int]:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        yield int(value)


def _time(value: Any) -> Iterator[str]:
    if value is not None and not isinstance(value, bool) and not (isinstance(value, str) and is_canonical(value)):
        with suppress(ValueError):
            if (time := normalize_timestamp(value)) != value:
                yield time


def _role(value: Any) -> Iterator[str]:
    if isinstance(value, str) and value not in _KNOWN_ROLES:
        word = value.strip().lower()
        if (role := _ROLES.get(word, word)) in _KNOWN_ROLES:
            yield role


def _content(value: Any) -> Iterator[list[JsonObject]]:
    if value is not None and not (isinstance(value, list) and all(isinstance(block, dict) for block in value)):
        with suppress(ContentError):
            yield normalize_content(value)


def _list(value: Any) -> Iterator[list[str]]:
    if isinstance(value, str):
        yield [value]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
