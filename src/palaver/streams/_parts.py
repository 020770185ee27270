"""The parts of a Gemini candidate: text that goes on, function calls whose arguments go on, and what comes whole."""

from io import StringIO

from palaver.model.build import JsonObject
from palaver.streams._partial_args import placed
from palaver.streams._reading import Issues, as_list, merge

_CALL = ("functionCall", "function_call")
_PARTIAL = ("partialArgs", "partial_args")
_CONTINUES = ("willContinue", "will_continue")
_THOUGHT = {"text", "thought"}


class Parts:
    def __init__(self) -> None:
        self._parts: list[_Text | _Call | JsonObject] = []

    def add(self, part: JsonObject, issues: Issues, sequence: int) -> None:
        last = self._parts[-1] if self._parts else None
        if isinstance(part.get("text"), str) and (len(part) == 1 or part.keys() == _THOUGHT):
            if not isinstance(last, _Text) or last.is_thought != bool(part.get("thought")):
                last = _Text(part)
                self._parts.append(last)
            last.write(part["text"])
            return
        name = next((name for name in _CALL if isinstance(part.get(name), dict)), None)
        if name is not None and isinstance(last, _Call) and last.is_open and not part[name].get("name"):
            last.add(part, name, issues, sequence)
        elif name is not None and any(part[name].get(key) for key in (*_PARTIAL, *_CONTINUES)):
            call = _Call(name)
            call.add(part, name, issues, sequence)
            self._parts.append(call)
        else:
            self._parts.append(part)

    def value(self) -> list[JsonObject]:
        return [part if isinstance(part, dict) else part.value() for part in self._parts]


class _Text:
    """Text without a signature; one part, however many it came in."""

    __slots__ = ("_first", "_text", "is_thought", "write")

    def __init__(self, first: JsonObject) -> None:
        self._first = first
        self._text = StringIO()
        self.write = self._text.write
        self.is_thought = bool(first.get("thought"))

    def value(self) -> JsonObject:
        return {**self._first, "text": self._text.getvalue()}


class _Call:
    """A function call that was not told at once."""

    __slots__ = ("_args", "_call", "_name", "_part", "is_open")

    def __init__(self, name: str) -> None:
        self._name = name
        self._part: JsonObject = {}
        self._call: JsonObject = {}
        self._args: JsonObject = {}
        self.is_open = True

    def add(self, part: JsonObject, name: str, issues: Issues, sequence: int) -> None:
        call: JsonObject = part[name]
        merge(self._part, {key: value for key, value in part.items() if key != name})
        self.is_open = any(call.get(key) for key in _CONTINUES)
        for key, value in call.items():
            if key in _PARTIAL:
                for partial in as_list(value):
                    args = placed(self._args, partial) if isinstance(partial, dict) else None
                    if args is None:
                        issues.note("unexpected_value", sequence, f"an argument without a place: {partial}")
                    else:
                        self._args = args
            elif key == "args" and isinstance(value, dict):
                self._args = {**self._args, **value}
            elif key not in _CONTINUES:
                merge(self._call, {key: value})

    def value(self) -> JsonObject:
        call = {**self._call, "args": self._args}
        if self.is_open:
            call["willContinue"] = True
        return {self._name: call, **self._part}
