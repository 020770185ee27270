"""One output item of a Responses stream, as it was added, as its deltas tell it, or as it was when it was done."""

from io import StringIO
from typing import Any

from palaver.model.build import JsonObject
from palaver.streams._joining import Write
from palaver.streams._reading import as_list, as_text, merge


class _Fields:
    """What an item or a part began with, and the texts that came since."""

    __slots__ = ("_lists", "_texts", "_whole", "added", "done")

    def __init__(self, added: JsonObject) -> None:
        self.added = added
        self.done: JsonObject | None = None
        self._texts: dict[str, StringIO] = {}
        self._lists: dict[str, list[Any]] = {}
        self._whole: JsonObject = {}

    def writer(self, field: str) -> Write:
        return self._texts.setdefault(field, StringIO()).write

    def lengthen(self, field: str, more: list[Any]) -> None:
        self._lists.setdefault(field, []).extend(more)

    def end_text(self, field: str, text: str) -> None:
        self._whole[field] = text

    def value(self) -> JsonObject:
        if self.done is not None:
            return dict(self.done)
        texts = {field: as_text(self.added.get(field)) + text.getvalue() for field, text in self._texts.items()}
        lists = {field: [*as_list(self.added.get(field)), *more] for field, more in self._lists.items()}
        return {**self.added, **texts, **lists, **self._whole}


class Item:
    __slots__ = ("_fields", "_parts")

    def __init__(self, added: JsonObject | None = None) -> None:
        self._fields = _Fields(added if added is not None else {})
        self._parts: dict[str, dict[int, _Fields]] = {}

    @property
    def done(self) -> JsonObject | None:
        return self._fields.done

    def writer(self, field: str, where: str = "", at: int | None = None, part_type: str = "") -> Write:
        """How to lengthen a text: of the item itself, or of the part that stands there."""
        return self._part(where, at, part_type).writer(field)

    def end_text(self, field: str, text: str, where: str = "", at: int | None = None, part_type: str = "") -> None:
        self._part(where, at, part_type).end_text(field, text)

    def take_part(self, where: str, at: int, part: JsonObject, *, is_done: bool) -> None:
        known = self._parts.setdefault(where, {}).setdefault(at, _Fields({}))
        if is_done:
            known.done = part
        else:
            known.added = {**part, **known.added}

    def lengthen(self, where: str, at: int | None, field: str, part_type: str, more: list[Any]) -> None:
        """Annotations and log probabilities come one by one."""
        self._part(where, at, part_type).lengthen(field, more)

    def state(self, fields: JsonObject) -> None:
        """What the stream says of the item in passing."""
        merge(self._fields.added, fields)

    def end(self, done: JsonObject) -> None:
        """The item as a whole; its pieces are of no use any more."""
        self._fields = _Fields(done)
        self._fields.done = done
        self._parts.clear()

    def value(self) -> JsonObject:
        item = self._fields.value()
        for where, parts in self._parts.items():
            known = dict(enumerate(as_list(item.get(where))))
            known |= {at: part.value() for at, part in parts.items()}
            item[where] = [known[at] for at in sorted(known)]
        if commands := item.pop("commands", None):
            action = item.get("action")
            told = [command.get("command") for command in commands]
            item["action"] = {**(action if isinstance(action, dict) else {}), "commands": told}
        return item

    def _part(self, where: str, at: int | None, part_type: str) -> _Fields:
        if not where or at is None:
            return self._fields
        added: JsonObject = {"type": part_type} if part_type else {}
        return self._parts.setdefault(where, {}).setdefault(at, _Fields(added))
